/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention model's attribution
 *
 * The times in the comments are worked out by hand from contention.h.
 *
 * - transfers, waits and merges go to their line, byte and instruction
 * - what is free is attributed to nobody
 * - loads, stores and stores conditional of one instruction stay apart, and
 *   so do user space and kernel
 * - an interrupt controller's writes have its chip in place of an address
 * - a store conditional that is given up keeps the time it waited
 * - readers and writers by domain, accesses by chip, transfers between chips,
 *   events between chips
 * - the order: by stall, ties by address
 * - full tables: what is dropped is counted, and nothing is lost
 * - counters can be reset without changing what follows
 * - random traffic: lines, instructions and accesses each add up to the
 *   model's own counters, with tables of any size; where lines are in the
 *   host changes nothing
 * - the JSON form, to the letter
 *
 * The machine has 2 chips x 2 domains x 2 threads: cpus 0-1 are domain 0 and
 * 2-3 domain 1 on chip 0, cpus 4-5 are domain 2 and 6-7 domain 3 on chip 1.
 * A transfer takes 60 ns on a chip and 140 ns between chips.
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"
#include "hw/intc/contention/attribution.h"

#define TIMES "same-chip-ns=60,cross-chip-ns=140"
#define LINE 0x1234567
/* Where the guest has it */
#define EA UINT64_C(0xc000000000020000)

static ContentionModel *machine(const char *settings, unsigned entries)
{
    g_autofree char *all = g_strdup_printf(TIMES "%s%s", *settings ? "," : "",
                                           settings);
    ContentionModel *m = test_machine(2, 2, 2, NULL, all);

    contention_set_attribution(m, entries);
    return m;
}

static uint64_t address(uint64_t line, void *opaque)
{
    uint64_t first = opaque ? *(uint64_t *)opaque : LINE;

    return (line - first) * CONTENTION_LINE_BYTES;
}

static ContentionRanking *rank(const ContentionModel *m)
{
    ContentionRanking *r = contention_ranking_new(m, address, NULL);

    g_assert_nonnull(r);
    return r;
}

/* Byte @at of memory from LINE on; times in ns */
static ContentionTime access_at(ContentionModel *m, unsigned cpu, bool store,
                                int now, unsigned at, uint64_t pc)
{
    ContentionTime stall = contention_request(m, &(ContentionRequest) {
        .now = now * NS,
        .line = LINE + at / CONTENTION_LINE_BYTES,
        .origin = { .pc = pc, .ea = EA + at, .size = 4 },
        .who = cpu,
        .store = store,
    }, NULL);

    return stall == CONTENTION_BLOCKED ? stall : stall / NS;
}

static void expect(const ContentionSums *s, uint64_t same_chip,
                   uint64_t cross_chip, int transfer, int waited, int merged)
{
    g_assert_cmpuint(s->moves[CONTENTION_SAME_DOMAIN].count, ==, 0);
    g_assert_cmpuint(s->moves[CONTENTION_SAME_CHIP].count, ==, same_chip);
    g_assert_cmpuint(s->moves[CONTENTION_CROSS_CHIP].count, ==, cross_chip);
    g_assert_cmpuint(contention_sums_transfers(s), ==, same_chip + cross_chip);
    g_assert_cmpint(s->moves[CONTENTION_SAME_CHIP].time +
                    s->moves[CONTENTION_CROSS_CHIP].time, ==,
                    transfer * NS);
    g_assert_cmpint(s->waited, ==, waited * NS);
    g_assert_cmpint(s->merged, ==, merged * NS);
    g_assert_cmpint(contention_sums_stall(s), ==,
                    (transfer + waited + merged) * NS);
}

