/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Attribution of the contention model: which line, which instruction, which
 * byte of the line the time was lost at.
 *
 * Every access that is counted as a transfer, that joins a fetch of its
 * domain (merge) or that is given up is entered twice: at its line, and at
 * the entry of {line, effective address, size, instruction, kind}. What is
 * known of an instruction is the sum of its entries. Both tables take a
 * number of entries that the caller chooses; what comes when a table is full
 * is summed up as dropped, so that entries and dropped together always are
 * the counters of contention_stats().
 *
 * Entries are made in the order of the accesses and no result depends on the
 * addresses of lines in the host.
 */

#ifndef HW_INTC_CONTENTION_ATTRIBUTION_H
#define HW_INTC_CONTENTION_ATTRIBUTION_H

#include "hw/intc/contention/contention.h"

/* The largest number of entries a table may have */
#define CONTENTION_MAX_ATTRIBUTION  (1u << 24)

/**
 * struct ContentionMoves - transfers to threads, over one distance
 * @count: of them
 * @time: the parts of their stalls that are the transfer, in ps
 */
typedef struct ContentionMoves {
    uint64_t count;
    ContentionTime time;
} ContentionMoves;

/**
 * struct ContentionSums - what accesses have cost; times in ps
 * @waits: transfers which had to wait for the line first
 * @waited: ... and for how long
 * @longest_queue: most exclusive requests of the line, one of these included,
 *                 when one of these was served
 * @merges: accesses that waited for a fetch of their own domain
 * @merged: ... and for how long
 * @moves: by distance
 * @given_up: stores conditional that lost their reservation while waiting
 * @given_up_time: ... and how long they had waited
 * @dma: transfers to interrupt controllers
 * @dma_waits, @dma_waited: those of them that had to wait; no thread stalls
 * @dma_time: time of all accesses of the controllers, waiting included
 *
 * What most accesses need comes first: there are more sums than the host's
 * caches hold.
 */
typedef struct ContentionSums {
    uint64_t waits;
    ContentionTime waited;
    uint64_t longest_queue;
    uint64_t merges;
    ContentionTime merged;
    ContentionMoves moves[CONTENTION_DISTANCES];
    uint64_t given_up;
    ContentionTime given_up_time;
    uint64_t dma;
    uint64_t dma_waits;
    ContentionTime dma_waited;
    ContentionTime dma_time;
} ContentionSums;

/** contention_sums_stall: time for which threads stalled, in ps. */
ContentionTime contention_sums_stall(const ContentionSums *sums);

/** contention_sums_transfers: transfers to threads, over all distances. */
uint64_t contention_sums_transfers(const ContentionSums *sums);

/**
 * contention_set_attribution: attribute from now on, with empty tables.
 * @entries: size of each table, at most CONTENTION_MAX_ATTRIBUTION; 0: none
 */
void contention_set_attribution(ContentionModel *model, unsigned entries);

/** contention_attribution: size of the tables, 0 for none. */
unsigned contention_attribution(const ContentionModel *model);

/**
 * struct ContentionFlow - from one chip to another
 * @count: transfers, or events
 * @time: of the transfers, or from trigger to delivery of the events, in ps
 * @waited: ps
 */
typedef struct ContentionFlow {
    uint64_t count;
    ContentionTime time;
    ContentionTime waited;
} ContentionFlow;

/**
 * struct ContentionByChip - accesses by threads of a chip, or its controller
 * @count: transfers, merges and what was given up
 * @stall: of threads, ps
 */
typedef struct ContentionByChip {
    uint64_t count;
    ContentionTime stall;
} ContentionByChip;

/**
 * struct ContentionRankedAccess - accesses of one kind to one place
 * @line: index of its line in the ranking
 * @instruction: index of its instruction in the ranking
 * @origin: instruction, address and size; of a controller the size is 0
 * @offset: of the first byte, in the line
 * @dma: by the interrupt controller of @chip
 * @chip: of the controller
 * @store: it is a store, or a controller's write
 * @conditional: it is a store conditional
 * @sums: what they cost
 * @by_chip: by chip of who accesses
 * @domains: number of domains that access
 */
