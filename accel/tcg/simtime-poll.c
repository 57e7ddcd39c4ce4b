/*
 * Simulated time: threads that poll memory
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The sender of an interrupt waits for most of the round trip in a loop of
 * some ten instructions. Executing each iteration was two thirds of the host
 * time of a storm on 128 threads.
 */

#include "qemu/osdep.h"
#include "hw/core/cpu.h"
#include "hw/intc/contention/contention.h"
#include "simtime-internal.h"

/* A loop longer than this is taken to do more than wait. */
#define POLL_INSTRUCTIONS 64

static uint64_t poll_value(uintptr_t host, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, (void *)host, MIN(size, sizeof(value)));
    return value;
}

void simtime_poll_access(SimVCPU *v, uintptr_t host, unsigned size,
                         bool store)
{
    SimPoll *p = &v->poll;

    if (store || p->nr_loads == SIMTIME_POLL_LOADS) {
        p->recording = false;
        return;
    }
    /* The value now, on which the loop decides, not the one at its end. */
    p->load[p->nr_loads] = host;
    p->size[p->nr_loads] = size;
    p->value[p->nr_loads++] = poll_value(host, size);
}

void simtime_poll_end(SimVCPU *v)
{
    SimPoll *p = &v->poll;
    uint64_t state[SIMTIME_STATE_WORDS];

    if (!simtime.target) {
        return;
    }
    simtime.target->state(v->cpu, state);
    p->parked = p->recording && p->nr_loads &&
                p->instructions <= POLL_INSTRUCTIONS &&
                !memcmp(state, p->state, sizeof(state));
    if (!p->parked) {
        memcpy(p->state, state, sizeof(state));
        simtime_poll_begin(v);
    }
}

void simtime_poll_begin(SimVCPU *v)
{
    v->poll.parked = false;
    v->poll.recording = true;
    v->poll.nr_loads = 0;
    v->poll.instructions = 0;
}

bool simtime_poll_unchanged(SimVCPU *v)
{
    SimPoll *p = &v->poll;

    if (!simtime.region || v->cpu->interrupt_request ||
        v->cpu->singlestep_enabled || !QTAILQ_EMPTY(&v->cpu->breakpoints)) {
        return false;
    }
    for (unsigned i = 0; i < p->nr_loads; i++) {
        if (poll_value(p->load[i], p->size[i]) != p->value[i] ||
            !contention_filter_hit(v->filter,
                                   p->load[i] >> CONTENTION_LINE_SHIFT,
                                   false)) {
            return false;
        }
    }
    return true;
}