static void test_line(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;

    g_assert_cmpint(access_at(m, 0, true, 0, 8, 0x100), ==, 0);
    g_assert_cmpint(access_at(m, 2, true, 1000, 8, 0x100), ==, 60);
    g_assert_cmpint(access_at(m, 4, true, 2000, 8, 0x100), ==, 140);
    /* after that: 130 of waiting, 60 of transfer, there at 2200 */
    g_assert_cmpint(access_at(m, 6, true, 2010, 8, 0x100), ==, 190);
    /* its neighbour waits for the same arrival, and has it for nothing */
    g_assert_cmpint(access_at(m, 7, false, 2020, 16, 0x200), ==, 180);
    g_assert_cmpint(access_at(m, 7, false, 2300, 16, 0x200), ==, 0);

    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 1);
    expect(r->lines[0].sums, 2, 1, 260, 130, 180);
    g_assert_cmpuint(r->lines[0].sums->waits, ==, 1);
    g_assert_cmpuint(r->lines[0].sums->merges, ==, 1);
    g_assert_cmpuint(r->lines[0].sums->longest_queue, ==, 2);
    g_assert_cmphex(r->lines[0].address, ==, 0);
    g_assert_true(r->lines[0].has_ea);
    g_assert_cmphex(r->lines[0].ea, ==, EA);
    g_assert_false(r->lines[0].user);

    g_assert_cmpuint(r->nr_instructions, ==, 2);
    g_assert_cmphex(r->instructions[0].pc, ==, 0x100);
    g_assert_true(r->instructions[0].store);
    expect(&r->instructions[0].sums, 2, 1, 260, 130, 0);
    g_assert_cmphex(r->instructions[1].pc, ==, 0x200);
    g_assert_false(r->instructions[1].store);
    expect(&r->instructions[1].sums, 0, 0, 0, 0, 180);

    g_assert_cmpuint(r->lines[0].nr_accesses, ==, 2);
    g_assert_cmphex(r->lines[0].accesses[0].origin.pc, ==, 0x100);
    g_assert_cmpuint(r->lines[0].accesses[0].offset, ==, 8);
    g_assert_cmpuint(r->lines[0].accesses[0].origin.size, ==, 4);
    g_assert_cmpuint(r->lines[0].accesses[0].domains, ==, 3);
    expect(r->lines[0].accesses[0].sums, 2, 1, 260, 130, 0);
    g_assert_cmpuint(r->lines[0].accesses[1].offset, ==, 16);
    expect(r->lines[0].accesses[1].sums, 0, 0, 0, 0, 180);

    expect(r->total, 2, 1, 260, 130, 180);
    g_assert_cmpuint(r->dropped_lines, ==, 0);
    g_assert_cmpuint(r->dropped_accesses, ==, 0);
}

static void test_free(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;

    access_at(m, 0, true, 0, 0, 0x100);
    access_at(m, 1, true, 10, 0, 0x100);
    access_at(m, 4, false, 20, 128, 0x100);
    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 0);
    g_assert_cmpuint(r->nr_accesses, ==, 0);
    g_assert_cmpuint(r->nr_instructions, ==, 0);

    contention_set_attribution(m, 0);
    g_assert_null(contention_ranking_new(m, address, NULL));
    g_assert_null(contention_flow(m, false, 0, 0));
    g_assert_null(contention_event_flow(m, 0, 0));
    g_assert_cmpint(access_at(m, 2, true, 1000, 0, 0x100), ==, 60);
}

/* One word by one address, but in four ways: each has one transfer. */
static void test_kinds(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;
    ContentionRequest request = {
        .line = LINE,
        .origin = { .pc = 0x100, .ea = EA, .size = 8 },
    };

    for (unsigned i = 0; i < 5; i++) {
        /* domains take turns, so that each has to fetch the line */
        request.now = i * 1000 * NS;
        request.who = i % 2 ? 4 : 0;
        request.store = i != 1;
        request.conditional = i == 3;
        request.origin.user = i == 4;
        contention_request(m, &request, NULL);
    }
    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 1);
    g_assert_cmpuint(r->nr_accesses, ==, 4);
    g_assert_cmpuint(r->nr_instructions, ==, 4);
    /* equal stalls: user space last, then load, store, conditional */
    for (unsigned i = 0; i < 4; i++) {
        expect(&r->instructions[i].sums, 0, 1, 140, 0, 0);
        g_assert_cmpint(r->instructions[i].store, ==, i > 0);
        g_assert_cmpint(r->instructions[i].conditional, ==, i == 2);
        g_assert_cmpint(r->instructions[i].user, ==, i == 3);
        g_assert_cmpuint(r->lines[0].accesses[i].instruction, ==, i);
    }
}

