/*
 * QTest testcase for the contention model on PowerNV 9 and 10 (XIVE, XIVE2)
 *  - Test where the hardware threads are: stalls by domain, chip and hop
 *  - Test that an event shows in ESB, event queue and TIMA when it must:
 *    same chip, target on another chip, triggered from another chip
 *  - Test a trigger while the source is pending: delivered after the EOI
 *  - Test events that queue for a controller, and one that finds a gap
 *  - Test that events without any cost are delivered at once
 *  - Test stalls of accesses to ESB pages and TIMA, by distance
 *  - Test that the write of an event takes the line of the queue
 *  - Test that a reset forgets lines and events
 *  - Test that bad commands are refused
 *  - Test a storm of IPIs with one counter: no faster than the line can be
 *    handed on, and slower when a second chip takes part
 *  - Test the storm with a counter a chip: twice the rate on two chips
 *  - Test the storm on cores of several threads
 *  - Test that two runs, and both machines, give the same
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All expected times are sums of the parameters; comments say of which.
 */

#include "qemu/osdep.h"
#include "xivescale-pnv-common.h"
#include "xivescale-pnv-storm.h"

#define DATA                    0x1234

/*
 * Each time is another, so that no sum comes out right by accident:
 *
 *   trigger 100, one hop 30, service 50, route 20, queue write 70,
 *   notify 200, match 40
 *
 * What an event takes on one chip:
 *   100 + 50 + 20 + 70 + 200 + 40 = 480
 */
#define FABRIC_PARAMS           \
    "trigger-ns=100,fabric-hop-ns=30,service-ns=50,route-ns=20," \
    "queue-write-ns=70,notify-ns=200,match-ns=40"
#define FABRIC_SAME_CHIP        480

static void check_nothing(XsMachine *m, unsigned cpu, unsigned n)
{
    g_assert_cmphex(xs_queue_entry(m, cpu, n), ==, 0);
    g_assert_cmphex(xs_nsr(m, cpu), ==, 0);
}

/* There is entry @n with @data; handle it: source @irq of @chip. */
static void check_event(XsMachine *m, unsigned cpu, unsigned n, uint32_t data,
                        unsigned chip, unsigned irq)
{
    g_assert_cmphex(xs_queue_entry(m, cpu, n), ==, xs_queue_full_entry(data));
    g_assert_cmphex(xs_nsr(m, cpu), ==, XS_NSR_PHYS);
    g_assert_cmphex(xs_ack(m, cpu), ==, XS_NSR_PHYS << 8 | XS_PRIORITY);
    g_assert_cmphex(xs_nsr(m, cpu), ==, 0);
    xs_eoi(m, chip, irq);
    xs_set_cppr(m, cpu, 0xff);
}

/* Nothing is to be seen until @at, and all of it then. */
static void check_event_at(XsMachine *m, int64_t at, unsigned cpu, unsigned n,
                           uint32_t data, unsigned chip, unsigned irq)
{
    xs_clock(m, at - 1);
    check_nothing(m, cpu, n);
    xs_clock(m, at);
    check_event(m, cpu, n, data, chip, irq);
}

static void test_topology(const void *machine)
{
    /* 2 chips x 4 cores x 2 threads, of which two cores are a domain */
    XsMachine *m = xs_start(machine, 4, 2, "cores-per-domain=2,"
                            "same-domain-ns=0,same-chip-ns=50,"
                            "cross-chip-ns=170");
    unsigned owner = xs_cpu(m, 1, 2, 0);

    for (unsigned cpu = 0; cpu < XS_CHIPS * 4 * 2; cpu++) {
        uint64_t line = xs_line(cpu);
        unsigned chip = cpu / 8;
        unsigned core = cpu / 2 % 4;
        /* Cores 2 and 3 of chip 1 are the owner's domain. */
        int64_t stall = chip != 1 ? 170000 : core < 2 ? 50000 : 0;

        g_assert_cmpuint(xs_cpu(m, chip, core, cpu % 2), ==, cpu);
        g_assert_cmpint(xs_store(m, owner, line, 1000), ==, 0);
        g_assert_cmpint(xs_load(m, cpu, line, 2000), ==, stall);
        /* From now on it has a copy. */
        g_assert_cmpint(xs_load(m, cpu, line, 3000), ==, 0);
        /* The other end of the line, and the next one */
        g_assert_cmpint(xs_load(m, cpu, line + 127, 3000), ==, 0);
    }
    xs_stop(m);
}

