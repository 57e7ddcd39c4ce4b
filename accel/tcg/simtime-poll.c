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

/*
 * After so many iterations memory is looked at even if nobody has told of a
 * change: a device that the model does not know may have written to it.
 */
#define POLL_RECHECK 256

#define POLL_BUCKETS 256

/* Loads of parked vCPUs, by line */
static QLIST_HEAD(, SimPollLoad) poll_buckets[POLL_BUCKETS];

#define poll_bucket(line) \
    (&poll_buckets[((line) ^ (line) >> 8) % POLL_BUCKETS])

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

void simtime_poll_begin(SimVCPU *v)
{
    v->poll.recording = true;
    v->poll.nr_loads = 0;
    v->poll.instructions = 0;
}

/* Whether the next iteration of @v would be as the last one. */
static bool poll_unchanged(SimVCPU *v)
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

/* Time of an iteration without the pause at its end */
static int64_t poll_work(const SimPoll *p)
{
    return p->instructions * simtime.instruction_ps;
}

static int64_t poll_period(const SimPoll *p)
{
    return poll_work(p) + simtime_options.pause_ns * SIMTIME_PS_PER_NS;
}

static void poll_account(SimVCPU *v, int64_t iterations)
{
    v->clock += iterations * poll_period(&v->poll);
    simtime.polls += iterations;
    simtime.poll_instructions += iterations * v->poll.instructions;
    simtime.paused += iterations * simtime_options.pause_ns *
                      SIMTIME_PS_PER_NS;
}

/* Its place in the queue, until when nothing is expected to happen */
static int64_t poll_recheck(const SimVCPU *v)
{
    return v->clock + POLL_RECHECK * poll_period(&v->poll);
}

static void poll_park(SimVCPU *v)
{
    SimPoll *p = &v->poll;

    p->parked = true;
    for (unsigned i = 0; i < p->nr_loads; i++) {
        struct SimPollLoad *at = &p->load_at[i];

        at->line = p->load[i] >> CONTENTION_LINE_SHIFT;
        at->vcpu = v;
        QLIST_INSERT_HEAD(poll_bucket(at->line), at, link);
        simtime.ops->watch(v - simtime.vcpus, at->line);
    }
}

static void poll_unpark(SimVCPU *v)
{
    SimPoll *p = &v->poll;

    p->parked = false;
    for (unsigned i = 0; i < p->nr_loads; i++) {
        QLIST_REMOVE(&p->load_at[i], link);
    }
    simtime_poll_begin(v);
}

bool simtime_poll_end(SimVCPU *v)
{
    SimPoll *p = &v->poll;
    uint64_t state[SIMTIME_STATE_WORDS];

    if (!simtime.target || !simtime.ops) {
        return false;
    }
    simtime.target->state(v->cpu, state);
    if (p->recording && p->nr_loads &&
        p->instructions <= POLL_INSTRUCTIONS &&
        !memcmp(state, p->state, sizeof(state)) && poll_unchanged(v)) {
        poll_park(v);
        return true;
    }
    memcpy(p->state, state, sizeof(state));
    simtime_poll_begin(v);
    return false;
}

int64_t simtime_poll_turn(const SimVCPU *v)
{
    return v->poll.parked ? poll_recheck(v) : v->clock;
}

bool simtime_poll_continue(SimVCPU *v)
{
    poll_account(v, POLL_RECHECK);
    if (poll_unchanged(v)) {
        return true;
    }
    poll_unpark(v);
    return false;
}

void simtime_poll_wake(SimVCPU *v, int64_t when, bool interrupt)
{
    int64_t period = poll_period(&v->poll);
    int64_t past = MAX(when - v->clock, 0);

    if (interrupt) {
        /* It falls into an iteration, or cuts the pause after it short. */
        int64_t rest = past % period;

        poll_account(v, past / period);
        if (rest) {
            v->clock += MAX(rest, poll_work(&v->poll));
            simtime.paused += MAX(rest - poll_work(&v->poll), 0);
            simtime.polls++;
            simtime.poll_instructions += v->poll.instructions;
        }
    } else {
        poll_account(v, DIV_ROUND_UP(past, period));
    }
    poll_unpark(v);
    simtime_reschedule(v);
}

void simtime_line_changed(uint64_t line)
{
    struct SimPollLoad *at, *next;

    QLIST_FOREACH_SAFE(at, poll_bucket(line), link, next) {
        if (at->line == line) {
            /* All its links go, the next one may be another of them. */
            simtime_poll_wake(at->vcpu, simtime_now(), false);
            next = QLIST_FIRST(poll_bucket(line));
        }
    }
}

void simtime_poll_wake_all(void)
{
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        if (simtime.vcpus[i].poll.parked) {
            simtime_poll_wake(&simtime.vcpus[i], simtime_now(), false);
        }
    }
}
