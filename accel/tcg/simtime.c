/*
 * Simulated time: the scheduler of vCPUs with clocks of their own
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See include/system/simtime.h for the idea. One thread runs all vCPUs, so
 * nothing here needs a lock but the BQL; other threads only raise flags
 * (kicked, attention, deadline_stale) which the loop looks at between
 * slices.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/guest-random.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/notify.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/cpu-common.h"
#include "hw/intc/contention/contention.h"
#include "hw/intc/contention/filter.h"
#include "system/accel-ops.h"
#include "system/cpus.h"
#include "system/cpu-timers.h"
#include "system/runstate.h"
#include "tcg/startup.h"
#include "tcg/tcg.h"
#include "internal-common.h"
#include "tcg-accel-ops.h"
#include "simtime-internal.h"

Simtime simtime;

bool simtime_enabled(void)
{
    return simtime_options.enabled;
}

void simtime_set_target(const SimtimeTargetOps *ops)
{
    simtime.target = ops;
}

bool simtime_in_region(void)
{
    return simtime.region;
}

static bool simtime_in_slice(void)
{
    return simtime.running && current_cpu;
}

int64_t simtime_now(void)
{
    if (simtime_in_slice()) {
        return simtime_local(simtime.running);
    }
    return qatomic_read_i64(&simtime.now);
}

int64_t simtime_floor(void)
{
    return simtime.now;
}

/*
 * A clock that a guest has read must not be seen to go back when the
 * instruction counter is set back because a block is left in the middle.
 */
static int64_t simtime_get_virtual_clock(void)
{
    SimVCPU *v = simtime.running;
    int64_t now = simtime_now();

    if (simtime_in_slice()) {
        v->last_read = MAX(v->last_read, now);
        now = v->last_read;
        /* It may wait for a time, which a long nap would miss. */
        v->naps = 0;
    }
    return now / SIMTIME_PS_PER_NS;
}

int64_t simtime_instruction_ps(void)
{
    return simtime_options.instruction_ps;
}

SimtimeCounts simtime_counts(void)
{
    SimtimeCounts counts = {
        .instructions = simtime.instructions,
        .slices = simtime.slices,
        .polls = simtime.polls,
        .poll_instructions = simtime.poll_instructions,
        .paused = simtime.paused,
    };

    if (simtime_in_slice()) {
        CPUState *cpu = simtime.running->cpu;

        counts.instructions += simtime.running->budget - cpu->icount_extra -
                               cpu->neg.icount_decr.u16.low;
    }
    return counts;
}

static bool simtime_runnable(const SimVCPU *v)
{
    CPUState *cpu = v->cpu;

    return !v->blocked && cpu_can_run(cpu) &&
           (!cpu->halted || cpu_has_work(cpu));
}

/* When the turn of @v comes: its clock, unless it is known to wait longer. */
static int64_t simtime_turn(const SimVCPU *v)
{
    return v->nap_end ? v->nap_end : simtime_poll_turn(v);
}

/* Queue a vCPU that may run, from @now on; take out one that may not. */
static void simtime_update(SimVCPU *v, int64_t now)
{
    uint32_t id = v - simtime.vcpus;
    bool runnable = simtime_runnable(v);

    if (runnable == sim_heap_queued(&simtime.queue, id)) {
        return;
    }
    if (runnable) {
        if (!v->poll.parked) {
            v->clock = MAX(v->clock, now);
        }
        sim_heap_insert(&simtime.queue, simtime_turn(v), id, id);
    } else {
        sim_heap_remove(&simtime.queue, id);
    }
}

void simtime_unblock(unsigned cpu_index, uint64_t line, int64_t when)
{
    SimVCPU *v = &simtime.vcpus[cpu_index];

    if (v->blocked) {
        v->blocked = false;
        v->granted = line;
        simtime_update(v, when);
    }
}

void simtime_unblock_all(void)
{
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        simtime_unblock(i, 0, simtime.now);
    }
}

void simtime_end_slice(void)
{
    if (simtime_in_slice()) {
        CPUState *cpu = simtime.running->cpu;

        simtime.running->leave = true;
        qatomic_set(&cpu->exit_request, true);
        qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
    }
}

void simtime_stall(int64_t ps)
{
    if (simtime_in_slice() && ps > 0) {
        simtime.running->stall += ps;
        simtime_end_slice();
    }
}

static int64_t simtime_ahead(void)
{
    return (simtime.region ? simtime_options.lookahead_ns
                           : simtime_options.quantum_ns) * SIMTIME_PS_PER_NS;
}

