/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Directory of the contention model: finds lines, and keeps what is known
 * of each.  It knows no rules; transfer.c does.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

#define MIN_SLOT_BITS   12
#define CHUNK_BITS      12
#define CHUNK_LINES     (1 << CHUNK_BITS)

/*
 * Eight neighbouring lines have their slots side by side, in one cache line
 * of the host; the groups of eight are scattered.
 */
static size_t slot_home(const ContentionDirectory *dir, uint32_t tag)
{
    uint32_t group = (tag >> 3) * UINT32_C(0x9e3779b1);

    return (size_t)(group >> (32 - (dir->slot_bits - 3))) << 3 | (tag & 7);
}

static size_t slot_next(const ContentionDirectory *dir, size_t slot)
{
    return (slot + 1) & (((size_t)1 << dir->slot_bits) - 1);
}

static void slot_insert(ContentionDirectory *dir, ContentionSlot new)
{
    size_t slot = slot_home(dir, new.tag);

    while (dir->slots[slot].number) {
        slot = slot_next(dir, slot);
    }
    dir->slots[slot] = new;
}

void contention_directory_init(ContentionDirectory *dir)
{
    dir->slot_bits = MIN_SLOT_BITS;
    dir->slots = g_new0(ContentionSlot, (size_t)1 << dir->slot_bits);
    dir->chunks = g_ptr_array_new_with_free_func(g_free);
}

void contention_directory_reset(ContentionDirectory *dir)
{
    contention_directory_destroy(dir);
    dir->nr_lines = 0;
    contention_directory_init(dir);
}

void contention_directory_destroy(ContentionDirectory *dir)
{
    if (!dir->chunks) {
        return;
    }
    for (uint32_t i = 0; i < dir->nr_lines; i++) {
        ContentionTraffic *traffic = contention_directory_nth(dir, i)->traffic;

        if (traffic) {
            g_free(traffic->owners.hold);
            g_free(traffic->copies.hold);
            if (traffic->blocked) {
                g_array_unref(traffic->blocked);
            }
            g_free(traffic);
        }
    }
    g_ptr_array_free(dir->chunks, TRUE);
    g_free(dir->slots);
}

ContentionLine *contention_directory_nth(const ContentionDirectory *dir,
                                         uint32_t n)
{
    ContentionLine *chunk = g_ptr_array_index(dir->chunks, n >> CHUNK_BITS);

    return &chunk[n & (CHUNK_LINES - 1)];
}

ContentionLine *contention_directory_find(const ContentionDirectory *dir,
                                          uint64_t key)
{
    uint32_t tag = key;
    size_t slot = slot_home(dir, tag);

    for (; dir->slots[slot].number; slot = slot_next(dir, slot)) {
        if (dir->slots[slot].tag == tag) {
            ContentionLine *line =
                contention_directory_nth(dir, dir->slots[slot].number - 1);

            if (line->key == key) {
                return line;
            }
        }
    }
    return NULL;
}

/* Twice the slots; the tag is all that is needed of a line. */
static void directory_grow(ContentionDirectory *dir)
{
    ContentionSlot *old = dir->slots;
    size_t n = (size_t)1 << dir->slot_bits++;

    dir->slots = g_new0(ContentionSlot, n * 2);
    for (size_t i = 0; i < n; i++) {
        if (old[i].number) {
            slot_insert(dir, old[i]);
        }
    }
    g_free(old);
}

ContentionLine *contention_directory_add(ContentionDirectory *dir,
                                         uint64_t key)
{
    ContentionLine *line;

    /* Half full at most: groups of eight collide all at once. */
    if (dir->nr_lines >= (uint32_t)1 << (dir->slot_bits - 1)) {
        directory_grow(dir);
    }
    if (dir->nr_lines >> CHUNK_BITS == dir->chunks->len) {
        g_ptr_array_add(dir->chunks, g_new(ContentionLine, CHUNK_LINES));
    }
    line = contention_directory_nth(dir, dir->nr_lines++);
    *line = (ContentionLine) { .key = key };
    slot_insert(dir, (ContentionSlot) { key, dir->nr_lines });
    return line;
}

ContentionTraffic *contention_line_traffic(ContentionLine *line,
                                           unsigned words)
{
    if (!line->traffic) {
        line->traffic = g_malloc0(sizeof(*line->traffic) +
                                  2 * words * sizeof(uint64_t));
    }
    return line->traffic;
}

ContentionHold *contention_holds_add(ContentionHolds *holds)
{
    if (holds->end == holds->max) {
        if (holds->first > holds->max / 2) {
            holds->end -= holds->first;
            memmove(holds->hold, holds->hold + holds->first,
                    holds->end * sizeof(*holds->hold));
            holds->first = 0;
        } else {
            holds->max = holds->max ? holds->max * 2 : 2;
            holds->hold = g_renew(ContentionHold, holds->hold, holds->max);
        }
    }
    return &holds->hold[holds->end++];
}

static bool hold_over(const ContentionHold *hold, ContentionTime now)
{
    return hold->from <= now && hold->until <= now;
}

void contention_traffic_prune(ContentionTraffic *t, ContentionTime now)
{
    ContentionHolds *owners = &t->owners;
    ContentionHolds *copies = &t->copies;
    uint32_t kept = 0;

    while (owners->first < owners->end &&
           hold_over(&owners->hold[owners->first], now)) {
        owners->first++;
    }
    if (owners->first == owners->end) {
        owners->first = owners->end = 0;
    }

    for (uint32_t i = 0; i < copies->end; i++) {
        if (!hold_over(&copies->hold[i], now)) {
            copies->hold[kept++] = copies->hold[i];
        }
    }
    copies->end = kept;
}