static void test_delivery(const void *machine)
{
    XsMachine *m = xs_start(machine, 4, 2, FABRIC_PARAMS);
    unsigned near = xs_cpu(m, 0, 3, 1);
    unsigned far = xs_cpu(m, 1, 2, 1);
    int64_t t = 1000;

    xs_route(m, 0, 5, near, DATA);
    xs_route(m, 0, 6, far, DATA + 1);

    /* The source is pending from the trigger on. */
    xs_clock(m, t);
    g_assert_cmpuint(xs_esb(m, 0, 5), ==, XS_ESB_RESET);
    xs_trigger(m, 0, 5);
    g_assert_cmpuint(xs_esb(m, 0, 5), ==, XS_ESB_PENDING);
    check_nothing(m, near, 0);
    check_event_at(m, t + FABRIC_SAME_CHIP, near, 0, DATA, 0, 5);
    g_assert_cmpuint(xs_esb(m, 0, 5), ==, XS_ESB_RESET);

    /*
     * Target on the other chip, whose controller serves the event, too:
     * 100 + 50 + 20 + 70 + hop 30 + 50 + 200 + 40 = 560
     */
    t = 3000;
    xs_clock(m, t);
    xs_trigger(m, 0, 6);
    check_event_at(m, t + 560, far, 0, DATA + 1, 0, 6);

    /*
     * Triggered by a thread of the other chip, as IPIs are which Linux sends
     * there: 100 + hop 30 + 50 + 20 + 70 + 200 + 40 = 510
     */
    t = 5000;
    xs_clock(m, t);
    xs_act_as(m, far);
    xs_trigger(m, 0, 5);
    xs_act_as(m, -1);
    check_event_at(m, t + 510, near, 1, DATA, 0, 5);

    /* There and back: 100 + 30 + 50 + 20 + 70 + 30 + 50 + 200 + 40 = 590 */
    t = 7000;
    xs_clock(m, t);
    xs_act_as(m, far);
    xs_trigger(m, 0, 6);
    xs_act_as(m, -1);
    check_event_at(m, t + 590, far, 1, DATA + 1, 0, 6);

    xs_stop(m);
}

static void test_pending(const void *machine)
{
    XsMachine *m = xs_start(machine, 2, 1, FABRIC_PARAMS);
    unsigned cpu = xs_cpu(m, 0, 1, 0);
    int64_t t = 1000;

    xs_route(m, 0, 1, cpu, DATA);
    xs_clock(m, t);
    xs_trigger(m, 0, 1);
    xs_clock(m, t + 10);
    xs_trigger(m, 0, 1);
    xs_trigger(m, 0, 1);
    g_assert_cmpuint(xs_esb(m, 0, 1), ==, XS_ESB_QUEUED);

    check_event_at(m, t + FABRIC_SAME_CHIP, cpu, 0, DATA, 0, 1);
    /* The EOI that was just done triggers, once. */
    g_assert_cmpuint(xs_esb(m, 0, 1), ==, XS_ESB_PENDING);
    check_event_at(m, t + 2 * FABRIC_SAME_CHIP, cpu, 1, DATA, 0, 1);
    g_assert_cmpuint(xs_esb(m, 0, 1), ==, XS_ESB_RESET);

    xs_clock(m, t + 10 * FABRIC_SAME_CHIP);
    check_nothing(m, cpu, 2);
    xs_stop(m);
}

