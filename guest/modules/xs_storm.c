// SPDX-License-Identifier: GPL-2.0
/*
 * xs_storm: a storm of inter-processor interrupts, measured over a fixed window.
 *
 * One kernel thread is bound to each CPU of a list. It calls
 * smp_call_function_single() on the CPU "offset" places further in the list
 * (the list wraps round), waits for the function to have run there, and
 * repeats. Loading the module runs the storm once; /proc/xs_storm then holds
 * the result as one line of JSON until the module is removed.
 *
 *      start        begin                          end
 *   -----|------------|------------------------------|----->  time base
 *     all threads     |<------- duration_us -------->|
 *     start    warm-up                                 threads stop
 *
 * The measurement must not add traffic between CPUs to what it measures:
 *  - each CPU counts, in a cache line of its own, the calls it has sent and the
 *    calls it has handled; nobody else reads these before the end;
 *  - whether an event lies in the window each CPU decides by its own clock and
 *    a line that nobody writes during the run;
 *  - the threads gather on one atomic counter, but start by the clock.
 *
 * The region of interest is entered once, by the thread that arrived last,
 * before the common start, so the warm-up lies inside it, and is left by the
 * thread that stops last.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#ifdef CONFIG_PPC64
#include <asm/time.h>
#endif

#include "xs-roi.h"

/* A region longer than this (us) is taken for a slip of the unit. */
#define STORM_MAX_US	(600U * 1000 * 1000)

static char *cpulist;
module_param(cpulist, charp, 0444);
MODULE_PARM_DESC(cpulist, "CPUs that take part, e.g. 0-15 or 0-7,64-71");

static int offset = 1;
module_param(offset, int, 0444);
MODULE_PARM_DESC(offset, "places in the list from a sender to its target (default 1)");

static bool single;
module_param(single, bool, 0444);
MODULE_PARM_DESC(single, "only the first CPU of the list sends (default N)");

static bool wait = true;
module_param(wait, bool, 0444);
MODULE_PARM_DESC(wait, "a sender waits until its call has run (default Y)");

static uint duration_us = 2000;
module_param(duration_us, uint, 0444);
MODULE_PARM_DESC(duration_us, "length of the measured window in us (default 2000)");

static uint warmup_us = 200;
module_param(warmup_us, uint, 0444);
MODULE_PARM_DESC(warmup_us, "time from the common start to the window in us (default 200)");

static uint lead_us = 400;
module_param(lead_us, uint, 0444);
MODULE_PARM_DESC(lead_us, "time from the last thread's arrival to the common start in us; the region of interest begins half-way (default 400)");

static int usleep = -1;
module_param(usleep, int, 0444);
MODULE_PARM_DESC(usleep, "sleep of at least so many us after each call, 0 allowed (default -1: none)");

static uint timeout = 10000;
module_param(timeout, uint, 0444);
MODULE_PARM_DESC(timeout, "give up after so many ms (default 10000)");

/**
 * struct storm_cpu - what one CPU does and has counted
 * @sent:          calls completed by this CPU as a sender, inside the window
 * @handled:       calls run on this CPU, inside the window
 * @total_sent:    calls completed, whole run
 * @total_handled: calls run, whole run
 * @task:          the bound thread, NULL on a CPU that only answers
 * @target:        CPU this one calls
 * @error:         first error of smp_call_function_single(), 0 if none
 *
 * Written by its own CPU only; a whole number of cache lines.
 */
struct storm_cpu {
	u64 sent;
	u64 handled;
	u64 total_sent;
	u64 total_handled;
	struct task_struct *task;
	unsigned int target;
	int error;
} ____cacheline_aligned_in_smp;

static DEFINE_PER_CPU_ALIGNED(struct storm_cpu, storm_cpus);

/**
 * struct storm_window - when the storm runs, in ticks of storm_clock()
 * @start: all threads start; 0 as long as that is not decided
 * @begin: the measured window begins
 * @end:   the measured window ends and the threads stop
 * @stop:  give up now
 *
 * Read by every thread and every handler. Written once before the region of
 * interest, and once more only to give up.
 */
struct storm_window {
	u64 start;
	u64 begin;
	u64 end;
	bool stop;
} ____cacheline_aligned_in_smp;

static struct storm_window window;

