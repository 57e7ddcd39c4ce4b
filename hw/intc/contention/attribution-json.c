/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Attribution of the contention model as JSON; docs/report-format.md is the
 * description of what is written here.
 */

#include "hw/intc/contention/port.h"
#include "tables.h"
#include "json.h"

#define FORMAT 1

static unsigned nr_distances(const ContentionModel *model)
{
    return CONTENTION_CROSS_CHIP + MAX(model->map.max_hops, 1);
}

static void count_unless_zero(ContentionJson *json, const char *name,
                              uint64_t value)
{
    if (value) {
        contention_json_count(json, name, value);
    }
}

static void time_unless_zero(ContentionJson *json, const char *name,
                             ContentionTime ps)
{
    if (ps) {
        contention_json_time(json, name, ps);
    }
}

/* Members of the object that is open; most are zero most of the time. */
static void json_sums(ContentionJson *json, const ContentionModel *model,
                      const ContentionSums *s)
{
    unsigned n = nr_distances(model);

    contention_json_time(json, "stall_ns", contention_sums_stall(s));
    contention_json_open(json, "transfers", '[');
    for (unsigned i = 0; i < n; i++) {
        contention_json_count(json, NULL, s->moves[i].count);
    }
    contention_json_close(json, ']');
    contention_json_open(json, "transfer_ns", '[');
    for (unsigned i = 0; i < n; i++) {
        contention_json_time(json, NULL, s->moves[i].time);
    }
    contention_json_close(json, ']');
    count_unless_zero(json, "waits", s->waits);
    time_unless_zero(json, "wait_ns", s->waited);
    count_unless_zero(json, "merges", s->merges);
    time_unless_zero(json, "merge_ns", s->merged);
    count_unless_zero(json, "given_up", s->given_up);
    time_unless_zero(json, "given_up_ns", s->given_up_time);
    count_unless_zero(json, "dma", s->dma);
    time_unless_zero(json, "dma_ns", s->dma_time);
    count_unless_zero(json, "dma_waits", s->dma_waits);
    time_unless_zero(json, "dma_wait_ns", s->dma_waited);
    count_unless_zero(json, "longest_queue", s->longest_queue);
}

static void json_topology(ContentionJson *json, const ContentionModel *model)
{
    const ContentionMap *map = &model->map;

    contention_json_open(json, "topology", '{');
    contention_json_count(json, "cpus", map->nr_cpus);
    contention_json_count(json, "chips", map->nr_chips);
    contention_json_count(json, "domains", map->nr_domains);
    contention_json_count(json, "line_bytes", CONTENTION_LINE_BYTES);
    contention_json_open(json, "distances", '[');
    for (unsigned i = 0; i < nr_distances(model); i++) {
        contention_json_string(json, NULL, contention_distance_name(i));
    }
    contention_json_close(json, ']');
    contention_json_open(json, "cpu_domain", '[');
    for (unsigned i = 0; i < map->nr_cpus; i++) {
        contention_json_count(json, NULL, map->cpu_domain[i]);
    }
    contention_json_close(json, ']');
    contention_json_open(json, "domain_chip", '[');
    for (unsigned i = 0; i < map->nr_domains + map->nr_chips; i++) {
        contention_json_count(json, NULL, map->domain_chip[i]);
    }
    contention_json_close(json, ']');
    contention_json_close(json, '}');
}

/* What the time of all threads went into; the rest is idle. */
static void json_breakdown(ContentionJson *json, const ContentionModel *model,
                           const ContentionRegion *region)
{
    const ContentionSums *s = &contention_attribution_tables(model)->total;
    ContentionTime rest = (region->end - region->start) * model->map.nr_cpus;
    ContentionTime fabric = 0;

    for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
        fabric += model->stats.mmio_stall[i];
    }
    contention_json_open(json, "breakdown", '{');
    contention_json_time(json, "total_ns", rest);
    contention_json_time(json, "instructions_ns", region->instruction_time);
    contention_json_time(json, "polls_ns", region->poll_time);
    contention_json_open(json, "transfer_ns", '[');
    for (unsigned i = 0; i < nr_distances(model); i++) {
        contention_json_time(json, NULL, s->moves[i].time);
    }
    contention_json_close(json, ']');
    contention_json_time(json, "wait_ns", s->waited);
    contention_json_time(json, "merge_ns", s->merged);
    contention_json_time(json, "given_up_ns", s->given_up_time);
    contention_json_time(json, "fabric_ns", fabric);
    contention_json_time(json, "paused_ns", region->paused);
    rest -= region->instruction_time + region->poll_time +
            contention_sums_stall(s) + fabric + region->paused;
    contention_json_time(json, "idle_ns", rest);
    contention_json_close(json, '}');
}

