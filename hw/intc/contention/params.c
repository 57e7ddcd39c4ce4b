/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Parameters of the contention model: the table, and text to value and back.
 */

#include "hw/intc/contention/port.h"
#include "hw/intc/contention/contention.h"

#define MAX_TIME (INT64_C(1000000) * CONTENTION_PS_PER_NS)

#define TIME(n, f, v, d)                                            \
    { .name = n, .unit = "ns", .type = CONTENTION_PARAM_DECIMAL,       \
      .value = (v) * CONTENTION_PS_PER_NS, .max = MAX_TIME,         \
      .doc = d, .offset = offsetof(ContentionParams, f) }

#define SLOPE(n, f, d)                                              \
    { .name = n, .unit = "%", .type = CONTENTION_PARAM_DECIMAL,     \
      .max = 1000 * CONTENTION_PERCENT, .doc = d,                   \
      .offset = offsetof(ContentionParams, f) }

#define INTEGER(n, u, f, v, lo, hi, d)                              \
    { .name = n, .unit = u, .type = CONTENTION_PARAM_INTEGER,       \
      .value = v, .min = lo, .max = hi,                             \
      .doc = d, .offset = offsetof(ContentionParams, f) }

#define RULE(n, f, e, d)                                            \
    { .name = n, .unit = "", .type = CONTENTION_PARAM_ENUM,         \
      .max = G_N_ELEMENTS(e) - 2, .names = e,                       \
      .doc = d, .offset = offsetof(ContentionParams, f) }

/* In the order of the enums; the first is the default. */
static const char *const holder_rules[] = {
    "load", "load-store", "none", NULL
};
static const char *const waiter_scopes[] = { "all", "chip", NULL };
static const char *const load_rules[] = { "shared", "migratory", NULL };
static const char *const load_queues[] = { "parallel", "serialised", NULL };
static const char *const merge_rules[] = { "all", "loads", NULL };
static const char *const arbitrations[] = {
    "random", "arrival", "nearest", NULL
};
static const char *const upgrade_rules[] = { "nearest", "furthest", NULL };

static const ContentionParamInfo table[] = {
    TIME("same-domain-ns", same_domain, 0,
         "Transfer of a line between two threads of one coherence domain."),
    TIME("same-chip-ns", same_chip, 57,
         "Transfer of a line between two domains of one chip."),
    TIME("cross-chip-ns", cross_chip, 140,
         "Transfer of a line between two chips one hop apart."),
    TIME("hop-ns", hop, 0,
         "What each hop after the first adds to a transfer between chips."),
    SLOPE("waiter-slope-pct", waiter_slope,
          "What each exclusive request that is waiting for the line adds to "
          "the time of a transfer."),
    RULE("waiter-scope", waiter_scope, waiter_scopes,
         "Which waiting requests add to it: all, or those of the chip that has "
         "the line."),
    INTEGER("load-occupancy-pct", "%", load_occupancy, 0, 0, 1000,
            "Part of the time of a load during which it keeps exclusive "
            "transfers of the line from starting."),
    INTEGER("departure-pct", "%", departure, 50, 0, 100,
            "Part of the time of an exclusive transfer after which the line "
            "leaves those who held it."),
    RULE("holder-rule", holder_rule, holder_rules,
         "What a domain may do with a line that another has taken over, until "
         "it leaves."),
    RULE("load-rule", load_rule, load_rules,
         "Whether a load of a line that was written elsewhere makes a copy or "
         "takes the line."),
    RULE("load-queue", load_queue, load_queues,
         "Whether a load starts beside the exclusive transfers of the line or "
         "after them."),
    RULE("merge-rule", merge_rule, merge_rules,
         "Which accesses join an exclusive fetch of their own domain that is "
         "in flight."),
    RULE("upgrade-rule", upgrade_rule, upgrade_rules,
         "Whose distance a store costs that only has to take the copies of "
         "others."),
    RULE("arbitration", arbitration, arbitrations,
         "Which of the requests that wait for a line is granted next: a "
         "random one (requests are retried until they find it free), the "
         "first that arrived, or the nearest to the owner."),
    INTEGER("seed", "", seed, 1, 0, UINT32_MAX,
            "Start of the random numbers."),
    INTEGER("cores-per-domain", "cores", cores_per_domain, 1, 1, 1024,
            "Cores of a chip that form a coherence domain."),
    INTEGER("line-bytes", "bytes", line_bytes, CONTENTION_LINE_BYTES,
            CONTENTION_LINE_BYTES, CONTENTION_LINE_BYTES,
            "Size of a line, which is fixed."),
    INTEGER("filter-entries", "entries", filter_entries, 4096, 1, 1 << 20,
            "Size of the presence filter of a domain, a power of two, which "
            "changes the speed of the simulation and nothing else."),
    TIME("trigger-ns", trigger, 0,
         "From the store that triggers an interrupt to the controller of the "
         "storing thread's chip."),
    TIME("fabric-hop-ns", fabric_hop, 0,
         "One hop of an event or of a register access between chips."),
    TIME("service-ns", service, 55,
         "Time for which an event occupies each interrupt controller it "
         "passes."),
    TIME("route-ns", route, 0,
         "Look-up of the source's routing entry and event queue."),
    TIME("queue-write-ns", queue_write, 0,
         "Write of the event into its queue in memory."),
    TIME("notify-ns", notify, 1100,
         "Notification of the target's presenter."),
    TIME("notify-spread-ns", notify_spread, 0,
         "What a notification takes more, at most: each draws its share at "
         "random."),
    TIME("match-ns", match, 0,
         "Match of the target among the thread contexts of its chip."),
    TIME("esb-load-ns", esb_load, 0,
         "Stall of a load from an event state buffer page."),
    TIME("esb-store-ns", esb_store, 0,
         "Stall of a store to an event state buffer page."),
    TIME("tima-load-ns", tima_load, 0,
         "Stall of a load from the thread interrupt management area."),
    TIME("tima-store-ns", tima_store, 0,
         "Stall of a store to the thread interrupt management area."),
};

