/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention model's lines
 *
 * Directed sequences; the times in the comments are worked out by hand from
 * the rules in contention.h.
 *
 * - ownership: first touch, stores by distance, filter and probe, threads
 *   whose clock is ahead, of a line's arrival or of a load of another domain;
 *   who is told of changes
 * - sharing: copies, upgrades by the nearest and the furthest holder
 * - serialisation of exclusive transfers
 * - the line in flight: departure, merges, copies while transfers pend
 * - each alternative of holder-rule, load-rule, load-queue, merge-rule
 * - waiter slope, of all waiters or those of a chip, and load occupancy
 * - domains of two cores, hops
 * - DMA by an interrupt controller
 * - counters, of the model and of lines; reset; times that go back
 *
 * Unless said otherwise the machine has 2 chips x 2 domains x 2 threads:
 * cpus 0-1 are domain 0 and 2-3 domain 1 on chip 0, cpus 4-5 are domain 2
 * and 6-7 domain 3 on chip 1.  A transfer takes 60 ns on a chip and 140 ns
 * between chips.
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

#define TIMES "same-chip-ns=60,cross-chip-ns=140"
#define LINE 0x1234567

/* The kind of an access that was free through the filter or the probe */
#define HIT CONTENTION_HIT

static ContentionModel *machine(const char *settings)
{
    g_autofree char *all = g_strdup_printf(TIMES "%s%s", *settings ? "," : "",
                                           settings);

    return test_machine(2, 2, 2, NULL, all);
}

/* Times in ns */
static void expect(ContentionModel *m, unsigned cpu, bool store, int now,
                   int stall, ContentionKind kind)
{
    ContentionResult r;

    g_assert_cmpint(test_access(m, cpu, LINE, store, now * NS, &r), ==,
                    stall * NS);
    g_assert_cmpint(r.kind, ==, kind);
}

static void load(ContentionModel *m, unsigned cpu, int now, int stall,
                 ContentionKind kind)
{
    expect(m, cpu, false, now, stall, kind);
}

static void store(ContentionModel *m, unsigned cpu, int now, int stall,
                  ContentionKind kind)
{
    expect(m, cpu, true, now, stall, kind);
}

static bool filtered(ContentionModel *m, unsigned cpu, bool write)
{
    return contention_filter_hit(contention_filter(m, cpu), LINE, write);
}

static void test_first_touch(void)
{
    g_autoptr(ContentionModel) m = machine("");

    /* it changes the owner, so it is no matter of the probe */
    g_assert_false(contention_probe(m, 0, LINE, false, 0));
    g_assert_false(filtered(m, 0, false));
    load(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);

    /* both threads may load; the first store has to make the line dirty */
    g_assert_true(filtered(m, 0, false));
    g_assert_true(filtered(m, 1, false));
    g_assert_false(filtered(m, 0, true));
    g_assert_true(contention_probe(m, 1, LINE, true, 0));
    g_assert_true(filtered(m, 0, true));
    g_assert_false(filtered(m, 2, false));

    g_assert_false(contention_filter_hit(contention_filter(m, 0), LINE + 1,
                                         false));
    g_assert_false(contention_filter_hit(contention_filter(m, 0), LINE + 4096,
                                         false));
    /* line 0 is a line like others, and not in an empty filter */
    g_assert_false(contention_filter_hit(contention_filter(m, 0), 0, false));
}

static void test_ownership(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionResult r;

    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    store(m, 1, 0, 0, HIT);

    /* the same chip: 60; then the other chip: 140 */
    g_assert_cmpint(test_access(m, 2, LINE, true, 1000 * NS, &r), ==, 60 * NS);
    g_assert_cmpint(r.kind, ==, CONTENTION_STORE);
    g_assert_cmpuint(r.distance, ==, CONTENTION_SAME_CHIP);
    g_assert_cmpint(r.from, ==, 0);
    g_assert_cmpint(r.waited, ==, 0);
    g_assert_cmpint(r.transfer, ==, 60 * NS);
    g_assert_cmpuint(r.waiters, ==, 0);
    g_assert_false(filtered(m, 0, false));

    g_assert_cmpint(test_access(m, 4, LINE, true, 2000 * NS, &r), ==,
                    140 * NS);
    g_assert_cmpuint(r.distance, ==, CONTENTION_CROSS_CHIP);
    g_assert_cmpint(r.from, ==, 1);

    /* until it has arrived nothing of it is in the filter */
    g_assert_false(filtered(m, 4, false));
    g_assert_false(contention_probe(m, 4, LINE, true, 2139 * NS));
    g_assert_true(contention_probe(m, 4, LINE, true, 2140 * NS));
}

/*
 * A thread that is ahead of the others must not give them the line before it
 * has arrived for them: domain 1 asks at 0 and has it at 60; cpu 2 is at 70
 * already when cpu 3 is at 10.
 */