static void test_service(const void *machine)
{
    XsMachine *m = xs_start(machine, 8, 1, FABRIC_PARAMS);
    int64_t t = 1000;

    for (unsigned i = 0; i < 8; i++) {
        xs_route(m, 0, i, xs_cpu(m, 0, i, 0), DATA + i);
    }
    xs_route(m, 1, 0, xs_cpu(m, 0, 7, 0), DATA + 100);

    /*
     * Four events at once: the controller of chip 0 has all of them at
     * 100 and serves one after the other, 50 each.
     */
    xs_clock(m, t);
    for (unsigned i = 0; i < 4; i++) {
        xs_trigger(m, 0, i);
    }
    for (unsigned i = 0; i < 4; i++) {
        check_event_at(m, t + FABRIC_SAME_CHIP + 50 * i, xs_cpu(m, 0, i, 0), 0,
                       DATA + i, 0, i);
    }

    /*
     * An event of chip 1 for chip 0 is triggered first. Chip 1 serves it
     * from 100 to 150; at 150 + 20 + 70 + 30 = 270 it is at chip 0, which
     * serves it until 320. Of four events which chip 0 has at 100, three are
     * served before, from 100, 150 and 200; the fourth would be from 250 to
     * 300 and must wait until 320: it is served from 320 to 370.
     *
     *   100   150   200   250 270      320      370
     *    |--0--|--1--|--2--|   |-chip 1-|----3---|
     *
     * Delivered: 150, 200, 250 and 370, each + 20 + 70 + 200 + 40 = 330;
     * and the one of chip 1 at 320 + 200 + 40.
     */
    t = 5000;
    xs_clock(m, t);
    xs_trigger(m, 1, 0);
    for (unsigned i = 0; i < 4; i++) {
        xs_trigger(m, 0, i);
    }
    check_event_at(m, t + 480, xs_cpu(m, 0, 0, 0), 1, DATA, 0, 0);
    check_event_at(m, t + 530, xs_cpu(m, 0, 1, 0), 1, DATA + 1, 0, 1);
    check_event_at(m, t + 560, xs_cpu(m, 0, 7, 0), 0, DATA + 100, 1, 0);
    check_event_at(m, t + 580, xs_cpu(m, 0, 2, 0), 1, DATA + 2, 0, 2);
    check_event_at(m, t + 700, xs_cpu(m, 0, 3, 0), 1, DATA + 3, 0, 3);

    /* The controllers of two chips do not wait for each other. */
    xs_route(m, 1, 1, xs_cpu(m, 1, 1, 0), DATA + 101);
    t = 8000;
    xs_clock(m, t);
    xs_trigger(m, 0, 1);
    xs_trigger(m, 1, 1);
    xs_clock(m, t + FABRIC_SAME_CHIP - 1);
    check_nothing(m, xs_cpu(m, 0, 1, 0), 2);
    check_nothing(m, xs_cpu(m, 1, 1, 0), 0);
    xs_clock(m, t + FABRIC_SAME_CHIP);
    check_event(m, xs_cpu(m, 0, 1, 0), 2, DATA + 1, 0, 1);
    check_event(m, xs_cpu(m, 1, 1, 0), 0, DATA + 101, 1, 1);

    xs_stop(m);
}

static void test_no_cost(const void *machine)
{
    XsMachine *m = xs_start(machine, 2, 1, "service-ns=0,notify-ns=0");

    for (unsigned cpu = 0; cpu < 2 * XS_CHIPS; cpu++) {
        xs_route(m, 1, cpu, cpu, DATA + cpu);
    }
    /* Nobody touches the clock, which even stands still: no timer can fire. */
    qtest_qmp_assert_success(m->qts, "{ 'execute': 'stop' }");
    for (unsigned cpu = 0; cpu < 2 * XS_CHIPS; cpu++) {
        xs_trigger(m, 1, cpu);
        check_event(m, cpu, 0, DATA + cpu, 1, cpu);
    }
    xs_stop(m);
}

