// SPDX-License-Identifier: GPL-2.0
/*
 * xs_tick: every CPU counts its timer interrupts in one and the same place.
 *
 * What large machines were reported to suffer from long ago: an interrupt that
 * each CPU takes at every tick, and a counter in it that is the same for all.
 * Each increment is a load and a store like those of any statistics counter
 * that nobody has thought of as shared; an atomic one is not needed for harm.
 *
 * Each online CPU starts a timer of its own, all for the same moments, as the
 * ticks of a machine are by default. Loading the module runs it once;
 * /proc/xs_tick then holds the result as one line of JSON. The region of
 * interest is entered before the first tick and left after the last.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/smp.h>

#include "xs-roi.h"

static uint period_us = 50;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time between two ticks of a CPU in us (default 50)");

static uint ticks = 20;
module_param(ticks, uint, 0444);
MODULE_PARM_DESC(ticks, "ticks of each CPU (default 20)");

/**
 * struct tick_stats - what all CPUs share
 * @interrupts: ticks counted by all; increments that met are lost
 */
struct tick_stats {
	unsigned long interrupts;
} ____cacheline_aligned_in_smp;

static struct tick_stats tick_stats;

/**
 * struct tick_cpu - what a CPU has for itself
 * @timer: its timer
 * @seen:  ticks it has had
 */
struct tick_cpu {
	struct hrtimer timer;
	unsigned int seen;
};

static DEFINE_PER_CPU_ALIGNED(struct tick_cpu, tick_cpus);
static ktime_t tick_first;

static enum hrtimer_restart tick_handler(struct hrtimer *timer)
{
	struct tick_cpu *tc = container_of(timer, struct tick_cpu, timer);

	/* The accesses must be made, and no more than these. */
	WRITE_ONCE(tick_stats.interrupts,
		   READ_ONCE(tick_stats.interrupts) + 1);

	if (++tc->seen >= ticks)
		return HRTIMER_NORESTART;
	hrtimer_add_expires_ns(timer, (u64)period_us * NSEC_PER_USEC);
	return HRTIMER_RESTART;
}

static void tick_start(void *unused)
{
	struct tick_cpu *tc = this_cpu_ptr(&tick_cpus);

	hrtimer_init(&tc->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	tc->timer.function = tick_handler;
	hrtimer_start(&tc->timer, tick_first, HRTIMER_MODE_ABS_PINNED_HARD);
}

static int tick_show(struct seq_file *m, void *unused)
{
	unsigned long taken = 0;
	unsigned int cpu;

	for_each_online_cpu(cpu)
		taken += per_cpu(tick_cpus, cpu).seen;
	seq_printf(m, "{\"cpus\":%u,\"period_us\":%u,\"ticks\":%u,\"taken\":%lu,\"counted\":%lu}\n",
		   num_online_cpus(), period_us, ticks, taken,
		   tick_stats.interrupts);
	return 0;
}

static int __init tick_init(void)
{
	unsigned long length = (unsigned long)period_us * ticks;
	unsigned int cpu;

	if (!period_us || !ticks || length / ticks != period_us ||
	    length > USEC_PER_SEC) {
		pr_err("period_us=%u ticks=%u: give both above 0, and not more than a second altogether\n",
		       period_us, ticks);
		return -EINVAL;
	}

	cpus_read_lock();
	/* All are told before the first tick, so that all begin with it. */
	tick_first = ktime_add_us(ktime_get(), 2000);
	on_each_cpu(tick_start, NULL, 1);
	xs_roi_enter();
	usleep_range(2000 + length, 2000 + length + period_us);
	for_each_online_cpu(cpu)
		hrtimer_cancel(&per_cpu(tick_cpus, cpu).timer);
	xs_roi_leave();
	cpus_read_unlock();

	if (!proc_create_single(KBUILD_MODNAME, 0444, NULL, tick_show)) {
		pr_err("cannot create /proc/" KBUILD_MODNAME "\n");
		return -ENOMEM;
	}
	return 0;
}
module_init(tick_init);

static void __exit tick_exit(void)
{
	remove_proc_entry(KBUILD_MODNAME, NULL);
}
module_exit(tick_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Timer interrupts of all CPUs, counted in one place");
