/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Presence filter of the contention model: the path taken by every access.
 *
 * A direct-mapped array a domain, of lines that the domain certainly holds.
 * What the filter knows is free and touches nothing else; what it does not
 * know goes to contention_probe() and then to contention_access().  The
 * model takes an entry away, or its right to store, in the moment in which
 * the domain loses the right, so a filter of any size gives the same times.
 */

#ifndef HW_INTC_CONTENTION_FILTER_H
#define HW_INTC_CONTENTION_FILTER_H

typedef struct ContentionFilter {
    uint64_t *entries;      /* line << 1 | writable; all ones: empty */
    uint64_t mask;          /* entries - 1, a power of two less one */
} ContentionFilter;

/*
 * Is the access free?  @line is the host address >> CONTENTION_LINE_SHIFT,
 * so its top bits are zero and no line looks like an empty entry.
 */
static inline bool contention_filter_hit(const ContentionFilter *f,
                                         uint64_t line, bool store)
{
    uint64_t entry = f->entries[line & f->mask];

    return (entry | !store) == (line << 1 | 1);
}

#endif /* HW_INTC_CONTENTION_FILTER_H */
