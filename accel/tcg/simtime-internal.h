/*
 * Simulated time: what its parts share
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_TCG_SIMTIME_INTERNAL_H
#define ACCEL_TCG_SIMTIME_INTERNAL_H

#include "system/simtime.h"
#include "simtime-heap.h"

/**
 * struct SimtimeOptions - properties of "-accel tcg"
 * @enabled: simtime=on
 * @instruction_ps: time of one instruction
 * @lookahead_ns: how far a vCPU may run past the next clock in the region
 * @quantum_ns: the same outside the region, and the first nap of a thread
 *              that waits at low priority there
 * @pause_ns: time for which a thread stops fetching at a priority-lowering
 *            or wait hint in the region
 * @pause_instructions: how many instructions a thread at low priority
 *                      executes between two naps outside the region
 * @limit_ms: simulated time at which the run is given up; 0: never
 */
typedef struct SimtimeOptions {
    bool enabled;
    uint64_t instruction_ps;
    uint64_t lookahead_ns;
    uint64_t quantum_ns;
    uint64_t pause_ns;
    uint64_t pause_instructions;
    uint64_t limit_ms;
} SimtimeOptions;

/* Loads of a polling loop that are looked at; a longer loop is executed. */
#define SIMTIME_POLL_LOADS 4

/**
 * struct SimPoll - a vCPU that executes one loop over and over
 * @recording: so far this iteration may be one of a polling loop
 * @parked: iterations are accounted for without executing them
 * @load_at: links to those that poll the same lines, when parked
 * @nr_loads: loads of the iteration
 * @load: host address of each
 * @size: bytes of each
 * @value: what each found
 * @instructions: executed in the iteration
 * @state: registers at the end of an iteration
 *
 * A thread that waits for a flag in memory loads it, gives way and finds
 * itself with the same registers again. As long as memory does not change,
 * the line is not taken away and no interrupt comes, the next iteration will
 * be as the last one, and only its time must be accounted for. The vCPU is
 * woken when one of these changes, and its clock is set to the end of the
 * last iteration that cannot have seen the change.
 */
typedef struct SimPoll {
    bool recording;
    bool parked;
    struct SimPollLoad {
        QLIST_ENTRY(SimPollLoad) link;
        uint64_t line;
        struct SimVCPU *vcpu;
    } load_at[SIMTIME_POLL_LOADS];
    unsigned nr_loads;
    uintptr_t load[SIMTIME_POLL_LOADS];
    uint8_t size[SIMTIME_POLL_LOADS];
    uint64_t value[SIMTIME_POLL_LOADS];
    int64_t instructions;
    uint64_t state[SIMTIME_STATE_WORDS];
} SimPoll;

/* The longest nap is 16 quanta: 1.6 ms by default. */
#define SIMTIME_NAP_DOUBLINGS 4u

/**
 * struct SimVCPU - clock and scheduling state of a vCPU
 * @clock: local time when it last ran or was woken
 * @stall: time lost in the execution under way, not yet in @clock
 * @budget: instructions granted to the execution under way
 * @filter: presence filter of its cache
 * @cpu: the vCPU
 * @last_read: latest time ever returned to it, a clock must not go back
 * @events: ids of the queued events that concern it, by time
 * @next_event: time of the first of them
 * @executed: instructions executed before the execution under way
 * @leave: the slice is over for a reason of the simulation
 * @retry: it left before an MMIO access; the next one is let through
 * @pending: the access that it came to too early; its line is 0 for none
 * @granted: line of an access that has been made: the instruction may
 *           complete, or 0
 * @granted_store: ... by a store
 * @blocked: waits for simtime_unblock()
 * @poll: the loop in which it waits
 * @nap_end: end of the nap of a thread that waits at low priority outside the
 *           region, unless an interrupt ends it; 0: it does not nap
 * @naps: doublings of the next nap
 * @kicked: looked at by the scheduler before it runs again (atomic)
 */
typedef struct SimVCPU {
    int64_t clock;
    int64_t stall;
    int64_t budget;
    void *filter;
    CPUState *cpu;
    int64_t last_read;
    int64_t next_event;
    uint64_t granted;
    SimtimeRequest pending;
    int64_t executed;
    int64_t nap_end;
    unsigned naps;
    bool leave;
    bool retry;
    bool granted_store;
    bool blocked;
    bool kicked;
    GQueue events;
    SimPoll poll;
} QEMU_ALIGNED(64) SimVCPU;

/**
 * struct Simtime - the scheduler
 * @running: the vCPU that is executing, NULL between slices
 * @horizon: earliest time at which anybody but @running may act
 * @instruction_ps: copy of the option, used at every access
 * @region: the region of interest is open
 * @now: global time
 * @slice_end: where the slice under way ends
 * @resume: vCPU whose slice was interrupted from outside and goes on
 * @vcpus: by cpu_index
 * @nr_vcpus: number of vCPUs
 * @attention: some vCPU is kicked (atomic)
 * @queue: runnable vCPUs by clock
 * @events: queued events by time
 * @deadline: time of the next QEMU_CLOCK_VIRTUAL timer
 * @deadline_stale: @deadline must be asked for again (atomic)
 * @instructions: executed by all vCPUs
 * @slices: executions of vCPUs
 * @polls: iterations of polling loops that were not executed
 * @poll_instructions: their instructions
 * @paused: what vCPUs gave away at hints in the region
 * @ops: the timing model, NULL for none
 * @recorder: is told every access in the region, or NULL
 * @target: what the target knows, NULL when it does not say
 */
