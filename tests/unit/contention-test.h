/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the unit tests of the contention core share: machines to test on and
 * accesses as the real caller makes them.
 */

#ifndef TESTS_UNIT_CONTENTION_TEST_H
#define TESTS_UNIT_CONTENTION_TEST_H

#include "hw/intc/contention/contention.h"

#define NS ((ContentionTime)CONTENTION_PS_PER_NS)

/* "name=value,name=value" over the defaults */
static inline void test_params(ContentionParams *params, const char *settings)
{
    g_auto(GStrv) list = g_strsplit(settings, ",", -1);

    contention_params_init(params);
    for (unsigned i = 0; list[i]; i++) {
        g_auto(GStrv) pair = g_strsplit(list[i], "=", 2);
        g_autoptr(GError) err = NULL;

        contention_params_set(params, pair[0], pair[1], &err);
        g_assert_no_error(err);
    }
}

/*
 * A homogeneous machine: cpu = (chip * cores + core) * threads + thread.
 * @hops as in ContentionTopology.
 */
static inline ContentionModel *test_machine(unsigned chips, unsigned cores,
                                            unsigned threads,
                                            const uint8_t *hops,
                                            const char *settings)
{
    unsigned n = chips * cores * threads;
    g_autofree ContentionPlace *places = g_new(ContentionPlace, n);
    g_autoptr(GError) err = NULL;
    ContentionParams params;
    ContentionModel *model;

    for (unsigned i = 0; i < n; i++) {
        places[i] = (ContentionPlace) {
            .chip = i / threads / cores,
            .core = i / threads % cores,
            .thread = i % threads,
        };
    }
    test_params(&params, settings);
    model = contention_new(&params, &(ContentionTopology) {
        .nr_cpus = n, .places = places, .nr_chips = chips, .hops = hops,
    }, &err);
    g_assert_no_error(err);
    g_assert_nonnull(model);
    return model;
}

/*
 * One access as QEMU makes it.  The stall in ps; @r is all zero but for
 * .from = -1 if the access did not get past the filter and the probe.
 */
static inline ContentionTime test_access(ContentionModel *model, unsigned cpu,
                                         uint64_t line, bool store,
                                         ContentionTime now,
                                         ContentionResult *r)
{
    ContentionTime stall;

    *r = (ContentionResult) { .kind = CONTENTION_HIT, .from = -1 };
    if (contention_filter_hit(contention_filter(model, cpu), line, store) ||
        contention_probe(model, cpu, line, store, now)) {
        return 0;
    }
    stall = contention_access(model, cpu, line, store, now, r);
    g_assert_cmpint(stall, >=, 0);
    g_assert_cmpint(stall, ==, r->waited + r->transfer);
    return stall;
}

#endif /* TESTS_UNIT_CONTENTION_TEST_H */
