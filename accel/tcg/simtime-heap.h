/*
 * Binary heap of (time, order) keys with removal by identity
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * GLib has no heap, and its balanced trees take a pointer chase per level
 * on the path that runs at every slice. Entries are values of 16 bytes, so
 * that the top of a heap of 128 vCPUs is in a few host cache lines.
 */

#ifndef ACCEL_TCG_SIMTIME_HEAP_H
#define ACCEL_TCG_SIMTIME_HEAP_H

/**
 * struct SimHeapEntry - a queued item
 * @key: simulated time in ps, smallest first
 * @order: decides between equal keys, smallest first
 * @id: the item; index into the position table
 */
typedef struct SimHeapEntry {
    int64_t key;
    uint32_t order;
    uint32_t id;
} SimHeapEntry;

/**
 * struct SimHeap - the heap
 * @e: entries, the smallest in e[0]
 * @pos: by id, the place in @e plus one, 0 when not queued
 * @n: number of entries
 * @ids: number of ids for which there is room
 */
typedef struct SimHeap {
    SimHeapEntry *e;
    uint32_t *pos;
    uint32_t n;
    uint32_t ids;
} SimHeap;

static inline void sim_heap_reserve(SimHeap *h, uint32_t ids)
{
    if (ids > h->ids) {
        uint32_t room = MAX(ids, h->ids * 2);

        h->e = g_renew(SimHeapEntry, h->e, room);
        h->pos = g_renew(uint32_t, h->pos, room);
        memset(h->pos + h->ids, 0, (room - h->ids) * sizeof(*h->pos));
        h->ids = room;
    }
}

static inline bool sim_heap_less(const SimHeapEntry *a, const SimHeapEntry *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static inline void sim_heap_put(SimHeap *h, uint32_t i, SimHeapEntry e)
{
    h->e[i] = e;
    h->pos[e.id] = i + 1;
}

static inline void sim_heap_up(SimHeap *h, uint32_t i, SimHeapEntry e)
{
    while (i) {
        uint32_t parent = (i - 1) / 2;

        if (!sim_heap_less(&e, &h->e[parent])) {
            break;
        }
        sim_heap_put(h, i, h->e[parent]);
        i = parent;
    }
    sim_heap_put(h, i, e);
}

static inline void sim_heap_down(SimHeap *h, uint32_t i, SimHeapEntry e)
{
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= h->n) {
            break;
        }
        if (child + 1 < h->n &&
            sim_heap_less(&h->e[child + 1], &h->e[child])) {
            child++;
        }
        if (!sim_heap_less(&h->e[child], &e)) {
            break;
        }
        sim_heap_put(h, i, h->e[child]);
        i = child;
    }
    sim_heap_put(h, i, e);
}

static inline bool sim_heap_queued(const SimHeap *h, uint32_t id)
{
    return h->pos[id];
}

static inline void sim_heap_insert(SimHeap *h, int64_t key, uint32_t order,
                                   uint32_t id)
{
    SimHeapEntry e = { .key = key, .order = order, .id = id };

    sim_heap_up(h, h->n++, e);
}

static inline void sim_heap_remove(SimHeap *h, uint32_t id)
{
    uint32_t i = h->pos[id] - 1;
    SimHeapEntry last = h->e[--h->n];

    h->pos[id] = 0;
    if (i == h->n) {
        return;
    }
    if (i && sim_heap_less(&last, &h->e[(i - 1) / 2])) {
        sim_heap_up(h, i, last);
    } else {
        sim_heap_down(h, i, last);
    }
}

/* Another key: cheaper than a removal and an insertion. */
static inline void sim_heap_move(SimHeap *h, int64_t key, uint32_t id)
{
    uint32_t i = h->pos[id] - 1;
    SimHeapEntry e = h->e[i];
    bool less = key < e.key;

    e.key = key;
    if (less) {
        sim_heap_up(h, i, e);
    } else {
        sim_heap_down(h, i, e);
    }
}

/* The key of the first entry grew: cheaper than a removal and an insertion. */
static inline void sim_heap_first_grew(SimHeap *h, int64_t key)
{
    SimHeapEntry e = h->e[0];

    e.key = key;
    sim_heap_down(h, 0, e);
}

#endif /* ACCEL_TCG_SIMTIME_HEAP_H */
