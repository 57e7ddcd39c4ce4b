/*
 * Simulated time: one local clock per vCPU
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Stock -icount has one clock which all vCPUs push forward in turn, so
 * that N busy vCPUs take N times as long in virtual time as one: no
 * parallel speed-up can be seen in it. With "-accel tcg,simtime=on" each
 * vCPU owns a clock,
 *
 *     local += instructions * time-per-instruction + stalls
 *
 * and one thread always runs the vCPU whose clock is the smallest, up to
 * the clock of the next one plus a lookahead:
 *
 *     cpu 0  |=========>            runs next: smallest clock
 *     cpu 1  |==============>       <- horizon of cpu 0
 *     cpu 2  |==================>
 *     cpu 3  (idle)                 its clock jumps when it is woken
 *
 * The horizon of the running vCPU is the earliest moment at which anybody
 * else may still act: the next clock, the next queued event or the next
 * QEMU_CLOCK_VIRTUAL timer. What matters to others (a line transfer, an
 * MMIO access) is done only when the local clock has not passed the
 * horizon; otherwise the vCPU leaves to the scheduler and executes the
 * instruction again when its turn has come. Such accesses therefore happen
 * in the order of simulated time, whatever the lookahead is.
 *
 * QEMU_CLOCK_VIRTUAL is the local clock when the running vCPU (or a device
 * model it calls) reads it and the smallest clock of all runnable vCPUs
 * elsewhere. When all are idle it jumps to the next timer or event.
 *
 * The region of interest is the part of the run which is measured. Guest
 * instructions (or QMP) enter and leave it; only inside is generated code
 * instrumented and is the contention model asked.
 *
 * All times are in picoseconds (ps) unless a name says otherwise.
 */

#ifndef SYSTEM_SIMTIME_H
#define SYSTEM_SIMTIME_H

#include "hw/core/cpu.h"

#define SIMTIME_PS_PER_NS 1000
#define SIMTIME_NEVER     INT64_MAX
#define SIMTIME_BLOCKED   (-1)

/*
 * Numbers of the region markers: "xoris rN,rN,0", a no-op of real POWER
 * processors which no compiler emits.
 */
#define SIMTIME_MARK_ENTER 11
#define SIMTIME_MARK_LEAVE 12

typedef enum SimtimeAccess {
    SIMTIME_LOAD,
    SIMTIME_STORE,
    SIMTIME_STORE_CONDITIONAL,
    SIMTIME_PAUSE,      /* only in a SimtimeRecord */
} SimtimeAccess;

/**
 * struct SimtimeRequest - an access to one line
 * @line: host address / 128
 * @kind: what is done
 * @pc: guest address of the instruction
 * @ea: guest address of the first byte
 * @size: bytes, all of that line
 * @user: the guest is in user space
 */
typedef struct SimtimeRequest {
    uint64_t line;
    SimtimeAccess kind;
    uint64_t pc;
    uint64_t ea;
    uint16_t size;
    bool user;
} SimtimeRequest;

/**
 * struct SimtimeModelOps - what a memory timing model provides
 *
 * All functions run in the vCPU thread.
 */
typedef struct SimtimeModelOps {
    /**
     * @filter: the presence filter that generated code of vCPU
     * @cpu_index looks up; the same pointer for all threads that share a
     * cache. Asked once, when the model is set.
     */
    void *(*filter)(unsigned cpu_index);
    /**
     * @probe: true when the access to @line (host address / 128) at @now
     * costs nothing and changes nothing; may enter the line in the filter.
     */
    bool (*probe)(unsigned cpu_index, uint64_t line, bool store, int64_t now);
    /**
     * @access: perform the access; returns the stall in ps, >= 0, or
     * SIMTIME_BLOCKED when it completes at a time to be told later by
     * simtime_unblock().
     */
    int64_t (*access)(unsigned cpu_index, const SimtimeRequest *request,
                      int64_t now);
    /**
     * @watch: stores to @line by threads that share a cache with vCPU
     * @cpu_index pass the filter no more; simtime_line_changed() tells of
     * them, as of everything that takes the line away.
     */
    void (*watch)(unsigned cpu_index, uint64_t line);
    /** @region: the region of interest was entered or left at @now. */
    void (*region)(bool enter, int64_t now);
} SimtimeModelOps;

typedef void SimtimeEventFn(int64_t when, void *opaque);

/**
 * struct SimtimeRecord - what a vCPU has just done in the region
 * @cpu_index: the vCPU
 * @kind: the access; SIMTIME_PAUSE when it gave way at a hint
 * @masked: it takes no external interrupts
 * @line: host address / 128, 0 when there is none
 * @pc: guest address of the instruction, 0 when unknown
 * @time: when that completes, ps
 * @instructions: executed by the vCPU before it, in the region
 */
