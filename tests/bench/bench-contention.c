/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Micro-benchmark of the contention core: host time of each kind of access.
 *
 * One chip of 16 domains, and four chips of 32 and of 88.  Prints ns of host
 * time an access; nothing of it is simulated time.
 *
 *   filter hit   a line of the domain's own, found in the filter
 *   probe        the same, past the filter
 *   first touch  of lines that nobody had
 *   ping-pong    two domains store to one line in turn
 *   contended    all domains store to one line, each again when it has had
 *                it: the queue is as long as there are domains
 *   shared       all domains load a line, then one stores to it
 *   scattered    stores by random domains to a million lines
 */

#include "hw/intc/contention/port.h"
#include <time.h>
#include "hw/intc/contention/contention.h"

#define LINES_EACH  256         /* of one domain, which fit in its filter */
#define MANY_LINES  1000000
#define LINE        (UINT64_C(1) << 40)
#define NS          ((ContentionTime)CONTENTION_PS_PER_NS)

static ContentionModel *new_machine(unsigned chips, unsigned cores)
{
    unsigned n = chips * cores;
    g_autofree ContentionPlace *places = g_new0(ContentionPlace, n);
    ContentionTopology topology = { n, places, chips, NULL };
    ContentionParams params;

    for (unsigned i = 0; i < n; i++) {
        places[i].chip = i / cores;
        places[i].core = i % cores;
    }
    contention_params_init(&params);
    return contention_new(&params, &topology, NULL);
}

/* CPU time, so that a busy host disturbs little */
static double since(clock_t start, double accesses)
{
    return (clock() - start) * (1e9 / CLOCKS_PER_SEC) / accesses;
}

static uint64_t own_line(unsigned domain, unsigned i)
{
    return domain * 4096 + i;
}

static double bench_first_touch(ContentionModel *m, unsigned n)
{
    clock_t start = clock();

    for (unsigned d = 0; d < n; d++) {
        for (unsigned i = 0; i < LINES_EACH; i++) {
            contention_access(m, d, own_line(d, i), true, 0, NULL);
        }
    }
    return since(start, n * LINES_EACH);
}

/* The result is used, so that no loop is optimised away. */
static double bench_filter(ContentionModel *m, unsigned n, uint64_t *hits)
{
    unsigned rounds = 40000000 / (n * LINES_EACH);
    clock_t start = clock();

    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned d = 0; d < n; d++) {
            const ContentionFilter *f = contention_filter(m, d);

            for (unsigned i = 0; i < LINES_EACH; i++) {
                *hits += contention_filter_hit(f, own_line(d, i), i & 1);
            }
        }
    }
    return since(start, (double)rounds * n * LINES_EACH);
}

static double bench_probe(ContentionModel *m, unsigned n, uint64_t *hits)
{
    unsigned rounds = 10000000 / (n * LINES_EACH);
    clock_t start = clock();

    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned d = 0; d < n; d++) {
            for (unsigned i = 0; i < LINES_EACH; i++) {
                *hits += contention_probe(m, d, own_line(d, i), i & 1, NS);
            }
        }
    }
    return since(start, (double)rounds * n * LINES_EACH);
}

/* @n domains store in turn; each stores again when its store is done. */
static double bench_stores(ContentionModel *m, unsigned n, uint64_t line)
{
    g_autofree ContentionTime *done = g_new0(ContentionTime, n);
    unsigned accesses = 2000000 / (1 + n / 16);
    clock_t start = clock();

    for (unsigned i = 0; i < accesses; i++) {
        unsigned d = i % n;

        done[d] += contention_access(m, d, line, true, done[d], NULL) + NS;
    }
    return since(start, accesses);
}

static double bench_shared(ContentionModel *m, unsigned n)
{
    unsigned rounds = 2000000 / n;
    ContentionTime now = 0;
    clock_t start = clock();

    for (unsigned r = 0; r < rounds; r++) {
        for (unsigned d = 0; d < n; d++) {
            contention_access(m, d, LINE + 2, false, now, NULL);
        }
        now += 1000 * NS;
        contention_access(m, r % n, LINE + 2, true, now, NULL);
        now += 1000 * NS;
    }
    return since(start, (double)rounds * (n + 1));
}

static double bench_scattered(ContentionModel *m, unsigned n)
{
    unsigned accesses = 3000000;
    uint32_t random = 1;
    clock_t start;

    for (unsigned i = 0; i < MANY_LINES; i++) {
        contention_access(m, i % n, LINE * 2 + i, true, 0, NULL);
    }
    start = clock();
    for (unsigned i = 0; i < accesses; i++) {
        random = random * 1664525 + 1013904223;
        contention_access(m, (random >> 8) % n,
                          LINE * 2 + (random >> 4) % MANY_LINES, true,
                          i * NS, NULL);
    }
    return since(start, accesses);
}

int main(void)
{
    static const struct {
        unsigned chips, cores;
    } machines[] = { { 1, 16 }, { 4, 32 }, { 4, 88 } };
    uint64_t hits = 0;

    g_print("ns a access  %8s %8s %8s %8s %8s %8s %8s\n", "filter", "probe",
            "first", "pingpong", "contend", "shared", "scatter");
    for (unsigned i = 0; i < G_N_ELEMENTS(machines); i++) {
        unsigned n = machines[i].chips * machines[i].cores;
        g_autoptr(ContentionModel) m = new_machine(machines[i].chips,
                                                   machines[i].cores);
        double first = bench_first_touch(m, n);

        g_print("%4u domains ", n);
        g_print(" %8.2f", bench_filter(m, n, &hits));
        g_print(" %8.1f", bench_probe(m, n, &hits));
        g_print(" %8.1f", first);
        g_print(" %8.1f", bench_stores(m, 2, LINE));
        g_print(" %8.1f", bench_stores(m, n, LINE + 1));
        g_print(" %8.1f", bench_shared(m, n));
        g_print(" %8.1f\n", bench_scattered(m, n));
    }
    return hits ? 0 : 1;
}