static void test_dma(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;

    access_at(m, 0, true, 0, 0, 0x100);
    g_assert_cmpint(contention_dma(m, 1, LINE, true, 1000 * NS, NULL), ==,
                    140 * NS);
    /* cpu 4 reads what its chip's controller has written */
    g_assert_cmpint(access_at(m, 4, false, 2000, 0, 0x200), ==, 60);

    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 1);
    expect(r->lines[0].sums, 1, 0, 60, 0, 0);
    g_assert_cmpuint(r->lines[0].sums->dma, ==, 1);
    g_assert_cmpint(r->lines[0].sums->dma_time, ==, 140 * NS);
    /* holders 4 and 5 are the controllers of chips 0 and 1 */
    g_assert_cmpuint(r->lines[0].writers[5], ==, 1);
    g_assert_cmpuint(r->lines[0].readers[2], ==, 1);

    g_assert_cmpuint(r->nr_instructions, ==, 2);
    g_assert_false(r->instructions[0].dma);
    g_assert_true(r->instructions[1].dma);
    g_assert_true(r->instructions[1].store);
    g_assert_cmpuint(r->instructions[1].chip, ==, 1);
    g_assert_cmpuint(r->instructions[1].sums.dma, ==, 1);
    g_assert_cmpint(contention_sums_stall(&r->instructions[1].sums), ==, 0);
    g_assert_cmpuint(r->lines[0].accesses[1].origin.size, ==, 0);

    g_assert_cmpuint(contention_flow(m, true, 0, 1)->count, ==, 1);
    g_assert_cmpuint(contention_flow(m, false, 1, 1)->count, ==, 1);
    g_assert_cmpint(contention_flow(m, true, 0, 1)->time, ==, 140 * NS);
}

/* The line of a store that is granted: when to grant the next one */
static ContentionTime free_at;

static void on_free_at(uint64_t line, ContentionTime when, void *opaque)
{
    free_at = when;
}

static void on_granted(unsigned cpu, uint64_t line, ContentionTime when,
                       void *opaque)
{
}

static const ContentionArbiterOps arbiter = {
    .free_at = on_free_at, .granted = on_granted, .lost = on_granted,
};

