/*
 * QTest testcase for the monitor commands and trace events of the contention
 * model, on powernv9 and powernv10
 *  - Test query-contention: totals, lines, accesses, instructions, and how
 *    many of them are told
 *  - Test that contention-reset clears them and leaves lines where they are
 *  - Test that full tables say what they have dropped
 *  - Test info contention
 *  - Test that commands are refused without a device, without attribution,
 *    and without clocks per vCPU
 *  - Test the text of trace events, and that there is none when they are off
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The machine has two chips of two cores: vCPUs 0 and 1, and 2 and 3. A
 * transfer takes 50 ns on a chip and 170 ns between chips.
 */

#include "qemu/osdep.h"
#include "libqtest.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"

#define NS              1000
/* Three bytes of the line at 0x100000, and one of the next */
#define BYTE            0x100008
#define NEXT            0x100080

static QTestState *start(const char *machine, const char *more)
{
    return qtest_initf("-M %s -smp 4,sockets=2,cores=2,threads=1 "
                       "-bios /dev/null -nodefaults -device contention,"
                       "same-chip-ns=50,cross-chip-ns=170,merge-rule=loads%s",
                       machine, more);
}

static void request(QTestState *qts, const char *op, unsigned cpu,
                    uint64_t addr, unsigned now, uint64_t pc, unsigned stall)
{
    g_autofree char *command =
        g_strdup_printf("contention %s %u 0x%" PRIx64 " %u 0x%" PRIx64, op,
                        cpu, addr, now * NS, pc);
    g_autofree char *expected = g_strdup_printf("OK %u\n", stall * NS);
    g_autofree char *answer = qtest_machine_command(qts, command);

    g_assert_cmpstr(g_strchomp(answer), ==, g_strchomp(expected));
}

/*
 * vCPU 2 fetches the line from chip 0 at 1000 (170), vCPU 3 asks at 1010,
 * waits until 1170 and has it from its own chip (160 + 50), vCPU 0 loads at
 * 2000 what is on chip 1 then (170). The next line goes within chip 0 (50).
 */
static void make_traffic(QTestState *qts)
{
    request(qts, "store", 0, BYTE, 0, 0x500, 0);
    request(qts, "store", 2, BYTE, 1000, 0x500, 170);
    request(qts, "store", 3, BYTE, 1010, 0x500, 210);
    request(qts, "load", 0, BYTE + 8, 2000, 0x600, 170);
    request(qts, "store", 0, NEXT, 3000, 0x700, 0);
    request(qts, "store", 1, NEXT, 4000, 0x700, 50);
}

static QDict *query(QTestState *qts, unsigned lines, unsigned accesses,
                    unsigned instructions)
{
    QDict *answer;
    QDict *info;

    answer = qtest_qmp(qts, "{ 'execute': 'query-contention', 'arguments': {"
                       " 'lines': %u, 'accesses': %u, 'instructions': %u } }",
                       lines, accesses, instructions);
    info = qdict_get_qdict(answer, "return");
    g_assert_nonnull(info);
    qobject_ref(info);
    qobject_unref(answer);
    return info;
}

static QDict *nth(QDict *dict, const char *list, unsigned n)
{
    const QListEntry *e = qlist_first(qdict_get_qlist(dict, list));

    while (n--) {
        g_assert_nonnull(e);
        e = qlist_next(e);
    }
    g_assert_nonnull(e);
    return qobject_to(QDict, qlist_entry_obj(e));
}

static int64_t element(QDict *dict, const char *list, unsigned n)
{
    const QListEntry *e = qlist_first(qdict_get_qlist(dict, list));

    while (n--) {
        e = qlist_next(e);
    }
    return qnum_get_int(qobject_to(QNum, qlist_entry_obj(e)));
}

static void check_cost(QDict *owner, const char *name, unsigned same_chip,
                       unsigned cross_chip, unsigned transfer, unsigned wait)
{
    QDict *cost = qdict_get_qdict(owner, name);

    g_assert_cmpint(element(cost, "transfers", 0), ==, 0);
    g_assert_cmpint(element(cost, "transfers", 1), ==, same_chip);
    g_assert_cmpint(element(cost, "transfers", 2), ==, cross_chip);
    g_assert_cmpint(element(cost, "transfer", 1) +
                    element(cost, "transfer", 2), ==, transfer * NS);
    g_assert_cmpint(qdict_get_int(cost, "waits"), ==, wait > 0);
    g_assert_cmpint(qdict_get_int(cost, "wait"), ==, wait * NS);
    g_assert_cmpint(qdict_get_int(cost, "stall"), ==, (transfer + wait) * NS);
}

