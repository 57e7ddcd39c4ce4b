/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the contention model, and their JSON form.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"
#include "json.h"

static const char *const kind_names[CONTENTION_KINDS] = {
    [CONTENTION_HIT] = "hit",
    [CONTENTION_FIRST_TOUCH] = "first-touch",
    [CONTENTION_MERGE] = "merge",
    [CONTENTION_SHARED_LOAD] = "shared-load",
    [CONTENTION_TRANSIENT_LOAD] = "transient-load",
    [CONTENTION_EXCLUSIVE_LOAD] = "exclusive-load",
    [CONTENTION_STORE] = "store",
    [CONTENTION_UPGRADE] = "upgrade",
    [CONTENTION_DMA_READ] = "dma-read",
    [CONTENTION_DMA_WRITE] = "dma-write",
};

static const char *const distance_names[CONTENTION_DISTANCES] = {
    "same-domain", "same-chip", "cross-chip", "cross-chip-2-hops",
    "cross-chip-3-hops", "cross-chip-4-hops", "cross-chip-5-hops",
    "cross-chip-6-hops",
};

static const char *const mmio_names[CONTENTION_MMIO_KINDS] = {
    [CONTENTION_TIMA_LOAD] = "tima-load",
    [CONTENTION_TIMA_STORE] = "tima-store",
    [CONTENTION_ESB_LOAD] = "esb-load",
    [CONTENTION_ESB_STORE] = "esb-store",
};

const char *contention_distance_name(unsigned distance)
{
    return distance_names[distance];
}

const char *contention_kind_name(ContentionKind kind)
{
    return kind_names[kind];
}

const char *contention_mmio_name(ContentionMmio kind)
{
    return mmio_names[kind];
}

bool contention_is_transfer(const ContentionResult *r)
{
    switch (r->kind) {
    case CONTENTION_SHARED_LOAD:
    case CONTENTION_TRANSIENT_LOAD:
    case CONTENTION_EXCLUSIVE_LOAD:
    case CONTENTION_STORE:
    case CONTENTION_UPGRADE:
        return true;
    case CONTENTION_DMA_READ:
    case CONTENTION_DMA_WRITE:
        return r->from >= 0;
    default:
        return false;
    }
}

void contention_count(ContentionModel *model, ContentionLine *line,
                      const ContentionRequest *request,
                      const ContentionResult *r)
{
    ContentionStats *s = &model->stats;
    ContentionTime stall = r->waited + r->transfer;
    bool transfer = contention_is_transfer(r);
    ContentionTraffic *t = NULL;

    s->count[r->kind]++;
    s->stall[r->kind] += stall;
    if (transfer && !request->dma) {
        s->transfers[r->distance]++;
        s->transfer_stall[r->distance] += stall;
    }
    if (transfer && r->waited) {
        s->waits++;
        s->waited += r->waited;
    }
    if (line) {
        /* A merge with a first touch by a thread whose clock is ahead */
        t = stall ? contention_line_traffic(line, model->map.words)
                  : line->traffic;
    }
    if (t) {
        t->transfers += transfer;
        t->stall += stall;
        t->waited += transfer ? r->waited : 0;
        s->longest_queue = MAX(s->longest_queue, t->longest_queue);
        if (model->attribution && (transfer || stall)) {
            contention_attribute(model, line, request, r);
        }
    }
    if (model->tracer && (transfer || stall)) {
        model->tracer->access(request, r, model->tracer_opaque);
    }
}

void contention_count_given_up(ContentionModel *model, ContentionLine *line,
                               const ContentionRequest *request,
                               ContentionTime waited)
{
    model->stats.given_up++;
    model->stats.given_up_time += waited;
    line->traffic->stall += waited;
    if (model->attribution) {
        contention_attribute_given_up(model, line, request, waited);
    }
    if (model->tracer) {
        model->tracer->given_up(request, waited, model->tracer_opaque);
    }
}

const ContentionStats *contention_stats(const ContentionModel *model)
{
    return &model->stats;
}

