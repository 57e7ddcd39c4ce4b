/*
 * Contention model: what it does, for trace events and the trace file
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "device.h"
#include "trace.h"

/* Finding the guest address of a line costs something. */
#define enabled(event) trace_event_get_state_backends(TRACE_CONTENTION_##event)

static void tracer_access(const ContentionRequest *r,
                           const ContentionResult *result, void *opaque)
{
    if (r->dma) {
        if (enabled(LINE_DMA)) {
            trace_contention_line_dma(r->who,
                                      contention_kind_name(result->kind),
                                      contention_line_address(r->line, NULL),
                                      result->from, r->now,
                                      result->waited + result->transfer);
        }
    } else if (result->kind == CONTENTION_MERGE) {
        if (enabled(LINE_MERGE)) {
            trace_contention_line_merge(r->who,
                                        contention_line_address(r->line, NULL),
                                        r->origin.pc, r->now, result->waited);
        }
    } else if (enabled(LINE_TRANSFER)) {
        trace_contention_line_transfer(r->who,
                                       contention_kind_name(result->kind),
                                       contention_line_address(r->line, NULL),
                                       r->origin.pc,
                                       contention_distance_name(
                                           result->distance),
                                       result->from, r->now, result->waited,
                                       result->transfer);
    }
    if (contention_tracing()) {
        contention_trace_access(r, result);
    }
}

static void tracer_blocked(const ContentionRequest *r, unsigned waiters,
                            void *opaque)
{
    if (enabled(LINE_WAIT)) {
        trace_contention_line_wait(r->who,
                                   contention_line_address(r->line, NULL),
                                   r->origin.pc, waiters, r->now);
    }
}

static void tracer_given_up(const ContentionRequest *r, ContentionTime waited,
                             void *opaque)
{
    if (enabled(LINE_GIVE_UP)) {
        trace_contention_line_give_up(r->who,
                                      contention_line_address(r->line, NULL),
                                      r->origin.pc, r->now, waited);
    }
    if (contention_tracing()) {
        contention_trace_given_up(r, waited);
    }
}

static void tracer_event(unsigned from, unsigned source, unsigned target,
                          ContentionTime now, const ContentionDelivery *d,
                          void *opaque)
{
    trace_contention_fabric_event(from, source, target, now, d->triggered,
                                  d->served, d->queued, d->presented,
                                  d->delivered);
    if (contention_tracing()) {
        contention_trace_event(from, source, target, now, d);
    }
}

static void tracer_mmio(unsigned cpu, unsigned chip, ContentionMmio kind,
                         ContentionTime stall, void *opaque)
{
    trace_contention_fabric_mmio(cpu, chip, contention_mmio_name(kind), stall);
    if (contention_tracing()) {
        contention_trace_mmio(cpu, chip, kind, simtime_now(), stall);
    }
}

static const ContentionTracerOps tracer = {
    .access = tracer_access,
    .blocked = tracer_blocked,
    .given_up = tracer_given_up,
    .event = tracer_event,
    .mmio = tracer_mmio,
};

void contention_attach_tracer(ContentionModel *model)
{
    contention_set_tracer(model, &tracer, NULL);
}