static void test_query(const void *machine)
{
    QTestState *qts = start(machine, "");
    QDict *info, *line, *access, *instruction;

    make_traffic(qts);
    info = query(qts, 10, 10, 10);
    g_assert_false(qdict_get_bool(info, "region"));
    check_cost(info, "total", 2, 2, 440, 160);
    g_assert_cmpint(qdict_get_int(info, "nr-lines"), ==, 2);
    g_assert_cmpint(qdict_get_int(info, "nr-instructions"), ==, 3);
    g_assert_cmpint(qdict_get_int(info, "dropped-lines"), ==, 0);
    g_assert_cmpint(qdict_get_int(info, "dropped-accesses"), ==, 0);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "lines")), ==, 2);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "instructions-by-cost")),
                    ==, 3);

    line = nth(info, "lines", 0);
    g_assert_cmphex(qdict_get_int(line, "address"), ==, BYTE & ~0x7f);
    g_assert_cmphex(qdict_get_int(line, "effective-address"), ==,
                    BYTE & ~0x7f);
    check_cost(line, "cost", 1, 2, 390, 160);
    g_assert_cmpint(qdict_get_int(qdict_get_qdict(line, "cost"),
                                  "longest-queue"), ==, 2);
    access = nth(line, "accesses", 0);
    g_assert_cmpstr(qdict_get_str(access, "operation"), ==, "store");
    g_assert_cmphex(qdict_get_int(access, "pc"), ==, 0x500);
    g_assert_cmpint(qdict_get_int(access, "offset"), ==, 8);
    g_assert_cmpint(qdict_get_int(access, "domains"), ==, 2);
    check_cost(access, "cost", 1, 1, 220, 160);
    access = nth(line, "accesses", 1);
    g_assert_cmpstr(qdict_get_str(access, "operation"), ==, "load");
    g_assert_cmpint(qdict_get_int(access, "offset"), ==, 16);
    check_cost(access, "cost", 0, 1, 170, 0);
    line = nth(info, "lines", 1);
    g_assert_cmphex(qdict_get_int(line, "address"), ==, NEXT);
    check_cost(line, "cost", 1, 0, 50, 0);

    instruction = nth(info, "instructions-by-cost", 2);
    g_assert_cmphex(qdict_get_int(instruction, "pc"), ==, 0x700);
    g_assert_cmpint(qdict_get_int(instruction, "lines"), ==, 1);
    check_cost(instruction, "cost", 1, 0, 50, 0);
    qobject_unref(info);

    info = query(qts, 1, 0, 2);
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "lines")), ==, 1);
    g_assert_true(qlist_empty(qdict_get_qlist(nth(info, "lines", 0),
                                              "accesses")));
    g_assert_cmpint(qlist_size(qdict_get_qlist(info, "instructions-by-cost")),
                    ==, 2);
    g_assert_cmpint(qdict_get_int(info, "nr-lines"), ==, 2);
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_reset(const void *machine)
{
    QTestState *qts = start(machine, "");
    QDict *info;

    make_traffic(qts);
    qtest_qmp_assert_success(qts, "{ 'execute': 'contention-reset' }");
    info = query(qts, 10, 10, 10);
    check_cost(info, "total", 0, 0, 0, 0);
    g_assert_cmpint(qdict_get_int(info, "nr-lines"), ==, 0);
    qobject_unref(info);

    /* vCPU 1 has the line still: nothing for it, 170 for the other chip */
    request(qts, "store", 1, NEXT, 5000, 0x700, 0);
    request(qts, "store", 3, NEXT, 6000, 0x700, 170);
    info = query(qts, 10, 10, 10);
    check_cost(info, "total", 0, 1, 170, 0);
    qobject_unref(info);
    qtest_quit(qts);
}

static void test_dropped(const void *machine)
{
    QTestState *qts = start(machine, ",attribution-entries=1");
    QDict *info;

    make_traffic(qts);
    info = query(qts, 10, 10, 10);
    check_cost(info, "total", 2, 2, 440, 160);
    g_assert_cmpint(qdict_get_int(info, "nr-lines"), ==, 1);
    g_assert_cmpint(qdict_get_int(info, "nr-instructions"), ==, 1);
    g_assert_cmpint(qdict_get_int(info, "dropped-lines"), ==, 1);
    /* the load, and the store to the other line */
    g_assert_cmpint(qdict_get_int(info, "dropped-accesses"), ==, 2);
    qobject_unref(info);
    qtest_quit(qts);
}

/* Is there a line of @text with all of @words, in this order? */
static void check_row(const char *text, const char *words)
{
    g_auto(GStrv) rows = g_strsplit(text, "\n", 0);
    g_auto(GStrv) word = g_strsplit(words, " ", 0);

    for (unsigned i = 0; rows[i]; i++) {
        const char *at = rows[i];

        for (unsigned j = 0; at && word[j]; j++) {
            at = strstr(at, word[j]);
        }
        if (at) {
            return;
        }
    }
    g_error("no row with '%s' in: %s", words, text);
}