void contention_foreach_line(const ContentionModel *model,
                             void (*fn)(const ContentionLineStats *stats,
                                        void *opaque),
                             void *opaque)
{
    for (uint32_t i = 0; i < model->directory.nr_lines; i++) {
        const ContentionLine *line =
            contention_directory_nth(&model->directory, i);
        const ContentionTraffic *t = line->traffic;

        if (t && t->transfers) {
            fn(&(ContentionLineStats) {
                .line = line->key,
                .owner = line->owner,
                .transfers = t->transfers,
                .stall = t->stall,
                .waited = t->waited,
                .longest_queue = t->longest_queue,
            }, opaque);
        }
    }
}

void contention_stats_json(const ContentionModel *model, GString *out)
{
    const ContentionStats *s = &model->stats;
    unsigned distances = CONTENTION_CROSS_CHIP + MAX(model->map.max_hops, 1);
    ContentionJson json = { out, "" };
    ContentionTime stall = 0;
    uint64_t moved = 0;

    contention_json_open(&json, "accesses", '{');
    for (unsigned i = 0; i < CONTENTION_KINDS; i++) {
        contention_json_count(&json, kind_names[i], s->count[i]);
    }
    contention_json_close(&json, '}');

    contention_json_open(&json, "transfers", '{');
    for (unsigned i = 0; i < distances; i++) {
        contention_json_count(&json, distance_names[i], s->transfers[i]);
    }
    contention_json_close(&json, '}');

    contention_json_open(&json, "stall_ns", '{');
    for (unsigned i = 0; i < distances; i++) {
        contention_json_time(&json, distance_names[i], s->transfer_stall[i]);
        stall += s->transfer_stall[i];
    }
    contention_json_time(&json, "merge", s->stall[CONTENTION_MERGE]);
    contention_json_time(&json, "total", stall + s->stall[CONTENTION_MERGE]);
    contention_json_close(&json, '}');

    contention_json_open(&json, "queue", '{');
    contention_json_count(&json, "waits", s->waits);
    contention_json_time(&json, "waited_ns", s->waited);
    contention_json_count(&json, "longest", s->longest_queue);
    contention_json_count(&json, "given-up", s->given_up);
    contention_json_time(&json, "given-up_ns", s->given_up_time);
    contention_json_close(&json, '}');

    contention_json_open(&json, "dma_ns", '{');
    contention_json_time(&json, "read", s->stall[CONTENTION_DMA_READ]);
    contention_json_time(&json, "write", s->stall[CONTENTION_DMA_WRITE]);
    contention_json_close(&json, '}');

    for (uint32_t i = 0; i < model->directory.nr_lines; i++) {
        const ContentionTraffic *t =
            contention_directory_nth(&model->directory, i)->traffic;

        moved += t && t->transfers;
    }
    contention_json_open(&json, "lines", '{');
    contention_json_count(&json, "touched", model->directory.nr_lines);
    contention_json_count(&json, "transferred", moved);
    contention_json_close(&json, '}');

    contention_json_open(&json, "fabric", '{');
    contention_json_count(&json, "triggers", s->triggers);
    contention_json_count(&json, "cross-chip-triggers",
                          s->cross_chip_triggers);
    contention_json_time(&json, "delivery_ns", s->delivery);
    contention_json_count(&json, "service-waits", s->service_waits);
    contention_json_time(&json, "service-waited_ns", s->service_waited);
    contention_json_time(&json, "longest-service-wait_ns",
                         s->longest_service_wait);
    contention_json_open(&json, "events", '[');
    for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
        contention_json_count(&json, NULL, model->services[chip].events);
    }
    contention_json_close(&json, ']');
    contention_json_open(&json, "mmio", '{');
    for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
        contention_json_count(&json, mmio_names[i], s->mmio[i]);
    }
    contention_json_close(&json, '}');
    contention_json_open(&json, "mmio-stall_ns", '{');
    for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
        contention_json_time(&json, mmio_names[i], s->mmio_stall[i]);
    }
    contention_json_close(&json, '}');
    contention_json_close(&json, '}');
}
