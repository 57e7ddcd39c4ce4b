/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Tables of the contention model's attribution, as attribution.c fills them
 * and ranking.c reads them.
 */

#ifndef HW_INTC_CONTENTION_TABLES_H
#define HW_INTC_CONTENTION_TABLES_H

#include "internal.h"

/* A line that was transferred; see counts for what follows it */
typedef struct LineRecord {
    uint64_t key;
    ContentionSums sums;
    uint64_t counts[];      /* loads by domain and controller, then stores */
} LineRecord;

/* What tells accesses apart */
typedef struct AccessKey {
    uint64_t pc;            /* of a controller: its chip */
    uint64_t ea;            /* of a controller: 0 */
    uint32_t line;          /* number of the LineRecord, from 1 */
    uint16_t size;
    bool user;
    uint8_t kind;           /* ACCESS_* */
} AccessKey;

enum {
    ACCESS_DMA = 1,
    ACCESS_STORE = 2,
    ACCESS_CONDITIONAL = 4,
};

typedef struct AccessRecord {
    AccessKey key;
    ContentionSums sums;
    /* ContentionByChip of each chip, then the set of domains */
    uint64_t rest[];
} AccessRecord;

/* A table whose records have a size that depends on the machine */
typedef struct Table {
    char *records;
    size_t stride;
    uint32_t n;
    uint32_t max;           /* for which there is memory */
} Table;

typedef struct LogEntry LogEntry;

struct ContentionAttribution {
    uint32_t entries;       /* the limit of each table */
    unsigned nr_chips;
    unsigned nr_holders;    /* domains and controllers */
    unsigned set_words;     /* of a set of these */
    Table lines;
    Table accesses;
    uint32_t *slots;        /* numbers of accesses, from 1; 0: empty */
    unsigned slot_bits;
    LogEntry *log;          /* accesses that are not in the tables yet */
    unsigned logged;
    ContentionSums total;
    ContentionSums dropped_line;
    ContentionSums dropped_access;
    uint64_t dropped_lines;
    uint64_t dropped_accesses;
    ContentionFlow *flows;      /* [dma][from chip][to chip] */
    ContentionFlow *events;     /* [from chip][target chip] */
};

/* The tables with all that was logged, NULL without attribution */
ContentionAttribution *contention_attribution_tables(
    const ContentionModel *model);

static inline LineRecord *line_record(const ContentionAttribution *a,
                                      uint32_t number)
{
    return (LineRecord *)(a->lines.records +
                          (number - 1) * a->lines.stride);
}

static inline AccessRecord *access_record(const ContentionAttribution *a,
                                          uint32_t number)
{
    return (AccessRecord *)(a->accesses.records +
                            (number - 1) * a->accesses.stride);
}

static inline ContentionByChip *access_by_chip(AccessRecord *r)
{
    return (ContentionByChip *)r->rest;
}

static inline uint64_t *access_domains(const ContentionAttribution *a,
                                       AccessRecord *r)
{
    return r->rest + a->nr_chips * sizeof(ContentionByChip) / sizeof(uint64_t);
}

#endif /* HW_INTC_CONTENTION_TABLES_H */
