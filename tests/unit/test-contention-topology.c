/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention topology
 *
 * - domains: cores of a chip, cores-per-domain of them together
 * - chips that differ, cpus in any order, core numbers with holes
 * - hops between chips, and the default of one
 * - machines that cannot be: the message names the cpu or the chips
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

/* 2 chips x 4 cores x 2 threads; cpu 8 is chip 1 core 0 thread 0 */
static void test_domains(void)
{
    g_autoptr(ContentionModel) one = test_machine(2, 4, 2, NULL,
                                                  "cores-per-domain=1");
    g_autoptr(ContentionModel) two = test_machine(2, 4, 2, NULL,
                                                  "cores-per-domain=2");
    g_autoptr(ContentionModel) many = test_machine(2, 4, 2, NULL,
                                                   "cores-per-domain=1024");

    g_assert_cmpuint(contention_nr_cpus(one), ==, 16);
    g_assert_cmpuint(contention_nr_chips(one), ==, 2);
    g_assert_cmpuint(contention_nr_domains(one), ==, 8);
    g_assert_cmpuint(contention_nr_domains(two), ==, 4);
    /* a domain never reaches beyond its chip */
    g_assert_cmpuint(contention_nr_domains(many), ==, 2);

    for (unsigned cpu = 0; cpu < 16; cpu++) {
        g_assert_cmpuint(contention_cpu_domain(one, cpu), ==, cpu / 2);
        g_assert_cmpuint(contention_cpu_domain(two, cpu), ==, cpu / 4);
        g_assert_cmpuint(contention_cpu_domain(many, cpu), ==, cpu / 8);
        g_assert_cmpuint(contention_cpu_chip(two, cpu), ==, cpu / 8);
    }
    g_assert_cmpuint(contention_domain_chip(one, 3), ==, 0);
    g_assert_cmpuint(contention_domain_chip(one, 4), ==, 1);
    /* the controllers, numbered after the domains */
    g_assert_cmpuint(contention_domain_chip(one, 8), ==, 0);
    g_assert_cmpuint(contention_domain_chip(one, 9), ==, 1);

    /* threads of a domain share the filter, others do not */
    g_assert_true(contention_filter(two, 0) == contention_filter(two, 3));
    g_assert_true(contention_filter(two, 0) != contention_filter(two, 4));
}

/*
 * Chip 0 has core 6, chip 1 cores 2, 3 and 5; pairs are 2|3 and 5, since
 * 4 is the missing half of 5.  The cpus come in no order.
 */
static void test_irregular(void)
{
    static const ContentionPlace places[] = {
        { 1, 5, 0 }, { 0, 6, 1 }, { 1, 3, 0 }, { 0, 6, 0 }, { 1, 2, 7 },
    };
    static const unsigned domain[] = { 2, 0, 1, 0, 1 };
    g_autoptr(ContentionModel) model = NULL;
    ContentionParams params;

    test_params(&params, "cores-per-domain=2");
    model = contention_new(&params, &(ContentionTopology) {
        .nr_cpus = 5, .places = places, .nr_chips = 2,
    }, NULL);
    g_assert_nonnull(model);
    g_assert_cmpuint(contention_nr_domains(model), ==, 3);
    for (unsigned cpu = 0; cpu < 5; cpu++) {
        g_assert_cmpuint(contention_cpu_domain(model, cpu), ==, domain[cpu]);
        g_assert_cmpuint(contention_cpu_chip(model, cpu), ==,
                         places[cpu].chip);
    }
}

/* Three chips in a row: 0 - 1 - 2 */
static void test_hops(void)
{
    static const uint8_t row[] = { 0, 1, 2, 1, 0, 1, 2, 1, 0 };
    g_autoptr(ContentionModel) line = test_machine(3, 1, 1, row,
        "same-chip-ns=60,cross-chip-ns=140,hop-ns=30");
    g_autoptr(ContentionModel) full = test_machine(3, 1, 1, NULL,
        "same-chip-ns=60,cross-chip-ns=140,hop-ns=30");
    ContentionResult r;

    g_assert_cmpuint(contention_hops(line, 0, 2), ==, 2);
    g_assert_cmpuint(contention_hops(line, 1, 1), ==, 0);
    g_assert_cmpuint(contention_hops(full, 0, 2), ==, 1);

    contention_access(line, 0, 7, true, 0, NULL);
    /* 140 + (2 - 1) * 30 */
    g_assert_cmpint(contention_access(line, 2, 7, true, 0, &r), ==, 170 * NS);
    g_assert_cmpuint(r.distance, ==, CONTENTION_CROSS_CHIP + 1);
    g_assert_cmpstr(contention_distance_name(r.distance), ==,
                    "cross-chip-2-hops");
    contention_access(full, 0, 7, true, 0, NULL);
    g_assert_cmpint(contention_access(full, 2, 7, true, 0, &r), ==, 140 * NS);
    g_assert_cmpuint(r.distance, ==, CONTENTION_CROSS_CHIP);
}

static void bad(const ContentionTopology *topology, const char *message)
{
    g_autoptr(GError) err = NULL;
    ContentionParams params;

    contention_params_init(&params);
    g_assert_null(contention_new(&params, topology, &err));
    g_assert_error(err, CONTENTION_ERROR, CONTENTION_ERROR_TOPOLOGY);
    g_assert_cmpstr(err->message, ==, message);
}

static void test_bad(void)
{
    static const ContentionPlace places[] = {
        { 0, 0, 0 }, { 1, 0, 0 }, { 1, 0, 1 }, { 1, 0, 0 },
    };
    static const uint8_t lame[] = { 0, 1, 2, 0 };
    static const uint8_t loop[] = { 1, 1, 1, 0 };
    static const uint8_t same[] = { 0, 0, 0, 0 };
    static const uint8_t far[] = { 0, 7, 7, 0 };

    bad(&(ContentionTopology) { 0, places, 2, NULL },
        "topology: 0 cpus; there must be 1 to 16384");
    bad(&(ContentionTopology) { 16385, places, 2, NULL },
        "topology: 16385 cpus; there must be 1 to 16384");
    bad(&(ContentionTopology) { 1, places, 0, NULL },
        "topology: 0 chips; there must be 1 to 64");
    bad(&(ContentionTopology) { 1, places, 65, NULL },
        "topology: 65 chips; there must be 1 to 64");
    bad(&(ContentionTopology) { 3, places, 1, NULL },
        "topology: cpu 1 is on chip 1; chips are 0 to 0");
    bad(&(ContentionTopology) { 4, places, 2, NULL },
        "topology: cpus 1 and 3 are both chip 1 core 0 thread 0");
    bad(&(ContentionTopology) { 3, places, 2, lame },
        "topology: chips 0 and 1 are 1 hops apart one way and "
        "2 the other");
    bad(&(ContentionTopology) { 3, places, 2, loop },
        "topology: chip 0 is 1 hops from itself; it must be 0");
    bad(&(ContentionTopology) { 3, places, 2, same },
        "topology: chips 0 and 1 are 0 hops apart; it must be "
        "1 to 6");
    bad(&(ContentionTopology) { 3, places, 2, far },
        "topology: chips 0 and 1 are 7 hops apart; it must be "
        "1 to 6");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/topology/domains", test_domains);
    g_test_add_func("/contention/topology/irregular", test_irregular);
    g_test_add_func("/contention/topology/hops", test_hops);
    g_test_add_func("/contention/topology/bad", test_bad);
    return g_test_run();
}
