/*
 * QTest testcase for what users write to choose the contention model and
 * the clocks per vCPU: -device contention and -accel tcg,simtime=on
 *  - Test that each number at the ends of its range is taken, and none beyond
 *  - Test that each rule's names are taken, and no other
 *  - Test what is no number, or no property
 *  - Test two devices, machines without XIVE, clocks off, -icount, threads
 *  - Test -smp with fewer CPUs than there will be
 *  - Test that parameters cannot change while the machine runs
 *  - Test that none of the device's properties is missing here
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Whatever is refused must end QEMU with a status that says so, after one
 * line which names the property and what it takes.
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "xivescale-refused.h"

#define MACHINE         "-M powernv9 -smp 4,sockets=2,cores=2,threads=1"
#define CLOCKS          MACHINE " -accel tcg,simtime=on"

typedef struct Range {
    const char *name;
    const char *min;
    const char *max;
    const char *below;
    const char *above;
} Range;

#define TIME(n) { n, "0", "1000000", "-0.001", "1000000.001" }

static const Range device_ranges[] = {
    TIME("same-domain-ns"),
    TIME("same-chip-ns"),
    TIME("cross-chip-ns"),
    TIME("hop-ns"),
    TIME("trigger-ns"),
    TIME("fabric-hop-ns"),
    TIME("service-ns"),
    TIME("route-ns"),
    TIME("queue-write-ns"),
    TIME("notify-ns"),
    TIME("notify-spread-ns"),
    TIME("match-ns"),
    TIME("esb-load-ns"),
    TIME("esb-store-ns"),
    TIME("tima-load-ns"),
    TIME("tima-store-ns"),
    { "waiter-slope-pct", "0", "1000", "-1", "1000.001" },
    { "load-occupancy-pct", "0", "1000", "-1", "1001" },
    { "departure-pct", "0", "100", "-1", "101" },
    { "cores-per-domain", "1", "1024", "0", "1025" },
    { "line-bytes", "128", "128", "64", "256" },
    { "filter-entries", "1", "1048576", "0", "2097152" },
    { "seed", "0", "4294967295", "-1", "4294967296" },
};

static const struct {
    const char *name;
    const char *values[4];
} device_rules[] = {
    { "holder-rule", { "load", "load-store", "none" } },
    { "waiter-scope", { "all", "chip" } },
    { "load-rule", { "shared", "migratory" } },
    { "load-queue", { "parallel", "serialised" } },
    { "merge-rule", { "all", "loads" } },
    { "upgrade-rule", { "nearest", "furthest" } },
    { "arbitration", { "random", "arrival", "nearest" } },
};

static const Range clock_ranges[] = {
    { "simtime-instruction-ps", "1", "1000000", "0", "1000001" },
    { "simtime-lookahead-ns", "0", "1000000", "-1", "1000001" },
    { "simtime-quantum-ns", "1000", "100000000", "999", "100000001" },
    { "simtime-pause-ns", "1", "1000000", "0", "1000001" },
    { "simtime-pause-instructions", "1", "1000000", "0", "1000001" },
    { "simtime-limit-ms", "0", "100000000", "-1", "100000001" },
};

static void test_device_ranges(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(device_ranges); i++) {
        const Range *r = &device_ranges[i];
        g_autofree char *words = g_strdup_printf("%s|%s|%s", r->name, r->min,
                                                 r->max);

        xs_refused(words, CLOCKS " -device contention,%s=%s", r->name,
                   r->below);
        if (r->above) {
            xs_refused(words, CLOCKS " -device contention,%s=%s", r->name,
                       r->above);
        }
    }
    xs_refused("filter-entries|power of two",
               CLOCKS " -device contention,filter-entries=3");
}

static void test_device_rules(void)
{
    for (unsigned i = 0; i < ARRAY_SIZE(device_rules); i++) {
        g_autofree char *values = g_strjoinv("|",
                                             (char **)device_rules[i].values);
        g_autofree char *words = g_strdup_printf("%s|%s", device_rules[i].name,
                                                 values);

        xs_refused(words, CLOCKS " -device contention,%s=best",
                   device_rules[i].name);
        xs_refused(words, CLOCKS " -device contention,%s=0",
                   device_rules[i].name);
        xs_refused(words, CLOCKS " -device contention,%s=",
                   device_rules[i].name);
    }
}

static void test_device_no_numbers(void)
{
    static const char *const bad[] = {
        "fast", "57ns", "5,,7", "0x10", "1e3", "--5", "+5", "nan", "", ".", "-",
        "1.2.3",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
        xs_refused("same-chip-ns|not a number|0 to 1000000 ns",
                   CLOCKS " -device contention,same-chip-ns=%s", bad[i]);
    }
    xs_refused("same-chip-ns|three decimals|0 to 1000000 ns",
               CLOCKS " -device contention,same-chip-ns=0.0005");
    xs_refused("cores-per-domain|integer|1 to 1024 cores",
               CLOCKS " -device contention,cores-per-domain=1.5");
    xs_refused("same-chip-ns|out of range", CLOCKS
               " -device contention,same-chip-ns=99999999999999999999999999");
    xs_refused("contention.same-chip|not found",
               CLOCKS " -device contention,same-chip=57");
    xs_refused("region", CLOCKS " -device contention,region=on");
    xs_refused("attribution-entries|out of range|0 to 16777216",
               CLOCKS " -device contention,attribution-entries=16777217");
    xs_refused("attribution-entries",
               CLOCKS " -device contention,attribution-entries=-1");
    xs_refused("attribution-file|attribution-entries=0", CLOCKS
               " -device contention,attribution-file=a,attribution-entries=0");
    xs_refused("record-us|out of range|1 to 10000 us",
               CLOCKS " -device contention,record-us=0");
    xs_refused("record-us|out of range|1 to 10000 us",
               CLOCKS " -device contention,record-us=10001");
    xs_refused("record-us", CLOCKS " -device contention,record-us=-1");
    xs_refused("record-start-us",
               CLOCKS " -device contention,record-start-us=-1");
}

static void test_device_place(void)
{
    xs_refused("second -device contention",
               CLOCKS " -device contention -device contention");
    xs_refused("powernv9|powernv10",
               "-M powernv8 -accel tcg,simtime=on -device contention");
    xs_refused("powernv9|powernv10",
               "-M none -accel tcg,simtime=on -device contention");
    xs_refused("simtime=on", MACHINE " -accel tcg -device contention");
    xs_refused("simtime=on",
               MACHINE " -accel tcg,simtime=off -device contention");
}

static void check_param(QTestState *qts, const char *name, const char *value)
{
    QDict *answer;

    answer = qtest_qmp(qts, "{ 'execute': 'qom-get', 'arguments': {"
                       " 'path': '/machine/peripheral/c',"
                       " 'property': %s } }", name);
    g_assert_cmpstr(qdict_get_try_str(answer, "return"), ==, value);
    qobject_unref(answer);
}

/* The ends of all ranges at once, and the n-th name of all rules */
static void check_accepted(bool max, unsigned n)
{
    g_autoptr(GString) params = g_string_new("contention,id=c");
    QTestState *qts;

    for (unsigned i = 0; i < ARRAY_SIZE(device_ranges); i++) {
        const Range *r = &device_ranges[i];

        g_string_append_printf(params, ",%s=%s", r->name,
                               max ? r->max : r->min);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(device_rules); i++) {
        g_string_append_printf(params, ",%s=%s", device_rules[i].name,
                               device_rules[i].values[n] ?:
                               device_rules[i].values[0]);
    }
    qts = qtest_initf(MACHINE " -bios /dev/null -nodefaults -device %s",
                      params->str);
    for (unsigned i = 0; i < ARRAY_SIZE(device_ranges); i++) {
        const Range *r = &device_ranges[i];

        check_param(qts, r->name, max ? r->max : r->min);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(device_rules); i++) {
        check_param(qts, device_rules[i].name, device_rules[i].values[n] ?:
                    device_rules[i].values[0]);
    }
    qtest_quit(qts);
}

