/*
 * Simulated time: events queued by simulated time
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMUTimers would do, but each of them bounds the slice of every vCPU,
 * and with hundreds of interrupts in flight nobody would run more than a
 * few instructions at a time. An event bounds only the vCPU it concerns.
 */

#include "qemu/osdep.h"
#include "simtime-internal.h"

/**
 * struct SimEvent - a queued event
 * @when: simulated time, ps
 * @fn, @opaque: what to call
 * @target: index of the vCPU that it bounds, or -1
 */
typedef struct SimEvent {
    int64_t when;
    SimtimeEventFn *fn;
    void *opaque;
    int target;
} SimEvent;

static GArray *pool;
static GArray *free_ids;
static uint32_t sequence;

static SimEvent *event_of(uint32_t id)
{
    return &g_array_index(pool, SimEvent, id);
}

static uint32_t event_alloc(void)
{
    uint32_t id;

    if (!pool) {
        pool = g_array_new(false, false, sizeof(SimEvent));
        free_ids = g_array_new(false, false, sizeof(uint32_t));
    }
    if (free_ids->len) {
        id = g_array_index(free_ids, uint32_t, free_ids->len - 1);
        g_array_set_size(free_ids, free_ids->len - 1);
        return id;
    }
    id = pool->len;
    g_array_set_size(pool, id + 1);
    sim_heap_reserve(&simtime.events, id + 1);
    return id;
}

static void target_refresh(SimVCPU *v)
{
    GList *first = v->events.head;

    v->next_event = first ? event_of(GPOINTER_TO_UINT(first->data))->when
                          : SIMTIME_NEVER;
}

/* Most events are later than those already there: look from the end. */
static void target_insert(SimVCPU *v, uint32_t id)
{
    int64_t when = event_of(id)->when;
    GList *l = v->events.tail;

    while (l && event_of(GPOINTER_TO_UINT(l->data))->when > when) {
        l = l->prev;
    }
    if (l) {
        g_queue_insert_after(&v->events, l, GUINT_TO_POINTER(id));
    } else {
        g_queue_push_head(&v->events, GUINT_TO_POINTER(id));
    }
    target_refresh(v);
}

void simtime_event_add(int64_t when, int target, SimtimeEventFn *fn,
                       void *opaque)
{
    uint32_t id = event_alloc();

    when = MAX(when, qatomic_read_i64(&simtime.now));
    *event_of(id) = (SimEvent) {
        .when = when,
        .target = target,
        .fn = fn,
        .opaque = opaque,
    };
    sim_heap_insert(&simtime.events, when, sequence++, id);
    if (target >= 0) {
        target_insert(&simtime.vcpus[target], id);
    }

    if (simtime.running) {
        bool mine = target == (int)(simtime.running - simtime.vcpus);

        simtime.horizon = MIN(simtime.horizon, when);
        if (mine && when < simtime.slice_end) {
            simtime_end_slice();
        }
    }
}

void simtime_run_events(int64_t until)
{
    while (simtime.events.n && simtime.events.e[0].key <= until) {
        uint32_t id = simtime.events.e[0].id;
        SimEvent e = *event_of(id);

        sim_heap_remove(&simtime.events, id);
        if (e.target >= 0) {
            SimVCPU *v = &simtime.vcpus[e.target];

            g_queue_remove(&v->events, GUINT_TO_POINTER(id));
            target_refresh(v);
        }
        g_array_append_val(free_ids, id);
        e.fn(e.when, e.opaque);
    }
}
