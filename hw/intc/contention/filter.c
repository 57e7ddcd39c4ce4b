/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Presence filter of the contention model: what enters and leaves it.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

#define FILTER_EMPTY UINT64_MAX

void contention_filters_init(ContentionModel *model)
{
    size_t entries = model->params.filter_entries;
    unsigned n = model->map.nr_domains;
    uint64_t *block = g_new(uint64_t, n * entries);

    model->filters = g_new(ContentionFilter, n);
    for (unsigned i = 0; i < n; i++) {
        model->filters[i].entries = block + i * entries;
        model->filters[i].mask = entries - 1;
    }
    contention_filters_reset(model);
}

void contention_filters_reset(ContentionModel *model)
{
    size_t n = (size_t)model->map.nr_domains * model->params.filter_entries;

    /* FILTER_EMPTY in every entry */
    memset(model->filters[0].entries, 0xff, n * sizeof(uint64_t));
}

void contention_filters_destroy(ContentionModel *model)
{
    if (model->filters) {
        g_free(model->filters[0].entries);
        g_free(model->filters);
    }
}

const ContentionFilter *contention_filter(const ContentionModel *model,
                                          unsigned cpu)
{
    return &model->filters[model->map.cpu_domain[cpu]];
}

static uint64_t *filter_entry(ContentionModel *model, unsigned domain,
                              uint64_t line)
{
    const ContentionFilter *f = &model->filters[domain];

    return &f->entries[line & f->mask];
}

void contention_filter_enter(ContentionModel *model, unsigned domain,
                             uint64_t line, bool writable)
{
    if (domain < model->map.nr_domains) {
        *filter_entry(model, domain, line) = line << 1 | writable;
    }
}

void contention_filter_drop(ContentionModel *model, unsigned domain,
                            uint64_t line)
{
    if (domain < model->map.nr_domains) {
        uint64_t *entry = filter_entry(model, domain, line);

        if (*entry >> 1 == line) {
            *entry = FILTER_EMPTY;
        }
        contention_changed(model, line);
    }
}

void contention_filter_downgrade(ContentionModel *model, unsigned domain,
                                 uint64_t line)
{
    if (domain < model->map.nr_domains) {
        uint64_t *entry = filter_entry(model, domain, line);

        if (*entry >> 1 == line) {
            *entry &= ~UINT64_C(1);
        }
    }
}

void contention_set_observer(ContentionModel *model, ContentionChangedFn *fn,
                             void *opaque)
{
    model->changed = fn;
    model->changed_opaque = opaque;
}

void contention_watch(ContentionModel *model, unsigned cpu, uint64_t line)
{
    contention_filter_downgrade(model, model->map.cpu_domain[cpu], line);
}