typedef struct SimtimeRecord {
    unsigned cpu_index;
    SimtimeAccess kind;
    bool masked;
    uint64_t line;
    uint64_t pc;
    int64_t time;
    int64_t instructions;
} SimtimeRecord;

typedef void SimtimeRecorderFn(const SimtimeRecord *r);

/** simtime_enabled: whether vCPUs have clocks of their own. */
bool simtime_enabled(void);

/** simtime_in_region: whether the region of interest is open. */
bool simtime_in_region(void);

/** simtime_now: local time of the running vCPU, else global time, in ps. */
int64_t simtime_now(void);

/**
 * simtime_floor: global time, before which nobody makes an access any more;
 * the running vCPU may be ahead of it. In ps.
 */
int64_t simtime_floor(void);

/**
 * simtime_set_model: install the timing model consulted in the region.
 * @ops: kept, not copied; NULL removes the model
 */
void simtime_set_model(const SimtimeModelOps *ops);

/**
 * simtime_set_recorder: have every access in the region told, not only those
 * that matter to the model, and polling loops executed.
 * @fn: called in the vCPU thread; NULL ends it
 */
void simtime_set_recorder(SimtimeRecorderFn *fn);

/** simtime_position: who is running and where, without @kind, line and pc. */
void simtime_position(SimtimeRecord *r);

/**
 * simtime_stall: let the running vCPU lose time and end its slice.
 * @ps: >= 0
 *
 * Does nothing when no vCPU is running.
 */
void simtime_stall(int64_t ps);

/**
 * simtime_unblock: the access for which a vCPU was blocked completes.
 * @cpu_index: the vCPU; one that is not blocked is left alone
 * @line: the line of the access, which is not asked about again; 0 when
 *        the access was given up and the instruction is to start anew
 * @when: ps
 */
void simtime_unblock(unsigned cpu_index, uint64_t line, int64_t when);

/** simtime_unblock_all: give up all accesses that are blocked. */
void simtime_unblock_all(void);

/**
 * simtime_line_changed: a watched line may be stored to, or is taken away
 * from somebody; vCPUs that poll it look at it again from now on.
 * @line: host address / 128
 */
void simtime_line_changed(uint64_t line);

/**
 * simtime_event_add: call @fn at simulated time @when.
 * @when: ps; a time that has passed means as soon as possible
 * @target: index of the vCPU that the event concerns, which is not run
 *          past @when, or -1 when unknown
 * @fn: called in the vCPU thread, with the BQL, between slices
 * @opaque: passed to @fn
 *
 * Events of equal time are called in the order in which they were added.
 * Must be called in the vCPU thread.
 */
void simtime_event_add(int64_t when, int target, SimtimeEventFn *fn,
                       void *opaque);

/**
 * simtime_region_enter, simtime_region_leave: open or close the region of
 * interest now. Returns false with @errp set when it is open (or closed)
 * already or when the clocks are off.
 */
bool simtime_region_enter(Error **errp);
bool simtime_region_leave(Error **errp);

/**
 * struct SimtimeCounts - work done so far, for all vCPUs together
 * @instructions: instructions executed
 * @slices: how often a vCPU was switched to
 * @polls: iterations of polling loops accounted for without executing them
 * @poll_instructions: instructions of those, not in @instructions
 * @paused: time for which threads gave way at a hint in the region, ps
 */
typedef struct SimtimeCounts {
    int64_t instructions;
    int64_t slices;
    int64_t polls;
    int64_t poll_instructions;
    int64_t paused;
} SimtimeCounts;

/** simtime_counts: the counts at this moment. */
SimtimeCounts simtime_counts(void);

/** simtime_instruction_ps: time of one instruction. */
int64_t simtime_instruction_ps(void);

#define SIMTIME_STATE_WORDS 40

/**
 * struct SimtimeTargetOps - what only the target knows of a vCPU
 * @low_priority: whether the guest runs it at a hardware thread priority at
 *                which it only waits (PPR priority 1 or 2)
 * @masked: whether it takes no external interrupts at present
 * @state: what a loop without memory can carry from one iteration to the
 *         next (general and condition registers, counter, next
 *         instruction), as SIMTIME_STATE_WORDS words
 * @common_mask: bits of the flags of a translated block that tell whether
 *               its code is the same, at the same address, on all vCPUs
 * @common_value: what these bits are then
 * @user: whether it is in user space
 */
typedef struct SimtimeTargetOps {
    bool (*low_priority)(CPUState *cpu);
    bool (*user)(CPUState *cpu);
    bool (*masked)(CPUState *cpu);
    void (*state)(CPUState *cpu, uint64_t *state);
    uint32_t common_mask;
    uint32_t common_value;
} SimtimeTargetOps;

/**
 * simtime_set_target: let threads that wait be recognised; without it they
 * are executed like all others.
 * @ops: kept, not copied
 */
void simtime_set_target(const SimtimeTargetOps *ops);

#endif /* SYSTEM_SIMTIME_H */