static void test_device_accepted(void)
{
    check_accepted(false, 0);
    check_accepted(true, 1);
    check_accepted(false, 2);
}

static bool known(const char *name)
{
    static const char *const others[] = {
        "type", "stats-file", "region", "attribution-file",
        "attribution-entries", "memory-file", "trace-file", "trace-records",
        "record-file", "record-start-us", "record-us",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(device_ranges); i++) {
        if (g_str_equal(name, device_ranges[i].name)) {
            return true;
        }
    }
    for (unsigned i = 0; i < ARRAY_SIZE(device_rules); i++) {
        if (g_str_equal(name, device_rules[i].name)) {
            return true;
        }
    }
    for (unsigned i = 0; i < ARRAY_SIZE(others); i++) {
        if (g_str_equal(name, others[i])) {
            return true;
        }
    }
    return false;
}

static void test_device_complete(void)
{
    QTestState *qts = qtest_init("-M none");
    QListEntry *e;
    QDict *answer;

    answer = qtest_qmp(qts, "{ 'execute': 'device-list-properties',"
                       " 'arguments': { 'typename': 'contention' } }");
    QLIST_FOREACH_ENTRY(qdict_get_qlist(answer, "return"), e) {
        QDict *property = qobject_to(QDict, qlist_entry_obj(e));
        const char *name = qdict_get_str(property, "name");

        if (!known(name)) {
            g_error("property %s is not tested", name);
        }
    }
    qobject_unref(answer);
    qtest_quit(qts);
}

