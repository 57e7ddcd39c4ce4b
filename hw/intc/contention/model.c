/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Life of a contention model: made, emptied, freed.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

ContentionModel *contention_new(const ContentionParams *params,
                                const ContentionTopology *topology,
                                GError **errp)
{
    g_autoptr(ContentionModel) model = NULL;

    if (!contention_params_check(params, errp)) {
        return NULL;
    }
    model = g_new0(ContentionModel, 1);
    model->params = *params;
    if (!contention_map_init(&model->map, topology, params->cores_per_domain,
                             errp)) {
        return NULL;
    }
    model->cost[CONTENTION_SAME_DOMAIN] = params->same_domain;
    model->cost[CONTENTION_SAME_CHIP] = params->same_chip;
    for (unsigned hops = 1; hops <= CONTENTION_MAX_HOPS; hops++) {
        model->cost[CONTENTION_SAME_CHIP + hops] =
            params->cross_chip + (hops - 1) * params->hop;
    }
    contention_directory_init(&model->directory);
    contention_filters_init(model);
    contention_services_init(model);
    model->latest = INT64_MIN;
    model->random = params->seed;
    return g_steal_pointer(&model);
}

void contention_free(ContentionModel *model)
{
    if (!model) {
        return;
    }
    contention_attribution_destroy(model);
    contention_services_destroy(model);
    contention_filters_destroy(model);
    contention_directory_destroy(&model->directory);
    contention_map_destroy(&model->map);
    g_free(model);
}

void contention_reset(ContentionModel *model)
{
    contention_directory_reset(&model->directory);
    contention_filters_reset(model);
    contention_services_reset(model);
    model->latest = INT64_MIN;
    model->random = model->params.seed;
    memset(&model->stats, 0, sizeof(model->stats));
    contention_attribution_reset(model);
}

void contention_reset_counters(ContentionModel *model)
{
    for (uint32_t i = 0; i < model->directory.nr_lines; i++) {
        ContentionTraffic *t =
            contention_directory_nth(&model->directory, i)->traffic;

        if (t) {
            t->stall = t->waited = 0;
            t->transfers = 0;
            t->longest_queue = 0;
        }
    }
    contention_services_reset_counters(model);
    memset(&model->stats, 0, sizeof(model->stats));
    contention_attribution_reset(model);
}

void contention_set_tracer(ContentionModel *model,
                           const ContentionTracerOps *ops, void *opaque)
{
    model->tracer = ops;
    model->tracer_opaque = opaque;
}

const ContentionParams *contention_params(const ContentionModel *model)
{
    return &model->params;
}
