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
static G_NORETURN void simtime_leave(CPUState *cpu, uintptr_t retaddr)
{
    simtime.running->leave = true;
    simtime.running->retry = true;
    cpu->exception_index = EXCP_INTERRUPT;
    cpu_loop_exit_restore(cpu, retaddr);
}

/*
 * The access may be made when nobody else can act before @now. One that was
 * put off is made in any case, or an MMIO instruction, whose time is its
 * end, would never get past a clock equal to its own.
 */
static bool simtime_may_act(SimVCPU *v, int64_t now)
{
    bool may = now <= simtime.horizon || v->retry;

    v->retry = false;
    return may;
}

/* As after cpu_io_recompile(): this instruction alone comes next. */
static uint32_t simtime_single(CPUState *cpu)
{
    return curr_cflags(cpu) | CF_MEMI_ONLY | CF_NOIRQ | 1;
}

void simtime_access_slow(SimVCPU *v, uint64_t line, SimtimeAccess kind,
                         int64_t now, uintptr_t retaddr)
{
    bool store = kind != SIMTIME_LOAD;
    unsigned index = v - simtime.vcpus;
    int64_t stall;

    if (unlikely(v->granted == line)) {
        v->granted = 0;
        return;
    }
    if (simtime.ops->probe(index, line, store, now)) {
        return;
    }
    if (!simtime_may_act(v, now)) {
        simtime_leave(v->cpu, retaddr);
    }
    stall = simtime.ops->access(index, line, kind, now);
    if (stall == SIMTIME_BLOCKED) {
        /* The instruction completes, before any interrupt, when told to. */
        v->blocked = true;
        v->cpu->cflags_next_tb = simtime_single(v->cpu);
        simtime_leave(v->cpu, retaddr);
    }
    if (stall) {
        v->stall += stall;
        simtime_end_slice();
    }
}

/* Time of the instruction that is number @info says in @tb, now executing. */
static int64_t simtime_insn_time(SimVCPU *v, const TranslationBlock *tb,
                                 uint32_t info)
{
    int64_t before = (int64_t)simtime_info_insn(info) - tb->icount;

    return simtime_local(v) + before * simtime.instruction_ps;
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
    bool crosses_page = (addr & ~TARGET_PAGE_MASK) + simtime_info_size(info) >
                        TARGET_PAGE_SIZE;
    uint64_t line, last;

    if (!host) {
        host = simtime_fill(env, addr, info, retaddr);
        if (!host) {
            return;
        }
    }

    line = host >> CONTENTION_LINE_SHIFT;
    last = (host + simtime_info_size(info) - 1) >> CONTENTION_LINE_SHIFT;
    for (;;) {
        if (!contention_filter_hit(v->filter, line, store)) {
            simtime_access_slow(v, line, kind,
                                simtime_insn_time(v, tb, info), retaddr);
        }
        if (line == last || crosses_page) {
            break;
        }
        line = last;
    }
}

void HELPER(simtime_access)(CPUArchState *env, uint64_t addr, void *tb,
                            uint32_t info)
{
    CPUState *cpu = env_cpu(env);
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
            contention_filter_hit(simtime.running->filter,
                                  host >> CONTENTION_LINE_SHIFT, store)) {
            return;
        }
    }
    simtime_access_rest(env, addr, host, tb, info, GETPC());
}

void simtime_io_prepare(CPUState *cpu, uintptr_t retaddr)
{
    SimVCPU *v = simtime.running;

    if (!simtime.region || !v || v->cpu != cpu) {
        return;
    }
    if (!simtime_may_act(v, simtime_local(v))) {
        cpu->cflags_next_tb = simtime_single(cpu);
        simtime_leave(cpu, retaddr);
    }
}