/* It may have come before others, or before the end of the slice. */
void simtime_reschedule(SimVCPU *v)
{
    uint32_t id = v - simtime.vcpus;

    if (!sim_heap_queued(&simtime.queue, id)) {
        return;
    }
    sim_heap_remove(&simtime.queue, id);
    sim_heap_insert(&simtime.queue, v->clock, id, id);
    if (simtime.running) {
        simtime.horizon = MIN(simtime.horizon, v->clock);
        if (v->clock + simtime_ahead() < simtime.slice_end) {
            simtime_end_slice();
        }
    }
}

/* It is @when, and @v need not nap any longer. */
static void simtime_end_nap(SimVCPU *v, int64_t when)
{
    v->clock = MAX(v->clock, MIN(when, v->nap_end));
    v->nap_end = 0;
}

/*
 * Kicks. From the vCPU thread they belong to the simulation (a timer was
 * armed, work was queued) and end the slice at the same place in every run.
 * From other threads they come at any moment: the execution is broken off,
 * but the same vCPU goes on to the end of the slice, so that scheduling
 * does not depend on them.
 */
static void simtime_kick(CPUState *cpu)
{
    SimVCPU *v = &simtime.vcpus[cpu->cpu_index];

    qatomic_set(&v->kicked, true);
    qatomic_set(&simtime.deadline_stale, true);
    qatomic_set_mb(&simtime.attention, true);

    if (simtime_in_slice()) {
        simtime_end_slice();
    } else if (!current_cpu) {
        SimVCPU *running = qatomic_read(&simtime.running);

        if (running) {
            cpu_exit(running->cpu);
        }
    }
}

static void simtime_handle_interrupt(CPUState *cpu, int mask)
{
    SimVCPU *v = &simtime.vcpus[cpu->cpu_index];

    g_assert(bql_locked());
    cpu->interrupt_request |= mask;

    if (!current_cpu) {
        qemu_cpu_kick(cpu);
    } else if (v == simtime.running) {
        qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
    } else if (v->poll.parked) {
        simtime_poll_wake(v, simtime_now(), true);
    } else if (v->nap_end) {
        simtime_end_nap(v, simtime_now());
        v->naps = 0;
        simtime_reschedule(v);
    } else if (!sim_heap_queued(&simtime.queue, v - simtime.vcpus)) {
        int64_t now = simtime_now();

        simtime_update(v, now);
        if (now < simtime.horizon) {
            simtime.horizon = now;
            simtime_end_slice();
        }
    }
}

/* Timers. */

static void simtime_get_deadline(void)
{
    int64_t ns;

    qatomic_set_mb(&simtime.deadline_stale, false);
    ns = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
    if (ns < 0) {
        simtime.deadline = SIMTIME_NEVER;
    } else {
        int64_t at = simtime.now / SIMTIME_PS_PER_NS + ns;

        simtime.deadline = at < SIMTIME_NEVER / SIMTIME_PS_PER_NS ?
                           at * SIMTIME_PS_PER_NS : SIMTIME_NEVER;
    }
}

static void simtime_set_now(int64_t now)
{
    if (now > simtime.now) {
        qatomic_set_i64(&simtime.now, now);
    }
}

/*
 * The timers run here, before the BQL is let go after the clock has reached
 * their time: the main loop never finds one that is due.
 */
static void simtime_run_timers(void)
{
    qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
    simtime_get_deadline();
    if (simtime.deadline <= simtime.now) {
        /* It is a timer of another AioContext, which must run it itself. */
        qemu_clock_notify(QEMU_CLOCK_VIRTUAL);
        qatomic_set(&simtime.deadline_stale, false);
        simtime.deadline = simtime.now + SCALE_MS * SIMTIME_PS_PER_NS;
    }
}

static void simtime_check_limit(void)
{
    uint64_t limit = simtime_options.limit_ms;

    if (limit && simtime.now / SIMTIME_PS_PER_NS / SCALE_MS >= limit) {
        error_report("simulated time has reached simtime-limit-ms=%" PRIu64
                     ": the guest hangs or needs a higher limit", limit);
        simtime_options.limit_ms = 0;
        qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_HOST_ERROR,
                                               EXIT_FAILURE);
    }
}

/* Time passes without anybody running only when nobody is held up. */
static bool simtime_may_warp(void)
{
    if (!runstate_is_running() || qatomic_read(&simtime.attention)) {
        return false;
    }
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        const CPUState *cpu = simtime.vcpus[i].cpu;

        if (cpu && (cpu->stop || cpu->stopped)) {
            return false;
        }
    }
    return true;
}