static void test_ahead(void)
{
    g_autoptr(ContentionModel) m = machine("");
    g_autoptr(ContentionModel) shared = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    g_assert_true(contention_probe(m, 2, LINE, true, 70 * NS));
    g_assert_false(filtered(m, 3, false));
    store(m, 3, 10, 50, CONTENTION_MERGE);
    /* an access anywhere says that all are that far */
    contention_access(m, 4, LINE + 1, true, 60 * NS, NULL);
    g_assert_true(contention_probe(m, 2, LINE, true, 70 * NS));
    g_assert_true(filtered(m, 3, true));

    store(shared, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(shared, 2, 0, 60, CONTENTION_SHARED_LOAD);
    g_assert_true(contention_probe(shared, 2, LINE, false, 70 * NS));
    g_assert_false(filtered(shared, 3, false));
    load(shared, 3, 10, 50, CONTENTION_MERGE);
    contention_access(shared, 4, LINE + 1, true, 60 * NS, NULL);
    g_assert_true(contention_probe(shared, 2, LINE, false, 70 * NS));
    g_assert_true(filtered(shared, 3, false));
}

/*
 * Nor may it store what another domain has yet to load: domain 2 asks at 0
 * and has the line at 140; domain 3 asks it at 100 for what is in the line at
 * 160. A store at 150 is part of that, one at 170 must wait for all others.
 */
static void test_ahead_of_load(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 4, 0, 140, CONTENTION_STORE);
    load(m, 6, 100, 60, CONTENTION_TRANSIENT_LOAD);
    contention_advance(m, 140 * NS);
    g_assert_true(contention_probe(m, 4, LINE, false, 170 * NS));
    g_assert_true(contention_probe(m, 4, LINE, true, 150 * NS));
    g_assert_false(filtered(m, 4, true));
    g_assert_false(contention_probe(m, 4, LINE, true, 170 * NS));
    /* the load is made */
    contention_advance(m, 161 * NS);
    g_assert_true(contention_probe(m, 4, LINE, true, 170 * NS));
    g_assert_true(filtered(m, 4, true));
}

/* The same with a copy that was kept until domain 3 took the line at 10. */
static void test_ahead_of_overtaken_load(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 4, -1000, 0, CONTENTION_FIRST_TOUCH);
    /* on the other chip: arrives at 140 */
    load(m, 0, 0, 140, CONTENTION_SHARED_LOAD);
    store(m, 6, 10, 60, CONTENTION_STORE);
    contention_advance(m, 110 * NS);
    g_assert_true(contention_probe(m, 6, LINE, true, 139 * NS));
    g_assert_false(filtered(m, 6, true));
    g_assert_false(contention_probe(m, 6, LINE, true, 141 * NS));
    contention_advance(m, 141 * NS);
    g_assert_true(contention_probe(m, 6, LINE, true, 141 * NS));
    g_assert_true(filtered(m, 6, true));
}

/*
 * That nobody is behind any more may also be said without an access: the
 * line arrives at 60 and may be filtered once all have come that far.
 */
static void test_advance(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    contention_advance(m, 59 * NS);
    g_assert_true(contention_probe(m, 2, LINE, true, 70 * NS));
    g_assert_false(filtered(m, 3, false));
    contention_advance(m, 60 * NS);
    g_assert_true(contention_probe(m, 2, LINE, true, 70 * NS));
    g_assert_true(filtered(m, 3, true));
}

/* What the observer has been told of LINE and of others since last asked */
static unsigned told_line, told_other;

static void observe(uint64_t line, void *opaque)
{
    g_assert_true(opaque == &told_line);
    *(line == LINE ? &told_line : &told_other) += 1;
}

static bool told(void)
{
    bool any = told_line;

    told_line = 0;
    return any;
}

/*
 * A thread that waits for a line to change is told when its copy goes, and
 * of a store by a thread of its own domain, which the filter lets pass
 * otherwise.
 */
static void test_observer(void)
{
    g_autoptr(ContentionModel) m = machine("");

    contention_set_observer(m, observe, &told_line);
    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    told();

    /* loads of the own domain change nothing; unwatched, nor do stores */
    g_assert_true(filtered(m, 1, false));
    g_assert_true(filtered(m, 1, true));
    contention_watch(m, 0, LINE);
    g_assert_true(filtered(m, 1, false));
    g_assert_false(filtered(m, 1, true));
    g_assert_false(told());

    /* the store is free as before, and told; the next passes again */
    store(m, 1, 100, 0, HIT);
    g_assert_true(told());
    g_assert_true(filtered(m, 1, true));

    /* a copy of another domain takes nothing from the owner, a store does */
    load(m, 2, 200, 60, CONTENTION_SHARED_LOAD);
    g_assert_false(told());
    store(m, 4, 1000, 140, CONTENTION_STORE);
    g_assert_true(told());

    /* so does the interrupt controller */
    store(m, 0, 2000, 140, CONTENTION_STORE);
    told();
    contention_dma(m, 0, LINE, true, 3000 * NS, NULL);
    g_assert_true(told());
    g_assert_cmpuint(told_other, ==, 0);
}

