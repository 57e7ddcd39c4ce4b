/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Arbitration of the contention model: whose request of a busy line is next.
 *
 * On POWER a request that finds the line busy is not queued: the snoop
 * response says retry, and the requester asks again after a while. When the
 * line becomes free any of those who want it may get it. Requests that are
 * served in the order of their arrival would instead follow each other in
 * the same order for ever, a chip's threads after each other, and hardly a
 * transfer would cross chips.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

void contention_set_arbiter(ContentionModel *model,
                            const ContentionArbiterOps *ops, void *opaque)
{
    model->arbiter = ops;
    model->arbiter_opaque = opaque;
}

static bool any_blocked(const ContentionTraffic *t)
{
    return t->blocked && t->blocked->len;
}

bool contention_must_block(const ContentionModel *model,
                           const ContentionLine *line, ContentionTime now)
{
    const ContentionTraffic *t = line->traffic;

    return model->arbiter && t &&
           model->params.arbitration != CONTENTION_ARBITRATE_ARRIVAL &&
           (t->busy_until > now || any_blocked(t));
}

void contention_block(ContentionModel *model, ContentionLine *line,
                      const ContentionRequest *request)
{
    ContentionTraffic *t = line->traffic;

    if (!t->blocked) {
        t->blocked = g_array_new(false, false, sizeof(ContentionRequest));
    }
    g_array_append_val(t->blocked, *request);
    t->longest_queue = MAX(t->longest_queue, t->blocked->len + 1);
    if (model->tracer) {
        model->tracer->blocked(request, t->blocked->len,
                                 model->tracer_opaque);
    }
    if (t->blocked->len == 1) {
        model->arbiter->free_at(line->key, MAX(t->busy_until, request->now),
                                model->arbiter_opaque);
    }
}

/* splitmix64: the whole state is one word, which a reset sets to the seed. */
uint32_t contention_random(ContentionModel *model)
{
    uint64_t z = model->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) >> 32;
}

static unsigned choose_nearest(const ContentionModel *model,
                               const ContentionLine *line)
{
    const GArray *blocked = line->traffic->blocked;
    unsigned best = 0, best_distance = CONTENTION_DISTANCES;

    for (unsigned i = 0; i < blocked->len; i++) {
        unsigned cpu = g_array_index(blocked, ContentionRequest, i).who;
        unsigned distance =
            contention_map_distance(&model->map, model->map.cpu_domain[cpu],
                                    line->owner);

        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

static unsigned choose(ContentionModel *model, const ContentionLine *line)
{
    unsigned n = line->traffic->blocked->len;

    if (model->params.arbitration == CONTENTION_ARBITRATE_NEAREST) {
        return choose_nearest(model, line);
    }
    /* The upper half of a product is unbiased enough for any n here. */
    return (uint64_t)contention_random(model) * n >> 32;
}

/* The other requests of @domain are served by the same transfer. */
static void grant_domain(ContentionModel *model, ContentionLine *line,
                         unsigned domain, ContentionTime arrival)
{
    GArray *blocked = line->traffic->blocked;

    for (unsigned i = 0; i < blocked->len; ) {
        ContentionRequest w = g_array_index(blocked, ContentionRequest, i);
        ContentionResult r = { .kind = CONTENTION_MERGE, .from = -1 };

        if (model->map.cpu_domain[w.who] != domain) {
            i++;
            continue;
        }
        g_array_remove_index(blocked, i);
        r.waited = arrival - w.now;
        line->dirty |= w.store;
        contention_count(model, line, &w, &r);
        model->arbiter->granted(w.who, line->key, arrival,
                                model->arbiter_opaque);
    }
}

/*
 * The reservations of the others are lost with the line. They learn it just
 * after the store has been made.
 */
static void give_up_conditional(ContentionModel *model, ContentionLine *line,
                                ContentionTime arrival)
{
    GArray *blocked = line->traffic->blocked;

    for (unsigned i = 0; i < blocked->len; ) {
        ContentionRequest w = g_array_index(blocked, ContentionRequest, i);

        if (!w.conditional) {
            i++;
            continue;
        }
        g_array_remove_index(blocked, i);
        contention_count_given_up(model, line, &w, arrival + 1 - w.now);
        model->arbiter->lost(w.who, line->key, arrival + 1,
                             model->arbiter_opaque);
    }
}

void contention_grant(ContentionModel *model, uint64_t key, ContentionTime now)
{
    ContentionLine *line = contention_directory_find(&model->directory, key);
    ContentionTraffic *t = line ? line->traffic : NULL;
    ContentionResult r = { .from = -1 };
    ContentionRequest w;
    ContentionTime arrival;
    unsigned i, domain;

    if (!t || !any_blocked(t)) {
        return;
    }
    if (t->busy_until > now) {
        /* An interrupt controller, which is never blocked, came between. */
        model->arbiter->free_at(key, t->busy_until, model->arbiter_opaque);
        return;
    }

    model->latest = MAX(model->latest, now);
    i = choose(model, line);
    w = g_array_index(t->blocked, ContentionRequest, i);
    g_array_remove_index(t->blocked, i);
    domain = model->map.cpu_domain[w.who];

    contention_take(model, line, domain, w.store, now, &r);
    r.waited += now - w.now;
    contention_count(model, line, &w, &r);
    arrival = w.now + r.waited + r.transfer;
    model->arbiter->granted(w.who, key, arrival, model->arbiter_opaque);

    if (model->params.merge_rule == CONTENTION_MERGE_ALL) {
        grant_domain(model, line, domain, arrival);
    }
    if (w.store) {
        give_up_conditional(model, line, arrival);
    }
    if (t->blocked->len) {
        model->arbiter->free_at(key, arrival, model->arbiter_opaque);
    }
}