static void test_given_up(void)
{
    g_autoptr(ContentionModel) m = machine("merge-rule=loads,"
                                           "arbitration=nearest", 100);
    g_autoptr(ContentionRanking) r = NULL;

    contention_set_arbiter(m, &arbiter, NULL);
    access_at(m, 0, true, 0, 0, 0x100);
    g_assert_cmpint(access_at(m, 4, true, 10, 0, 0x200), ==, 140);
    g_assert_cmpint(contention_request(m, &(ContentionRequest) {
        .now = 20 * NS, .line = LINE, .who = 2, .store = true,
        .conditional = true,
        .origin = { .pc = 0x300, .ea = EA, .size = 4 },
    }, NULL), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(access_at(m, 6, true, 30, 0, 0x400), ==,
                    CONTENTION_BLOCKED);
    /* cpu 6 is nearest: 150 to 210; cpu 2 learns it 1 ps later */
    g_assert_cmpint(free_at, ==, 150 * NS);
    contention_grant(m, LINE, free_at);

    r = rank(m);
    g_assert_cmpuint(r->nr_instructions, ==, 3);
    g_assert_cmphex(r->instructions[0].pc, ==, 0x300);
    g_assert_cmpuint(r->instructions[0].sums.given_up, ==, 1);
    g_assert_cmpint(contention_sums_stall(&r->instructions[0].sums), ==,
                    190 * NS + 1);
    g_assert_cmphex(r->instructions[1].pc, ==, 0x400);
    expect(&r->instructions[1].sums, 1, 0, 60, 120, 0);
    g_assert_cmphex(r->instructions[2].pc, ==, 0x200);
    expect(&r->instructions[2].sums, 0, 1, 140, 0, 0);
    g_assert_cmpint(contention_sums_stall(r->lines[0].sums), ==,
                    (190 + 180 + 140) * NS + 1);
    /* cpus 2 and 6 and the one in transit when they asked */
    g_assert_cmpuint(r->lines[0].sums->longest_queue, ==, 3);
    g_assert_cmpuint(contention_stats(m)->given_up, ==, 1);
    g_assert_cmpint(contention_stats(m)->given_up_time, ==, 190 * NS + 1);
}

static void test_places(void)
{
    g_autoptr(ContentionModel) m = machine("service-ns=50,notify-ns=200", 100);
    g_autoptr(ContentionRanking) r = NULL;
    const ContentionFlow *flow;

    access_at(m, 0, true, 0, 0, 0x100);
    access_at(m, 2, false, 1000, 0, 0x200);     /* copy, chip 0 to 0 */
    access_at(m, 4, false, 2000, 0, 0x200);     /* copy, chip 0 to 1 */
    access_at(m, 4, true, 3000, 0, 0x100);      /* upgrade, from owner */
    access_at(m, 0, true, 4000, 0, 0x100);      /* chip 1 to 0 */

    r = rank(m);
    g_assert_cmpuint(r->lines[0].readers[0], ==, 0);
    g_assert_cmpuint(r->lines[0].readers[1], ==, 1);
    g_assert_cmpuint(r->lines[0].readers[2], ==, 1);
    g_assert_cmpuint(r->lines[0].writers[0], ==, 1);
    g_assert_cmpuint(r->lines[0].writers[2], ==, 1);
    /* 140 + 140 of stores, 60 + 140 of loads */
    g_assert_cmphex(r->instructions[0].pc, ==, 0x100);
    g_assert_cmpuint(r->instructions[0].by_chip[0].count, ==, 1);
    g_assert_cmpint(r->instructions[0].by_chip[0].stall, ==, 140 * NS);
    g_assert_cmpuint(r->instructions[0].by_chip[1].count, ==, 1);
    g_assert_cmpint(r->instructions[1].by_chip[0].stall, ==, 60 * NS);
    g_assert_cmpint(r->instructions[1].by_chip[1].stall, ==, 140 * NS);

    flow = contention_flow(m, false, 0, 0);
    g_assert_cmpuint(flow->count, ==, 1);
    flow = contention_flow(m, false, 0, 1);
    g_assert_cmpuint(flow->count, ==, 2);
    g_assert_cmpint(flow->time, ==, 280 * NS);
    flow = contention_flow(m, false, 1, 0);
    g_assert_cmpuint(flow->count, ==, 1);
    g_assert_cmpuint(contention_flow(m, false, 1, 1)->count, ==, 0);

    /* both controllers serve it: 50 + 50 + 200 */
    contention_fabric_trigger(m, 0, 0, 1, 5000 * NS, NULL);
    g_assert_cmpuint(contention_event_flow(m, 0, 1)->count, ==, 1);
    g_assert_cmpint(contention_event_flow(m, 0, 1)->time, ==, 300 * NS);
    g_assert_cmpuint(contention_event_flow(m, 1, 0)->count, ==, 0);
}

static void test_order(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;

    /* lines 0 and 3: 60 each; line 1: 140; line 2: 60 + 60 */
    for (unsigned i = 0; i < 4; i++) {
        unsigned line = 3 - i;

        access_at(m, 0, true, 0, line * 128, 0x100);
        access_at(m, line == 1 ? 4 : 2, true, 1000, line * 128 + line,
                  0x200 + line);
    }
    access_at(m, 0, true, 2000, 2 * 128, 0x200);
    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 4);
    g_assert_cmphex(r->lines[0].address, ==, 128);
    g_assert_cmphex(r->lines[1].address, ==, 256);
    g_assert_cmphex(r->lines[2].address, ==, 0);
    g_assert_cmphex(r->lines[3].address, ==, 384);
    /* 0x200 has a transfer of line 0 and one of line 2: 120 */
    g_assert_cmphex(r->instructions[0].pc, ==, 0x201);
    g_assert_cmphex(r->instructions[1].pc, ==, 0x200);
    g_assert_cmpuint(r->instructions[1].lines, ==, 2);
    g_assert_cmphex(r->instructions[2].pc, ==, 0x202);
    g_assert_cmphex(r->instructions[3].pc, ==, 0x203);
    /* within line 2 the better ranked instruction is first */
    g_assert_cmphex(r->lines[1].accesses[0].origin.pc, ==, 0x200);
    g_assert_cmphex(r->lines[1].accesses[1].origin.pc, ==, 0x202);
}

