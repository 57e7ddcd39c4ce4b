/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: that hand-made patterns give the rates which their times allow,
 * that a run is the same each time, and that bad files are told from good.
 */

#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "contention-test.h"
#include "../../replay/replay.h"

/*
 * A call: trigger, wait, 10 instructions. Its handling: 20 instructions, and
 * the store that ends the wait. An instruction takes 1 ns here, a poll 5.
 */
static const char call[] =
    "xivescale-pattern 1 call\n"
    "line link\n"
    "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
    "handle 1\n20 release 0 -1\n0 end\n";

/* The same with a counter that every thread adds to when it handles */
static const char counted[] =
    "xivescale-pattern 1 counted\n"
    "line link\nline global\n"
    "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
    "handle 1\n10 store 1 0\n10 release 0 -1\n0 end\n";

/* @interrupts: after which the window ends, 0: after 1000 us */
static ReplayResult run(const char *text, unsigned chips, unsigned cores,
                        unsigned cpus, unsigned interrupts,
                        const char *settings)
{
    g_autoptr(GError) err = NULL;
    ReplayPattern *p = replay_pattern_parse(text, &err);
    ReplayMachine machine = { .nr_chips = chips, .threads = 1 };
    ReplayRun run = { .cpus = cpus, .offset = 1, .instruction = 1000,
                      .warmup = 100 * 1000 * NS, .duration = 1000 * 1000 * NS,
                      .interrupts = interrupts };
    ReplayResult result;
    ContentionParams params;

    g_assert_no_error(err);
    for (unsigned i = 0; i < chips; i++) {
        machine.cores[i] = cores;
    }
    test_params(&params, settings);
    replay_run(p, &params, &machine, &run, &result, &err);
    g_assert_no_error(err);
    replay_pattern_free(p);
    return result;
}

static double rate_of(const char *text, unsigned chips, unsigned cores,
                      unsigned cpus, const char *settings)
{
    return run(text, chips, cores, cpus, 0, settings).rate;
}

static void assert_between(double value, double low, double high)
{
    g_assert_cmpfloat(value, >=, low);
    g_assert_cmpfloat(value, <=, high);
}

/*
 * Transfers for nothing: 100 ns until the interrupt, 20 until the release,
 * up to 5 until the poll that sees it, 10: 130 to 135 ns. A thread that is
 * interrupted itself loses at most 20 + 5 more, on either side of the call.
 */
static void test_two_threads(void)
{
    assert_between(rate_of(call, 1, 2, 2, "same-chip-ns=0,service-ns=0,"
                           "notify-ns=100"),
                   2000.0 / (135 + 50), 2000.0 / 130);
}

/* The release takes the line, the poll fetches it back: 2 x 300 ns more. */
static void test_transfers(void)
{
    assert_between(rate_of(call, 1, 2, 2, "same-chip-ns=300,service-ns=0,"
                           "notify-ns=100"),
                   2000.0 / (735 + 350), 2000.0 / 730);
}

/*
 * The interrupt is ended 1000 ns after the release. A call that comes before
 * is queued, and delivered 100 ns after the end: 20 + 1000 + 100 ns from one
 * to the next at the best. The thread that is interrupted has no more than
 * these 100 ns for its own call, of which it needs up to 15; one that comes
 * too late for the end costs up to 100 more.
 */
static void test_queued(void)
{
    static const char late[] =
        "xivescale-pattern 1 late\n"
        "line link\n"
        "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
        "handle 1\n20 release 0 -1\n1000 mmio 2 own\n0 end\n";

    assert_between(rate_of(late, 1, 2, 2, "same-chip-ns=0,service-ns=0,"
                           "notify-ns=100"),
                   2000.0 / (1120 + 115), 2002.0 / 1120);
}

/*
 * The store to an ESB page takes 400 ns, and triggers whatever comes in these.
 * Delivery takes 5000 ns, and a handler goes on for 1000 ns after its release.
 *
 * Say thread A triggers first, B d later, up to 1000 by their starts. A's next
 * trigger is 5000 + 20 + up to 5 + 10 + 400 ns after its last. If d is from 35
 * to 435, B's interrupt comes while A stores; A triggers first, then handles.
 * B has handled A's in 1020 ns, and then A's release is there: it triggers
 * 5000 + 1020 + 5 + 410 after A did, d is 1000 now, and stays: no handler is
 * in the way of a call, which takes 5430 to 5435 ns.
 *
 * Were A to handle before it triggers, it would be 20 ns behind B, and both
 * would take a handler's 1000 ns more in every call. That is so by right only
 * if d is below 35, a chance of 7 per cent.
 */
