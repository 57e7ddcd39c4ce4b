/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random test of the contention core against an oracle
 *
 * The oracle is the slowest and most obvious form of the rules: for each
 * line it keeps every grant that was ever made and looks through all of them
 * at every access.  It has no owner, no sharers, no filter, and forgets
 * nothing.  The core is used as QEMU uses it: filter, then probe, then
 * access.
 *
 * - stall, wait, kind and waiters of every access are compared, over all
 *   combinations of rules, 1 to 130 domains, one line and many, with DMA
 * - at most one domain's filter lets it store to a line, and then no other
 *   domain's lets it load
 * - filters of different sizes give the same times
 */

#include "hw/intc/contention/port.h"
#include "contention-test.h"

#define FOREVER INT64_MAX

/* A domain may load from @from until @load_until, and so on */
typedef struct Grant {
    unsigned domain;
    bool exclusive;
    ContentionTime from;
    ContentionTime load_until;
    ContentionTime store_until;
} Grant;

typedef struct OracleLine {
    uint64_t key;
    GArray *grants;
    ContentionTime busy_until;
    bool dirty;
} OracleLine;

typedef struct Oracle {
    const ContentionModel *model;   /* for the topology only */
    const ContentionParams *p;
    GPtrArray *lines;
} Oracle;

static void oracle_line_free(gpointer opaque)
{
    OracleLine *line = opaque;

    g_array_free(line->grants, TRUE);
    g_free(line);
}

static OracleLine *oracle_find(Oracle *o, uint64_t key)
{
    for (unsigned i = 0; i < o->lines->len; i++) {
        OracleLine *line = g_ptr_array_index(o->lines, i);

        if (line->key == key) {
            return line;
        }
    }
    return NULL;
}

static Grant *grant(OracleLine *line, unsigned i)
{
    return &g_array_index(line->grants, Grant, i);
}

static void add_grant(OracleLine *line, Grant new)
{
    g_array_append_val(line->grants, new);
}

/* 0: the same domain, 1: the same chip, 1 + n: n hops */
static unsigned oracle_distance(Oracle *o, unsigned a, unsigned b)
{
    if (a == b) {
        return 0;
    }
    return 1 + contention_hops(o->model, contention_domain_chip(o->model, a),
                               contention_domain_chip(o->model, b));
}

/* What waits on the chip of whoever has asked for the line last, or at all */
static unsigned oracle_slowing(Oracle *o, OracleLine *line, ContentionTime now)
{
    int chip = -1;
    unsigned n = 0;

    for (unsigned i = 0; i < line->grants->len; i++) {
        if (grant(line, i)->exclusive) {
            chip = contention_domain_chip(o->model, grant(line, i)->domain);
        }
    }
    for (unsigned i = 0; i < line->grants->len; i++) {
        Grant *g = grant(line, i);
        bool there = contention_domain_chip(o->model, g->domain) == chip;

        n += g->exclusive && g->from > now &&
             (there || o->p->waiter_scope == CONTENTION_WAITERS_ALL);
    }
    return n;
}

static ContentionTime oracle_cost(Oracle *o, unsigned distance, unsigned n)
{
    ContentionTime t;

    if (distance == 0) {
        t = o->p->same_domain;
    } else if (distance == 1) {
        t = o->p->same_chip;
    } else {
        t = o->p->cross_chip + (distance - 2) * o->p->hop;
    }
    return t + t * n * o->p->waiter_slope / (100 * CONTENTION_PERCENT);
}

/* Nearest or furthest of those whose grant to load has no end yet */
static unsigned oracle_other_holder(Oracle *o, OracleLine *line,
                                    unsigned domain, bool furthest)
{
    unsigned found = 0;

    for (unsigned i = 0; i < line->grants->len; i++) {
        Grant *g = grant(line, i);
        unsigned d = oracle_distance(o, g->domain, domain);

        if (g->load_until == FOREVER && d != 0 &&
            (found == 0 || (furthest ? d > found : d < found))) {
            found = d;
        }
    }
    return found;
}

static Grant *oracle_owner(OracleLine *line)
{
    Grant *owner = NULL;

    for (unsigned i = 0; i < line->grants->len; i++) {
        if (grant(line, i)->exclusive) {
            owner = grant(line, i);
        }
    }
    return owner;
}