static void test_sharing(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    g_assert_true(filtered(m, 0, true));
    load(m, 2, 1000, 60, CONTENTION_SHARED_LOAD);
    /* the owner may load still, but not store */
    g_assert_true(filtered(m, 0, false));
    g_assert_false(filtered(m, 0, true));
    load(m, 4, 2000, 140, CONTENTION_SHARED_LOAD);
    /* from the nearest holder, which is domain 2 now and not the owner */
    load(m, 6, 3000, 60, CONTENTION_SHARED_LOAD);

    /* polling costs nothing, for as long as all only load */
    for (int now = 4000; now < 5000; now += 100) {
        for (unsigned cpu = 0; cpu < 8; cpu++) {
            load(m, cpu, now, 0, HIT);
        }
    }

    /* the owner upgrades; the others have lost their copies */
    store(m, 0, 6000, 60, CONTENTION_UPGRADE);
    load(m, 2, 7000, 60, CONTENTION_SHARED_LOAD);
    load(m, 4, 8000, 140, CONTENTION_SHARED_LOAD);
}

/* Two pollers of a line that nobody writes do not take it from each other. */
static void test_clean(void)
{
    g_autoptr(ContentionModel) m = machine("load-rule=migratory");

    load(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    load(m, 2, 100, 60, CONTENTION_SHARED_LOAD);
    load(m, 0, 200, 0, HIT);
    load(m, 2, 200, 0, HIT);
    contention_access(m, 4, LINE + 1, true, 200 * NS, NULL);
    load(m, 2, 200, 0, HIT);
    g_assert_true(filtered(m, 0, false));
    g_assert_true(filtered(m, 2, false));
}

/* Three domains want the line at 0, 10 and 20; it goes from one to the next */
static void test_serialised(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionResult r;

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    /* domain 1: 0 to 60 */
    store(m, 2, 0, 60, CONTENTION_STORE);
    /* domain 2: from 60, another chip: 200 */
    g_assert_cmpint(test_access(m, 4, LINE, true, 10 * NS, &r), ==, 190 * NS);
    g_assert_cmpint(r.waited, ==, 50 * NS);
    g_assert_cmpint(r.transfer, ==, 140 * NS);
    g_assert_cmpuint(r.waiters, ==, 1);
    g_assert_cmpint(r.from, ==, 1);
    /* domain 3: from 200, the chip of domain 2: 260 */
    g_assert_cmpint(test_access(m, 6, LINE, true, 20 * NS, &r), ==, 240 * NS);
    g_assert_cmpint(r.waited, ==, 180 * NS);
    g_assert_cmpuint(r.waiters, ==, 2);

    g_assert_cmpuint(contention_stats(m)->longest_queue, ==, 3);
    g_assert_cmpuint(contention_stats(m)->waits, ==, 2);
    g_assert_cmpint(contention_stats(m)->waited, ==, 230 * NS);

    /* 70: domain 1 has had it; two are waiting */
    g_assert_cmpint(test_access(m, 0, LINE, true, 70 * NS, &r), ==,
                    (260 + 140 - 70) * NS);
    g_assert_cmpuint(r.waiters, ==, 2);
    store(m, 0, 400, 0, HIT);
}

/* Other lines are not concerned. */
static void test_independent(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionResult r;

    for (unsigned i = 0; i < 100; i++) {
        test_access(m, 0, LINE + i, true, 0, &r);
    }
    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(test_access(m, 2, LINE + i, true, 0, &r), ==, 60 * NS);
        g_assert_cmpuint(r.waiters, ==, 0);
    }
}