static void test_registers(const void *machine)
{
    XsMachine *m = xs_start(machine, 2, 1, "fabric-hop-ns=30,esb-load-ns=60,"
                            "esb-store-ns=11,tima-load-ns=90,tima-store-ns=7,"
                            "service-ns=0,notify-ns=0");
    unsigned near = xs_cpu(m, 0, 0, 0);
    unsigned far = xs_cpu(m, 1, 1, 0);

    xs_route(m, 0, 0, near, DATA);
    /* Choose the thread's TIMA before somebody is there to be charged. */
    xs_nsr(m, near);

    /* The set-up before was nobody's. */
    g_assert_cmpint(xs_act_as(m, near), ==, 0);
    xs_esb(m, 0, 0);
    g_assert_cmpint(xs_act_as(m, near), ==, 60000);
    xs_trigger(m, 0, 0);
    g_assert_cmpint(xs_act_as(m, near), ==, 11000);
    xs_nsr(m, near);
    g_assert_cmpint(xs_act_as(m, near), ==, 90000);
    g_assert_cmphex(xs_ack(m, near), ==, XS_NSR_PHYS << 8 | XS_PRIORITY);
    g_assert_cmpint(xs_act_as(m, near), ==, 90000);
    xs_set_cppr(m, near, 0xff);
    g_assert_cmpint(xs_act_as(m, near), ==, 7000);
    /* The EOI is a load. */
    xs_eoi(m, 0, 0);

    /* Far away: loads wait for two hops, stores are posted. */
    g_assert_cmpint(xs_act_as(m, far), ==, 60000);
    xs_esb(m, 0, 0);
    g_assert_cmpint(xs_act_as(m, far), ==, 120000);
    xs_trigger(m, 0, 0);
    g_assert_cmpint(xs_act_as(m, far), ==, 11000);
    /* No access, no stall */
    g_assert_cmpint(xs_act_as(m, -1), ==, 0);
    xs_stop(m);
}

static void test_queue_line(const void *machine)
{
    /* Delivery after 10; the line leaves after half of 80. */
    XsMachine *m = xs_start(machine, 2, 1, "same-chip-ns=80,cross-chip-ns=240,"
                            "departure-pct=50,service-ns=0,notify-ns=10");
    unsigned reader = xs_cpu(m, 1, 1, 0);
    unsigned neighbour = xs_cpu(m, 1, 0, 0);
    unsigned far = xs_cpu(m, 0, 0, 0);
    uint64_t queue = xs_queue_addr(m, reader, 0);
    int64_t t = 1000;

    xs_route(m, 1, 0, reader, DATA);
    xs_route(m, 0, 0, reader, DATA);

    /* The reader has cleared its queue and owns the line. */
    g_assert_cmpint(xs_store(m, reader, queue, t), ==, 0);

    /*
     * The controller takes the line for itself from 1010 to 1090. The reader
     * fetches it back from there, and has it then.
     */
    xs_clock(m, t);
    xs_trigger(m, 1, 0);
    g_assert_cmpint(xs_load(m, reader, queue, t + 5), ==, 0);
    xs_clock(m, t + 10);
    check_event(m, reader, 0, DATA, 1, 0);
    g_assert_cmpint(xs_load(m, reader, queue, t + 90), ==, 80000);
    g_assert_cmpint(xs_load(m, reader, queue, t + 200), ==, 0);
    g_assert_cmpint(xs_load(m, reader, queue + 4, t + 200), ==, 0);

    /* The next event takes the copies of all, wherever they are. */
    g_assert_cmpint(xs_load(m, neighbour, queue, t + 200), ==, 80000);
    g_assert_cmpint(xs_load(m, far, queue, t + 200), ==, 240000);
    t = 2000;
    xs_clock(m, t);
    xs_trigger(m, 1, 0);
    xs_clock(m, t + 10);
    check_event(m, reader, 1, DATA, 1, 0);
    g_assert_cmpint(xs_load(m, reader, queue, t + 200), ==, 80000);
    g_assert_cmpint(xs_load(m, neighbour, queue, t + 300), ==, 80000);
    g_assert_cmpint(xs_load(m, far, queue, t + 400), ==, 240000);

    /*
     * A source of chip 0 for the same queue: the controller of the target's
     * chip writes it.
     */
    t = 3000;
    xs_clock(m, t);
    xs_trigger(m, 0, 0);
    xs_clock(m, t + 10);
    check_event(m, reader, 2, DATA, 0, 0);
    g_assert_cmpint(xs_load(m, reader, queue, t + 400), ==, 80000);

    /* Entry 32 is on the next line, which nobody has touched yet. */
    for (unsigned n = 3; n <= 32; n++) {
        t += 1000;
        xs_clock(m, t);
        xs_trigger(m, 1, 0);
        xs_clock(m, t + 10);
        check_event(m, reader, n, DATA, 1, 0);
    }
    g_assert_cmpint(xs_load(m, reader, queue + 128, t + 200), ==, 80000);
    g_assert_cmpint(xs_load(m, reader, queue + 128, t + 300), ==, 0);
    xs_stop(m);
}

