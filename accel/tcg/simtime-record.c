/*
 * Simulated time: telling a recorder what vCPUs do in the region
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Generated code asks no further when the filter knows a line, so vCPUs are
 * given one that knows none. What it knows is free in any case. Threads that
 * poll are not recognised then, but executed.
 */

#include "qemu/osdep.h"
#include "hw/core/cpu.h"
#include "hw/intc/contention/filter.h"
#include "simtime-internal.h"

static uint64_t no_line = UINT64_MAX;
static ContentionFilter knows_nothing = { .entries = &no_line, .mask = 0 };

void simtime_set_recorder(SimtimeRecorderFn *fn)
{
    simtime.recorder = fn;
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        simtime.vcpus[i].filter = fn ? &knows_nothing :
                                  simtime.ops ? simtime.ops->filter(i) : NULL;
    }
}

void simtime_record(SimVCPU *v, SimtimeAccess kind, uint64_t line,
                    uint64_t pc, int64_t time, int64_t insn)
{
    SimtimeRecord r = {
        .cpu_index = v - simtime.vcpus,
        .kind = kind,
        .masked = simtime.target && simtime.target->masked(v->cpu),
        .line = line,
        .pc = pc,
        .time = time,
        .instructions = v->executed + insn,
    };

    simtime.recorder(&r);
}

void simtime_position(SimtimeRecord *r)
{
    SimVCPU *v = simtime.running;
    int64_t now = simtime_now();

    memset(r, 0, sizeof(*r));
    r->time = now;
    if (v) {
        r->cpu_index = v - simtime.vcpus;
        r->masked = simtime.target && simtime.target->masked(v->cpu);
        r->instructions = v->executed + (now - v->clock - v->stall) /
                          simtime.instruction_ps;
    }
}