/* The line leaves domain 0 at 50 % of the transfer, at 30. */
static void test_departure(void)
{
    g_autoptr(ContentionModel) m = machine("");
    g_autoptr(ContentionModel) all = machine("departure-pct=100");
    g_autoptr(ContentionModel) none = machine("departure-pct=0");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    load(m, 0, 10, 0, HIT);
    /* free, but domain 1 has asked: never in the filter */
    g_assert_false(filtered(m, 0, false));
    load(m, 1, 29, 0, HIT);
    /* on its way to domain 1, on the same chip */
    load(m, 0, 30, 60, CONTENTION_TRANSIENT_LOAD);
    /* the other thread waits for the same copy */
    load(m, 1, 50, 40, CONTENTION_MERGE);
    load(m, 1, 89, 1, CONTENTION_MERGE);
    /* which is gone now */
    load(m, 0, 90, 60, CONTENTION_SHARED_LOAD);
    load(m, 1, 150, 0, HIT);

    store(all, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(all, 2, 0, 60, CONTENTION_STORE);
    load(all, 0, 59, 0, HIT);
    load(all, 0, 60, 60, CONTENTION_SHARED_LOAD);

    store(none, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(none, 2, 0, 60, CONTENTION_STORE);
    load(none, 0, 0, 60, CONTENTION_TRANSIENT_LOAD);
}

/*
 * Threads of a domain wait together.
 *
 *   domain 1 asks at 0 and has the line at 60
 *   domain 2 asks at 20 and has it at 200; it leaves domain 1 at 130
 */
static void test_merge(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    store(m, 3, 10, 50, CONTENTION_MERGE);
    load(m, 3, 15, 45, CONTENTION_MERGE);
    store(m, 4, 20, 180, CONTENTION_STORE);
    /* others are behind, but the line comes here first */
    store(m, 3, 30, 30, CONTENTION_MERGE);
    load(m, 3, 59, 1, CONTENTION_MERGE);
    load(m, 5, 60, 140, CONTENTION_MERGE);
    /* it is here, and promised: loads are free until it leaves */
    load(m, 2, 60, 0, HIT);
    load(m, 3, 129, 0, HIT);
    g_assert_false(filtered(m, 2, false));
    /* a store queues again, behind domain 2: 200 + 140 */
    store(m, 2, 70, 270, CONTENTION_STORE);
    /* the line is here still, so this load need not wait for 340 */
    load(m, 3, 80, 0, HIT);
    /* now it must; it joins the store */
    load(m, 3, 130, 210, CONTENTION_MERGE);
    store(m, 3, 130, 210, CONTENTION_MERGE);
    store(m, 3, 340, 0, HIT);
}

/* The same start, but a store always makes a request of its own. */
static void test_merge_loads(void)
{
    g_autoptr(ContentionModel) m = machine("merge-rule=loads");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    load(m, 3, 10, 50, CONTENTION_MERGE);
    store(m, 4, 20, 180, CONTENTION_STORE);
    /* behind domain 2, on the other chip: 200 + 140 */
    store(m, 3, 30, 310, CONTENTION_STORE);
    load(m, 3, 40, 20, CONTENTION_MERGE);
    /* a request right behind one's own: from 340, for nothing */
    store(m, 2, 50, 290, CONTENTION_UPGRADE);
    g_assert_cmpuint(contention_stats(m)->longest_queue, ==, 4);
}

static void test_holder_load_store(void)
{
    g_autoptr(ContentionModel) m = machine("holder-rule=load-store");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    store(m, 1, 29, 0, HIT);
    load(m, 1, 29, 0, HIT);
    g_assert_false(filtered(m, 0, false));
    store(m, 1, 30, 90, CONTENTION_STORE);

    /* a sharer never could store: domain 1 does not keep that right */
    load(m, 2, 1000, 60, CONTENTION_SHARED_LOAD);
    store(m, 4, 2000, 140, CONTENTION_STORE);
    load(m, 2, 2010, 0, HIT);
    load(m, 0, 2010, 0, HIT);
    store(m, 2, 2010, 270, CONTENTION_STORE);
}

static void test_holder_none(void)
{
    g_autoptr(ContentionModel) m = machine("holder-rule=none");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    load(m, 0, 0, 60, CONTENTION_TRANSIENT_LOAD);
    /* domain 2 asks: domain 1 will have the line for nothing but its wait */
    store(m, 4, 20, 180, CONTENTION_STORE);
    load(m, 3, 30, 30, CONTENTION_MERGE);
    store(m, 3, 30, 30, CONTENTION_MERGE);
    load(m, 3, 60, 140, CONTENTION_TRANSIENT_LOAD);
}

/*
 * Domain 0 owns; domains 1 (same chip) and 2 (other chip) have copies.
 * Domain 1 upgrades at 1000.
 */
static void test_upgrade(void)
{
    static const struct {
        const char *rule;
        int cost;
    } cases[] = { { "upgrade-rule=nearest", 60 },
                  { "upgrade-rule=furthest", 140 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ContentionModel) m = machine(cases[i].rule);
        int cost = cases[i].cost;

        store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
        load(m, 2, 100, 60, CONTENTION_SHARED_LOAD);
        load(m, 4, 300, 140, CONTENTION_SHARED_LOAD);
        store(m, 2, 1000, cost, CONTENTION_UPGRADE);
        /* its own copy serves loads meanwhile, stores join */
        load(m, 3, 1000 + cost - 1, 0, HIT);
        store(m, 3, 1000 + cost - 1, 1, CONTENTION_MERGE);
        g_assert_false(filtered(m, 0, false));
        g_assert_false(filtered(m, 4, false));
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(ContentionModel) m = machine(cases[i].rule);
        int cost = cases[i].cost;

        store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
        load(m, 2, 100, 60, CONTENTION_SHARED_LOAD);
        load(m, 4, 300, 140, CONTENTION_SHARED_LOAD);
        /* the old owner and the other sharer, until the line leaves */
        store(m, 2, 1000, cost, CONTENTION_UPGRADE);
        load(m, 0, 1000 + cost / 2 - 1, 0, HIT);
        load(m, 5, 1000 + cost / 2 - 1, 0, HIT);
        load(m, 0, 1000 + cost / 2, 60, CONTENTION_TRANSIENT_LOAD);
        load(m, 5, 1000 + cost / 2, 140, CONTENTION_TRANSIENT_LOAD);
    }
}

/* A domain without a copy pays the owner's distance under both rules. */
static void test_store_shared(void)
{
    g_autoptr(ContentionModel) m = machine("upgrade-rule=furthest");

    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    load(m, 4, 300, 140, CONTENTION_SHARED_LOAD);
    store(m, 2, 1000, 60, CONTENTION_STORE);
}

/*
 * Domain 1's load at 0 arrives at 60.  Domain 2 takes the line at 10, to
 * arrive at 150: it leaves at 80.
 */
static void test_load_in_flight(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(m, 2, 0, 60, CONTENTION_SHARED_LOAD);
    load(m, 3, 5, 55, CONTENTION_MERGE);
    g_assert_false(filtered(m, 2, false));
    store(m, 4, 10, 140, CONTENTION_STORE);
    load(m, 3, 20, 40, CONTENTION_MERGE);
    load(m, 3, 79, 0, HIT);
    load(m, 3, 80, 140, CONTENTION_TRANSIENT_LOAD);
}

/* The line leaves before the copy has arrived: only who waits gets it. */
static void test_load_overtaken(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 4, -1000, 0, CONTENTION_FIRST_TOUCH);
    /* domain 0, on the other chip: arrives at 140 */
    load(m, 0, 0, 140, CONTENTION_SHARED_LOAD);
    /* domain 3 takes the line from domain 2 at 10: leaves at 40 */
    store(m, 6, 10, 60, CONTENTION_STORE);
    load(m, 1, 139, 1, CONTENTION_MERGE);
    load(m, 1, 140, 140, CONTENTION_SHARED_LOAD);
}

/* A store right behind the domain's own load does not lose the copy. */
static void test_load_store(void)
{
    g_autoptr(ContentionModel) m = machine("");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(m, 4, 0, 140, CONTENTION_SHARED_LOAD);
    /* only domain 0 has to give up its copy */
    store(m, 5, 20, 140, CONTENTION_UPGRADE);
    load(m, 5, 30, 110, CONTENTION_MERGE);
    load(m, 5, 140, 0, HIT);
    store(m, 5, 159, 1, CONTENTION_MERGE);
    store(m, 5, 160, 0, HIT);
}

/* The first set of sharers has not left yet when the second must go. */
static void test_two_departing_sets(void)
{
    g_autoptr(ContentionModel) m =
        machine("load-queue=serialised,departure-pct=100");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(m, 2, 0, 60, CONTENTION_SHARED_LOAD);
    /* domain 0 upgrades, 100 to 160; domain 1 may load until 160 */
    store(m, 0, 100, 60, CONTENTION_UPGRADE);
    /* domain 2 loads behind that: 160 to 300 */
    load(m, 4, 110, 190, CONTENTION_SHARED_LOAD);
    /* domain 3 takes all from 160, on the other chip of the owner: 300 */
    store(m, 6, 120, 180, CONTENTION_STORE);
    load(m, 2, 159, 0, HIT);
    load(m, 5, 159, 141, CONTENTION_MERGE);
    /* domain 0's upgrade came before: it loads until 300 */
    load(m, 0, 299, 0, HIT);
}

/*
 * While the line is on its way from domain 0 to domain 2, a load is served
 * by the one that has it, and then by the one that gets it.
 */
static void test_supplier(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionResult r;

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 4, 0, 140, CONTENTION_STORE);
    g_assert_cmpint(test_access(m, 2, LINE, false, 10 * NS, &r), ==, 60 * NS);
    g_assert_cmpint(r.from, ==, 0);
    g_assert_cmpint(test_access(m, 2, LINE, false, 70 * NS, &r), ==,
                    140 * NS);
    g_assert_cmpint(r.from, ==, 2);
    g_assert_cmpint(r.kind, ==, CONTENTION_TRANSIENT_LOAD);
    /* domain 1 asks too, 140 to 280: the line leaves domain 2 at 210 */
    store(m, 2, 100, 180, CONTENTION_STORE);
    g_assert_cmpint(test_access(m, 6, LINE, false, 139 * NS, &r), ==, 60 * NS);
    g_assert_cmpint(r.from, ==, 2);
    g_assert_cmpint(test_access(m, 6, LINE, false, 209 * NS, &r), ==, 60 * NS);
    g_assert_cmpint(r.from, ==, 2);
    g_assert_cmpint(test_access(m, 0, LINE, false, 215 * NS, &r), ==, 60 * NS);
    g_assert_cmpint(r.from, ==, 1);
}