static void test_reset(const void *machine)
{
    XsMachine *m = xs_start(machine, 2, 1, FABRIC_PARAMS
                            ",same-chip-ns=50,cross-chip-ns=170");
    unsigned near = xs_cpu(m, 0, 0, 0);
    unsigned far = xs_cpu(m, 1, 0, 0);

    g_assert_cmpint(xs_store(m, near, xs_line(0), 1000), ==, 0);
    g_assert_cmpint(xs_store(m, far, xs_line(0), 2000), ==, 170000);
    xs_route(m, 0, 0, near, DATA);
    xs_clock(m, 3000);
    xs_trigger(m, 0, 0);
    qtest_system_reset(m->qts);
    /* The event would have been there at 3480. */
    xs_clock(m, 3000 + 10 * FABRIC_SAME_CHIP);
    g_assert_cmphex(xs_queue_entry(m, near, 0), ==, 0);
    /* A first touch again */
    g_assert_cmpint(xs_store(m, near, xs_line(0), 10000), ==, 0);
    xs_stop(m);
}

static void test_commands(const void *machine)
{
    static const char *const bad[] = {
        "contention load 4 0x1000 0",           /* there are cpus 0 to 3 */
        "contention load -1 0x1000 0",
        "contention load x 0x1000 0",
        "contention store 0 0xgg 0",
        "contention store 0 0x1000 now",
        "contention fetch 0 0x1000 0",
        "contention load 0 0x7fffffffffff0000 0",       /* no RAM */
        "contention cpu 4",
        "contention cpu -2",
        "contention cpu",
        "contention",
    };
    XsMachine *m = xs_start(machine, 2, 1, "same-chip-ns=50");

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *answer = qtest_machine_command(m->qts, bad[i]);

        g_test_message("%s: %s", bad[i], answer);
        g_assert_true(g_str_has_prefix(answer, "FAIL "));
    }
    g_assert_cmpint(xs_load(m, 3, 0x1000, 0), ==, 0);
    xs_stop(m);
}

/* The storm */

#define STORM_CORES             16
#define STORM_LOOPS             30

static StormCount *count_at(GArray *counts, unsigned i)
{
    return &g_array_index(counts, StormCount, i);
}

static GArray *storm(const void *machine, unsigned cores, unsigned threads,
                     const StormConfig *config)
{
    XsMachine *m = xs_start(machine, cores, threads, STORM_PARAMS);
    GArray *counts = storm_run(m, config);

    g_assert_cmpuint(counts->len, ==, (config->threads[0] +
                                       config->threads[1]) * config->loops);
    xs_stop(m);
    return counts;
}

/* ns for an increment in the middle half of a storm, when all take part */
static double storm_period(GArray *counts)
{
    unsigned first = counts->len / 4;
    unsigned last = counts->len * 3 / 4;

    return (double)(count_at(counts, last)->done -
                    count_at(counts, first)->done) / (last - first);
}

/*
 * In a storm of one thread a core, with one counter and many threads, the
 * counter's line is never at rest: each store comes before the one before it
 * is completed. Each takes the line from the thread that asked before, which
 * is another since nobody asks twice without a whole loop in between. So
 * from store to store it takes the time of one transfer, by the distance of
 * these two, no more and no less.
 *
 * Returns how many of the middle half cross from chip to chip.
 */