G_DEFINE_QUARK(contention_error, contention_error)

const ContentionParamInfo *contention_params_table(size_t *count)
{
    *count = G_N_ELEMENTS(table);
    return table;
}

const ContentionParamInfo *contention_params_find(const char *name,
                                                  GError **errp)
{
    g_autoptr(GString) names = NULL;

    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        if (!strcmp(table[i].name, name)) {
            return &table[i];
        }
    }
    names = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        g_string_append_printf(names, " %s", table[i].name);
    }
    g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_NAME,
                "there is no parameter '%s'; there are%s", name, names->str);
    return NULL;
}

static int64_t *param_field(ContentionParams *params,
                            const ContentionParamInfo *info)
{
    return (int64_t *)((char *)params + info->offset);
}

static int64_t param_value(const ContentionParams *params,
                           const ContentionParamInfo *info)
{
    return *(const int64_t *)((const char *)params + info->offset);
}

void contention_params_init(ContentionParams *params)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        *param_field(params, &table[i]) = table[i].value;
    }
}

void contention_append_ns(GString *out, ContentionTime ps)
{
    uint64_t value = ps < 0 ? -(uint64_t)ps : (uint64_t)ps;
    unsigned fraction = value % CONTENTION_PS_PER_NS;
    unsigned digits = 3;

    if (ps < 0) {
        g_string_append_c(out, '-');
    }
    g_string_append_printf(out, "%" PRIu64, value / CONTENTION_PS_PER_NS);
    if (fraction) {
        for (; fraction % 10 == 0; fraction /= 10) {
            digits--;
        }
        g_string_append_printf(out, ".%0*u", digits, fraction);
    }
}

static void param_append(GString *out, const ContentionParamInfo *info,
                         int64_t value)
{
    switch (info->type) {
    case CONTENTION_PARAM_DECIMAL:
        contention_append_ns(out, value);
        break;
    case CONTENTION_PARAM_INTEGER:
        g_string_append_printf(out, "%" PRId64, value);
        break;
    case CONTENTION_PARAM_ENUM:
        if (value >= info->min && value <= info->max) {
            g_string_append(out, info->names[value]);
        } else {
            g_string_append_printf(out, "%" PRId64, value);
        }
        break;
    }
}

/* "0 to 1000000 ns", or "load, load-store or none" */
static void param_append_range(GString *out, const ContentionParamInfo *info)
{
    if (info->type == CONTENTION_PARAM_ENUM) {
        for (int64_t i = 0; i <= info->max; i++) {
            g_string_append_printf(out, "%s%s",
                                   !i ? "" : i < info->max ? ", " : " or ",
                                   info->names[i]);
        }
        return;
    }
    param_append(out, info, info->min);
    if (info->min != info->max) {
        g_string_append(out, " to ");
        param_append(out, info, info->max);
    }
    g_string_append_printf(out, " %s", info->unit);
    if (info->offset == offsetof(ContentionParams, filter_entries)) {
        g_string_append(out, ", a power of two");
    }
}