typedef struct Simtime {
    SimVCPU *running;
    int64_t horizon;
    int64_t instruction_ps;
    bool region;
    int64_t now;
    int64_t slice_end;
    SimVCPU *resume;
    SimVCPU *vcpus;
    unsigned nr_vcpus;
    bool attention;
    SimHeap queue;
    SimHeap events;
    int64_t deadline;
    bool deadline_stale;
    int64_t instructions;
    int64_t slices;
    int64_t polls;
    int64_t poll_instructions;
    int64_t paused;
    const SimtimeModelOps *ops;
    SimtimeRecorderFn *recorder;
    const SimtimeTargetOps *target;
} Simtime;

extern SimtimeOptions simtime_options;
extern Simtime simtime;

/* Time of the instruction after those that @v has been charged for. */
static inline int64_t simtime_local(const SimVCPU *v)
{
    const CPUState *cpu = v->cpu;
    int64_t executed = v->budget - cpu->icount_extra -
                       cpu->neg.icount_decr.u16.low;

    return v->clock + v->stall + executed * simtime.instruction_ps;
}

/*
 * An access of what may be a polling loop; a store, or more loads than fit,
 * make it something else.
 */
void simtime_poll_access(SimVCPU *v, uintptr_t host, unsigned size,
                         bool store);

/* The next iteration of what may be a polling loop begins. */
void simtime_poll_begin(SimVCPU *v);

/* @v gives way at a hint: true when it is in a loop that only polls memory. */
bool simtime_poll_end(SimVCPU *v);

/* When the turn of @v comes: its clock, unless it is parked. */
int64_t simtime_poll_turn(const SimVCPU *v);

/* The turn of the parked @v has come: true when it goes on polling. */
bool simtime_poll_continue(SimVCPU *v);

/*
 * Something happened at @when that the parked @v may see; an interrupt also
 * ends a pause. The caller puts it where its clock says.
 */
void simtime_poll_wake(SimVCPU *v, int64_t when, bool interrupt);

/* The region ends: all go on as they would. */
void simtime_poll_wake_all(void);

/* The region begins or ends: nobody naps, and the first nap is short. */
void simtime_wake_all(void);

/* Put @v, which is queued, where its clock says. */
void simtime_reschedule(SimVCPU *v);

/* End the slice of the running vCPU at the next block boundary. */
void simtime_end_slice(void);

/* The time of the first event for @v after some were added or taken. */
void simtime_run_events(int64_t until);

/*
 * Tell the recorder what @v does before instruction number @insn, counted
 * from the start of its execution under way.
 */
void simtime_record(SimVCPU *v, SimtimeAccess kind, uint64_t line,
                    uint64_t pc, int64_t time, int64_t insn);

static inline bool simtime_low_priority(CPUState *cpu)
{
    return simtime.target && simtime.target->low_priority(cpu);
}

/* Hooks of the generic code, in the order of the files that call them. */

/* tcg-all.c: options, and what they imply for the kind of threads */
#ifdef CONFIG_USER_ONLY
static inline void simtime_class_init(ObjectClass *oc) { }
static inline bool simtime_allow_mttcg(Error **errp)
{
    return true;
}
static inline bool simtime_init_machine(bool mttcg, unsigned max_cpus)
{
    return mttcg;
}
#else
void simtime_class_init(ObjectClass *oc);
bool simtime_allow_mttcg(Error **errp);
bool simtime_init_machine(bool mttcg, unsigned max_cpus);
#endif

/* tcg-accel-ops.c */
void simtime_accel_ops_init(AccelOpsClass *ops);

/* cpu-exec.c: true when the instruction counter of @cpu was seen to */
bool simtime_refill(CPUState *cpu, uint32_t tb_insns);

/*
 * cputlb.c: entries to look at in a TLB. Most of the 16 MMU modes of a vCPU
 * are never used; with hundreds of vCPUs it shows at each new page of code.
 */
static inline size_t simtime_tlb_used(CPUState *cpu, int mmu_idx)
{
    return cpu->neg.tlb.d[mmu_idx].n_used_entries ?
           (cpu->neg.tlb.f[mmu_idx].mask >> CPU_TLB_ENTRY_BITS) + 1 : 0;
}

/* cputlb.c: before an MMIO access; may leave to the scheduler */
void simtime_io_prepare(CPUState *cpu, uintptr_t retaddr);

/*
 * Make the access @request of @v, which a probe has found not to be free, at
 * @now. True when it may complete at once; else @v is charged for it, or
 * blocked, and granted the line.
 */
bool simtime_make_access(SimVCPU *v, const SimtimeRequest *request,
                         int64_t now);

#endif /* ACCEL_TCG_SIMTIME_INTERNAL_H */