static void test_migratory(void)
{
    g_autoptr(ContentionModel) m = machine("load-rule=migratory");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    /* it will write as well: takes the line */
    load(m, 2, 0, 60, CONTENTION_EXCLUSIVE_LOAD);
    store(m, 3, 30, 30, CONTENTION_MERGE);
    store(m, 2, 60, 0, HIT);
    /* written again, so it is taken again, in the queue */
    store(m, 4, 100, 140, CONTENTION_STORE);
    load(m, 6, 110, 190, CONTENTION_EXCLUSIVE_LOAD);
    /* not written by domain 3: that is no migration, a copy is made */
    load(m, 0, 1000, 140, CONTENTION_SHARED_LOAD);
    load(m, 6, 1200, 0, HIT);
    /* an upgrade by domain 3, then it is written and exclusive again */
    store(m, 6, 2000, 140, CONTENTION_UPGRADE);
    load(m, 0, 3000, 140, CONTENTION_EXCLUSIVE_LOAD);
}

static void test_load_serialised(void)
{
    g_autoptr(ContentionModel) m = machine("load-queue=serialised");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    /* from 60, from domain 1, on the other chip: 200 */
    load(m, 4, 10, 190, CONTENTION_SHARED_LOAD);
    /* occupies nothing, so this one starts at 60 too; domain 2 is nearer */
    load(m, 6, 20, 100, CONTENTION_SHARED_LOAD);
    load(m, 4, 200, 0, HIT);
    /* domain 1 must upgrade */
    store(m, 2, 300, 140, CONTENTION_UPGRADE);
}

