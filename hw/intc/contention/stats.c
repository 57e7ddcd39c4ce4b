/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of the contention model, and their JSON form.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

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

void contention_stats_count(ContentionModel *model, ContentionTraffic *traffic,
                            const ContentionResult *r)
{
    ContentionStats *s = &model->stats;
    ContentionTime stall = r->waited + r->transfer;
    bool transfer = false;

    s->count[r->kind]++;
    s->stall[r->kind] += stall;

    switch (r->kind) {
    case CONTENTION_SHARED_LOAD:
    case CONTENTION_TRANSIENT_LOAD:
    case CONTENTION_EXCLUSIVE_LOAD:
    case CONTENTION_STORE:
    case CONTENTION_UPGRADE:
        s->transfers[r->distance]++;
        s->transfer_stall[r->distance] += stall;
        transfer = true;
        break;
    case CONTENTION_DMA_READ:
    case CONTENTION_DMA_WRITE:
        transfer = r->from >= 0;
        break;
    default:
        break;
    }
    if (transfer && r->waited) {
        s->waits++;
        s->waited += r->waited;
    }
    if (traffic) {
        traffic->transfers += transfer;
        traffic->stall += stall;
        traffic->waited += transfer ? r->waited : 0;
        s->longest_queue = MAX(s->longest_queue, traffic->longest_queue);
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

        if (t) {
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

/* Members of one object, with what stands between them */
typedef struct Json {
    GString *out;
    const char *separator;
} Json;

static void json_open(Json *json, const char *name)
{
    g_string_append_printf(json->out, "%s\"%s\": {", json->separator, name);
    json->separator = "";
}

static void json_close(Json *json)
{
    g_string_append_c(json->out, '}');
    json->separator = ", ";
}

static void json_count(Json *json, const char *name, uint64_t value)
{
    g_string_append_printf(json->out, "%s\"%s\": %" PRIu64, json->separator,
                           name, value);
    json->separator = ", ";
}

static void json_time(Json *json, const char *name, ContentionTime ps)
{
    g_string_append_printf(json->out, "%s\"%s\": ", json->separator, name);
    contention_append_ns(json->out, ps);
    json->separator = ", ";
}

void contention_stats_json(const ContentionModel *model, GString *out)
{
    const ContentionStats *s = &model->stats;
    unsigned distances = CONTENTION_CROSS_CHIP + MAX(model->map.max_hops, 1);
    Json json = { out, "" };
    ContentionTime stall = 0;
    uint64_t moved = 0;

    json_open(&json, "accesses");
    for (unsigned i = 0; i < CONTENTION_KINDS; i++) {
        json_count(&json, kind_names[i], s->count[i]);
    }
    json_close(&json);

    json_open(&json, "transfers");
    for (unsigned i = 0; i < distances; i++) {
        json_count(&json, distance_names[i], s->transfers[i]);
    }
    json_close(&json);

    json_open(&json, "stall_ns");
    for (unsigned i = 0; i < distances; i++) {
        json_time(&json, distance_names[i], s->transfer_stall[i]);
        stall += s->transfer_stall[i];
    }
    json_time(&json, "merge", s->stall[CONTENTION_MERGE]);
    json_time(&json, "total", stall + s->stall[CONTENTION_MERGE]);
    json_close(&json);

    json_open(&json, "queue");
    json_count(&json, "waits", s->waits);
    json_time(&json, "waited_ns", s->waited);
    json_count(&json, "longest", s->longest_queue);
    json_close(&json);

    json_open(&json, "dma_ns");
    json_time(&json, "read", s->stall[CONTENTION_DMA_READ]);
    json_time(&json, "write", s->stall[CONTENTION_DMA_WRITE]);
    json_close(&json);

    for (uint32_t i = 0; i < model->directory.nr_lines; i++) {
        moved += !!contention_directory_nth(&model->directory, i)->traffic;
    }
    json_open(&json, "lines");
    json_count(&json, "touched", model->directory.nr_lines);
    json_count(&json, "transferred", moved);
    json_close(&json);

    json_open(&json, "fabric");
    json_count(&json, "triggers", s->triggers);
    json_count(&json, "cross-chip-triggers", s->cross_chip_triggers);
    json_time(&json, "delivery_ns", s->delivery);
    json_count(&json, "service-waits", s->service_waits);
    json_time(&json, "service-waited_ns", s->service_waited);
    json_time(&json, "longest-service-wait_ns", s->longest_service_wait);
    g_string_append(out, ", \"events\": [");
    for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
        g_string_append_printf(out, "%s%" PRIu64, chip ? ", " : "",
                               model->services[chip].events);
    }
    g_string_append(out, "]");
    json_open(&json, "mmio");
    for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
        json_count(&json, mmio_names[i], s->mmio[i]);
    }
    json_close(&json);
    json_open(&json, "mmio-stall_ns");
    for (unsigned i = 0; i < CONTENTION_MMIO_KINDS; i++) {
        json_time(&json, mmio_names[i], s->mmio_stall[i]);
    }
    json_close(&json);
    json_close(&json);
}
