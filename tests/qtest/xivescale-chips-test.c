/*
 * QTest testcase for chip-cores, the cores of each chip of a PowerNV machine
 *  - Test that each chip gets its own cores, whole and big ones
 *  - Test that vCPUs are numbered chip by chip
 *  - Test that the contention model takes the chips as they are
 *  - Test that a machine without the property is as -smp says
 *  - Test what is no list, and lists that contradict -smp
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whatever is refused must end QEMU with status 1 after one line, which names
 * the property, what is wrong with it, and what to give instead.
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "xivescale-refused.h"

#define COMMON          "-bios /dev/null -nodefaults -S"

/*
 * The vCPUs must be numbered from 0 chip by chip, @threads[i] of chip i; each
 * says in its path which chip it is in.
 */
static void check_vcpus(QTestState *qts, const unsigned *threads,
                        unsigned nr_chips)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'query-cpus-fast' }");
    QList *list = qdict_get_qlist(answer, "return");
    unsigned chip = 0, of_chip = 0, index = 0;
    const QListEntry *entry;

    g_assert_nonnull(list);
    QLIST_FOREACH_ENTRY(list, entry) {
        QDict *vcpu = qobject_to(QDict, qlist_entry_obj(entry));
        g_autofree char *prefix = NULL;

        while (chip < nr_chips && of_chip == threads[chip]) {
            chip++;
            of_chip = 0;
        }
        g_assert_cmpuint(chip, <, nr_chips);
        prefix = g_strdup_printf("/machine/chip[%u]/", chip);
        g_assert_cmpint(qdict_get_int(vcpu, "cpu-index"), ==, index);
        g_assert_true(g_str_has_prefix(qdict_get_str(vcpu, "qom-path"),
                                       prefix));
        of_chip++;
        index++;
    }
    g_assert_cmpuint(chip, ==, nr_chips - 1);
    g_assert_cmpuint(of_chip, ==, threads[chip]);
    qobject_unref(answer);
}

static void check_property(QTestState *qts, const char *expected)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                              " 'path': '/machine',"
                              " 'property': 'chip-cores' } }");

    g_assert_cmpstr(qdict_get_str(answer, "return"), ==, expected);
    qobject_unref(answer);
}

static void test_cores(void)
{
    static const unsigned threads[] = { 12, 4, 8, 12 };
    QTestState *qts = qtest_init(
        "-M powernv9,chip-cores=3:1:2:3 "
        "-smp 36,sockets=4,cores=3,threads=4,maxcpus=48 " COMMON);

    check_vcpus(qts, threads, ARRAY_SIZE(threads));
    check_property(qts, "3:1:2:3");
    qtest_quit(qts);
}

/* The real POWER10 machine: 96 + 80 + 80 + 96 threads. */
static void test_big_cores(void)
{
    static const unsigned threads[] = { 96, 80, 80, 96 };
    QTestState *qts = qtest_init(
        "-M powernv10,big-core=on,chip-cores=12:10:10:12 "
        "-smp 352,sockets=4,cores=12,threads=8,maxcpus=384 " COMMON);

    check_vcpus(qts, threads, ARRAY_SIZE(threads));
    qtest_quit(qts);
}

/*
 * The model must find a place for each thread, and none for those which only
 * maxcpus counts: it would abort, and so would clocks.
 */
static void test_model(void)
{
    static const unsigned threads[] = { 16, 8, 8, 16 };
    QTestState *qts = qtest_init(
        "-M powernv10,big-core=on,chip-cores=2:1:1:2 "
        "-smp 48,sockets=4,cores=2,threads=8,maxcpus=64 "
        "-accel tcg,simtime=on -device contention " COMMON);

    check_vcpus(qts, threads, ARRAY_SIZE(threads));
    qtest_quit(qts);
}

static void test_without(void)
{
    static const unsigned threads[] = { 6, 6 };
    QTestState *qts = qtest_init(
        "-M powernv9 -smp 12,sockets=2,cores=3,threads=2 " COMMON);

    check_vcpus(qts, threads, ARRAY_SIZE(threads));
    check_property(qts, "");
    qtest_quit(qts);
}

static void test_no_list(void)
{
    static const char *const bad[] = {
        "", "0", "2:0", "2:", ":2", "2::1", "-1", "+2:1", "2:x", "2.5:1",
        "2 :1", "65:1", "99999999999:1", "1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1:1",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *args = g_strdup_printf(
            "-M 'powernv9,chip-cores=%s' "
            "-smp 3,sockets=2,cores=2,threads=1,maxcpus=4", bad[i]);
        g_autofree char *words = g_strdup_printf("chip-cores=%s:|for each "
                                                 "chip", bad[i]);

        xs_refused(words, "%s", args);
    }
}

static void test_contradictions(void)
{
    static const struct {
        const char *list;
        const char *smp;
        const char *words;
    } bad[] = {
        /* chips */
        { "2:1", "8,sockets=4,cores=2,threads=1",
          "2 chips|-smp for 4|-smp 3,sockets=2,cores=2,threads=1,maxcpus=4" },
        { "2:1:1:2", "4,sockets=2,cores=2,threads=1",
          "4 chips|-smp for 2|-smp 6,sockets=4,cores=2,threads=1,maxcpus=8" },
        /* the largest chip */
        { "3:1", "4,sockets=2,cores=2,threads=1",
          "has 3 cores|says 2|-smp 4,sockets=2,cores=3,threads=1,maxcpus=6" },
        { "1:1", "2,sockets=2,cores=2,threads=1,maxcpus=4",
          "has 1 cores|says 2|-smp 2,sockets=2,cores=1,threads=1,maxcpus=2" },
        /* the sum */
        { "2:1", "4,sockets=2,cores=2,threads=1",
          "3 CPUs|says 4|-smp 3,sockets=2,cores=2,threads=1,maxcpus=4" },
        { "2:1", "10,sockets=2,cores=2,threads=4,maxcpus=16",
          "12 CPUs|says 10|-smp 12,sockets=2,cores=2,threads=4,maxcpus=16" },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *args = g_strdup_printf(
            "-M powernv9,chip-cores=%s -smp %s", bad[i].list, bad[i].smp);

        xs_refused(bad[i].words, "%s", args);
    }
    /* What is said of big cores is said in big cores. */
    xs_refused("44 cores of 8 threads are 352 CPUs|says 384|"
               "-smp 352,sockets=4,cores=12,threads=8,maxcpus=384",
               "-M powernv10,big-core=on,chip-cores=12:10:10:12 "
               "-smp 384,sockets=4,cores=12,threads=8");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("xivescale/chips/cores", test_cores);
    qtest_add_func("xivescale/chips/big-cores", test_big_cores);
    qtest_add_func("xivescale/chips/model", test_model);
    qtest_add_func("xivescale/chips/without", test_without);
    qtest_add_func("xivescale/chips/no-list", test_no_list);
    qtest_add_func("xivescale/chips/contradictions", test_contradictions);
    return g_test_run();
}