static void test_load_occupancy(void)
{
    g_autoptr(ContentionModel) m = machine("load-occupancy-pct=100");
    g_autoptr(ContentionModel) half = machine("load-occupancy-pct=50");
    g_autoptr(ContentionModel) queue = machine("load-occupancy-pct=100,"
                                               "load-queue=serialised");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(m, 2, 0, 60, CONTENTION_SHARED_LOAD);
    /* from 60, and domain 0 is on the other chip */
    store(m, 4, 10, 190, CONTENTION_STORE);

    store(half, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(half, 2, 0, 60, CONTENTION_SHARED_LOAD);
    store(half, 4, 10, 160, CONTENTION_STORE);

    /* loads queue for loads: 0 to 140, then 140 to 200 */
    store(queue, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    load(queue, 4, 0, 140, CONTENTION_SHARED_LOAD);
    load(queue, 2, 10, 190, CONTENTION_SHARED_LOAD);
}

/* 50 % more for each that waits: 60, 60 + 30, 60 + 60 */
static void test_waiter_slope(void)
{
    g_autoptr(ContentionModel) m = test_machine(1, 8, 1, NULL,
        TIMES ",waiter-slope-pct=50");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 1, 0, 60, CONTENTION_STORE);
    store(m, 2, 0, 150, CONTENTION_STORE);
    store(m, 3, 0, 270, CONTENTION_STORE);
    /* a load does not wait, but is slower: 60 + 3 * 30 */
    load(m, 4, 0, 150, CONTENTION_TRANSIENT_LOAD);
    /* at 60 one is through: two wait; 270 + 120 */
    store(m, 5, 60, 330, CONTENTION_STORE);
    /* all through */
    store(m, 6, 1000, 60, CONTENTION_STORE);
}

/*
 * cpus 0-3 are on chip 0, 4-7 on chip 1. With the line on its way to cpu 1,
 * cpu 1 itself waits there: 140 + 70. Then cpu 4 has it, and only cpu 4 waits
 * on its chip, not cpu 1: 140 + 70 again, where both would make 140 + 140.
 */
static void test_waiter_scope(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 4, 1, NULL,
        TIMES ",waiter-slope-pct=50,waiter-scope=chip");
    g_autoptr(ContentionModel) all = test_machine(2, 4, 1, NULL,
        TIMES ",waiter-slope-pct=50,waiter-scope=all");

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 1, 0, 60, CONTENTION_STORE);
    store(m, 4, 0, 270, CONTENTION_STORE);
    store(m, 2, 0, 480, CONTENTION_STORE);
    /* cpu 2 is to have it last, and cpu 1 waits on that chip: 60 + 60 */
    load(m, 3, 0, 120, CONTENTION_TRANSIENT_LOAD);

    store(all, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(all, 1, 0, 60, CONTENTION_STORE);
    store(all, 4, 0, 270, CONTENTION_STORE);
    store(all, 2, 0, 550, CONTENTION_STORE);
}

/* Two cores share a cache: cpus 0-3 are one domain, 4-7 another. */
static void test_cores_per_domain(void)
{
    g_autoptr(ContentionModel) m = test_machine(1, 4, 2, NULL,
        TIMES ",cores-per-domain=2");

    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    store(m, 3, 10, 0, HIT);
    store(m, 4, 100, 60, CONTENTION_STORE);
    store(m, 7, 120, 40, CONTENTION_MERGE);
}

typedef struct Sum {
    ContentionLineStats line, all;
    unsigned count;
} Sum;

static void sum_line(const ContentionLineStats *stats, void *opaque)
{
    Sum *sum = opaque;

    sum->count++;
    sum->all.transfers += stats->transfers;
    sum->all.stall += stats->stall;
    sum->all.waited += stats->waited;
    if (stats->line == LINE) {
        sum->line = *stats;
    }
}