/*
 * Let the timers and events happen that come before the smallest clock.
 * Returns the vCPU to run, or NULL when there is none at present.
 */
static SimVCPU *simtime_pick(void)
{
    for (;;) {
        int64_t clock = SIMTIME_NEVER;
        int64_t event = SIMTIME_NEVER;

        if (qatomic_read(&simtime.deadline_stale)) {
            simtime_get_deadline();
        }
        if (simtime.queue.n) {
            clock = simtime.queue.e[0].key;
        }
        if (simtime.events.n) {
            event = simtime.events.e[0].key;
        }

        if (MIN(event, simtime.deadline) > clock) {
            simtime_set_now(clock);
            simtime_check_limit();
            return &simtime.vcpus[simtime.queue.e[0].id];
        }
        if (clock == SIMTIME_NEVER) {
            if (!simtime_may_warp()) {
                return NULL;
            }
            /* Let the monitor in: a guest may be idle for ever. */
            bql_unlock();
            bql_lock();
        }
        if (event <= simtime.deadline) {
            if (event == SIMTIME_NEVER) {
                return NULL;
            }
            simtime_set_now(event);
            simtime_run_events(event);
        } else {
            simtime_set_now(simtime.deadline);
            simtime_run_timers();
        }
        simtime_check_limit();
        if (qatomic_read(&simtime.attention)) {
            return NULL;
        }
    }
}

/* Look after the vCPUs that were kicked. */
static void simtime_attend(void)
{
    qatomic_set_mb(&simtime.attention, false);

    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        SimVCPU *v = &simtime.vcpus[i];

        if (qatomic_read(&v->kicked)) {
            qatomic_set_mb(&v->kicked, false);
            current_cpu = v->cpu;
            qemu_wait_io_event_common(v->cpu);
            simtime_update(v, simtime.now);
        }
    }
}

static void simtime_remove_unplugged(void)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (cpu->unplug && !cpu_can_run(cpu)) {
            tcg_cpu_destroy(cpu);
            break;
        }
    }
}

/* Where the slice of the first vCPU of the queue ends, and its horizon. */
static void simtime_begin_slice(SimVCPU *v)
{
    const SimHeapEntry *e = simtime.queue.e;
    int64_t next = SIMTIME_NEVER;
    int64_t ahead = simtime_ahead();

    if (simtime.queue.n > 1) {
        next = e[1].key;
        if (simtime.queue.n > 2) {
            next = MIN(next, e[2].key);
        }
    }

    simtime.horizon = MIN(next, simtime.deadline);
    if (simtime.events.n) {
        simtime.horizon = MIN(simtime.horizon, simtime.events.e[0].key);
    }

    /* Even a vCPU that runs alone comes back for the sake of the monitor. */
    next = MIN(next, v->clock + SCALE_MS * SIMTIME_PS_PER_NS);
    next = MIN(next + ahead, simtime.deadline);
    simtime.slice_end = MIN(next, v->next_event);
}

static bool simtime_stepping;

static void simtime_step_timers(CPUState *cpu)
{
    bool stepping = cpu->singlestep_enabled & SSTEP_NOTIMER;

    if (unlikely(stepping != simtime_stepping)) {
        simtime_stepping = stepping;
        qemu_clock_enable(QEMU_CLOCK_VIRTUAL, !stepping);
    }
}

/*
 * Run @v to the end of the slice, or until something breaks it off.
 * Returns what tcg_cpu_exec() did.
 */
static int simtime_exec(SimVCPU *v)
{
    CPUState *cpu = v->cpu;
    int64_t n, executed;
    int ret;

    n = (simtime.slice_end - v->clock) / simtime.instruction_ps;
    n = MIN(MAX(n, 1), INT32_MAX);
    if (!simtime.region && simtime_low_priority(cpu)) {
        n = MIN(n, simtime_options.pause_instructions);
    }

    current_cpu = cpu;
    simtime_step_timers(cpu);

    v->leave = false;
    v->stall = 0;
    v->budget = n;
    cpu->icount_budget = n;
    cpu->neg.icount_decr.u16.low = MIN(n, 0xffff);
    cpu->icount_extra = n - MIN(n, 0xffff);
    qatomic_set(&cpu->exit_request, false);
    qatomic_set_mb(&simtime.running, v);
    if (qatomic_read(&simtime.attention)) {
        cpu_exit(cpu);
    }

    bql_unlock();
    ret = tcg_cpu_exec(cpu);
    bql_lock();

    qatomic_set(&simtime.running, NULL);
    executed = v->budget - cpu->icount_extra - cpu->neg.icount_decr.u16.low;
    cpu->icount_budget = 0;
    cpu->icount_extra = 0;
    cpu->neg.icount_decr.u16.low = 0;
    v->clock += executed * simtime.instruction_ps + v->stall;
    v->poll.instructions += executed;
    v->executed += executed;
    simtime.instructions += executed;
    simtime.slices++;

    return ret;
}