typedef const ContentionFlow *FlowFn(const ContentionModel *model, bool dma,
                                     unsigned from, unsigned to);

static const ContentionFlow *event_flow(const ContentionModel *model, bool dma,
                                        unsigned from, unsigned to)
{
    return contention_event_flow(model, from, to);
}

/* Rows by chip it comes from, columns by chip it goes to */
static void json_matrix(ContentionJson *json, const ContentionModel *model,
                        const char *name, FlowFn *flow, bool dma, bool waits)
{
    unsigned n = model->map.nr_chips;

    contention_json_open(json, name, '{');
    for (unsigned what = 0; what < (waits ? 3 : 2); what++) {
        static const char *const names[] = { "count", "ns", "wait_ns" };

        contention_json_open(json, names[what], '[');
        for (unsigned from = 0; from < n; from++) {
            contention_json_open(json, NULL, '[');
            for (unsigned to = 0; to < n; to++) {
                const ContentionFlow *f = flow(model, dma, from, to);

                if (what == 0) {
                    contention_json_count(json, NULL, f->count);
                } else {
                    contention_json_time(json, NULL,
                                         what == 1 ? f->time : f->waited);
                }
            }
            contention_json_close(json, ']');
        }
        contention_json_close(json, ']');
    }
    contention_json_close(json, '}');
}

static void json_fabric(ContentionJson *json, const ContentionModel *model)
{
    contention_json_open(json, "fabric", '{');
    json_matrix(json, model, "events", event_flow, false, false);
    contention_json_open(json, "controllers", '[');
    for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
        const ContentionService *s = &model->services[chip];

        contention_json_open(json, NULL, '{');
        contention_json_count(json, "chip", chip);
        contention_json_count(json, "events", s->events);
        contention_json_count(json, "waits", s->waits);
        contention_json_time(json, "wait_ns", s->waited);
        contention_json_open(json, "mmio", '{');
        for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
            contention_json_open(json, contention_mmio_name(i), '{');
            contention_json_count(json, "count", s->mmio[i]);
            contention_json_time(json, "stall_ns", s->mmio_stall[i]);
            contention_json_close(json, '}');
        }
        contention_json_close(json, '}');
        contention_json_close(json, '}');
    }
    contention_json_close(json, ']');
    contention_json_close(json, '}');
}

/* Pairs of number and count, of those that are not zero */
static void json_holders(ContentionJson *json, const ContentionModel *model,
                         const char *name, const uint64_t *counts)
{
    contention_json_open(json, name, '[');
    for (unsigned i = 0; i < model->map.nr_domains + model->map.nr_chips;
         i++) {
        if (counts[i]) {
            contention_json_open(json, NULL, '[');
            contention_json_count(json, NULL, i);
            contention_json_count(json, NULL, counts[i]);
            contention_json_close(json, ']');
        }
    }
    contention_json_close(json, ']');
}

static void json_by_chip(ContentionJson *json, const ContentionModel *model,
                         const ContentionByChip *by_chip)
{
    contention_json_open(json, "chip_count", '[');
    for (unsigned i = 0; i < model->map.nr_chips; i++) {
        contention_json_count(json, NULL, by_chip[i].count);
    }
    contention_json_close(json, ']');
    contention_json_open(json, "chip_stall_ns", '[');
    for (unsigned i = 0; i < model->map.nr_chips; i++) {
        contention_json_time(json, NULL, by_chip[i].stall);
    }
    contention_json_close(json, ']');
}

/* Who makes an access */
static void json_who(ContentionJson *json, bool dma, unsigned chip,
                     uint64_t pc, bool user, bool store, bool conditional)
{
    if (dma) {
        contention_json_string(json, "device", "interrupt-controller");
        contention_json_count(json, "chip", chip);
        contention_json_string(json, "operation",
                               contention_kind_name(store
                                                    ? CONTENTION_DMA_WRITE
                                                    : CONTENTION_DMA_READ));
        return;
    }
    contention_json_address(json, "pc", pc);
    if (user) {
        contention_json_bool(json, "user", true);
    }
    contention_json_string(json, "operation", conditional ? "conditional"
                                              : store ? "store" : "load");
}