static void test_dropped(void)
{
    g_autoptr(ContentionModel) m = machine("", 2);
    g_autoptr(ContentionRanking) r = NULL;

    for (unsigned line = 0; line < 4; line++) {
        access_at(m, 0, true, 0, line * 128, 0x100);
        access_at(m, 2, true, 1000, line * 128, 0x100);
        access_at(m, 4, true, 2000, line * 128, 0x200);
    }
    /* lines 0 and 1 have entries, the two accesses to line 0 too */
    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 2);
    g_assert_cmpuint(r->nr_accesses, ==, 2);
    g_assert_cmpuint(r->nr_instructions, ==, 2);
    expect(r->total, 4, 4, 800, 0, 0);
    expect(r->lines[0].sums, 1, 1, 200, 0, 0);
    expect(r->lines[1].sums, 1, 1, 200, 0, 0);
    g_assert_cmpuint(r->lines[1].nr_accesses, ==, 0);
    g_assert_false(r->lines[1].has_ea);
    g_assert_cmpuint(r->dropped_lines, ==, 2);
    expect(r->dropped_line, 2, 2, 400, 0, 0);
    g_assert_cmpuint(r->dropped_accesses, ==, 6);
    expect(r->dropped_access, 3, 3, 600, 0, 0);
}

static void test_reset_counters(void)
{
    g_autoptr(ContentionModel) m = machine("", 100);
    g_autoptr(ContentionRanking) r = NULL;

    access_at(m, 0, true, 0, 0, 0x100);
    access_at(m, 4, true, 1000, 0, 0x100);
    contention_fabric_mmio(m, 0, 0, CONTENTION_TIMA_LOAD);
    contention_reset_counters(m);
    g_assert_cmpuint(contention_stats(m)->mmio[CONTENTION_TIMA_LOAD], ==, 0);
    /* the line is still in flight to domain 2, which has it at 1140 */
    g_assert_cmpint(access_at(m, 6, true, 1040, 0, 0x100), ==, 160);
    r = rank(m);
    g_assert_cmpuint(r->nr_lines, ==, 1);
    expect(r->total, 1, 0, 60, 100, 0);
    g_assert_cmpuint(contention_stats(m)->transfers[CONTENTION_CROSS_CHIP],
                     ==, 0);

    contention_reset(m);
    g_assert_cmpuint(contention_attribution(m), ==, 100);
    g_assert_cmpint(access_at(m, 6, true, 0, 0, 0x100), ==, 0);
}

