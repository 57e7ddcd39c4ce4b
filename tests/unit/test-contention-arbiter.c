/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention model's arbitration
 *
 * The times in the comments are worked out by hand from contention.h.
 *
 * - a request of a busy line is blocked, and granted when the line is free
 * - the nearest waiter, a random one, the order of arrival
 * - which of those that are left slow the one that is granted
 * - without an arbiter nobody is blocked
 * - threads of the domain that gets the line, by merge-rule
 * - a store conditional is given up when another gets the line
 * - an interrupt controller is not blocked and comes between
 * - reset forgets the waiters and starts the random numbers anew
 * - an event draws from these numbers if notifications have a spread, only then
 *
 * The machine has 2 chips x 2 domains x 2 threads: cpus 0-1 are domain 0 and
 * 2-3 domain 1 on chip 0, cpus 4-5 are domain 2 and 6-7 domain 3 on chip 1.
 * A transfer takes 60 ns on a chip and 140 ns between chips.
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

#define TIMES "same-chip-ns=60,cross-chip-ns=140,merge-rule=loads"
#define LINE 0x1234567

/* What the arbiter's callbacks were told, in words: "6@210 " and so on. */
typedef struct Told {
    ContentionTime free_at;         /* the last, or -1 when it was used */
    GString *granted;
    GString *lost;
} Told;

static void told_free_at(uint64_t line, ContentionTime when, void *opaque)
{
    Told *told = opaque;

    g_assert_cmpint(line, ==, LINE);
    g_assert_cmpint(told->free_at, ==, -1);
    told->free_at = when;
}

static void told_granted(unsigned cpu, uint64_t line, ContentionTime when,
                         void *opaque)
{
    g_assert_cmpint(line, ==, LINE);
    g_string_append_printf(((Told *)opaque)->granted, "%u@%d ", cpu,
                           (int)(when / NS));
}

static void told_lost(unsigned cpu, uint64_t line, ContentionTime when,
                      void *opaque)
{
    g_assert_cmpint(line, ==, LINE);
    /* Just after the store of the one who got it: 1 ps. */
    g_assert_cmpint(when % NS, ==, 1);
    g_string_append_printf(((Told *)opaque)->lost, "%u@%d ", cpu,
                           (int)(when / NS));
}

static const ContentionArbiterOps ops = {
    .free_at = told_free_at,
    .granted = told_granted,
    .lost = told_lost,
};

static ContentionModel *machine(Told *told, const char *settings)
{
    g_autofree char *all = g_strdup_printf(TIMES ",%s", settings);
    ContentionModel *m = test_machine(2, 2, 2, NULL, all);

    told->free_at = -1;
    told->granted = g_string_new(NULL);
    told->lost = g_string_new(NULL);
    contention_set_arbiter(m, &ops, told);
    return m;
}

static void done(Told *told)
{
    g_string_free(told->granted, true);
    g_string_free(told->lost, true);
}

static ContentionTime store(ContentionModel *m, unsigned cpu, int now)
{
    return contention_access(m, cpu, LINE, true, now * NS, NULL);
}

/* Grants the line as often as the model asks for it. */
static void run(ContentionModel *m, Told *told)
{
    while (told->free_at >= 0) {
        ContentionTime when = told->free_at;

        told->free_at = -1;
        contention_grant(m, LINE, when);
    }
}

/* cpu 0 has the line, cpu 4 asks at 10 and gets it at 150. */
static void make_busy(ContentionModel *m)
{
    g_assert_cmpint(store(m, 0, 0), ==, 0);
    g_assert_cmpint(store(m, 4, 10), ==, 140 * NS);
}

/*
 * cpu 4 has the line when 6 gets it: cpu 7, left behind on that chip, adds
 * half of 60 ns; cpu 2 on the other adds nothing. 7 shares the cache of 6, so
 * the line is there; then 2 fetches it from that chip, where nobody waits.
 */