static unsigned check_plateau(GArray *counts, unsigned *of)
{
    unsigned first = counts->len / 4;
    unsigned last = counts->len * 3 / 4;
    unsigned crossing = 0;

    for (unsigned i = first + 1; i <= last; i++) {
        const StormCount *before = count_at(counts, i - 1);
        const StormCount *c = count_at(counts, i);
        bool crosses = c->chip != before->chip;

        g_assert_cmpuint(c->cpu, !=, before->cpu);
        g_assert_cmpint(c->at, <=, before->done);
        g_assert_cmpint(c->done - before->done, ==,
                        crosses ? STORM_CROSS_CHIP : STORM_SAME_CHIP);
        crossing += crosses;
    }
    *of = last - first;
    return crossing;
}

static void test_storm_one_line(const void *machine)
{
    static const unsigned second_chip[] = { 0, 4, 16 };

    for (unsigned i = 0; i < ARRAY_SIZE(second_chip); i++) {
        StormConfig config = {
            .threads = { STORM_CORES, second_chip[i] },
            .loops = STORM_LOOPS,
        };
        g_autoptr(GArray) counts = storm(machine, STORM_CORES, 1, &config);
        unsigned crossing, of;

        crossing = check_plateau(counts, &of);
        g_test_message("16 + %u threads: %.1f ns an increment, %u of %u cross",
                       second_chip[i], storm_period(counts), crossing, of);
        if (!second_chip[i]) {
            /* 10 million increments a second, and not one more */
            g_assert_cmpuint(crossing, ==, 0);
            g_assert_cmpfloat(storm_period(counts), ==, STORM_SAME_CHIP);
            continue;
        }
        /*
         * Were the two chips' requests in random order, the share of
         * transfers that cross would be 2 * p * (1 - p), where p is that of
         * the second chip's: 32 % with 4 threads, half with 16. They are not,
         * since transfers and the threads' loops follow from each other. But
         * when a quarter cross the rate has fallen to two thirds:
         *
         *   3/4 * 100 + 1/4 * 300 = 150 ns
         *
         * and when all do, which is the worst, to a third.
         */
        g_assert_cmpuint(crossing * 4, >=, of);
        g_assert_cmpfloat(storm_period(counts), >=, 1.5 * STORM_SAME_CHIP);
        g_assert_cmpfloat(storm_period(counts), <=, STORM_CROSS_CHIP);
    }
}

static void test_storm_line_a_chip(const void *machine)
{
    StormConfig one = { .threads = { STORM_CORES, 0 }, .loops = STORM_LOOPS };
    StormConfig two = { .threads = { STORM_CORES, STORM_CORES },
                        .line_per_chip = true, .loops = STORM_LOOPS };
    g_autoptr(GArray) alone = storm(machine, STORM_CORES, 1, &one);
    g_autoptr(GArray) both = storm(machine, STORM_CORES, 1, &two);
    unsigned seen[XS_CHIPS] = {};

    /*
     * The chips share nothing: each does exactly what one does alone, the
     * second half a step later than the first. Twice the increments in the
     * time of one chip.
     */
    for (unsigned i = 0; i < both->len; i++) {
        const StormCount *c = count_at(both, i);
        const StormCount *a = count_at(alone, seen[c->chip]++);
        int64_t later = c->chip ? STORM_STAGGER / 2 : 0;

        g_assert_cmpuint(c->cpu, ==, a->cpu + c->chip * STORM_CORES);
        g_assert_cmpint(c->at, ==, a->at + later);
        g_assert_cmpint(c->done, ==, a->done + later);
    }
    g_test_message("a line a chip: %.1f ns an increment on one chip, %.1f on "
                   "two", storm_period(alone), storm_period(both));
    g_assert_cmpfloat(storm_period(alone), ==, STORM_SAME_CHIP);
    g_assert_cmpfloat(storm_period(both), <=, 0.51 * STORM_SAME_CHIP);
}