/* Are the sums of @r those of @s? */
static void check_sums(const ContentionSums *s, const ContentionStats *stats)
{
    ContentionTime stall = stats->stall[CONTENTION_MERGE] +
                           stats->given_up_time;

    for (unsigned d = 0; d < CONTENTION_DISTANCES; d++) {
        g_assert_cmpuint(s->moves[d].count, ==, stats->transfers[d]);
        stall += stats->transfer_stall[d];
    }
    g_assert_cmpint(contention_sums_stall(s), ==, stall);
    g_assert_cmpuint(s->waits + s->dma_waits, ==, stats->waits);
    g_assert_cmpint(s->waited + s->dma_waited, ==, stats->waited);
    g_assert_cmpuint(s->merges, ==, stats->count[CONTENTION_MERGE]);
    g_assert_cmpint(s->merged, ==, stats->stall[CONTENTION_MERGE]);
    g_assert_cmpuint(s->given_up, ==, stats->given_up);
    g_assert_cmpint(s->given_up_time, ==, stats->given_up_time);
    g_assert_cmpint(s->dma_time, ==, stats->stall[CONTENTION_DMA_READ] +
                                     stats->stall[CONTENTION_DMA_WRITE]);
    g_assert_cmpuint(s->longest_queue, ==, stats->longest_queue);
}

static void add_sums(ContentionSums *s, const ContentionSums *more)
{
    const uint64_t *from = (const uint64_t *)more;
    uint64_t *to = (uint64_t *)s;
    uint64_t longest = MAX(s->longest_queue, more->longest_queue);

    /* all fields are 64 bits wide, and all but one are added up */
    for (unsigned i = 0; i < sizeof(*s) / sizeof(*to); i++) {
        to[i] += from[i];
    }
    s->longest_queue = longest;
}

static void check_totals(const ContentionModel *m, uint64_t first)
{
    const ContentionStats *stats = contention_stats(m);
    g_autoptr(ContentionRanking) r = contention_ranking_new(m, address,
                                                            &first);
    ContentionSums lines = *r->dropped_line;
    ContentionSums instructions = *r->dropped_access;
    ContentionSums accesses = *r->dropped_access;
    uint64_t flows = 0, transfers = 0;

    for (unsigned i = 0; i < r->nr_lines; i++) {
        add_sums(&lines, r->lines[i].sums);
    }
    for (unsigned i = 0; i < r->nr_instructions; i++) {
        add_sums(&instructions, &r->instructions[i].sums);
    }
    for (unsigned i = 0; i < r->nr_accesses; i++) {
        add_sums(&accesses, r->accesses[i].sums);
    }
    /* An access knows the queue it was served from, not the longest ever. */
    g_assert_cmpuint(instructions.longest_queue, <=, stats->longest_queue);
    instructions.longest_queue = stats->longest_queue;
    g_assert_cmpuint(accesses.longest_queue, <=, stats->longest_queue);
    accesses.longest_queue = stats->longest_queue;
    check_sums(r->total, stats);
    check_sums(&lines, stats);
    check_sums(&instructions, stats);
    check_sums(&accesses, stats);

    for (unsigned from = 0; from < 2; from++) {
        for (unsigned to = 0; to < 2; to++) {
            flows += contention_flow(m, false, from, to)->count;
        }
    }
    for (unsigned d = 0; d < CONTENTION_DISTANCES; d++) {
        transfers += stats->transfers[d];
    }
    g_assert_cmpuint(flows, ==, transfers);
}

