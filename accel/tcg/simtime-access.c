/*
 * Simulated time: memory and MMIO accesses inside the region of interest
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/cpu_ldst.h"
#include "exec/cputlb.h"
#include "exec/exec-all.h"
#include "exec/tlb-common.h"
#include "exec/translation-block.h"
#include "hw/intc/contention/contention.h"
#include "hw/intc/contention/filter.h"
#include "internal-common.h"
#include "simtime-access.h"
#include "simtime-internal.h"

#define HELPER_H "accel/tcg/simtime-helper.h"
#include "exec/helper-proto.h.inc"
#undef HELPER_H

/* Come back to the instruction when the others have caught up. */
static G_NORETURN void simtime_leave(CPUState *cpu)
{
    simtime.running->leave = true;
    cpu->exception_index = EXCP_INTERRUPT;
    cpu_loop_exit(cpu);
}

/**
 * struct SimtimePlace - where in a block a vCPU is
 * @pc: as the vCPU has it
 * @left: instructions, as the counter of the vCPU has them
 */
typedef struct SimtimePlace {
    vaddr pc;
    uint16_t left;
} SimtimePlace;

static SimtimePlace simtime_place(CPUState *cpu)
{
    return (SimtimePlace) {
        .pc = cpu->cc->get_pc(cpu),
        .left = cpu->neg.icount_decr.u16.low,
    };
}

static void simtime_set_place(CPUState *cpu, const SimtimePlace *place)
{
    cpu->cc->set_pc(cpu, place->pc);
    cpu->neg.icount_decr.u16.low = place->left;
}

/*
 * Say in @request which instruction it is. The block knows only by putting
 * the vCPU back to it; that must not last, since the instruction may go on.
 * Returns the place to which the vCPU must be put to make it again.
 */
static SimtimePlace simtime_locate(CPUState *cpu, const TranslationBlock *tb,
                                   uintptr_t retaddr, SimtimeRequest *request)
{
    SimtimePlace now = simtime_place(cpu), again;

    cpu_restore_state_from_tb(cpu, (TranslationBlock *)tb, retaddr);
    again = simtime_place(cpu);
    request->pc = again.pc;
    request->user = simtime.target && simtime.target->user(cpu);
    simtime_set_place(cpu, &now);
    return again;
}

/*
 * An access that stalls completes when the line is there: the instruction is
 * executed again then, and neither is a store seen by others nor does a load
 * see what others stored before that time. The vCPU comes to the access once
 * and back to it once, whether or not others have to act in between, since
 * the scheduler makes an access that came too early on the vCPU's behalf.
 */
static void simtime_access_slow(SimVCPU *v, SimtimeRequest *request,
                                const TranslationBlock *tb, int64_t now,
                                uintptr_t retaddr)
{
    SimtimePlace again;

    if (v->granted == request->line) {
        v->granted = 0;
        if (request->kind != SIMTIME_LOAD) {
            simtime_line_changed(request->line);
        }
        return;
    }
    if (simtime.ops->probe(v - simtime.vcpus, request->line,
                           request->kind != SIMTIME_LOAD, now)) {
        return;
    }
    again = simtime_locate(v->cpu, tb, retaddr, request);
    if (now > simtime.horizon) {
        v->pending = *request;
    } else if (simtime_make_access(v, request, now)) {
        return;
    }
    simtime_set_place(v->cpu, &again);
    simtime_leave(v->cpu);
}

/* Time of the instruction that is number @info says in @tb, now executing. */
static int64_t simtime_insn_time(SimVCPU *v, const TranslationBlock *tb,
                                 uint32_t info)
{
    int64_t before = (int64_t)simtime_info_insn(info) - tb->icount;

    return simtime_local(v) + before * simtime.instruction_ps;
}

static void simtime_record_access(SimVCPU *v, SimtimeAccess kind,
                                  uint64_t line, const TranslationBlock *tb,
                                  uint32_t info)
{
    int64_t now = simtime_insn_time(v, tb, info);
    int64_t insn = (now - v->clock - v->stall) / simtime.instruction_ps;

    /* Instructions of a block follow each other, a word each. */
    simtime_record(v, kind, line,
                   tb->pc + simtime_info_insn(info) * sizeof(uint32_t), now,
                   insn);
}

static inline CPUTLBEntry *simtime_tlb_entry(CPUState *cpu, unsigned mmu_idx,
                                             vaddr addr)
{
    CPUTLBDescFast *f = &cpu->neg.tlb.f[mmu_idx];
    uintptr_t ofs = (addr >> (TARGET_PAGE_BITS - CPU_TLB_ENTRY_BITS)) & f->mask;

    return (CPUTLBEntry *)((uintptr_t)f->table + ofs);
}