static void oracle_take(Oracle *o, OracleLine *line, unsigned domain,
                        bool store, ContentionTime now, ContentionResult *r)
{
    ContentionTime start = MAX(now, line->busy_until);
    Grant *owner = oracle_owner(line);
    ContentionTime arrival, leaves;
    bool holder = false;

    for (unsigned i = 0; i < line->grants->len; i++) {
        holder |= grant(line, i)->domain == domain &&
                  grant(line, i)->load_until == FOREVER;
    }
    r->kind = !store ? CONTENTION_EXCLUSIVE_LOAD
              : holder ? CONTENTION_UPGRADE : CONTENTION_STORE;
    r->distance = holder
        ? oracle_other_holder(o, line, domain, o->p->upgrade_rule ==
                              CONTENTION_UPGRADE_FURTHEST)
        : oracle_distance(o, owner->domain, domain);
    r->waited = start - now;
    r->transfer = oracle_cost(o, r->distance,
                              oracle_slowing(o, line, now));
    arrival = start + r->transfer;
    leaves = o->p->holder_rule == CONTENTION_HOLDER_NONE
             ? now : start + r->transfer * o->p->departure / 100;

    for (unsigned i = 0; i < line->grants->len; i++) {
        Grant *g = grant(line, i);

        if (g->load_until == FOREVER) {
            g->load_until = g->domain == domain ? arrival : leaves;
        }
        if (g->store_until == FOREVER) {
            g->store_until = o->p->holder_rule == CONTENTION_HOLDER_LOAD_STORE
                             ? g->load_until : now;
        }
    }
    add_grant(line, (Grant) { domain, true, arrival, FOREVER, FOREVER });
    line->busy_until = arrival;
    line->dirty = store;
}

static void oracle_copy(Oracle *o, OracleLine *line, unsigned domain,
                        bool keep, ContentionTime now, ContentionResult *r)
{
    bool serialised = o->p->load_queue == CONTENTION_LOADS_SERIALISED;
    bool transient = r->waiters && !serialised;
    ContentionTime start = serialised ? MAX(now, line->busy_until) : now;
    Grant *owner = oracle_owner(line), *has = NULL, *gets = NULL;
    ContentionTime arrival;

    if (transient) {
        for (unsigned i = 0; i < line->grants->len; i++) {
            Grant *g = grant(line, i);

            if (!g->exclusive) {
                continue;
            }
            if (g->from <= now && now < g->load_until) {
                has = g;
            }
            if (g->from > now && !gets) {
                gets = g;
            }
        }
        r->distance = oracle_distance(o, (has ?: gets)->domain, domain);
    } else {
        r->distance = oracle_other_holder(o, line, domain, false);
    }
    r->kind = transient ? CONTENTION_TRANSIENT_LOAD : CONTENTION_SHARED_LOAD;
    r->waited = start - now;
    r->transfer = oracle_cost(o, r->distance,
                              oracle_slowing(o, line, now));
    arrival = start + r->transfer;
    line->busy_until = MAX(line->busy_until, start + r->transfer *
                           o->p->load_occupancy / 100);
    if (!keep) {
        return;
    }
    if (!transient) {
        owner->store_until = MIN(owner->store_until, now);
        line->dirty = false;
    }
    add_grant(line, (Grant) {
        domain, false, arrival, transient ? arrival : FOREVER, 0
    });
}