/**
 * struct storm_gate - where threads meet before the start and after the end
 * @missing: threads that have not arrived yet
 * @running: threads that have not stopped yet
 * @stopped: time at which the last thread stopped, in ticks
 * @done:    completed by the last thread
 */
struct storm_gate {
	atomic_t missing;
	atomic_t running;
	u64 stopped;
	struct completion done;
} ____cacheline_aligned_in_smp;

static struct storm_gate gate;

static struct cpumask storm_mask;
static bool storm_stuck;

/*
 * The clock must be cheap, agree between CPUs and touch no line that is
 * written meanwhile: on powerpc it is the time base register.
 */
static inline u64 storm_clock(void)
{
#ifdef CONFIG_PPC64
	return get_tb();
#else
	return ktime_get_mono_fast_ns();
#endif
}

static u64 storm_us_to_ticks(u64 us)
{
#ifdef CONFIG_PPC64
	return us * tb_ticks_per_usec;
#else
	return us * NSEC_PER_USEC;
#endif
}

static u64 storm_ticks_to_ns(u64 ticks)
{
#ifdef CONFIG_PPC64
	return tb_to_ns(ticks);
#else
	return ticks;
#endif
}

static inline bool storm_in_window(u64 now)
{
	return now >= window.begin && now < window.end;
}

/* Runs on the target CPU, in interrupt context. */
static void storm_handler(void *unused)
{
	struct storm_cpu *sc = this_cpu_ptr(&storm_cpus);

	sc->total_handled++;
	if (storm_in_window(storm_clock()))
		sc->handled++;
}

/* Decide the start and open the region; runs on the thread that arrived last. */
static void storm_open(void)
{
	u64 now = storm_clock();
	u64 roi = now + storm_us_to_ticks(lead_us / 2);
	u64 start = now + storm_us_to_ticks(lead_us);

	window.begin = start + storm_us_to_ticks(warmup_us);
	window.end = window.begin + storm_us_to_ticks(duration_us);
	/* Pairs with the acquire in storm_wait(): the edges come with the start. */
	smp_store_release(&window.start, start);

	/*
	 * The others fetch the new line before the region begins, and what the
	 * gathering cost does not count.
	 */
	spin_until_cond(storm_clock() >= roi);
	xs_roi_enter();
}

/* Wait for the common start without writing anything. */
static void storm_wait(void)
{
	u64 start;

	for (;;) {
		/* Pairs with the release in storm_open(). */
		start = smp_load_acquire(&window.start);
		if (start || READ_ONCE(window.stop))
			break;
		cpu_relax();
		/* The CPU may be needed to start the threads still missing. */
		cond_resched();
	}
	spin_until_cond(storm_clock() >= start);
}