static void test_dma(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionResult r;
    Sum sum = { 0 };

    /* cpu 0 polls an event queue, which chip 0's controller writes */
    load(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    load(m, 4, 100, 140, CONTENTION_SHARED_LOAD);
    g_assert_cmpint(contention_dma(m, 0, LINE, true, 1000 * NS, &r), ==,
                    60 * NS);
    g_assert_cmpint(r.kind, ==, CONTENTION_DMA_WRITE);
    g_assert_cmpint(r.from, ==, 0);
    g_assert_false(filtered(m, 0, false));
    g_assert_false(filtered(m, 4, false));
    /* the line leaves at 1030 */
    load(m, 0, 1029, 0, HIT);
    load(m, 4, 1029, 0, HIT);
    load(m, 0, 1100, 60, CONTENTION_SHARED_LOAD);
    load(m, 0, 1160, 0, HIT);
    load(m, 4, 1200, 140, CONTENTION_SHARED_LOAD);

    /* again: it has only to take the copies, the nearest is cpu 0's */
    g_assert_cmpint(contention_dma(m, 0, LINE, true, 2000 * NS, NULL), ==,
                    60 * NS);
    /* nobody has looked at it: free */
    g_assert_cmpint(contention_dma(m, 0, LINE, true, 3000 * NS, NULL), ==, 0);
    /* chip 1's controller: another holder */
    g_assert_cmpint(contention_dma(m, 1, LINE, true, 4000 * NS, NULL), ==,
                    140 * NS);
    /* queues like every exclusive transfer: 4140 + 140 */
    store(m, 0, 4010, 270, CONTENTION_STORE);

    /* reading takes time, and nothing from anyone */
    g_assert_cmpint(contention_dma(m, 1, LINE, false, 5000 * NS, &r), ==,
                    140 * NS);
    g_assert_cmpint(r.kind, ==, CONTENTION_DMA_READ);
    store(m, 0, 5010, 0, HIT);
    /* an unknown line stays unknown when it is read, not when written */
    g_assert_cmpint(contention_dma(m, 1, LINE + 1, false, 0, NULL), ==, 0);
    g_assert_cmpint(contention_access(m, 0, LINE + 1, false, 0, &r), ==, 0);
    g_assert_cmpint(r.kind, ==, CONTENTION_FIRST_TOUCH);
    g_assert_cmpint(contention_dma(m, 1, LINE + 2, true, 0, NULL), ==, 0);
    g_assert_cmpint(contention_access(m, 0, LINE + 2, false, 0, NULL), ==,
                    140 * NS);

    g_assert_cmpuint(contention_stats(m)->count[CONTENTION_DMA_WRITE], ==, 5);
    g_assert_cmpuint(contention_stats(m)->count[CONTENTION_DMA_READ], ==, 2);
    g_assert_cmpint(contention_stats(m)->stall[CONTENTION_DMA_WRITE], ==,
                    260 * NS);
    /* 3 loads, a store, 3 writes that had to take it, a read */
    contention_foreach_line(m, sum_line, &sum);
    g_assert_cmpuint(sum.line.transfers, ==, 8);
}

static void test_stats(void)
{
    g_autoptr(ContentionModel) m = machine("");
    g_autoptr(GString) json = g_string_new(NULL);
    const ContentionStats *s = contention_stats(m);
    Sum sum = { 0 };

    store(m, 0, -1000, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    store(m, 3, 10, 50, CONTENTION_MERGE);
    store(m, 4, 20, 180, CONTENTION_STORE);
    load(m, 6, 30, 140, CONTENTION_TRANSIENT_LOAD);
    load(m, 6, 1000, 60, CONTENTION_SHARED_LOAD);
    store(m, 4, 2000, 60, CONTENTION_UPGRADE);
    /* another line, which never moves */
    contention_access(m, 0, 1, true, 0, NULL);
    /* and one that does */
    contention_access(m, 0, 2, true, 0, NULL);
    contention_access(m, 2, 2, true, 0, NULL);

    g_assert_cmpuint(s->count[CONTENTION_FIRST_TOUCH], ==, 3);
    g_assert_cmpuint(s->count[CONTENTION_MERGE], ==, 1);
    g_assert_cmpuint(s->count[CONTENTION_STORE], ==, 3);
    g_assert_cmpuint(s->count[CONTENTION_TRANSIENT_LOAD], ==, 1);
    g_assert_cmpuint(s->count[CONTENTION_SHARED_LOAD], ==, 1);
    g_assert_cmpuint(s->count[CONTENTION_UPGRADE], ==, 1);
    g_assert_cmpuint(s->transfers[CONTENTION_SAME_CHIP], ==, 4);
    g_assert_cmpuint(s->transfers[CONTENTION_CROSS_CHIP], ==, 2);
    /* 60 + 60 + 60 + 60; the store of cpu 4 waited 40, the load did not */
    g_assert_cmpint(s->transfer_stall[CONTENTION_SAME_CHIP], ==, 240 * NS);
    g_assert_cmpint(s->transfer_stall[CONTENTION_CROSS_CHIP], ==, 320 * NS);
    g_assert_cmpint(s->stall[CONTENTION_MERGE], ==, 50 * NS);
    g_assert_cmpuint(s->waits, ==, 1);
    g_assert_cmpint(s->waited, ==, 40 * NS);
    g_assert_cmpuint(s->longest_queue, ==, 2);

    contention_foreach_line(m, sum_line, &sum);
    g_assert_cmpuint(sum.count, ==, 2);
    g_assert_cmpuint(sum.line.transfers, ==, 5);
    g_assert_cmpint(sum.line.stall, ==, 550 * NS);
    g_assert_cmpint(sum.line.waited, ==, 40 * NS);
    g_assert_cmpuint(sum.line.longest_queue, ==, 2);
    g_assert_cmpuint(sum.line.owner, ==, 2);
    g_assert_cmpuint(sum.all.transfers, ==, 6);
    g_assert_cmpint(sum.all.stall, ==, (240 + 320 + 50) * NS);

    contention_stats_json(m, json);
    g_assert_true(g_str_has_prefix(json->str, "\"accesses\": {\"hit\": 0, "
                                   "\"first-touch\": 3, \"merge\": 1, "));
    g_assert_nonnull(strstr(json->str, "\"transfers\": {\"same-domain\": 0, "
                            "\"same-chip\": 4, \"cross-chip\": 2}"));
    g_assert_nonnull(strstr(json->str, "\"stall_ns\": {\"same-domain\": 0, "
                            "\"same-chip\": 240, \"cross-chip\": 320, "
                            "\"merge\": 50, \"total\": 610}"));
    g_assert_nonnull(strstr(json->str, "\"lines\": {\"touched\": 3, "
                            "\"transferred\": 2}"));
}

static void test_reset(void)
{
    g_autoptr(ContentionModel) m = machine("");
    ContentionStats zero = { 0 };
    Sum sum = { 0 };

    store(m, 0, 0, 0, CONTENTION_FIRST_TOUCH);
    store(m, 2, 0, 60, CONTENTION_STORE);
    load(m, 4, 1000, 140, CONTENTION_SHARED_LOAD);
    load(m, 4, 2000, 0, HIT);
    contention_reset(m);

    g_assert_cmpmem(contention_stats(m), sizeof(zero), &zero, sizeof(zero));
    contention_foreach_line(m, sum_line, &sum);
    g_assert_cmpuint(sum.count, ==, 0);
    g_assert_false(filtered(m, 4, false));
    store(m, 4, 0, 0, CONTENTION_FIRST_TOUCH);
    /* the parameters are what they were */
    store(m, 0, 0, 140, CONTENTION_STORE);
    /* and nobody knows of a time after 0 */
    g_assert_true(contention_probe(m, 0, LINE, true, 140 * NS));
    g_assert_false(filtered(m, 0, false));
}

/* Millions of lines, in neighbourhoods and at power-of-two distances */
static void test_many_lines(void)
{
    g_autoptr(ContentionModel) m = machine("filter-entries=1");
    enum { LINES = 100000 };
    ContentionResult r;

    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < LINES; i++) {
            uint64_t near = UINT64_C(0xffff123400000) + i;
            uint64_t apart = i << 32;

            test_access(m, 0, near, false, 0, &r);
            g_assert_cmpint(r.kind, ==, pass ? CONTENTION_HIT
                                             : CONTENTION_FIRST_TOUCH);
            /* lines of which the low 32 bits agree */
            if (i < 100) {
                test_access(m, 0, apart, false, 0, &r);
                g_assert_cmpint(r.kind, ==, pass ? CONTENTION_HIT
                                                 : CONTENTION_FIRST_TOUCH);
            }
        }
    }
}