static void test_info(const void *machine)
{
    QTestState *qts = start(machine, "");
    g_autofree char *text = NULL;
    g_autofree char *less = NULL;

    make_traffic(qts);
    text = qtest_hmp(qts, "info contention");
    g_test_message("%s", text);
    check_row(text, "2 lines, 3 instructions; entered: 0 lines, 0 accesses");
    check_row(text, "100.00% 600 4 2 160 all");
    check_row(text, "91.67% 550 3 2 160 line 0x100000");
    check_row(text, "63.33% 380 2 1 160 +8 store at 0x0000000000000500");
    check_row(text, "8.33% 50 1 0 0 line 0x100080");
    check_row(text, "28.33% 170 1 1 0 load at 0x0000000000000600");

    less = qtest_hmp(qts, "info contention 1");
    check_row(less, "line 0x100000");
    g_assert_null(strstr(less, "line 0x100080"));
    qtest_quit(qts);
}

static void check_refused(QTestState *qts, const char *command,
                          const char *why)
{
    QDict *answer = qtest_qmp(qts, "{ 'execute': %s }", command);

    g_assert_true(qdict_haskey(answer, "error"));
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(answer, "error"),
                                          "desc"), why));
    qobject_unref(answer);
}

static void test_refused(const void *machine)
{
    QTestState *qts = qtest_initf("-M %s -bios /dev/null -nodefaults",
                                  (const char *)machine);
    g_autofree char *text = NULL;
    QDict *answer;

    check_refused(qts, "query-contention", "-device contention");
    check_refused(qts, "contention-reset", "-device contention");
    text = qtest_hmp(qts, "info contention");
    g_assert_nonnull(strstr(text, "-device contention"));
    qtest_quit(qts);

    qts = start(machine, ",attribution-entries=0");
    check_refused(qts, "query-contention", "attribution-entries=0");
    answer = qtest_qmp(qts, "{ 'execute': 'contention-region',"
                       " 'arguments': { 'enter': true } }");
    g_assert_nonnull(strstr(qdict_get_str(qdict_get_qdict(answer, "error"),
                                          "desc"), "simtime=on"));
    qobject_unref(answer);
    qtest_quit(qts);
}

/* What is logged of the traffic with the trace events @events. */
static char *trace(const char *machine, const char *events)
{
    g_autofree char *name = NULL;
    g_autofree char *options = NULL;
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;
    int fd = g_file_open_tmp("xivescale-XXXXXX", &name, &err);
    QTestState *qts;

    g_assert_no_error(err);
    close(fd);
    options = g_strdup_printf(",fabric-hop-ns=30 -D %s %s", name, events);
    qts = start(machine, options);
    make_traffic(qts);
    qtest_quit(qts);
    g_assert_true(g_file_get_contents(name, &text, NULL, NULL));
    unlink(name);
    return g_steal_pointer(&text);
}

static void test_trace(const void *machine)
{
    g_autofree char *on = trace(machine, "-trace contention_line_transfer");
    g_autofree char *off = trace(machine, "-trace contention_region_enter");
    g_auto(GStrv) rows = g_strsplit(on, "\n", 0);
    unsigned n = 0;

    check_row(on, "contention_line_transfer cpu 2 store 0x100000 pc 0x500 "
              "cross-chip from domain 0 at 1000000 waited 0 transfer 170000");
    check_row(on, "contention_line_transfer cpu 3 store 0x100000 pc 0x500 "
              "same-chip from domain 2 at 1010000 waited 160000 "
              "transfer 50000");
    check_row(on, "contention_line_transfer cpu 0 shared-load 0x100000 "
              "pc 0x600 cross-chip from domain 3 at 2000000 waited 0 "
              "transfer 170000");
    for (unsigned i = 0; rows[i]; i++) {
        n += strstr(rows[i], "contention_line_transfer") != NULL;
    }
    g_assert_cmpuint(n, ==, 4);
    g_assert_null(strstr(off, "contention_"));
}

static void add(const char *name, void (*fn)(const void *))
{
    static const char *const machines[] = { "powernv9", "powernv10" };

    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        g_autofree char *path = g_strdup_printf("xivescale/monitor/%s/%s",
                                                machines[i], name);

        qtest_add_data_func(path, machines[i], fn);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add("query", test_query);
    add("reset", test_reset);
    add("dropped", test_dropped);
    add("info", test_info);
    add("refused", test_refused);
    add("trace", test_trace);
    return g_test_run();
}