static gint compare_done(gconstpointer a, gconstpointer b)
{
    const StormCount *x = a, *y = b;

    if (x->done != y->done) {
        return x->done < y->done ? -1 : 1;
    }
    return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/*
 * Four threads share a core's cache. Those who wait for the line get it
 * together, and until it leaves they increment for nothing. Still the line
 * goes from core to core one transfer at a time, so between increments of
 * different cores there is at least the shorter one; and while a core has the
 * line each of its threads increments once, since in the time of a whole loop
 * some other core asks for it.
 */
static void check_shared_cores(GArray *counts, unsigned threads,
                               unsigned *crossing)
{
    const StormCount *first = count_at(counts, 0);
    unsigned held = 0;

    g_array_sort(counts, compare_done);
    *crossing = 0;
    for (unsigned i = 1; i < counts->len; i++) {
        const StormCount *before = count_at(counts, i - 1);
        const StormCount *c = count_at(counts, i);

        if (c->cpu / threads == before->cpu / threads) {
            continue;
        }
        g_assert_cmpint(c->done - before->done, >=, STORM_SAME_CHIP);
        *crossing += c->chip != before->chip;
        held++;
        first = c;
    }
    g_assert_cmpint(first->done, >=, held * STORM_SAME_CHIP);
    /* Four increments a transfer at most */
    g_assert_cmpuint(counts->len, <=, (held + 1) * threads);
}

static void test_storm_shared_cores(const void *machine)
{
    StormConfig one = { .threads = { 16, 0 }, .loops = STORM_LOOPS };
    StormConfig two = { .threads = { 16, 16 }, .loops = STORM_LOOPS };
    g_autoptr(GArray) alone = storm(machine, 4, 4, &one);
    g_autoptr(GArray) both = storm(machine, 4, 4, &two);
    double period = storm_period(alone), period_both = storm_period(both);
    unsigned crossing;

    g_test_message("4 cores of 4 threads: %.1f ns an increment on one chip, "
                   "%.1f on two", period, period_both);
    check_shared_cores(alone, 4, &crossing);
    g_assert_cmpuint(crossing, ==, 0);
    g_assert_cmpfloat(period, >=, STORM_SAME_CHIP / 4);
    /* As without shared caches: twice the threads, and a lower rate */
    check_shared_cores(both, 4, &crossing);
    g_assert_cmpuint(crossing, >, 0);
    g_assert_cmpfloat(period_both, >, period);
}

static void test_storm_repeat(void)
{
    static const char *const machines[] = {
        "powernv9", "powernv9", "powernv10", "powernv10"
    };
    StormConfig config = { .threads = { 8, 8 }, .loops = 20 };
    g_autoptr(GArray) first = storm(machines[0], 8, 1, &config);

    for (unsigned i = 1; i < ARRAY_SIZE(machines); i++) {
        g_autoptr(GArray) again = storm(machines[i], 8, 1, &config);

        g_assert_cmpmem(first->data, first->len * sizeof(StormCount),
                        again->data, again->len * sizeof(StormCount));
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*fn)(const void *machine);
    } tests[] = {
        { "topology", test_topology },
        { "delivery", test_delivery },
        { "pending", test_pending },
        { "service", test_service },
        { "no-cost", test_no_cost },
        { "registers", test_registers },
        { "queue-line", test_queue_line },
        { "reset", test_reset },
        { "commands", test_commands },
        { "storm/one-line", test_storm_one_line },
        { "storm/line-a-chip", test_storm_line_a_chip },
        { "storm/shared-cores", test_storm_shared_cores },
    };
    static const char *const machines[] = { "powernv9", "powernv10" };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        for (unsigned j = 0; j < ARRAY_SIZE(tests); j++) {
            g_autofree char *path = g_strdup_printf("xivescale/%s/%s",
                                                    machines[i],
                                                    tests[j].name);

            qtest_add_data_func(path, machines[i], tests[j].fn);
        }
    }
    qtest_add_func("xivescale/storm/repeat", test_storm_repeat);
    return g_test_run();
}