static int storm_thread(void *unused)
{
	struct storm_cpu *sc = this_cpu_ptr(&storm_cpus);
	const unsigned int target = sc->target;
	const bool wait_done = wait;
	const int pause_us = usleep;
	u64 now;
	int err;

	if (atomic_dec_and_test(&gate.missing))
		storm_open();
	storm_wait();

	now = storm_clock();
	while (now < window.end && !READ_ONCE(window.stop)) {
		err = smp_call_function_single(target, storm_handler, NULL,
					       wait_done);
		now = storm_clock();
		if (unlikely(err)) {
			sc->error = err;
			break;
		}
		sc->total_sent++;
		if (storm_in_window(now))
			sc->sent++;
		if (pause_us >= 0) {
			usleep_range(pause_us, pause_us + 1);
			now = storm_clock();
		}
		cond_resched();
	}

	if (atomic_dec_and_test(&gate.running)) {
		/* Told to stop before all had arrived, nobody has entered. */
		if (window.start)
			xs_roi_leave();
		gate.stopped = storm_clock();
		complete(&gate.done);
	}

	/* The module's text must not go away under this thread. */
	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void storm_stop_threads(void)
{
	unsigned int cpu;

	for_each_cpu(cpu, &storm_mask) {
		struct storm_cpu *sc = per_cpu_ptr(&storm_cpus, cpu);

		if (sc->task)
			kthread_stop(sc->task);
		sc->task = NULL;
	}
}

/* Parse cpulist piece by piece, so that a CPU named twice is noticed. */
static int storm_parse_cpulist(void)
{
	char *copy, *rest, *piece;
	cpumask_var_t mask;
	unsigned int cpu;
	int ret = 0;

	if (!cpulist || !*cpulist) {
		pr_err("cpulist is empty; name at least two CPUs, e.g. cpulist=0-15\n");
		return -EINVAL;
	}
	copy = kstrdup(cpulist, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	if (!zalloc_cpumask_var(&mask, GFP_KERNEL)) {
		kfree(copy);
		return -ENOMEM;
	}

	rest = copy;
	while ((piece = strsep(&rest, ",")) != NULL) {
		if (!*piece || cpulist_parse(piece, mask)) {
			pr_err("cpulist=%s: '%s' is not a CPU or range of CPUs below %u\n",
			       cpulist, piece, nr_cpu_ids);
			ret = -EINVAL;
			break;
		}
		if (cpumask_intersects(mask, &storm_mask)) {
			cpumask_and(mask, mask, &storm_mask);
			pr_err("cpulist=%s: CPU %u is named twice\n", cpulist,
			       cpumask_first(mask));
			ret = -EINVAL;
			break;
		}
		cpumask_or(&storm_mask, &storm_mask, mask);
	}
	if (!ret) {
		cpumask_andnot(mask, &storm_mask, cpu_online_mask);
		cpu = cpumask_first(mask);
		if (cpu < nr_cpu_ids) {
			pr_err("cpulist=%s: CPU %u is not online\n", cpulist,
			       cpu);
			ret = -EINVAL;
		}
	}
	free_cpumask_var(mask);
	kfree(copy);
	return ret;
}

static int storm_check_parameters(void)
{
	unsigned int ncpus;
	u64 total_ms;
	int ret;

	ret = storm_parse_cpulist();
	if (ret)
		return ret;

	ncpus = cpumask_weight(&storm_mask);
	if (ncpus < 2) {
		pr_err("cpulist=%s: one CPU cannot interrupt another; name at least two\n",
		       cpulist);
		return -EINVAL;
	}
	/* 0 and the number of CPUs would be calls to itself: no interrupt. */
	if (offset < 1 || offset >= ncpus) {
		pr_err("offset=%d is outside 1..%u for the %u CPUs of cpulist=%s\n",
		       offset, ncpus - 1, ncpus, cpulist);
		return -EINVAL;
	}
	if (!duration_us || duration_us > STORM_MAX_US) {
		pr_err("duration_us=%u is outside 1..%u\n", duration_us,
		       STORM_MAX_US);
		return -EINVAL;
	}
	if (warmup_us > STORM_MAX_US) {
		pr_err("warmup_us=%u is outside 0..%u\n", warmup_us,
		       STORM_MAX_US);
		return -EINVAL;
	}
	if (lead_us > STORM_MAX_US) {
		pr_err("lead_us=%u is outside 0..%u\n", lead_us, STORM_MAX_US);
		return -EINVAL;
	}
	if (usleep < -1 || usleep > (int)STORM_MAX_US) {
		pr_err("usleep=%d is outside -1..%u\n", usleep, STORM_MAX_US);
		return -EINVAL;
	}
	total_ms = ((u64)lead_us + warmup_us + duration_us) / 1000;
	if (timeout <= total_ms) {
		pr_err("timeout=%u ms is not longer than the %llu ms the storm takes\n",
		       timeout, total_ms + 1);
		return -EINVAL;
	}
	return 0;
}

static int storm_create_threads(void)
{
	unsigned int cpu, target, i, threads = 0;
	struct task_struct *task;

	target = cpumask_first(&storm_mask);
	for (i = 0; i < offset; i++)
		target = cpumask_next(target, &storm_mask);

	for_each_cpu(cpu, &storm_mask) {
		struct storm_cpu *sc = per_cpu_ptr(&storm_cpus, cpu);

		sc->target = target;
		target = cpumask_next(target, &storm_mask);
		if (target >= nr_cpu_ids)
			target = cpumask_first(&storm_mask);
		if (single && threads)
			continue;

		task = kthread_create_on_node(storm_thread, NULL,
					      cpu_to_node(cpu), "xs_storm/%u",
					      cpu);
		if (IS_ERR(task)) {
			pr_err("no thread for CPU %u: error %ld\n", cpu,
			       PTR_ERR(task));
			return PTR_ERR(task);
		}
		kthread_bind(task, cpu);
		sc->task = task;
		threads++;
	}
	atomic_set(&gate.missing, threads);
	atomic_set(&gate.running, threads);
	return 0;
}

static void storm_show_counts(struct seq_file *m, const char *name,
			      size_t field)
{
	const char *comma = "";
	unsigned int cpu;

	seq_printf(m, ",\"%s\":[", name);
	for_each_cpu(cpu, &storm_mask) {
		void *sc = per_cpu_ptr(&storm_cpus, cpu);

		seq_printf(m, "%s%llu", comma, *(u64 *)(sc + field));
		comma = ",";
	}
	seq_puts(m, "]");
}

static int storm_show(struct seq_file *m, void *unused)
{
	u64 sent = 0, handled = 0, total_sent = 0, total_handled = 0;
	unsigned int cpu;

	if (storm_stuck) {
		seq_printf(m, "{\"error\":\"threads did not stop within %u ms\"}\n",
			   timeout);
		return 0;
	}
	for_each_cpu(cpu, &storm_mask) {
		struct storm_cpu *sc = per_cpu_ptr(&storm_cpus, cpu);

		sent += sc->sent;
		handled += sc->handled;
		total_sent += sc->total_sent;
		total_handled += sc->total_handled;
	}
	seq_printf(m, "{\"cpus\":%u,\"cpulist\":\"%*pbl\",\"offset\":%d",
		   cpumask_weight(&storm_mask), cpumask_pr_args(&storm_mask),
		   offset);
	seq_printf(m, ",\"single\":%s,\"wait\":%s,\"usleep\":%d",
		   single ? "true" : "false", wait ? "true" : "false", usleep);
	seq_printf(m, ",\"warmup_ns\":%llu,\"duration_ns\":%llu,\"elapsed_ns\":%llu",
		   storm_ticks_to_ns(window.begin - window.start),
		   storm_ticks_to_ns(window.end - window.begin),
		   storm_ticks_to_ns(gate.stopped - window.start));
	seq_printf(m, ",\"sent\":%llu,\"handled\":%llu", sent, handled);
	seq_printf(m, ",\"total_sent\":%llu,\"total_handled\":%llu", total_sent,
		   total_handled);
	storm_show_counts(m, "sent_cpu", offsetof(struct storm_cpu, sent));
	storm_show_counts(m, "handled_cpu",
			  offsetof(struct storm_cpu, handled));
	seq_puts(m, "}\n");
	return 0;
}

static int storm_run(void)
{
	unsigned long limit = msecs_to_jiffies(timeout) + 1;
	unsigned int cpu;
	int ret;

	ret = storm_create_threads();
	if (ret)
		goto stop;

	/* A woken thread spins: it must not take this CPU before all are woken. */
	preempt_disable();
	for_each_cpu(cpu, &storm_mask) {
		struct storm_cpu *sc = per_cpu_ptr(&storm_cpus, cpu);

		if (sc->task)
			wake_up_process(sc->task);
	}
	preempt_enable();

	if (!wait_for_completion_timeout(&gate.done, limit)) {
		WRITE_ONCE(window.stop, true);
		pr_err("threads did not finish within timeout=%u ms\n",
		       timeout);
		ret = -ETIMEDOUT;
		if (!wait_for_completion_timeout(&gate.done, limit)) {
			/* Threads still run our text: never unload. */
			__module_get(THIS_MODULE);
			storm_stuck = true;
			return 0;
		}
	}
stop:
	storm_stop_threads();
	if (ret)
		return ret;

	for_each_cpu(cpu, &storm_mask) {
		ret = per_cpu_ptr(&storm_cpus, cpu)->error;
		if (ret) {
			pr_err("call from CPU %u failed: error %d\n", cpu, ret);
			return ret;
		}
	}
	return 0;
}

static int __init storm_init(void)
{
	int ret;

	init_completion(&gate.done);

	/* No CPU of the list may go away meanwhile. */
	cpus_read_lock();
	ret = storm_check_parameters();
	if (!ret)
		ret = storm_run();
	cpus_read_unlock();
	if (ret)
		return ret;

	if (!proc_create_single(KBUILD_MODNAME, 0444, NULL, storm_show)) {
		pr_err("cannot create /proc/" KBUILD_MODNAME "\n");
		return -ENOMEM;
	}
	return 0;
}
module_init(storm_init);

static void __exit storm_exit(void)
{
	remove_proc_entry(KBUILD_MODNAME, NULL);
}
module_exit(storm_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Storm of inter-processor interrupts, measured over a fixed window");
