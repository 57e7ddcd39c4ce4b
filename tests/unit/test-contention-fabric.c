/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention model's interrupt fabric
 *
 * - the stages of an event, on one chip and across chips
 * - one event at a time a controller; queues of chips are independent
 * - an event takes the first gap after its arrival
 * - notifications that differ in time, as the random numbers say
 * - stalls of register accesses
 * - counters and reset
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

#define STAGES "trigger-ns=10,fabric-hop-ns=40,service-ns=50,route-ns=5," \
               "queue-write-ns=7,notify-ns=1000,match-ns=3"

static void test_stages(void)
{
    static const uint8_t row[] = { 0, 1, 2, 1, 0, 1, 2, 1, 0 };
    g_autoptr(ContentionModel) m = test_machine(3, 1, 1, row, STAGES);
    ContentionDelivery d;

    /* 10 + 50 + (5 + 7) + (1000 + 3) */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, &d), ==,
                    1075 * NS);
    g_assert_cmpint(d.triggered, ==, 10 * NS);
    g_assert_cmpint(d.served, ==, 60 * NS);
    g_assert_cmpint(d.queued, ==, 72 * NS);
    g_assert_cmpint(d.presented, ==, 72 * NS);
    g_assert_cmpint(d.delivered, ==, 1075 * NS);

    /*
     * Storing thread on chip 0, source on chip 1, target on chip 2:
     * 10 + 40, served 50, 12 for the queue, 40 on the way, served 50, 1003
     */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 1, 2, 5000 * NS, &d), ==,
                    5000 * NS + 1205 * NS);
    g_assert_cmpint(d.triggered, ==, 5050 * NS);
    g_assert_cmpint(d.served, ==, 5100 * NS);
    g_assert_cmpint(d.queued, ==, 5112 * NS);
    g_assert_cmpint(d.presented, ==, 5202 * NS);

    /* two hops to the source: 10 + 80 + 50 + 12 + 1003 */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 2, 2, 9000 * NS, NULL),
                    ==, 9000 * NS + 1155 * NS);

    g_assert_cmpuint(contention_stats(m)->triggers, ==, 3);
    g_assert_cmpuint(contention_stats(m)->cross_chip_triggers, ==, 2);
    g_assert_cmpint(contention_stats(m)->delivery, ==,
                    (1075 + 1205 + 1155) * NS);
    g_assert_cmpuint(contention_stats(m)->service_waits, ==, 0);
}

/* The defaults: 55 of service and 1100 of notification */
static void test_defaults(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 1, 1, NULL, "");

    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                    1155 * NS);
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 1, 3000 * NS, NULL),
                    ==, 3000 * NS + 1210 * NS);
}

static void test_queue(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 1, 1, NULL,
                                                "service-ns=50,notify-ns=100");

    /* three at once on chip 0: served at 50, 100, 150 */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                    150 * NS);
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                    200 * NS);
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                    250 * NS);
    /* chip 1 is free */
    g_assert_cmpint(contention_fabric_trigger(m, 1, 1, 1, 0, NULL), ==,
                    150 * NS);
    /* 20 before the third is done: waits 20 */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 130 * NS, NULL), ==,
                    300 * NS);
    /* exactly when the queue is empty: no wait */
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 200 * NS, NULL), ==,
                    350 * NS);

    g_assert_cmpuint(contention_stats(m)->service_waits, ==, 3);
    g_assert_cmpint(contention_stats(m)->service_waited, ==, 170 * NS);
    g_assert_cmpint(contention_stats(m)->longest_service_wait, ==, 100 * NS);

    contention_reset(m);
    g_assert_cmpuint(contention_stats(m)->triggers, ==, 0);
    g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                    150 * NS);
}

/*
 * An event from chip 0 to chip 1 will be at chip 1 at 50 + 200 = 250, until
 * 300.  Chip 1's own events of 10, and of 150, are served before it, that of
 * 210 does not fit between 210 and 250 and waits until 300.
 */
static void test_gap(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 1, 1, NULL,
        "service-ns=50,route-ns=200,notify-ns=0");
    ContentionDelivery d;

    contention_fabric_trigger(m, 0, 0, 1, 0, &d);
    g_assert_cmpint(d.presented, ==, 300 * NS);
    contention_fabric_trigger(m, 1, 1, 1, 10 * NS, &d);
    g_assert_cmpint(d.served, ==, 60 * NS);
    contention_fabric_trigger(m, 1, 1, 1, 150 * NS, &d);
    g_assert_cmpint(d.served, ==, 200 * NS);
    contention_fabric_trigger(m, 1, 1, 1, 210 * NS, &d);
    g_assert_cmpint(d.served, ==, 350 * NS);
    /* exactly the 50 between 200 and 250: closes the gap */
    contention_fabric_trigger(m, 1, 1, 1, 200 * NS, &d);
    g_assert_cmpint(d.served, ==, 250 * NS);
    contention_fabric_trigger(m, 1, 1, 1, 200 * NS, &d);
    g_assert_cmpint(d.served, ==, 400 * NS);
}

/*
 * With this seed splitmix64 begins, as its author's code does, with
 *   6457827717110365317, 3203168211198807973, 9817491932198370423,
 *   4593380528125082431, 16408922859458223821
 * A notification takes 600 ns times each of these by 2^64, cut to the
 * picosecond, more than 1000.  A reset starts anew.
 */