static void test_trigger_first(void)
{
    static const char slow[] =
        "xivescale-pattern 1 slow\n"
        "line link\n"
        "send 1\n0 trigger own\n0 wait 0 0 5\n10 mmio 3 own\n0 end\n"
        "handle 1\n20 release 0 -1\n0 mmio 2 own\n1000 end\n";
    unsigned fast = 0;

    for (unsigned seed = 1; seed <= 10; seed++) {
        g_autofree char *settings = g_strdup_printf(
            "same-chip-ns=0,service-ns=0,notify-ns=5000,esb-store-ns=400,"
            "seed=%u", seed);
        double rate = rate_of(slow, 1, 2, 2, settings);

        g_assert_cmpfloat(rate, <=, 2002.0 / 5430);
        fast += rate >= 1998.0 / 5435;
    }
    g_assert_cmpuint(fast, >=, 8);
}

/* One controller that takes 50 ns an event: 20 million a second, no more. */
static void test_service(void)
{
    double one = rate_of(call, 1, 64, 64, "same-chip-ns=0,service-ns=50,"
                         "notify-ns=100");
    double two = rate_of(call, 2, 64, 64, "same-chip-ns=0,service-ns=50,"
                         "notify-ns=100");

    assert_between(one, 19.8, 20.01);
    /* The second chip has no thread of the storm. */
    g_assert_cmpfloat(two, ==, one);
}

/*
 * All store to one line, and each has to have it for 100 ns: 10 million a
 * second on a chip. Without the counter 64 threads are far faster.
 */
static void test_contended(void)
{
    const char *s = "same-chip-ns=100,service-ns=0,notify-ns=100,"
                    "holder-rule=none,departure-pct=0";

    assert_between(rate_of(counted, 1, 64, 64, s), 9.7, 10.01);
    g_assert_cmpfloat(rate_of(call, 1, 64, 64, s), >, 60);
}

/* The further chips are apart, the slower; another hop counts. */
static void test_chips(void)
{
    const char *near = "same-chip-ns=100,cross-chip-ns=100,service-ns=0,"
                       "notify-ns=100,holder-rule=none,departure-pct=0";
    const char *far = "same-chip-ns=100,cross-chip-ns=300,service-ns=0,"
                      "notify-ns=100,holder-rule=none,departure-pct=0";
    double same = rate_of(counted, 2, 32, 64, near);

    assert_between(same, 9.7, 10.01);
    /* Half of the transfers cross when who is next is drawn by lot. */
    assert_between(rate_of(counted, 2, 32, 64, far), 4.7, 5.3);
}

/*
 * The window may end with an interrupt. Two threads make at most one in 65 ns
 * and at least one in 93 (above): 100 of them take 1 per cent of the window,
 * 20000 more than all of it.
 */
static void test_interrupts(void)
{
    const char *s = "same-chip-ns=0,service-ns=0,notify-ns=100";
    ReplayResult all = run(call, 1, 2, 2, 0, s);
    ReplayResult few = run(call, 1, 2, 2, 100, s);
    ReplayResult many = run(call, 1, 2, 2, 20000, s);

    g_assert_cmpuint(few.handled, ==, 100);
    assert_between(few.rate, 2000.0 / (135 + 50), 2020.0 / 130);
    g_assert_cmpuint(few.events, <, all.events / 4);
    g_assert_cmpuint(many.handled, ==, all.handled);
    g_assert_cmpfloat(many.rate, ==, all.rate);
}

/*
 * What a thread does ahead of the others has no effect on any time: a line
 * that 16 threads store to in turn, and of which each has loaded and stored
 * more often than others can come between. With pauses of no time between
 * them the same accesses are made one by one.
 */
