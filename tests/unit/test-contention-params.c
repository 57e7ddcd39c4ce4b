/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Unit tests of the contention parameters
 *
 * - every row of the table is complete, and its default in its range
 * - setting and getting: times in decimal ns, integers, rules
 * - bad names, bad values, values out of range: one line that names the
 *   parameter and what it takes, and nothing is changed
 * - contention_new() refuses a structure that was filled with nonsense
 * - JSON of all parameters
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

static void test_table(void)
{
    size_t count;
    const ContentionParamInfo *table = contention_params_table(&count);
    ContentionParams params;

    /* a row for each field, each row with a field of its own */
    g_assert_cmpuint(count, ==, sizeof(params) / sizeof(int64_t));
    for (size_t i = 0; i < count; i++) {
        g_autoptr(GError) err = NULL;

        g_assert_true(contention_params_find(table[i].name, &err) ==
                      &table[i]);
        g_assert_cmpint(table[i].min, <=, table[i].value);
        g_assert_cmpint(table[i].value, <=, table[i].max);
        g_assert_true(g_str_has_suffix(table[i].doc, "."));
        if (!strcmp(table[i].unit, "ns")) {
            g_assert_cmpint(table[i].type, ==, CONTENTION_PARAM_DECIMAL);
        }
        for (size_t j = 0; j < i; j++) {
            g_assert_cmpuint(table[i].offset, !=, table[j].offset);
        }
        if (table[i].type == CONTENTION_PARAM_ENUM) {
            for (int64_t v = 0; v <= table[i].max; v++) {
                g_assert_nonnull(table[i].names[v]);
            }
            g_assert_null(table[i].names[table[i].max + 1]);
        }
    }

    contention_params_init(&params);
    g_assert_cmpint(params.same_chip, ==, 57000);
    g_assert_cmpint(params.cross_chip, ==, 140000);
    g_assert_cmpint(params.notify, ==, 1100000);
    g_assert_cmpint(params.service, ==, 55000);
    g_assert_cmpint(params.departure, ==, 50);
    g_assert_cmpint(params.cores_per_domain, ==, 1);
    g_assert_cmpint(params.holder_rule, ==, CONTENTION_HOLDER_LOAD);
    g_assert_true(contention_params_check(&params, NULL));
}

static void test_set(void)
{
    static const struct {
        const char *name, *text, *back;
    } good[] = {
        { "same-chip-ns", "57.5", "57.5" },
        { "same-chip-ns", "0.001", "0.001" },
        { "same-chip-ns", "0.580", "0.58" },
        { "same-chip-ns", ".5", "0.5" },
        { "same-chip-ns", "1.0000", "1" },
        { "same-chip-ns", "0", "0" },
        { "same-chip-ns", "1000000", "1000000" },
        { "waiter-slope-pct", "1000", "1000" },
        { "waiter-slope-pct", "5.0", "5" },
        { "waiter-slope-pct", "1.75", "1.75" },
        { "waiter-scope", "chip", "chip" },
        { "holder-rule", "load-store", "load-store" },
        { "load-rule", "migratory", "migratory" },
        { "load-queue", "serialised", "serialised" },
        { "merge-rule", "loads", "loads" },
        { "upgrade-rule", "furthest", "furthest" },
        { "line-bytes", "128", "128" },
        { "filter-entries", "1", "1" },
    };
    ContentionParams params;

    contention_params_init(&params);
    for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
        g_autoptr(GError) err = NULL;
        g_autofree char *back = NULL;

        contention_params_set(&params, good[i].name, good[i].text, &err);
        g_assert_no_error(err);
        back = contention_params_get(&params, good[i].name, &err);
        g_assert_no_error(err);
        g_assert_cmpstr(back, ==, good[i].back);
    }
    g_assert_cmpint(params.same_chip, ==, 1000000000);
    g_assert_cmpint(params.holder_rule, ==, CONTENTION_HOLDER_LOAD_STORE);
    g_assert_cmpint(params.upgrade_rule, ==, CONTENTION_UPGRADE_FURTHEST);
}