/* The same traffic for each @seed, wherever the lines are in the host */
static void traffic(ContentionModel *m, uint64_t first, unsigned seed)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    ContentionTime now = 0;
    uint64_t blocked = 0;

    free_at = -1;
    contention_set_arbiter(m, &arbiter, NULL);
    for (unsigned i = 0; i < 4000; i++) {
        unsigned at = g_rand_int_range(rand, 0, 40);
        unsigned pc = g_rand_int_range(rand, 0, 6);
        bool store = g_rand_int_range(rand, 0, 3) == 0;
        bool dma = g_rand_int_range(rand, 0, 20) == 0;

        now += g_rand_int_range(rand, 0, 40) * NS;
        if (blocked && free_at >= 0 && free_at <= now) {
            ContentionTime when = free_at;

            free_at = -1;
            contention_grant(m, blocked, when);
            blocked = free_at >= 0 ? blocked : 0;
        }
        /* One line with waiters at a time is what this arbiter can do. */
        if (blocked && store && !dma) {
            at = (blocked - first) * 4 + at % 4;
        }
        if (contention_request(m, &(ContentionRequest) {
                .now = now,
                .line = first + at / 4,
                .who = dma ? g_rand_int_range(rand, 0, 2)
                           : g_rand_int_range(rand, 0, 8),
                .dma = dma,
                .store = store,
                .conditional = store && !dma && pc == 5,
                .origin = {
                    .pc = EA + pc * 4,
                    .ea = EA + at / 4 * 128 + at % 4 * 32,
                    .size = 8,
                },
            }, NULL) == CONTENTION_BLOCKED) {
            blocked = first + at / 4;
        }
    }
}

static void test_totals(void)
{
    static const char *const rules[] = {
        "", "merge-rule=loads", "arbitration=nearest",
        "load-rule=shared,load-queue=serialised,load-occupancy-pct=50",
        "holder-rule=none,upgrade-rule=furthest,same-domain-ns=5",
        "waiter-slope-pct=10,arbitration=arrival",
    };
    static const unsigned entries[] = { 1, 7, 30, 10000 };

    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(entries); j++) {
            g_autoptr(ContentionModel) m = machine(rules[i], entries[j]);

            traffic(m, LINE, i);
            check_totals(m, LINE);
            g_assert_cmpuint(contention_stats(m)->waits, >, 0);
            g_assert_cmpuint(contention_stats(m)->count[CONTENTION_DMA_WRITE],
                             >, 0);
        }
    }
}

static char *to_json(const ContentionModel *m, uint64_t first)
{
    GString *out = g_string_new(NULL);

    contention_attribution_json(m, &(ContentionRegion) {
        .start = 1000 * NS, .end = 2000 * NS, .instructions = 100,
        .instruction_time = 54 * NS, .poll_time = 6 * NS, .paused = 30 * NS,
    }, address, &first, out);
    return g_string_free(out, FALSE);
}

static void test_host_addresses(void)
{
    static const uint64_t places[] = { LINE, 0x555555500, 0x7fffffffe000 };
    g_autofree char *expected = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(places); i++) {
        g_autoptr(ContentionModel) m = machine("merge-rule=loads", 25);
        g_autofree char *text = NULL;

        traffic(m, places[i], 1);
        text = to_json(m, places[i]);
        if (!expected) {
            expected = g_steal_pointer(&text);
        } else {
            g_assert_cmpstr(text, ==, expected);
        }
    }
}

/* The part of @text from @from up to, and without, @to */
static char *part(const char *text, const char *from, const char *to)
{
    const char *start = strstr(text, from);
    const char *end = start ? strstr(start, to) : NULL;

    g_assert_nonnull(start);
    g_assert_nonnull(end);
    return g_strndup(start, end - start);
}