/*
 * A thread that waits at low priority gives its time away: in the region the
 * time of one pause; outside it naps, the longer the longer it has waited, so
 * that it is late by no more than about that time.
 */
static void simtime_pause(SimVCPU *v)
{
    int64_t end;

    if (!simtime.region) {
        int64_t quantum = simtime_options.quantum_ns * SIMTIME_PS_PER_NS;

        v->nap_end = v->clock + (quantum << v->naps);
        v->naps = MIN(v->naps + 1, SIMTIME_NAP_DOUBLINGS);
        return;
    }

    end = v->clock + simtime_options.pause_ns * SIMTIME_PS_PER_NS;
    end = MIN(end, MIN(v->next_event, simtime.deadline));
    simtime.paused += MAX(end - v->clock, 0);
    v->clock = MAX(v->clock, end);
    if (simtime.recorder) {
        simtime_record(v, SIMTIME_PAUSE, 0, 0, v->clock, 0);
    }
}

void simtime_wake_all(void)
{
    int64_t now = simtime_now();

    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        SimVCPU *v = &simtime.vcpus[i];

        if (v->nap_end) {
            simtime_end_nap(v, now);
            simtime_reschedule(v);
        }
        v->naps = 0;
    }
}

bool simtime_make_access(SimVCPU *v, const SimtimeRequest *request,
                         int64_t now)
{
    int64_t stall = simtime.ops->access(v - simtime.vcpus, request, now);

    v->granted_store = request->kind != SIMTIME_LOAD;
    if (!stall) {
        return true;
    }
    if (stall == SIMTIME_BLOCKED) {
        v->blocked = true;
    } else {
        v->stall += stall;
        v->granted = request->line;
    }
    return false;
}

/* Put @v, which is queued, where its turn is, or take it out. */
static void simtime_requeue(SimVCPU *v)
{
    uint32_t id = v - simtime.vcpus;

    if (!simtime_runnable(v)) {
        sim_heap_remove(&simtime.queue, id);
    } else if (simtime.queue.e[0].id == id) {
        sim_heap_first_grew(&simtime.queue, simtime_turn(v));
    } else {
        /* Somebody it woke has come before it. */
        sim_heap_remove(&simtime.queue, id);
        sim_heap_insert(&simtime.queue, simtime_turn(v), id, id);
    }
}

/*
 * It is the turn of @v, which has left before an access: make it. True when
 * the vCPU can go on now.
 */
static bool simtime_make_pending(SimVCPU *v)
{
    SimtimeRequest request = v->pending;

    v->pending.line = 0;
    v->stall = 0;
    if (!simtime.region) {
        return true;
    }
    if (simtime.ops->probe(v - simtime.vcpus, request.line,
                           request.kind != SIMTIME_LOAD, v->clock) ||
        simtime_make_access(v, &request, v->clock)) {
        v->granted = request.line;
        v->granted_store = request.kind != SIMTIME_LOAD;
        return true;
    }
    v->clock += v->stall;
    v->stall = 0;
    simtime_requeue(v);
    return false;
}