static void test_ahead(void)
{
    static const char together[] =
        "xivescale-pattern 1 together\n"
        "line link\nline global\n"
        "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
        "handle 1\n10 load 1 0\n15 store 1 0\n15 store 1 0\n15 load 1 0\n"
        "15 store 1 0\n15 load 1 0\n10 release 0 -1\n0 end\n";
    static const char apart[] =
        "xivescale-pattern 1 apart\n"
        "line link\nline global\n"
        "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
        "handle 1\n10 load 1 0\n0 pause\n15 store 1 0\n0 pause\n"
        "15 store 1 0\n0 pause\n15 load 1 0\n0 pause\n15 store 1 0\n"
        "0 pause\n15 load 1 0\n0 pause\n10 release 0 -1\n0 end\n";
    const char *rules[] = { "load-store", "load", "none" };

    for (unsigned i = 0; i < G_N_ELEMENTS(rules); i++) {
        g_autofree char *settings = g_strdup_printf(
            "same-chip-ns=40,cross-chip-ns=90,service-ns=1,notify-ns=300,"
            "notify-spread-ns=50,load-rule=migratory,holder-rule=%s",
            rules[i]);
        ReplayResult a = run(together, 2, 8, 16, 0, settings);
        ReplayResult b = run(apart, 2, 8, 16, 0, settings);

        g_assert_cmpuint(a.handled, >, 1000);
        g_assert_cmpuint(a.handled, ==, b.handled);
    }
}

static void test_deterministic(void)
{
    const char *s = "same-chip-ns=57,cross-chip-ns=140,seed=7";

    g_assert_cmpfloat(rate_of(counted, 2, 32, 64, s), ==,
                      rate_of(counted, 2, 32, 64, s));
}

static void assert_refused(const char *text, const char *why)
{
    g_autoptr(GError) err = NULL;

    g_assert_null(replay_pattern_parse(text, &err));
    g_assert_nonnull(err);
    g_assert_nonnull(strstr(err->message, why));
}

static void test_bad_pattern(void)
{
    assert_refused("", "empty");
    assert_refused("something else\n", "no pattern");
    assert_refused("xivescale-pattern 2 x\n", "another version");
    assert_refused("xivescale-pattern 1 x\nline far\n", "line 2: expected");
    assert_refused("xivescale-pattern 1 x\nline link\nsend 1\n"
                   "0 load 1 0\n", "line 4");
    assert_refused("xivescale-pattern 1 x\nline link\nsend 1\n"
                   "0 trigger own\n0 wait 0 0 5\n10 end\nhandle 1\n"
                   "20 release 0 -1\n", "truncated");
    assert_refused("xivescale-pattern 1 x\nline link\nsend 1\n"
                   "0 trigger own\n10 end\n", "one wait after");
    assert_refused("xivescale-pattern 1 x\nline global\nsend 1\n"
                   "0 trigger own\n0 wait 0 0 5\n", "line of a link");
}

static void test_bad_run(void)
{
    g_autoptr(GError) err = NULL;
    ReplayPattern *p = replay_pattern_parse(call, &err);
    ReplayMachine machine = { .nr_chips = 1, .cores = { 4 }, .threads = 1 };
    ReplayRun run = { .cpus = 5, .offset = 1, .instruction = 1000,
                      .duration = NS };
    ReplayResult result;
    ContentionParams params;

    test_params(&params, "same-chip-ns=1");
    g_assert_false(replay_run(p, &params, &machine, &run, &result, &err));
    g_assert_nonnull(strstr(err->message, "5 cpus"));
    g_clear_error(&err);
    run.cpus = 4;
    run.offset = 4;
    g_assert_false(replay_run(p, &params, &machine, &run, &result, &err));
    g_assert_nonnull(strstr(err->message, "offset 4"));
    replay_pattern_free(p);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/replay/two-threads", test_two_threads);
    g_test_add_func("/replay/transfers", test_transfers);
    g_test_add_func("/replay/queued", test_queued);
    g_test_add_func("/replay/trigger-first", test_trigger_first);
    g_test_add_func("/replay/service", test_service);
    g_test_add_func("/replay/contended", test_contended);
    g_test_add_func("/replay/chips", test_chips);
    g_test_add_func("/replay/interrupts", test_interrupts);
    g_test_add_func("/replay/ahead", test_ahead);
    g_test_add_func("/replay/deterministic", test_deterministic);
    g_test_add_func("/replay/bad-pattern", test_bad_pattern);
    g_test_add_func("/replay/bad-run", test_bad_run);
    return g_test_run();
}
