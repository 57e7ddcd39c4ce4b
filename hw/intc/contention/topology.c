/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Topology of the contention model: which threads share a domain, and how
 * far domains are from each other.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

static bool topology_error(GError **errp, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

static bool topology_error(GError **errp, const char *format, ...)
{
    g_autofree char *text = NULL;
    va_list ap;

    va_start(ap, format);
    text = g_strdup_vprintf(format, ap);
    va_end(ap);
    g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_TOPOLOGY,
                "topology: %s", text);
    return false;
}

static bool topology_check(const ContentionTopology *t, GError **errp)
{
    unsigned n = t->nr_chips;

    if (!t->nr_cpus || t->nr_cpus > CONTENTION_MAX_CPUS) {
        return topology_error(errp, "%u cpus; there must be 1 to %u",
                              t->nr_cpus, CONTENTION_MAX_CPUS);
    }
    if (!n || n > CONTENTION_MAX_CHIPS) {
        return topology_error(errp, "%u chips; there must be 1 to %u", n,
                              CONTENTION_MAX_CHIPS);
    }
    for (unsigned cpu = 0; cpu < t->nr_cpus; cpu++) {
        if (t->places[cpu].chip >= n) {
            return topology_error(errp, "cpu %u is on chip %u; chips are "
                                  "0 to %u", cpu, t->places[cpu].chip, n - 1);
        }
    }
    for (unsigned a = 0; t->hops && a < n; a++) {
        for (unsigned b = 0; b < n; b++) {
            unsigned hops = t->hops[a * n + b];

            if (hops != t->hops[b * n + a]) {
                return topology_error(errp, "chips %u and %u are %u hops "
                                      "apart one way and %u the other", a, b,
                                      hops, t->hops[b * n + a]);
            }
            if (a == b && hops) {
                return topology_error(errp, "chip %u is %u hops from itself; "
                                      "it must be 0", a, hops);
            }
            if (a != b && (!hops || hops > CONTENTION_MAX_HOPS)) {
                return topology_error(errp, "chips %u and %u are %u hops "
                                      "apart; it must be 1 to %u", a, b, hops,
                                      CONTENTION_MAX_HOPS);
            }
        }
    }
    return true;
}

typedef struct Seat {
    ContentionPlace place;
    unsigned cpu;
} Seat;

static int seat_compare(const void *a, const void *b)
{
    const ContentionPlace *p = &((const Seat *)a)->place;
    const ContentionPlace *q = &((const Seat *)b)->place;

    if (p->chip != q->chip) {
        return p->chip < q->chip ? -1 : 1;
    }
    if (p->core != q->core) {
        return p->core < q->core ? -1 : 1;
    }
    return p->thread < q->thread ? -1 : p->thread > q->thread;
}

/* Numbers the domains in the order of chip and core. */
static bool map_domains(ContentionMap *map, const ContentionTopology *t,
                        unsigned cores_per_domain, GError **errp)
{
    g_autofree Seat *seats = g_new(Seat, t->nr_cpus);

    for (unsigned i = 0; i < t->nr_cpus; i++) {
        seats[i] = (Seat) { t->places[i], i };
    }
    qsort(seats, t->nr_cpus, sizeof(*seats), seat_compare);

    map->cpu_domain = g_new(uint16_t, t->nr_cpus);
    map->domain_chip = g_new(uint8_t, t->nr_cpus + t->nr_chips);
    for (unsigned i = 0; i < t->nr_cpus; i++) {
        const ContentionPlace *p = &seats[i].place;
        const ContentionPlace *q = i ? &seats[i - 1].place : NULL;

        if (q && !seat_compare(&seats[i - 1], &seats[i])) {
            return topology_error(errp, "cpus %u and %u are both chip %u "
                                  "core %u thread %u",
                                  MIN(seats[i - 1].cpu, seats[i].cpu),
                                  MAX(seats[i - 1].cpu, seats[i].cpu),
                                  p->chip, p->core, p->thread);
        }
        if (!q || p->chip != q->chip ||
            p->core / cores_per_domain != q->core / cores_per_domain) {
            map->domain_chip[map->nr_domains++] = p->chip;
        }
        map->cpu_domain[seats[i].cpu] = map->nr_domains - 1;
    }
    for (unsigned chip = 0; chip < t->nr_chips; chip++) {
        map->domain_chip[map->nr_domains + chip] = chip;
    }
    return true;
}

bool contention_map_init(ContentionMap *map, const ContentionTopology *t,
                         unsigned cores_per_domain, GError **errp)
{
    if (!topology_check(t, errp)) {
        return false;
    }
    map->nr_cpus = t->nr_cpus;
    map->nr_chips = t->nr_chips;
    if (!map_domains(map, t, cores_per_domain, errp)) {
        return false;
    }
    map->words = (map->nr_domains + 63) / 64;

    map->hops = g_new(uint8_t, map->nr_chips * map->nr_chips);
    for (unsigned i = 0; i < map->nr_chips * map->nr_chips; i++) {
        bool self = i / map->nr_chips == i % map->nr_chips;

        map->hops[i] = t->hops ? t->hops[i] : !self;
        map->max_hops = MAX(map->max_hops, map->hops[i]);
    }

    map->at_hops = g_new0(uint64_t,
                          map->nr_chips * (map->max_hops + 1) * map->words);
    for (unsigned chip = 0; chip < map->nr_chips; chip++) {
        for (unsigned d = 0; d < map->nr_domains; d++) {
            unsigned hops = contention_map_hops(map, chip,
                                                map->domain_chip[d]);

            contention_set_add((uint64_t *)contention_map_at_hops(map, chip,
                                                                  hops), d);
        }
    }
    return true;
}

void contention_map_destroy(ContentionMap *map)
{
    g_free(map->cpu_domain);
    g_free(map->domain_chip);
    g_free(map->hops);
    g_free(map->at_hops);
}

unsigned contention_nr_cpus(const ContentionModel *model)
{
    return model->map.nr_cpus;
}

unsigned contention_nr_chips(const ContentionModel *model)
{
    return model->map.nr_chips;
}

unsigned contention_nr_domains(const ContentionModel *model)
{
    return model->map.nr_domains;
}

unsigned contention_cpu_domain(const ContentionModel *model, unsigned cpu)
{
    return model->map.cpu_domain[cpu];
}

unsigned contention_domain_chip(const ContentionModel *model, unsigned domain)
{
    return model->map.domain_chip[domain];
}

unsigned contention_cpu_chip(const ContentionModel *model, unsigned cpu)
{
    return model->map.domain_chip[model->map.cpu_domain[cpu]];
}

unsigned contention_hops(const ContentionModel *model, unsigned from_chip,
                         unsigned to_chip)
{
    return contention_map_hops(&model->map, from_chip, to_chip);
}