static void simtime_slice(SimVCPU *v)
{
    CPUState *cpu = v->cpu;
    bool paused = false;
    int ret;

    if (v->nap_end) {
        simtime_end_nap(v, v->nap_end);
    }
    if (v->pending.line && !simtime_make_pending(v)) {
        return;
    }
    if (v->poll.parked && simtime_poll_continue(v)) {
        simtime_requeue(v);
        return;
    }
    if (v != simtime.resume) {
        simtime_begin_slice(v);
    }
    simtime.resume = NULL;
    if (v->granted &&
        contention_filter_hit(v->filter, v->granted, v->granted_store)) {
        /* The access will not ask; a later one of the line must not get it. */
        v->granted = 0;
    }

    ret = simtime_exec(v);
    switch (ret) {
    case EXCP_DEBUG:
        cpu_handle_guest_debug(cpu);
        break;
    case EXCP_ATOMIC:
        bql_unlock();
        cpu_exec_step_atomic(cpu);
        bql_lock();
        break;
    case EXCP_HLT:
        /* A hint leaves the block without halting the vCPU. */
        paused = !cpu->halted;
        break;
    default:
        break;
    }

    if (!simtime.region) {
        /* Firmware sleeps again and again on an interrupt that it ignores. */
        paused |= cpu->halted ? cpu_has_work(cpu) : simtime_low_priority(cpu);
    }
    if (paused) {
        simtime_pause(v);
        if (simtime.region) {
            simtime_poll_end(v);
        }
    } else {
        v->naps = 0;
        if (ret == EXCP_INTERRUPT && !v->leave &&
            v->clock < simtime.slice_end) {
            simtime.resume = v;
        }
    }

    simtime_requeue(v);
}

static void simtime_force_rcu(Notifier *notify, void *data)
{
    SimVCPU *running = qatomic_read(&simtime.running);

    if (running) {
        cpu_exit(running->cpu);
    }
}

static void simtime_wait(void)
{
    while (!qatomic_read(&simtime.attention)) {
        qemu_cond_wait_bql(first_cpu->halt_cond);
    }
}

static void *simtime_thread_fn(void *arg)
{
    Notifier force_rcu = { .notify = simtime_force_rcu };
    CPUState *cpu = arg;

    rcu_register_thread();
    rcu_add_force_rcu_notifier(&force_rcu);
    tcg_register_thread();

    bql_lock();
    qemu_thread_get_self(cpu->thread);
    cpu->thread_id = qemu_get_thread_id();
    cpu->neg.can_do_io = true;
    current_cpu = cpu;
    cpu_thread_signal_created(cpu);
    qemu_guest_random_seed_thread_part2(cpu->random_seed);

    for (;;) {
        SimVCPU *v = NULL;

        if (qatomic_read(&simtime.attention)) {
            simtime_attend();
            simtime_remove_unplugged();
        }
        if (simtime.resume &&
            sim_heap_queued(&simtime.queue,
                            simtime.resume - simtime.vcpus)) {
            v = simtime.resume;
        } else {
            simtime.resume = NULL;
            v = simtime_pick();
        }
        if (v) {
            simtime_slice(v);
        } else {
            simtime_wait();
        }
    }
    g_assert_not_reached();
}

static void simtime_start_vcpu_thread(CPUState *cpu)
{
    static QemuCond *halt_cond;
    static QemuThread *thread;
    SimVCPU *v;

    g_assert(cpu->cpu_index < simtime.nr_vcpus);
    v = &simtime.vcpus[cpu->cpu_index];
    v->cpu = cpu;
    v->next_event = SIMTIME_NEVER;
    tcg_cpu_init_cflags(cpu, false);

    if (!thread) {
        halt_cond = cpu->halt_cond;
        thread = cpu->thread;
        qemu_thread_create(cpu->thread, "ALL CPUs/TCG", simtime_thread_fn,
                           cpu, QEMU_THREAD_JOINABLE);
    } else {
        g_free(cpu->thread);
        qemu_cond_destroy(cpu->halt_cond);
        g_free(cpu->halt_cond);
        cpu->thread = thread;
        cpu->halt_cond = halt_cond;
        cpu->thread_id = first_cpu->thread_id;
        cpu->neg.can_do_io = true;
        cpu->created = true;
    }
}

bool simtime_refill(CPUState *cpu, uint32_t tb_insns)
{
    SimVCPU *v = simtime.running;
    int64_t left;

    if (!simtime_enabled()) {
        return false;
    }

    left = cpu->neg.icount_decr.u16.low + cpu->icount_extra;
    if (left > 0 && left < tb_insns) {
        /* Overrun by a part of a block rather than translate it again. */
        v->budget += tb_insns - left;
        left = tb_insns;
    }
    cpu->neg.icount_decr.u16.low = MIN(left, 0xffff);
    cpu->icount_extra = left - MIN(left, 0xffff);
    return true;
}

void simtime_accel_ops_init(AccelOpsClass *ops)
{
    if (simtime_enabled()) {
        ops->create_vcpu_thread = simtime_start_vcpu_thread;
        ops->kick_vcpu_thread = simtime_kick;
        ops->handle_interrupt = simtime_handle_interrupt;
        ops->get_virtual_clock = simtime_get_virtual_clock;
        ops->get_elapsed_ticks = simtime_get_virtual_clock;
    }
}
