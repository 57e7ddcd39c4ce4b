/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Interrupt fabric of the contention model: how long an event takes, and
 * the queue in front of each chip's interrupt controller.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

void contention_services_init(ContentionModel *model)
{
    model->services = g_new0(ContentionService, model->map.nr_chips);
}

void contention_services_reset(ContentionModel *model)
{
    for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
        model->services[chip].nr_spans = 0;
    }
    contention_services_reset_counters(model);
}

void contention_services_reset_counters(ContentionModel *model)
{
    for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
        ContentionService *s = &model->services[chip];

        s->events = s->waits = 0;
        s->waited = 0;
        memset(s->mmio, 0, sizeof(s->mmio));
        memset(s->mmio_stall, 0, sizeof(s->mmio_stall));
    }
}

void contention_services_destroy(ContentionModel *model)
{
    if (model->services) {
        for (unsigned chip = 0; chip < model->map.nr_chips; chip++) {
            g_free(model->services[chip].spans);
        }
        g_free(model->services);
    }
}

static void service_insert(ContentionService *s, unsigned at,
                           ContentionSpan span)
{
    bool joins_before = at > 0 && s->spans[at - 1].end == span.start;
    bool joins_after = at < s->nr_spans && s->spans[at].start == span.end;

    if (joins_before) {
        s->spans[at - 1].end = joins_after ? s->spans[at].end : span.end;
        if (joins_after) {
            s->nr_spans--;
            memmove(&s->spans[at], &s->spans[at + 1],
                    (s->nr_spans - at) * sizeof(span));
        }
    } else if (joins_after) {
        s->spans[at].start = span.start;
    } else {
        if (s->nr_spans == s->max_spans) {
            s->max_spans = s->max_spans ? s->max_spans * 2 : 8;
            s->spans = g_renew(ContentionSpan, s->spans, s->max_spans);
        }
        memmove(&s->spans[at + 1], &s->spans[at],
                (s->nr_spans - at) * sizeof(span));
        s->spans[at] = span;
        s->nr_spans++;
    }
}

/*
 * Serves an event that reaches the controller of @chip at @arrival and
 * returns when it is served.  Events are known before they arrive, those to
 * another chip earlier than that chip's own; so an event takes the first gap
 * after its arrival that is long enough, not the end of the queue.
 */
static ContentionTime service_event(ContentionModel *model, unsigned chip,
                                    ContentionTime now, ContentionTime arrival)
{
    ContentionService *s = &model->services[chip];
    ContentionStats *stats = &model->stats;
    ContentionTime duration = model->params.service;
    ContentionTime start = arrival;
    unsigned past = 0, at;

    s->events++;
    if (!duration) {
        return arrival;
    }

    while (past < s->nr_spans && s->spans[past].end <= now) {
        past++;
    }
    if (past) {
        s->nr_spans -= past;
        memmove(s->spans, s->spans + past, s->nr_spans * sizeof(*s->spans));
    }

    for (at = 0; at < s->nr_spans; at++) {
        if (start + duration <= s->spans[at].start) {
            break;
        }
        start = MAX(start, s->spans[at].end);
    }
    service_insert(s, at, (ContentionSpan) { start, start + duration });

    if (start > arrival) {
        s->waits++;
        s->waited += start - arrival;
        stats->service_waits++;
        stats->service_waited += start - arrival;
        stats->longest_service_wait = MAX(stats->longest_service_wait,
                                          start - arrival);
    }
    return start + duration;
}

static ContentionTime fabric_way(const ContentionModel *model,
                                 unsigned from_chip, unsigned to_chip)
{
    return model->params.fabric_hop *
           contention_map_hops(&model->map, from_chip, to_chip);
}

/*
 * How long this notification takes.  Without a spread nothing is drawn, so
 * the arbitration has the numbers that it always had.
 */
static ContentionTime notification(ContentionModel *model)
{
    const ContentionParams *p = &model->params;

    if (!p->notify_spread) {
        return p->notify;
    }
    /* A spread is at most 10^9 ps: the product fits. */
    return p->notify +
           ((int64_t)contention_random(model) * p->notify_spread >> 32);
}

ContentionTime contention_fabric_trigger(ContentionModel *model,
                                         unsigned from_chip,
                                         unsigned source_chip,
                                         unsigned target_chip,
                                         ContentionTime now,
                                         ContentionDelivery *delivery)
{
    const ContentionParams *p = &model->params;
    ContentionStats *stats = &model->stats;
    ContentionDelivery d;

    d.triggered = now + p->trigger + fabric_way(model, from_chip, source_chip);
    d.served = service_event(model, source_chip, now, d.triggered);
    d.queued = d.served + p->route + p->queue_write;
    d.presented = d.queued;
    if (target_chip != source_chip) {
        d.presented = service_event(model, target_chip, now, d.queued +
                                    fabric_way(model, source_chip,
                                               target_chip));
    }
    d.delivered = d.presented + notification(model) + p->match;

    stats->triggers++;
    stats->cross_chip_triggers += from_chip != source_chip ||
                                  source_chip != target_chip;
    stats->delivery += d.delivered - now;
    contention_attribute_event(model, from_chip, target_chip,
                               d.delivered - now);
    if (model->tracer) {
        model->tracer->event(from_chip, source_chip, target_chip, now, &d,
                               model->tracer_opaque);
    }
    if (delivery) {
        *delivery = d;
    }
    return d.delivered;
}

ContentionTime contention_fabric_mmio(ContentionModel *model, unsigned cpu,
                                      unsigned chip, ContentionMmio kind)
{
    const ContentionParams *p = &model->params;
    ContentionTime way = fabric_way(model, contention_cpu_chip(model, cpu),
                                    chip);
    ContentionTime stall = 0;

    switch (kind) {
    case CONTENTION_TIMA_LOAD:
        stall = p->tima_load + 2 * way;
        break;
    case CONTENTION_TIMA_STORE:
        stall = p->tima_store;
        break;
    case CONTENTION_ESB_LOAD:
        stall = p->esb_load + 2 * way;
        break;
    case CONTENTION_ESB_STORE:
        stall = p->esb_store;
        break;
    case CONTENTION_MMIO_KINDS:
        g_assert_not_reached();
    }
    model->stats.mmio[kind]++;
    model->stats.mmio_stall[kind] += stall;
    model->services[chip].mmio[kind]++;
    model->services[chip].mmio_stall[kind] += stall;
    if (model->tracer) {
        model->tracer->mmio(cpu, chip, kind, stall, model->tracer_opaque);
    }
    return stall;
}