/* A clock that goes back does no harm: no stall is negative. */
static void test_time_goes_back(void)
{
    g_autoptr(ContentionModel) m = machine("");
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);
    ContentionTime now = 0;
    ContentionResult r;

    for (unsigned i = 0; i < 20000; i++) {
        now += g_rand_int_range(rand, -30000, 50000);
        test_access(m, g_rand_int_range(rand, 0, 8),
                    LINE + g_rand_int_range(rand, 0, 3),
                    g_rand_boolean(rand), now, &r);
        if (i % 16 == 0) {
            g_assert_cmpint(contention_dma(m, i / 16 % 2, LINE, i / 32 % 2,
                                           now, NULL), >=, 0);
        }
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(void);
    } tests[] = {
        { "first-touch", test_first_touch },
        { "ownership", test_ownership },
        { "ahead", test_ahead },
        { "ahead-of-load", test_ahead_of_load },
        { "ahead-of-overtaken-load", test_ahead_of_overtaken_load },
        { "advance", test_advance },
        { "observer", test_observer },
        { "sharing", test_sharing },
        { "clean", test_clean },
        { "serialised", test_serialised },
        { "independent", test_independent },
        { "departure", test_departure },
        { "merge", test_merge },
        { "merge-loads", test_merge_loads },
        { "holder-load-store", test_holder_load_store },
        { "holder-none", test_holder_none },
        { "upgrade", test_upgrade },
        { "store-shared", test_store_shared },
        { "load-in-flight", test_load_in_flight },
        { "load-overtaken", test_load_overtaken },
        { "load-store", test_load_store },
        { "two-departing-sets", test_two_departing_sets },
        { "supplier", test_supplier },
        { "migratory", test_migratory },
        { "load-serialised", test_load_serialised },
        { "load-occupancy", test_load_occupancy },
        { "waiter-slope", test_waiter_slope },
        { "waiter-scope", test_waiter_scope },
        { "cores-per-domain", test_cores_per_domain },
        { "dma", test_dma },
        { "stats", test_stats },
        { "reset", test_reset },
        { "many-lines", test_many_lines },
        { "time-goes-back", test_time_goes_back },
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strdup_printf("/contention/line/%s",
                                                tests[i].name);

        g_test_add_func(path, tests[i].fn);
    }
    return g_test_run();
}