static void param_error(GError **errp, ContentionError code,
                        const ContentionParamInfo *info, const char *text,
                        const char *why)
{
    g_autoptr(GString) range = g_string_new(NULL);

    param_append_range(range, info);
    g_set_error(errp, CONTENTION_ERROR, code,
                "parameter %s: '%s' %s; it takes %s", info->name, text, why,
                range->str);
}

static bool param_in_range(const ContentionParamInfo *info, int64_t value)
{
    if (value < info->min || value > info->max) {
        return false;
    }
    return info->offset != offsetof(ContentionParams, filter_entries) ||
           !(value & (value - 1));
}

/*
 * A decimal number to an integer of 10^-@decimals; values too large for one
 * become INT64_MAX, which no range holds.  No strtod(): the locale must not
 * matter, nor a binary fraction.
 */
static bool parse_decimal(const char *text, unsigned decimals, int64_t *value,
                          const char **why)
{
    bool negative = *text == '-';
    bool digits = false;
    int64_t v = 0;
    unsigned fraction = 0;
    bool point = false;

    for (text += negative; *text; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (!g_ascii_isdigit(*text)) {
            *why = "is not a number";
            return false;
        }
        digits = true;
        if (point && fraction == decimals) {
            if (*text != '0') {
                *why = decimals ? "has more than three decimals"
                                : "is not an integer";
                return false;
            }
            continue;
        }
        fraction += point;
        v = v > INT64_MAX / 10 - 1 ? INT64_MAX : v * 10 + (*text - '0');
    }
    if (!digits) {
        *why = "is not a number";
        return false;
    }
    for (; fraction < decimals; fraction++) {
        v = v > INT64_MAX / 10 ? INT64_MAX : v * 10;
    }
    *value = negative ? -v : v;
    return true;
}

bool contention_params_set(ContentionParams *params, const char *name,
                           const char *text, GError **errp)
{
    const ContentionParamInfo *info = contention_params_find(name, errp);
    const char *why = "is none of the rules";
    int64_t value = -1;
    bool ok;

    if (!info) {
        return false;
    }
    if (info->type == CONTENTION_PARAM_ENUM) {
        for (int64_t i = 0; i <= info->max; i++) {
            if (!strcmp(info->names[i], text)) {
                value = i;
            }
        }
        ok = value >= 0;
    } else {
        ok = parse_decimal(text, info->type == CONTENTION_PARAM_DECIMAL ? 3 : 0,
                           &value, &why);
    }
    if (!ok) {
        param_error(errp, CONTENTION_ERROR_VALUE, info, text, why);
        return false;
    }
    if (!param_in_range(info, value)) {
        param_error(errp, CONTENTION_ERROR_RANGE, info, text,
                    "is out of range");
        return false;
    }
    *param_field(params, info) = value;
    return true;
}

char *contention_params_get(const ContentionParams *params, const char *name,
                            GError **errp)
{
    const ContentionParamInfo *info = contention_params_find(name, errp);
    GString *out;

    if (!info) {
        return NULL;
    }
    out = g_string_new(NULL);
    param_append(out, info, param_value(params, info));
    return g_string_free(out, FALSE);
}

bool contention_params_check(const ContentionParams *params, GError **errp)
{
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        int64_t value = param_value(params, &table[i]);

        if (!param_in_range(&table[i], value)) {
            g_autoptr(GString) text = g_string_new(NULL);

            param_append(text, &table[i], value);
            param_error(errp, CONTENTION_ERROR_RANGE, &table[i], text->str,
                        "is out of range");
            return false;
        }
    }
    return true;
}

void contention_params_json(const ContentionParams *params, GString *out)
{
    g_string_append_c(out, '{');
    for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
        const char *quote = table[i].type == CONTENTION_PARAM_ENUM ? "\"" : "";

        g_string_append_printf(out, "%s\"%s\": %s", i ? ", " : "",
                               table[i].name, quote);
        param_append(out, &table[i], param_value(params, &table[i]));
        g_string_append(out, quote);
    }
    g_string_append_c(out, '}');
}