static void json_access(ContentionJson *json, const ContentionModel *model,
                        const ContentionRankedAccess *a)
{
    contention_json_open(json, NULL, '{');
    json_who(json, a->dma, a->chip, a->origin.pc, a->origin.user, a->store,
             a->conditional);
    contention_json_count(json, "instruction", a->instruction);
    if (!a->dma) {
        contention_json_count(json, "offset", a->offset);
        contention_json_count(json, "size", a->origin.size);
        contention_json_address(json, "ea", a->origin.ea);
    }
    json_sums(json, model, a->sums);
    contention_json_count(json, "domains", a->domains);
    json_by_chip(json, model, a->by_chip);
    contention_json_close(json, '}');
}

static void json_line(ContentionJson *json, const ContentionModel *model,
                      const ContentionRankedLine *line)
{
    json->separator = *json->separator ? ",\n" : "\n";
    contention_json_open(json, NULL, '{');
    contention_json_address(json, "gpa", line->address);
    if (line->has_ea) {
        contention_json_address(json, "ea", line->ea);
        if (line->user) {
            contention_json_bool(json, "user", true);
        }
    }
    json_sums(json, model, line->sums);
    json_holders(json, model, "readers", line->readers);
    json_holders(json, model, "writers", line->writers);
    contention_json_open(json, "accesses", '[');
    for (unsigned i = 0; i < line->nr_accesses; i++) {
        json_access(json, model, &line->accesses[i]);
    }
    contention_json_close(json, ']');
    contention_json_close(json, '}');
}

static void json_instruction(ContentionJson *json,
                             const ContentionModel *model,
                             const ContentionRankedInstruction *i)
{
    json->separator = *json->separator ? ",\n" : "\n";
    contention_json_open(json, NULL, '{');
    json_who(json, i->dma, i->chip, i->pc, i->user, i->store, i->conditional);
    json_sums(json, model, &i->sums);
    contention_json_count(json, "lines", i->lines);
    json_by_chip(json, model, i->by_chip);
    contention_json_close(json, '}');
}

static void json_dropped(ContentionJson *json, const ContentionModel *model,
                         const ContentionRanking *r)
{
    contention_json_open(json, "dropped", '{');
    contention_json_open(json, "lines", '{');
    contention_json_count(json, "count", r->dropped_lines);
    json_sums(json, model, r->dropped_line);
    contention_json_close(json, '}');
    contention_json_open(json, "accesses", '{');
    contention_json_count(json, "count", r->dropped_accesses);
    json_sums(json, model, r->dropped_access);
    contention_json_close(json, '}');
    contention_json_close(json, '}');
}

void contention_attribution_json(const ContentionModel *model,
                                 const ContentionRegion *region,
                                 ContentionAddressFn *address, void *opaque,
                                 GString *out)
{
    g_autoptr(ContentionRanking) r = contention_ranking_new(model, address,
                                                            opaque);
    ContentionJson json = { out, "" };

    if (!r) {
        return;
    }
    contention_json_open(&json, NULL, '{');
    contention_json_count(&json, "format", FORMAT);
    contention_json_name(&json, "parameters");
    contention_params_json(&model->params, out);
    contention_json_count(&json, "entries", model->attribution->entries);
    json_topology(&json, model);
    contention_json_open(&json, "region", '{');
    contention_json_time(&json, "start_ns", region->start);
    contention_json_time(&json, "end_ns", region->end);
    contention_json_count(&json, "instructions", region->instructions);
    contention_json_close(&json, '}');
    contention_json_open(&json, "totals", '{');
    contention_stats_json(model, out);
    json.separator = ", ";
    contention_json_open(&json, "all", '{');
    json_sums(&json, model, r->total);
    contention_json_close(&json, '}');
    contention_json_close(&json, '}');
    json_breakdown(&json, model, region);
    json_matrix(&json, model, "matrix", contention_flow, false, true);
    json_matrix(&json, model, "dma_matrix", contention_flow, true, true);
    json_fabric(&json, model);
    json_dropped(&json, model, r);
    contention_json_open(&json, "lines", '[');
    for (unsigned i = 0; i < r->nr_lines; i++) {
        json_line(&json, model, &r->lines[i]);
    }
    contention_json_close(&json, ']');
    contention_json_open(&json, "instructions", '[');
    for (unsigned i = 0; i < r->nr_instructions; i++) {
        json_instruction(&json, model, &r->instructions[i]);
    }
    contention_json_close(&json, ']');
    contention_json_close(&json, '}');
    g_string_append_c(out, '\n');
}