static void test_bad(void)
{
    static const struct {
        const char *name, *text;
        ContentionError code;
        const char *message;
    } bad[] = {
        { "same-chip-ns", "-1", CONTENTION_ERROR_RANGE,
          "parameter same-chip-ns: '-1' is out of range; "
          "it takes 0 to 1000000 ns" },
        { "same-chip-ns", "1000000.001", CONTENTION_ERROR_RANGE, NULL },
        { "same-chip-ns", "99999999999999999999999", CONTENTION_ERROR_RANGE,
          NULL },
        { "same-chip-ns", "-99999999999999999999999", CONTENTION_ERROR_RANGE,
          NULL },
        /* 2^64: must not wrap to 0 */
        { "waiter-slope-pct", "18446744073709551616", CONTENTION_ERROR_RANGE,
          NULL },
        { "same-chip-ns", "", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", ".", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "-", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "57ns", CONTENTION_ERROR_VALUE,
          "parameter same-chip-ns: '57ns' is not a number; "
          "it takes 0 to 1000000 ns" },
        { "same-chip-ns", "1e3", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "0x10", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "nan", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "1.2.3", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "1,5", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", " 1", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip-ns", "0.0005", CONTENTION_ERROR_VALUE,
          "parameter same-chip-ns: '0.0005' has more "
          "than three decimals; it takes 0 to 1000000 ns" },
        { "waiter-slope-pct", "1001", CONTENTION_ERROR_RANGE, NULL },
        { "waiter-scope", "core", CONTENTION_ERROR_VALUE,
          "parameter waiter-scope: 'core' is none of the rules; "
          "it takes all or chip" },
        { "departure-pct", "1.5", CONTENTION_ERROR_VALUE,
          "parameter departure-pct: '1.5' is not an integer; "
          "it takes 0 to 100 %" },
        { "departure-pct", "101", CONTENTION_ERROR_RANGE, NULL },
        { "cores-per-domain", "0", CONTENTION_ERROR_RANGE, NULL },
        { "line-bytes", "64", CONTENTION_ERROR_RANGE,
          "parameter line-bytes: '64' is out of range; "
          "it takes 128 bytes" },
        { "filter-entries", "1000", CONTENTION_ERROR_RANGE,
          "parameter filter-entries: '1000' is out of range; "
          "it takes 1 to 1048576 entries, a power of two" },
        { "filter-entries", "0", CONTENTION_ERROR_RANGE, NULL },
        { "holder-rule", "both", CONTENTION_ERROR_VALUE,
          "parameter holder-rule: 'both' is none of the rules; "
          "it takes load, load-store or none" },
        { "holder-rule", "0", CONTENTION_ERROR_VALUE, NULL },
        { "holder-rule", "", CONTENTION_ERROR_VALUE, NULL },
        { "same-chip", "1", CONTENTION_ERROR_NAME, NULL },
        { "", "1", CONTENTION_ERROR_NAME, NULL },
    };
    ContentionParams before, params;

    contention_params_init(&before);
    params = before;
    for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) err = NULL;

        g_assert_false(contention_params_set(&params, bad[i].name,
                                             bad[i].text, &err));
        g_assert_error(err, CONTENTION_ERROR, (int)bad[i].code);
        if (bad[i].message) {
            g_assert_cmpstr(err->message, ==, bad[i].message);
        }
        g_assert_nonnull(strstr(err->message, bad[i].name));
        g_assert_null(strchr(err->message, '\n'));
        g_assert_cmpmem(&params, sizeof(params), &before, sizeof(before));
    }
    g_assert_null(contention_params_get(&params, "same-chip", NULL));
}

static void test_check(void)
{
    ContentionPlace place = { 0 };
    ContentionTopology topology = {
        .nr_cpus = 1, .places = &place, .nr_chips = 1,
    };
    g_autoptr(GError) err = NULL;
    ContentionParams params;

    contention_params_init(&params);
    params.cross_chip = -5;
    g_assert_null(contention_new(&params, &topology, &err));
    g_assert_error(err, CONTENTION_ERROR, CONTENTION_ERROR_RANGE);
    g_assert_cmpstr(err->message, ==, "parameter cross-chip-ns: "
                    "'-0.005' is out of range; it takes 0 to 1000000 ns");
    g_clear_error(&err);

    contention_params_init(&params);
    params.merge_rule = 2;
    g_assert_null(contention_new(&params, &topology, &err));
    g_assert_error(err, CONTENTION_ERROR, CONTENTION_ERROR_RANGE);
    g_assert_cmpstr(err->message, ==, "parameter merge-rule: "
                    "'2' is out of range; it takes all or loads");
}

static void test_json(void)
{
    g_autoptr(GString) out = g_string_new("x");
    ContentionParams params;

    test_params(&params, "same-chip-ns=57.25,holder-rule=none");
    contention_params_json(&params, out);
    g_assert_true(g_str_has_prefix(out->str, "x{\"same-domain-ns\": 0, "
                                   "\"same-chip-ns\": 57.25, "));
    g_assert_nonnull(strstr(out->str, "\"holder-rule\": \"none\", "));
    g_assert_true(g_str_has_suffix(out->str, "\"tima-store-ns\": 0}"));
}

static void test_append_ns(void)
{
    static const struct {
        ContentionTime ps;
        const char *text;
    } cases[] = {
        { 0, "0" }, { 1, "0.001" }, { 10, "0.01" }, { 120, "0.12" },
        { 57000, "57" }, { 57500, "57.5" }, { -5, "-0.005" },
        { INT64_MAX, "9223372036854775.807" },
        { INT64_MIN, "-9223372036854775.808" },
    };

    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) out = g_string_new(NULL);

        contention_append_ns(out, cases[i].ps);
        g_assert_cmpstr(out->str, ==, cases[i].text);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/params/table", test_table);
    g_test_add_func("/contention/params/set", test_set);
    g_test_add_func("/contention/params/bad", test_bad);
    g_test_add_func("/contention/params/check", test_check);
    g_test_add_func("/contention/params/json", test_json);
    g_test_add_func("/contention/params/append-ns", test_append_ns);
    return g_test_run();
}