static void test_waiter_scope(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest,"
        "same-domain-ns=0,waiter-slope-pct=50,waiter-scope=chip");

    make_busy(m);
    g_assert_cmpint(store(m, 2, 20), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(m, 6, 30), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(m, 7, 40), ==, CONTENTION_BLOCKED);
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "6@240 7@240 2@380 ");
    done(&told);
}

static void test_nearest(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest");

    make_busy(m);
    g_assert_cmpint(store(m, 2, 20), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(told.free_at, ==, 150 * NS);
    g_assert_cmpint(store(m, 6, 30), ==, CONTENTION_BLOCKED);

    /* cpu 6 is on the owner's chip: 150 + 60; then 2 from there: + 140 */
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "6@210 2@350 ");

    /* 6 waited from 30 to 150, 2 from 20 to 210; 4 did not wait */
    g_assert_cmpint(contention_stats(m)->waits, ==, 2);
    g_assert_cmpint(contention_stats(m)->waited, ==, (120 + 190) * NS);
    g_assert_cmpint(contention_stats(m)->transfers[CONTENTION_SAME_CHIP], ==,
                    1);
    g_assert_cmpint(contention_stats(m)->transfers[CONTENTION_CROSS_CHIP], ==,
                    2);

    /* The line is domain 1's now: free for its threads, not for others. */
    g_assert_true(contention_probe(m, 3, LINE, true, 400 * NS));
    g_assert_cmpint(store(m, 0, 400), ==, 60 * NS);
    done(&told);
}

static void test_arrival(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=arrival");

    make_busy(m);
    /* 2 is served from 150 on, by 290; 6 after it, by 430 */
    g_assert_cmpint(store(m, 2, 20), ==, (290 - 20) * NS);
    g_assert_cmpint(store(m, 6, 30), ==, (430 - 30) * NS);
    g_assert_cmpint(told.free_at, ==, -1);
    done(&told);
}

static void test_no_arbiter(void)
{
    g_autoptr(ContentionModel) m = test_machine(2, 2, 2, NULL,
                                                TIMES ",arbitration=random");

    make_busy(m);
    g_assert_cmpint(store(m, 2, 20), ==, (290 - 20) * NS);
}

/* The order in which seven waiters get the line. */
static char *random_order(ContentionModel *m, Told *told)
{
    char *order;

    make_busy(m);
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        if (cpu != 4) {
            g_assert_cmpint(store(m, cpu, 20 + cpu), ==, CONTENTION_BLOCKED);
        }
    }
    run(m, told);
    for (unsigned cpu = 0; cpu < 8; cpu++) {
        g_autofree char *word = g_strdup_printf("%u@", cpu);

        g_assert_true(cpu == 4 || strstr(told->granted->str, word));
    }
    order = g_strdup(told->granted->str);
    g_string_truncate(told->granted, 0);
    return order;
}

static void test_random(void)
{
    g_autoptr(GHashTable) orders = g_hash_table_new_full(g_str_hash,
                                                         g_str_equal,
                                                         g_free, NULL);

    for (unsigned seed = 0; seed < 20; seed++) {
        g_autofree char *settings =
            g_strdup_printf("arbitration=random,seed=%u", seed);
        Told told;
        g_autoptr(ContentionModel) m = machine(&told, settings);
        g_autofree char *first = random_order(m, &told);
        g_autofree char *again = NULL;

        contention_reset(m);
        again = random_order(m, &told);
        g_assert_cmpstr(first, ==, again);
        g_hash_table_add(orders, g_steal_pointer(&first));
        done(&told);
    }
    /* 7! orders are possible: twenty seeds hardly agree on a few. */
    g_assert_cmpuint(g_hash_table_size(orders), >, 10);
}

/*
 * Notifications share the random numbers of the arbitration if they differ in
 * time, and leave them alone if they do not: fitted machines keep their rates.
 */