static void test_json(void)
{
    g_autoptr(ContentionModel) m = machine("tima-load-ns=10", 100);
    g_autofree char *text = NULL;
    g_autofree char *lines = NULL;
    g_autofree char *breakdown = NULL;
    g_autofree char *matrix = NULL;
    g_autofree char *topology = NULL;

    access_at(m, 0, true, 0, 8, 0x100);
    access_at(m, 2, true, 1000, 8, 0x100);
    contention_dma(m, 1, LINE, true, 1100 * NS, NULL);
    contention_fabric_mmio(m, 0, 0, CONTENTION_TIMA_LOAD);
    text = to_json(m, LINE);
    g_assert_true(g_str_has_prefix(text, "{\"format\": 1, \"parameters\": {"));
    g_assert_true(g_str_has_suffix(text, "}]}\n"));

    topology = part(text, "\"topology\"", ", \"region\"");
    g_assert_cmpstr(topology, ==,
        "\"topology\": {\"cpus\": 8, \"chips\": 2, \"domains\": 4, "
        "\"line_bytes\": 128, "
        "\"distances\": [\"same-domain\", \"same-chip\", \"cross-chip\"], "
        "\"cpu_domain\": [0, 0, 1, 1, 2, 2, 3, 3], "
        "\"domain_chip\": [0, 0, 1, 1, 0, 1]}");
    /* 8 cpus x 1000; 54 + 6 + 60 + 10 + 30 of that are accounted for */
    breakdown = part(text, "\"breakdown\"", ", \"matrix\"");
    g_assert_cmpstr(breakdown, ==,
        "\"breakdown\": {\"total_ns\": 8000, \"instructions_ns\": 54, "
        "\"polls_ns\": 6, \"transfer_ns\": [0, 60, 0], \"wait_ns\": 0, "
        "\"merge_ns\": 0, \"given_up_ns\": 0, \"fabric_ns\": 10, "
        "\"paused_ns\": 30, \"idle_ns\": 7840}");
    matrix = part(text, "\"matrix\"", ", \"fabric\"");
    g_assert_cmpstr(matrix, ==,
        "\"matrix\": {\"count\": [[1, 0], [0, 0]], "
        "\"ns\": [[60, 0], [0, 0]], \"wait_ns\": [[0, 0], [0, 0]]}, "
        "\"dma_matrix\": {\"count\": [[0, 1], [0, 0]], "
        "\"ns\": [[0, 140], [0, 0]], \"wait_ns\": [[0, 0], [0, 0]]}");
    lines = part(text, "\"lines\": [", ", \"instructions\": [\n");
    g_assert_cmpstr(lines, ==,
        "\"lines\": [\n"
        "{\"gpa\": \"0x0\", \"ea\": \"0xc000000000020000\", "
        "\"stall_ns\": 60, \"transfers\": [0, 1, 0], "
        "\"transfer_ns\": [0, 60, 0], \"dma\": 1, \"dma_ns\": 140, "
        "\"longest_queue\": 1, \"readers\": [], "
        "\"writers\": [[1, 1], [5, 1]], \"accesses\": ["
        "{\"pc\": \"0x100\", \"operation\": \"store\", "
        "\"instruction\": 0, \"offset\": 8, \"size\": 4, "
        "\"ea\": \"0xc000000000020008\", "
        "\"stall_ns\": 60, \"transfers\": [0, 1, 0], "
        "\"transfer_ns\": [0, 60, 0], \"longest_queue\": 1, "
        "\"domains\": 1, \"chip_count\": [1, 0], "
        "\"chip_stall_ns\": [60, 0]}, "
        "{\"device\": \"interrupt-controller\", \"chip\": 1, "
        "\"operation\": \"dma-write\", \"instruction\": 1, "
        "\"stall_ns\": 0, \"transfers\": [0, 0, 0], "
        "\"transfer_ns\": [0, 0, 0], \"dma\": 1, \"dma_ns\": 140, "
        "\"longest_queue\": 1, \"domains\": 1, \"chip_count\": [0, 1], "
        "\"chip_stall_ns\": [0, 0]}]}]");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/attribution/line", test_line);
    g_test_add_func("/contention/attribution/free", test_free);
    g_test_add_func("/contention/attribution/kinds", test_kinds);
    g_test_add_func("/contention/attribution/dma", test_dma);
    g_test_add_func("/contention/attribution/given-up", test_given_up);
    g_test_add_func("/contention/attribution/places", test_places);
    g_test_add_func("/contention/attribution/order", test_order);
    g_test_add_func("/contention/attribution/dropped", test_dropped);
    g_test_add_func("/contention/attribution/reset-counters",
                    test_reset_counters);
    g_test_add_func("/contention/attribution/totals", test_totals);
    g_test_add_func("/contention/attribution/host-addresses",
                    test_host_addresses);
    g_test_add_func("/contention/attribution/json", test_json);
    return g_test_run();
}