static ContentionTime oracle_access(Oracle *o, unsigned domain, uint64_t key,
                                    bool store, ContentionTime now, bool dma,
                                    ContentionResult *r)
{
    OracleLine *line = oracle_find(o, key);
    ContentionTime readable = FOREVER, fetched = FOREVER;
    bool can_load = false, can_store = false, owns = false, shared = false;

    *r = (ContentionResult) { .kind = CONTENTION_HIT };
    if (!line && dma && !store) {
        return 0;
    }
    if (!line) {
        line = g_new0(OracleLine, 1);
        line->key = key;
        line->grants = g_array_new(FALSE, FALSE, sizeof(Grant));
        line->dirty = store;
        add_grant(line, (Grant) { domain, true, now, FOREVER, FOREVER });
        g_ptr_array_add(o->lines, line);
        r->kind = CONTENTION_FIRST_TOUCH;
        return 0;
    }

    for (unsigned i = 0; i < line->grants->len; i++) {
        Grant *g = grant(line, i);

        r->waiters += g->exclusive && g->from > now;
        shared |= !g->exclusive && g->load_until == FOREVER;
        if (g->domain != domain) {
            continue;
        }
        if (g->from > now) {
            readable = MIN(readable, g->from);
            if (g->exclusive) {
                fetched = MIN(fetched, g->from);
            }
        } else {
            can_load |= now < g->load_until;
            can_store |= now < g->store_until;
        }
        owns |= g->store_until == FOREVER;
    }

    if (store ? can_store : can_load) {
        line->dirty |= store && owns;
    } else if (store && fetched != FOREVER &&
               o->p->merge_rule == CONTENTION_MERGE_ALL) {
        r->kind = CONTENTION_MERGE;
        r->waited = fetched - now;
        line->dirty |= owns;
    } else if (!store && readable != FOREVER) {
        r->kind = CONTENTION_MERGE;
        r->waited = readable - now;
    } else if (store || (!dma && !shared && line->dirty &&
                         o->p->load_rule == CONTENTION_LOAD_MIGRATORY)) {
        oracle_take(o, line, domain, store, now, r);
    } else {
        oracle_copy(o, line, domain, !dma, now, r);
    }
    return r->waited + r->transfer;
}

static void check_filters(ContentionModel *model, uint64_t key)
{
    unsigned n = contention_nr_cpus(model);
    int reader = -1, writer = -1;

    for (unsigned cpu = 0; cpu < n; cpu++) {
        const ContentionFilter *f = contention_filter(model, cpu);
        int domain = contention_cpu_domain(model, cpu);

        if (contention_filter_hit(f, key, true)) {
            g_assert_true(writer < 0 || writer == domain);
            writer = domain;
        }
    }
    for (unsigned cpu = 0; writer >= 0 && cpu < n; cpu++) {
        const ContentionFilter *f = contention_filter(model, cpu);

        if (contention_filter_hit(f, key, false)) {
            reader = contention_cpu_domain(model, cpu);
            g_assert_cmpint(reader, ==, writer);
        }
    }
}

typedef struct Machine {
    unsigned chips, cores, threads;
} Machine;

static const Machine machines[] = {
    { 1, 1, 4 }, { 1, 2, 2 }, { 2, 1, 2 }, { 2, 8, 4 }, { 4, 4, 1 },
    { 1, 16, 2 }, { 4, 16, 2 }, { 5, 13, 1 }, { 2, 65, 1 },
};

/* Chips in a ring */
static uint8_t *ring(unsigned chips)
{
    uint8_t *hops = g_new(uint8_t, chips * chips);

    for (unsigned a = 0; a < chips; a++) {
        for (unsigned b = 0; b < chips; b++) {
            unsigned d = MAX(a, b) - MIN(a, b);

            hops[a * chips + b] = MIN(d, chips - d);
        }
    }
    return hops;
}