static inline bool simtime_tlb_hit(uintptr_t tag, vaddr addr)
{
    return (tag & (TARGET_PAGE_MASK | TLB_INVALID_MASK)) ==
           (addr & TARGET_PAGE_MASK);
}

/*
 * Host address of @addr, or 0 for what is not RAM. Faults as the access
 * itself would.
 */
static uintptr_t simtime_fill(CPUArchState *env, vaddr addr, uint32_t info,
                              uintptr_t retaddr)
{
    MMUAccessType type = simtime_info_store(info) ? MMU_DATA_STORE
                                                  : MMU_DATA_LOAD;
    void *host = NULL;
    int flags;

    flags = probe_access_flags(env, addr, 0, type,
                               simtime_info_mmu_idx(info), false, &host,
                               retaddr);
    return flags & TLB_MMIO ? 0 : (uintptr_t)host;
}

static __attribute__((noinline))
void simtime_access_rest(CPUArchState *env, vaddr addr, uintptr_t host,
                         const TranslationBlock *tb, uint32_t info,
                         uintptr_t retaddr)
{
    SimVCPU *v = simtime.running;
    bool store = simtime_info_store(info);
    SimtimeAccess kind = !store ? SIMTIME_LOAD :
                         simtime_info_conditional(info) ?
                         SIMTIME_STORE_CONDITIONAL : SIMTIME_STORE;
    unsigned size = simtime_info_size(info);
    bool crosses_page = (addr & ~TARGET_PAGE_MASK) + size > TARGET_PAGE_SIZE;
    unsigned left = CONTENTION_LINE_BYTES -
                    (addr & (CONTENTION_LINE_BYTES - 1));
    SimtimeRequest request = { .kind = kind, .ea = addr };
    uint64_t last;

    if (!host) {
        host = simtime_fill(env, addr, info, retaddr);
        if (!host) {
            return;
        }
    }

    v->poll.recording = false;
    request.line = host >> CONTENTION_LINE_SHIFT;
    last = (host + size - 1) >> CONTENTION_LINE_SHIFT;
    request.size = MIN(size, left);
    for (;;) {
        if (!contention_filter_hit(v->filter, request.line, store)) {
            simtime_access_slow(v, &request, tb,
                                simtime_insn_time(v, tb, info), retaddr);
        }
        if (unlikely(simtime.recorder)) {
            simtime_record_access(v, kind, request.line, tb, info);
        }
        if (request.line == last || crosses_page) {
            break;
        }
        request.line = last;
        request.ea = addr + left;
        request.size = size - left;
    }
}

void HELPER(simtime_access)(CPUArchState *env, uint64_t addr, void *tb,
                            uint32_t info)
{
    CPUState *cpu = env_cpu(env);
    SimVCPU *v = simtime.running;
    bool store = simtime_info_store(info);
    const CPUTLBEntry *entry = simtime_tlb_entry(cpu,
                                                 simtime_info_mmu_idx(info),
                                                 addr);
    uintptr_t tag = entry->addr_idx[store];
    uintptr_t host = 0;

    if (likely(simtime_tlb_hit(tag, addr))) {
        unsigned end;

        if (unlikely(tag & TLB_MMIO)) {
            return;
        }
        host = addr + entry->addend;
        end = (host & (CONTENTION_LINE_BYTES - 1)) + simtime_info_size(info);
        if (likely(end <= CONTENTION_LINE_BYTES) &&
            contention_filter_hit(v->filter, host >> CONTENTION_LINE_SHIFT,
                                  store)) {
            if (unlikely(v->poll.recording)) {
                simtime_poll_access(v, host, simtime_info_size(info), store);
            }
            return;
        }
    }
    simtime_access_rest(env, addr, host, tb, info, GETPC());
}

/*
 * The time of an MMIO instruction is its end, so one that was put off is made
 * in any case: it would never get past a clock equal to its own.
 */
void simtime_io_prepare(CPUState *cpu, uintptr_t retaddr)
{
    SimVCPU *v = simtime.running;

    if (!simtime.region || !v || v->cpu != cpu) {
        return;
    }
    v->poll.recording = false;
    if (simtime_local(v) > simtime.horizon && !v->retry) {
        /* As after cpu_io_recompile(): this instruction alone comes next. */
        cpu->cflags_next_tb = curr_cflags(cpu) | CF_MEMI_ONLY | CF_NOIRQ | 1;
        v->retry = true;
        cpu_restore_state(cpu, retaddr);
        simtime_leave(cpu);
    }
    v->retry = false;
}