static void test_random_shared(void)
{
    static const char *const spread[] = { "0", "600" };
    unsigned changed[] = { 0, 0 };

    for (unsigned i = 0; i < G_N_ELEMENTS(spread); i++) {
        for (unsigned seed = 0; seed < 20; seed++) {
            g_autofree char *settings =
                g_strdup_printf("arbitration=random,seed=%u,"
                                "notify-spread-ns=%s", seed, spread[i]);
            Told told;
            g_autoptr(ContentionModel) m = machine(&told, settings);
            g_autofree char *alone = random_order(m, &told);
            g_autofree char *after = NULL;

            contention_reset(m);
            contention_fabric_trigger(m, 0, 0, 0, 0, NULL);
            after = random_order(m, &told);
            changed[i] += strcmp(alone, after) != 0;
            done(&told);
        }
    }
    g_assert_cmpuint(changed[0], ==, 0);
    g_assert_cmpuint(changed[1], >, 10);
}

static void test_merge(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest");
    g_autoptr(ContentionModel) all = NULL;

    /* loads: each store has a request; the second of a domain is free */
    make_busy(m);
    g_assert_cmpint(store(m, 6, 20), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(m, 2, 25), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(m, 7, 30), ==, CONTENTION_BLOCKED);
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "6@210 7@210 2@350 ");
    g_assert_cmpint(contention_stats(m)->count[CONTENTION_MERGE], ==, 0);
    done(&told);

    /* all: one request serves both, which counts as a merge */
    all = machine(&told, "arbitration=nearest,merge-rule=all");
    make_busy(all);
    g_assert_cmpint(store(all, 6, 20), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(all, 2, 25), ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(all, 7, 30), ==, CONTENTION_BLOCKED);
    run(all, &told);
    g_assert_cmpstr(told.granted->str, ==, "6@210 7@210 2@350 ");
    g_assert_cmpint(contention_stats(all)->count[CONTENTION_MERGE], ==, 1);
    done(&told);
}

static void test_conditional(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest");

    make_busy(m);
    g_assert_cmpint(contention_store_conditional(m, 2, LINE, 20 * NS, NULL),
                    ==, CONTENTION_BLOCKED);
    g_assert_cmpint(store(m, 6, 30), ==, CONTENTION_BLOCKED);
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "6@210 ");
    g_assert_cmpstr(told.lost->str, ==, "2@210 ");

    /* one that is chosen is made: 250 + 140, from domain 3 on chip 1 */
    g_assert_cmpint(contention_store_conditional(m, 2, LINE, 250 * NS, NULL),
                    ==, 140 * NS);
    done(&told);
}

static void test_dma(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest");

    make_busy(m);
    g_assert_cmpint(store(m, 2, 20), ==, CONTENTION_BLOCKED);
    /* after cpu 4's transfer: chip 0 takes it from 150 to 290 */
    g_assert_cmpint(contention_dma(m, 0, LINE, true, 100 * NS, NULL), ==,
                    190 * NS);
    /* then cpu 2, on the same chip as that controller */
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "2@350 ");
    done(&told);
}

static void test_reset(void)
{
    Told told;
    g_autoptr(ContentionModel) m = machine(&told, "arbitration=nearest");

    make_busy(m);
    g_assert_cmpint(store(m, 2, 20), ==, CONTENTION_BLOCKED);
    contention_reset(m);
    run(m, &told);
    g_assert_cmpstr(told.granted->str, ==, "");
    done(&told);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/arbiter/nearest", test_nearest);
    g_test_add_func("/contention/arbiter/waiter-scope", test_waiter_scope);
    g_test_add_func("/contention/arbiter/arrival", test_arrival);
    g_test_add_func("/contention/arbiter/none", test_no_arbiter);
    g_test_add_func("/contention/arbiter/random", test_random);
    g_test_add_func("/contention/arbiter/random-shared", test_random_shared);
    g_test_add_func("/contention/arbiter/merge", test_merge);
    g_test_add_func("/contention/arbiter/conditional", test_conditional);
    g_test_add_func("/contention/arbiter/dma", test_dma);
    g_test_add_func("/contention/arbiter/reset", test_reset);
    return g_test_run();
}