typedef struct ContentionRankedAccess {
    unsigned line;
    unsigned instruction;
    ContentionOrigin origin;
    unsigned offset;
    bool dma;
    unsigned chip;
    bool store;
    bool conditional;
    const ContentionSums *sums;
    const ContentionByChip *by_chip;
    unsigned domains;
} ContentionRankedAccess;

/**
 * struct ContentionRankedLine - a line that was transferred
 * @address: what ContentionAddressFn says
 * @ea: effective address of its first byte, as its costliest access names it
 * @has_ea: whether any thread's access to it is in the table
 * @user: @ea is of user space
 * @sums: what accesses to it cost
 * @readers: by domain, and controller after them: loads that were not free
 * @writers: the same for stores
 * @accesses: to it, by rank
 * @nr_accesses: number of them
 */
typedef struct ContentionRankedLine {
    uint64_t address;
    uint64_t ea;
    bool has_ea;
    bool user;
    const ContentionSums *sums;
    const uint64_t *readers;
    const uint64_t *writers;
    const ContentionRankedAccess *accesses;
    unsigned nr_accesses;
} ContentionRankedLine;

/**
 * struct ContentionRankedInstruction - an instruction, or operation of a
 * controller
 * @pc: its address
 * @user: it is of user space
 * @dma, @chip, @store: as in ContentionRankedAccess
 * @conditional: it is a store conditional
 * @sums: what its accesses cost
 * @by_chip: by chip of who executes it
 * @lines: number of different lines
 */
typedef struct ContentionRankedInstruction {
    uint64_t pc;
    bool user;
    bool dma;
    unsigned chip;
    bool store;
    bool conditional;
    ContentionSums sums;
    ContentionByChip *by_chip;
    unsigned lines;
} ContentionRankedInstruction;

/**
 * struct ContentionRanking - all of it, by stall; ties by address
 * @total: the sum of all accesses
 * @dropped_lines: lines for which there was no entry
 * @dropped_line: what accesses to them cost
 * @dropped_accesses: accesses for which there was no entry
 * @dropped_access: what they cost
 *
 * It points into the model and is valid until the next access.
 */
typedef struct ContentionRanking {
    ContentionRankedLine *lines;
    unsigned nr_lines;
    ContentionRankedInstruction *instructions;
    unsigned nr_instructions;
    ContentionRankedAccess *accesses;
    unsigned nr_accesses;
    const ContentionSums *total;
    uint64_t dropped_lines;
    const ContentionSums *dropped_line;
    uint64_t dropped_accesses;
    const ContentionSums *dropped_access;
} ContentionRanking;

/* The guest's physical address of a line (host address >> 7) */
typedef uint64_t ContentionAddressFn(uint64_t line, void *opaque);

/** contention_ranking_new: NULL without attribution. */
ContentionRanking *contention_ranking_new(const ContentionModel *model,
                                          ContentionAddressFn *address,
                                          void *opaque);
void contention_ranking_free(ContentionRanking *ranking);

/**
 * contention_flow: transfers to threads of @to from holders on @from; NULL
 * without attribution.
 * @dma: to the interrupt controller of @to instead
 */
const ContentionFlow *contention_flow(const ContentionModel *model, bool dma,
                                      unsigned from, unsigned to);

/**
 * contention_event_flow: events triggered on chip @from for threads of @to;
 * NULL without attribution.
 */
const ContentionFlow *contention_event_flow(const ContentionModel *model,
                                            unsigned from, unsigned to);

/**
 * struct ContentionRegion - what the caller knows of the region; times in ps
 * @start, @end: on the global clock
 * @instructions: executed by all threads
 * @instruction_time: what these took
 * @poll_time: what iterations of polling loops took that were accounted for
 *             without being executed
 * @paused: time of threads that gave way at a hint
 */
typedef struct ContentionRegion {
    ContentionTime start;
    ContentionTime end;
    int64_t instructions;
    ContentionTime instruction_time;
    ContentionTime poll_time;
    ContentionTime paused;
} ContentionRegion;

/**
 * contention_attribution_json: append the whole attribution as one JSON
 * object, as docs/report-format.md describes it.
 */
void contention_attribution_json(const ContentionModel *model,
                                 const ContentionRegion *region,
                                 ContentionAddressFn *address, void *opaque,
                                 GString *out);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ContentionRanking, contention_ranking_free)

#endif /* HW_INTC_CONTENTION_ATTRIBUTION_H */
