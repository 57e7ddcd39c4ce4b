// SPDX-License-Identifier: GPL-2.0
/*
 * xs_lines: accesses to shared lines whose transfers can be counted by hand.
 *
 * One kernel thread is bound to each CPU of a list. Time is cut into slots;
 * in each slot one thread, whose turn it is by the time base, makes one step:
 * an access or two. All others wait without touching memory that anybody
 * writes. A slot is longer than any transfer, so a step finds the lines at rest
 * as the steps before have left them, and what it costs follows from the order
 * of the steps alone.
 *
 * With K threads, a round of each pattern is
 *
 *   counter  each thread in turn increments one counter, atomically
 *   padded   the same, but each has a counter on a line of its own
 *   fields   threads 0, 2, ... store to one field, 1, 3, ... to another of the
 *            same line
 *   mostly   thread 0 stores, threads 1 to K - 1 load
 *   ticket   a ticket lock: each thread in turn takes a ticket; then, for h
 *            from 0 to K - 1, thread h has its turn and releases the lock, and
 *            each of h + 1 to K - 1 looks once whether it is served
 *
 * The patterns follow each other, each with the number of rounds asked for.
 * Loading the module runs them once; /proc/xs_lines then holds the result as one
 * line of JSON. A thread that comes too late for a step would make the counts
 * inexact: such steps are counted, and must be none.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/proc_fs.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <asm/time.h>

#include "xs-roi.h"

#define LINES_MAX_CPUS	16
#define LINES_MAX_ROUNDS	10000

/*
 * From the last thread's arrival to the first slot, in us; the region begins
 * half-way. Outside it the clocks of simulated CPUs differ by up to 100 us.
 */
#define LINES_LEAD_US	400

static char *cpulist;
module_param(cpulist, charp, 0444);
MODULE_PARM_DESC(cpulist, "2 to 16 CPUs that take turns, e.g. 0,4,64,68");

static uint rounds = 25;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "rounds of each pattern (default 25)");

static uint slot_us = 2;
module_param(slot_us, uint, 0444);
MODULE_PARM_DESC(slot_us, "length of a slot in us, well above a transfer (default 2)");

struct lines_counter {
	atomic_t value;
} ____cacheline_aligned_in_smp;

struct lines_fields {
	u32 even;
	u32 odd;
} ____cacheline_aligned_in_smp;

struct lines_mostly {
	u32 value;
} ____cacheline_aligned_in_smp;

struct lines_ticket {
	atomic_t next;
	u32 served;
} ____cacheline_aligned_in_smp;

static struct lines_counter lines_counter;
static struct lines_counter lines_padded[LINES_MAX_CPUS];
static struct lines_fields lines_fields;
static struct lines_mostly lines_mostly;
static struct lines_ticket lines_ticket;

/**
 * struct lines_plan - written before the start only
 * @start:   time base at the first slot; 0 until all threads are there
 * @slot:    ticks of a slot
 * @threads: how many
 * @rounds:  of each pattern
 */
struct lines_plan {
	u64 start;
	u64 slot;
	unsigned int threads;
	unsigned int rounds;
} ____cacheline_aligned_in_smp;

static struct lines_plan plan;

/**
 * struct lines_thread - a thread, on a line of its own
 * @task:   the thread
 * @index:  its place in the list
 * @ticket: the one it has drawn
 * @late:   steps that began after the first half of their slots
 * @seen:   sum of what it loaded, so that the loads are made
 */
struct lines_thread {
	struct task_struct *task;
	unsigned int index;
	unsigned int ticket;
	unsigned int late;
	unsigned int seen;
} ____cacheline_aligned_in_smp;

static struct lines_thread lines_threads[LINES_MAX_CPUS];

static struct cpumask lines_mask;
static atomic_t lines_missing, lines_running;
static DECLARE_COMPLETION(lines_done);

/* Steps of a pattern; each is a function so that a report tells them apart. */

static noinline void lines_step_counter(struct lines_thread *t)
{
	atomic_inc(&lines_counter.value);
}

static noinline void lines_step_padded(struct lines_thread *t)
{
	atomic_inc(&lines_padded[t->index].value);
}

static noinline void lines_step_even(struct lines_thread *t)
{
	WRITE_ONCE(lines_fields.even, t->index);
}

static noinline void lines_step_odd(struct lines_thread *t)
{
	WRITE_ONCE(lines_fields.odd, t->index);
}

static noinline void lines_step_write(struct lines_thread *t)
{
	WRITE_ONCE(lines_mostly.value, t->index + 1);
}

static noinline void lines_step_read(struct lines_thread *t)
{
	t->seen += READ_ONCE(lines_mostly.value);
}

static noinline void lines_step_take(struct lines_thread *t)
{
	t->ticket = atomic_fetch_inc_relaxed(&lines_ticket.next);
}

static noinline void lines_step_release(struct lines_thread *t)
{
	WRITE_ONCE(lines_ticket.served, t->ticket + 1);
}

static noinline void lines_step_look(struct lines_thread *t)
{
	t->seen += READ_ONCE(lines_ticket.served) == t->ticket;
}

/*
 * Make a step in slot @slot of the whole run. The code and the line of the
 * thread have been fetched once before, and are its own from then on.
 */
static __always_inline void lines_at(struct lines_thread *t, u64 slot,
				     void (*step)(struct lines_thread *))
{
	u64 when = plan.start + slot * plan.slot;

	spin_until_cond(get_tb() >= when);
	if (get_tb() - when > plan.slot / 2)
		t->late++;
	step(t);
}