/* One round of random traffic under one set of rules */
static void round_of(unsigned n, unsigned accesses, const char *rules)
{
    static const unsigned line_counts[] = { 1, 1, 7, 60 };
    static const unsigned steps[] = { 5, 40, 300 };
    g_autoptr(GRand) rand = g_rand_new_with_seed(n);
    const Machine *machine = &machines[n % G_N_ELEMENTS(machines)];
    unsigned lines = line_counts[n % G_N_ELEMENTS(line_counts)];
    unsigned step = steps[g_rand_int_range(rand, 0, G_N_ELEMENTS(steps))];
    int stores = g_rand_int_range(rand, 10, 90);
    g_autofree char *settings = g_strdup_printf(
        "%s,same-domain-ns=%d,same-chip-ns=57.123,cross-chip-ns=140.5,"
        "hop-ns=33,waiter-slope-pct=%s,waiter-scope=%s,load-occupancy-pct=%d,"
        "departure-pct=%d,filter-entries=%d", rules,
        n % 5 ? 0 : 3, n % 3 ? "0" : "17.25", n % 2 ? "chip" : "all", n % 4 ? 0 : 130,
        n % 6 == 5 ? 100 : n % 6 == 4 ? 0 : 50, 1 << (n % 7));
    g_autofree uint8_t *hops = ring(machine->chips);
    g_autoptr(ContentionModel) model = test_machine(machine->chips,
        machine->cores, machine->threads, hops, settings);
    Oracle oracle = {
        .model = model, .p = contention_params(model),
        .lines = g_ptr_array_new_with_free_func(oracle_line_free),
    };
    int cpus = contention_nr_cpus(model);
    unsigned domains = contention_nr_domains(model);
    ContentionTime now = 0;

    for (unsigned i = 0; i < accesses; i++) {
        uint64_t key = 1000 + g_rand_int_range(rand, 0, lines);
        bool store = g_rand_int_range(rand, 0, 100) < stores;
        bool dma = g_rand_int_range(rand, 0, 20) == 0;
        ContentionTime stall, expected;
        ContentionResult r, e;

        /* several at one moment, and now and then a long silence */
        if (g_rand_boolean(rand)) {
            now += g_rand_int_range(rand, 0, step * 1000);
        }
        if (g_rand_int_range(rand, 0, 200) == 0) {
            now += 30000 * NS;
        }

        if (dma) {
            unsigned chip = g_rand_int_range(rand, 0, machine->chips);

            stall = contention_dma(model, chip, key, store, now, &r);
            expected = oracle_access(&oracle, domains + chip, key, store, now,
                                     true, &e);
            e.kind = r.kind;
        } else {
            unsigned cpu = g_rand_int_range(rand, 0, cpus);

            stall = test_access(model, cpu, key, store, now, &r);
            expected = oracle_access(&oracle,
                                     contention_cpu_domain(model, cpu), key,
                                     store, now, false, &e);
        }
        if (stall != expected || r.kind != e.kind || r.waited != e.waited ||
            r.distance != e.distance ||
            (r.kind != CONTENTION_HIT && r.waiters != e.waiters)) {
            g_test_message("round %u (%s) access %u at %" PRId64
                           " ps: stall %" PRId64 " kind %d waiters %u; "
                           "oracle: %" PRId64 " %d %u", n, settings, i, now,
                           stall, r.kind, r.waiters, expected, e.kind,
                           e.waiters);
            g_test_fail();
            break;
        }
        if (i % 64 == 0) {
            for (unsigned j = 0; j < lines; j++) {
                check_filters(model, 1000 + j);
            }
        }
    }
    g_ptr_array_free(oracle.lines, TRUE);
}

static void test_oracle(void)
{
    static const char *const holder[] = { "load", "load-store", "none" };
    static const char *const loads[] = { "shared", "migratory" };
    static const char *const queue[] = { "parallel", "serialised" };
    static const char *const merge[] = { "all", "loads" };
    static const char *const upgrade[] = { "nearest", "furthest" };

    /* 48 combinations, each three times with other machines and traffic */
    for (unsigned n = 0; n < 144; n++) {
        g_autofree char *rules = g_strdup_printf(
            "holder-rule=%s,load-rule=%s,load-queue=%s,merge-rule=%s,"
            "upgrade-rule=%s", holder[n % 3], loads[n / 3 % 2],
            queue[n / 6 % 2], merge[n / 12 % 2], upgrade[n / 24 % 2]);

        round_of(n, 1000, rules);
    }
}

/* The default rules get more of everything. */
static void test_oracle_defaults(void)
{
    for (unsigned n = 0; n < 36; n++) {
        round_of(n, 1500, "holder-rule=load");
    }
}

/* A filter must not be able to change a time. */
static void test_filter_size(void)
{
    g_autoptr(ContentionModel) large = test_machine(2, 8, 2, NULL,
                                                    "filter-entries=4096");
    g_autoptr(ContentionModel) small = test_machine(2, 8, 2, NULL,
                                                    "filter-entries=1");
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    ContentionTime now = 0;
    ContentionResult r;

    for (unsigned i = 0; i < 50000; i++) {
        unsigned cpu = g_rand_int_range(rand, 0, 32);
        uint64_t line = g_rand_int_range(rand, 0, 40);
        bool store = g_rand_int_range(rand, 0, 4) == 0;

        now += g_rand_int_range(rand, 0, 20000);
        g_assert_cmpint(test_access(large, cpu, line, store, now, &r), ==,
                        test_access(small, cpu, line, store, now, &r));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention/oracle/rules", test_oracle);
    g_test_add_func("/contention/oracle/defaults", test_oracle_defaults);
    g_test_add_func("/contention/oracle/filter-size", test_filter_size);
    return g_test_run();
}