static void test_spread(void)
{
    static const ContentionTime more[] = { 210047, 104186, 319324, 149404,
                                           533717 };
    g_autoptr(ContentionModel) m = test_machine(1, 1, 1, NULL,
        "service-ns=0,notify-ns=1000,notify-spread-ns=600,seed=1234567");
    ContentionDelivery d;

    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(more); i++) {
            ContentionTime now = i * 10 * NS;

            g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, now, &d),
                            ==, now + 1000 * NS + more[i]);
            g_assert_cmpint(d.presented, ==, now);
        }
        contention_reset(m);
    }
}

/*
 * Many notifications, with the largest spread there is: each is within it,
 * each tenth of it has a tenth of them.  1000 of 10000 in a tenth have a
 * standard deviation of 30; the bounds are five of these.
 */
static void test_spread_uniform(void)
{
    const ContentionTime spread = 1000000 * NS;
    g_autoptr(ContentionModel) m = test_machine(1, 1, 1, NULL,
        "service-ns=0,notify-ns=0,notify-spread-ns=1000000");
    unsigned count[10] = { 0 };

    for (unsigned i = 0; i < 10000; i++) {
        ContentionTime more = contention_fabric_trigger(m, 0, 0, 0, 0, NULL);

        g_assert_cmpint(more, >=, 0);
        g_assert_cmpint(more, <, spread);
        count[more / (spread / 10)]++;
    }
    for (unsigned i = 0; i < 10; i++) {
        g_assert_cmpuint(count[i], >, 850);
        g_assert_cmpuint(count[i], <, 1150);
    }
}

/* A controller that takes no time never makes anyone wait. */
static void test_no_service(void)
{
    g_autoptr(ContentionModel) m = test_machine(1, 1, 1, NULL,
                                                "service-ns=0,notify-ns=9");

    for (unsigned i = 0; i < 100; i++) {
        g_assert_cmpint(contention_fabric_trigger(m, 0, 0, 0, 0, NULL), ==,
                        9 * NS);
    }
}

/*
 * Many events at random: no controller ever serves two at once, and none is
 * served before it arrives.
 */
static void test_random(void)
{
    g_autoptr(ContentionModel) m = test_machine(4, 1, 1, NULL,
        "service-ns=50,fabric-hop-ns=33.333,notify-ns=0");
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    g_autofree ContentionTime *served = g_new(ContentionTime, 4 * 4000);
    unsigned count[4] = { 0 };
    ContentionTime now = 0;

    for (unsigned i = 0; i < 2000; i++) {
        unsigned source = g_rand_int_range(rand, 0, 4);
        unsigned target = g_rand_int_range(rand, 0, 4);
        ContentionDelivery d;

        now += g_rand_int_range(rand, 0, 40000);
        contention_fabric_trigger(m, g_rand_int_range(rand, 0, 4), source,
                                  target, now, &d);
        g_assert_cmpint(d.served, >=, d.triggered + 50 * NS);
        served[source * 4000 + count[source]++] = d.served;
        if (target != source) {
            g_assert_cmpint(d.presented, >=, d.queued + 33333 + 50 * NS);
            served[target * 4000 + count[target]++] = d.presented;
        }
    }
    for (unsigned chip = 0; chip < 4; chip++) {
        const ContentionTime *mine = served + chip * 4000;

        g_assert_cmpuint(count[chip], >, 500);
        for (unsigned i = 0; i < count[chip]; i++) {
            for (unsigned j = 0; j < i; j++) {
                g_assert_cmpint(ABS(mine[i] - mine[j]), >=, 50 * NS);
            }
        }
    }
}

static void test_mmio(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 1, 1, NULL,
        "fabric-hop-ns=40,tima-load-ns=300,tima-store-ns=20,esb-load-ns=200,"
        "esb-store-ns=10");

    g_assert_cmpint(contention_fabric_mmio(m, 0, 0, CONTENTION_TIMA_LOAD), ==,
                    300 * NS);
    g_assert_cmpint(contention_fabric_mmio(m, 0, 0, CONTENTION_TIMA_STORE), ==,
                    20 * NS);
    g_assert_cmpint(contention_fabric_mmio(m, 0, 0, CONTENTION_ESB_LOAD), ==,
                    200 * NS);
    /* the other chip: there and back */
    g_assert_cmpint(contention_fabric_mmio(m, 0, 1, CONTENTION_ESB_LOAD), ==,
                    280 * NS);
    /* a store is posted */
    g_assert_cmpint(contention_fabric_mmio(m, 0, 1, CONTENTION_ESB_STORE), ==,
                    10 * NS);
    g_assert_cmpuint(contention_stats(m)->mmio[CONTENTION_ESB_LOAD], ==, 2);
    g_assert_cmpint(contention_stats(m)->mmio_stall[CONTENTION_ESB_LOAD], ==,
                    480 * NS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/fabric/stages", test_stages);
    g_test_add_func("/contention/fabric/defaults", test_defaults);
    g_test_add_func("/contention/fabric/queue", test_queue);
    g_test_add_func("/contention/fabric/gap", test_gap);
    g_test_add_func("/contention/fabric/no-service", test_no_service);
    g_test_add_func("/contention/fabric/spread", test_spread);
    g_test_add_func("/contention/fabric/spread-uniform", test_spread_uniform);
    g_test_add_func("/contention/fabric/random", test_random);
    g_test_add_func("/contention/fabric/mmio", test_mmio);
    return g_test_run();
}