static void check_error(QDict *answer, const char *word)
{
    g_assert_true(qdict_haskey(answer, "error"));
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(answer, "error"),
                                          "desc"), word));
    qobject_unref(answer);
}

static void test_device_running(void)
{
    QTestState *qts;

    qts = qtest_init(MACHINE " -bios /dev/null -nodefaults "
                     "-device contention,id=c,same-chip-ns=57.5");
    check_error(qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                          " 'path': '/machine/peripheral/c',"
                          " 'property': 'same-chip-ns', 'value': '60' } }"),
                "same-chip-ns");
    check_param(qts, "same-chip-ns", "57.5");
    check_error(qtest_qmp(qts, "{ 'execute': 'qom-set', 'arguments': {"
                          " 'path': '/machine/peripheral/c',"
                          " 'property': 'region', 'value': true } }"),
                "simtime=on");
    check_error(qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': {"
                          " 'driver': 'contention' } }"),
                "contention");
    qtest_quit(qts);
}

static void test_device_smp(void)
{
    /* QEMU makes all threads of all cores at once. */
    qtest_quit(qtest_init("-M powernv9 -smp 2,maxcpus=4,cores=4 "
                          "-bios /dev/null -nodefaults -device contention"));
}

static void test_clock_ranges(void)
{
    g_autoptr(GString) min = g_string_new("tcg,simtime=on");
    g_autoptr(GString) max = g_string_new("tcg,simtime=on");

    for (unsigned i = 0; i < ARRAY_SIZE(clock_ranges); i++) {
        const Range *r = &clock_ranges[i];
        g_autofree char *words = g_strdup_printf("%s|%s|%s", r->name, r->min,
                                                 r->max);

        xs_refused(words, CLOCKS ",%s=%s", r->name, r->below);
        xs_refused(words, CLOCKS ",%s=%s", r->name, r->above);
        xs_refused(words, CLOCKS ",%s=fast", r->name);
        xs_refused(words, CLOCKS ",%s=1.5", r->name);
        xs_refused(words, CLOCKS ",%s=", r->name);
        xs_refused(words, CLOCKS ",%s=99999999999999999999", r->name);
        g_string_append_printf(min, ",%s=%s", r->name, r->min);
        g_string_append_printf(max, ",%s=%s", r->name, r->max);
    }
    qtest_quit(qtest_initf(MACHINE " -S -bios /dev/null -nodefaults -accel %s",
                           min->str));
    qtest_quit(qtest_initf(MACHINE " -S -bios /dev/null -nodefaults -accel %s",
                           max->str));
}

static void test_clock_others(void)
{
    xs_refused("simtime|'on' or 'off'", MACHINE " -accel tcg,simtime=maybe");
    xs_refused("simtime-pace|not found", CLOCKS ",simtime-pace=1");
    xs_refused("simtime=on|-icount", CLOCKS " -icount shift=1");
    xs_refused("simtime=on|-icount",
               MACHINE " -icount auto -accel tcg,simtime=on");
    xs_refused("simtime=on|thread=multi", CLOCKS ",thread=multi");
    xs_refused("simtime=on|thread=multi",
               MACHINE " -accel tcg,thread=multi,simtime=on");
    xs_refused("thread|both", CLOCKS ",thread=both");
    /* This is what simtime=on means anyway. */
    qtest_quit(qtest_init(CLOCKS ",thread=single -S -bios /dev/null "
                          "-nodefaults -device contention"));
    /* And without it each of these is as it was. */
    qtest_quit(qtest_init(MACHINE " -accel tcg,simtime=off,thread=multi -S "
                          "-bios /dev/null -nodefaults"));
    qtest_quit(qtest_init(MACHINE " -accel tcg,simtime=off -icount shift=1 -S "
                          "-bios /dev/null -nodefaults"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("xivescale/device/ranges", test_device_ranges);
    qtest_add_func("xivescale/device/rules", test_device_rules);
    qtest_add_func("xivescale/device/no-numbers", test_device_no_numbers);
    qtest_add_func("xivescale/device/place", test_device_place);
    qtest_add_func("xivescale/device/accepted", test_device_accepted);
    qtest_add_func("xivescale/device/complete", test_device_complete);
    qtest_add_func("xivescale/device/running", test_device_running);
    qtest_add_func("xivescale/device/smp", test_device_smp);
    qtest_add_func("xivescale/clock/ranges", test_clock_ranges);
    qtest_add_func("xivescale/clock/others", test_clock_others);
    return g_test_run();
}