static void lines_run(struct lines_thread *t)
{
	const unsigned int k = plan.threads, n = plan.rounds, i = t->index;
	unsigned int round, h, j;
	u64 slot = 0;

	for (round = 0; round < n; round++, slot += k)
		lines_at(t, slot + i, lines_step_counter);
	for (round = 0; round < n; round++, slot += k)
		lines_at(t, slot + i, lines_step_padded);
	for (round = 0; round < n; round++, slot += k)
		lines_at(t, slot + i, i % 2 ? lines_step_odd : lines_step_even);
	for (round = 0; round < n; round++, slot += k)
		lines_at(t, slot + i, i ? lines_step_read : lines_step_write);
	for (round = 0; round < n; round++) {
		lines_at(t, slot + i, lines_step_take);
		slot += k;
		for (h = 0; h < k; h++) {
			for (j = h; j < k; j++, slot++) {
				if (j == i)
					lines_at(t, slot, i == h ?
						 lines_step_release :
						 lines_step_look);
			}
		}
	}
}

static int lines_thread(void *data)
{
	struct lines_thread *t = data;
	unsigned long flags;
	u64 start;

	local_irq_save(flags);
	if (atomic_dec_and_test(&lines_missing)) {
		start = get_tb() + LINES_LEAD_US * tb_ticks_per_usec;
		/* Pairs with the acquire below: the plan comes with its start. */
		smp_store_release(&plan.start, start);
		spin_until_cond(get_tb() >= start - LINES_LEAD_US / 2 *
				tb_ticks_per_usec);
		xs_roi_enter();
	}
	/* A thread still to come may need this CPU's answer to an interrupt. */
	while (!smp_load_acquire(&plan.start)) {
		local_irq_restore(flags);
		cond_resched();
		cpu_relax();
		local_irq_save(flags);
	}
	lines_run(t);
	if (atomic_dec_and_test(&lines_running)) {
		xs_roi_leave();
		local_irq_restore(flags);
		complete(&lines_done);
	} else {
		local_irq_restore(flags);
	}

	set_current_state(TASK_IDLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_IDLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int lines_show(struct seq_file *m, void *unused)
{
	unsigned int i, late = 0, served = 0, padded = 0;

	for (i = 0; i < plan.threads; i++) {
		late += lines_threads[i].late;
		padded += atomic_read(&lines_padded[i].value);
		served += lines_threads[i].seen;
	}
	seq_printf(m, "{\"cpulist\":\"%*pbl\",\"threads\":%u,\"rounds\":%u",
		   cpumask_pr_args(&lines_mask), plan.threads, plan.rounds);
	seq_printf(m, ",\"late\":%u,\"counter\":%d,\"padded\":%u,\"tickets\":%d,\"served\":%u,\"seen\":%u}\n",
		   late, atomic_read(&lines_counter.value), padded,
		   atomic_read(&lines_ticket.next), lines_ticket.served,
		   served);
	return 0;
}

static int lines_check(void)
{
	if (!cpulist || cpulist_parse(cpulist, &lines_mask) ||
	    cpumask_weight(&lines_mask) < 2 ||
	    cpumask_weight(&lines_mask) > LINES_MAX_CPUS ||
	    !cpumask_subset(&lines_mask, cpu_online_mask)) {
		pr_err("cpulist=%s: give 2 to %u online CPUs\n",
		       cpulist ?: "", LINES_MAX_CPUS);
		return -EINVAL;
	}
	if (!rounds || rounds > LINES_MAX_ROUNDS) {
		pr_err("rounds=%u is outside 1..%u\n", rounds,
		       LINES_MAX_ROUNDS);
		return -EINVAL;
	}
	if (!slot_us || slot_us > 1000) {
		pr_err("slot_us=%u is outside 1..1000\n", slot_us);
		return -EINVAL;
	}
	return 0;
}

static int lines_go(void)
{
	unsigned int cpu, n = 0, i;
	int ret = 0;

	plan.slot = (u64)slot_us * tb_ticks_per_usec;
	plan.threads = cpumask_weight(&lines_mask);
	plan.rounds = rounds;
	atomic_set(&lines_missing, plan.threads);
	atomic_set(&lines_running, plan.threads);
	for_each_cpu(cpu, &lines_mask) {
		struct lines_thread *t = &lines_threads[n];

		t->index = n;
		t->task = kthread_create_on_node(lines_thread, t,
						 cpu_to_node(cpu),
						 "xs_lines/%u", cpu);
		if (IS_ERR(t->task)) {
			ret = PTR_ERR(t->task);
			pr_err("no thread for CPU %u: error %d\n", cpu, ret);
			break;
		}
		kthread_bind(t->task, cpu);
		n++;
	}
	if (!ret) {
		/* A woken thread spins: wake all before any takes this CPU. */
		preempt_disable();
		for (i = 0; i < n; i++)
			wake_up_process(lines_threads[i].task);
		preempt_enable();
		wait_for_completion(&lines_done);
	}
	for (i = 0; i < n; i++)
		kthread_stop(lines_threads[i].task);
	return ret;
}

static int __init lines_init(void)
{
	int ret;

	cpus_read_lock();
	ret = lines_check();
	if (!ret)
		ret = lines_go();
	cpus_read_unlock();
	if (ret)
		return ret;

	if (!proc_create_single(KBUILD_MODNAME, 0444, NULL, lines_show)) {
		pr_err("cannot create /proc/" KBUILD_MODNAME "\n");
		return -ENOMEM;
	}
	return 0;
}
module_init(lines_init);

static void __exit lines_exit(void)
{
	remove_proc_entry(KBUILD_MODNAME, NULL);
}
module_exit(lines_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Shared lines whose transfers are known beforehand");
