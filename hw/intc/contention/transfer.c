/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rules of the contention model: who has a line, who waits for it, how long.
 *
 * The words used here are explained in contention.h.
 */

#include "hw/intc/contention/port.h"
#include "internal.h"

/* A line as one domain sees it at one moment */
typedef struct View {
    ContentionTime readable;    /* when its threads can load it, or NEVER */
    ContentionTime fetched;     /* its exclusive fetch arrives, or NEVER */
    ContentionTime shown;       /* copies for who waits only: last arrival */
    unsigned waiters;           /* exclusive requests not arrived, of all */
    bool writable;              /* its threads can store now */
    bool stable;                /* ... and it keeps this copy: see below */
} View;

/* Is the line @domain's alone, or will be when it arrives? */
static bool owns(const ContentionLine *line, unsigned domain)
{
    return line->owner == domain &&
           !(line->traffic && line->traffic->nr_sharers);
}

/* The first of the owners before who has not got the line yet */
static uint32_t first_waiting(const ContentionTraffic *t, ContentionTime now)
{
    uint32_t i = t->owners.first;

    while (i < t->owners.end && t->owners.hold[i].from <= now) {
        i++;
    }
    return i;
}

/*
 * A copy that no other domain has asked for is stable, and may be filtered,
 * once it has arrived for all threads of the domain.  A probe may come from
 * one whose clock is ahead; none is behind the latest access.
 */
static View line_view(const ContentionModel *model, const ContentionLine *line,
                      unsigned domain, ContentionTime now)
{
    ContentionTraffic *t = line->traffic;
    bool arrived = line->arrival <= now;
    bool sharer = t && domain < model->map.nr_domains &&
                  contention_set_has(contention_sharers(t), domain);
    bool in_flight = false;
    View v = {
        .readable = CONTENTION_NEVER,
        .fetched = CONTENTION_NEVER,
        .shown = INT64_MIN,
        .waiters = !arrived,
    };

    if (line->owner == domain) {
        if (arrived) {
            v.readable = now;
            v.stable = line->arrival <= model->latest;
            v.writable = owns(line, domain);
        } else {
            v.readable = v.fetched = line->arrival;
        }
    }
    if (!t) {
        return v;
    }

    v.waiters += t->owners.end - first_waiting(t, now);
    v.waiters += t->blocked ? t->blocked->len : 0;
    for (uint32_t i = t->owners.first; i < t->owners.end; i++) {
        const ContentionHold *hold = &t->owners.hold[i];

        if (hold->domain != domain) {
            continue;
        }
        if (hold->from > now) {
            v.readable = MIN(v.readable, hold->from);
            v.fetched = MIN(v.fetched, hold->from);
        } else if (hold->until > now) {
            v.readable = now;
            v.writable |= hold->writable && model->params.holder_rule ==
                                            CONTENTION_HOLDER_LOAD_STORE;
        }
    }
    v.stable |= sharer;
    for (uint32_t i = 0; i < t->copies.end; i++) {
        const ContentionHold *hold = &t->copies.hold[i];

        if (!hold->sharer) {
            v.shown = MAX(v.shown, hold->from);
        }
        if (hold->domain != domain) {
            continue;
        }
        if (hold->sharer && hold->from > model->latest) {
            v.stable = false;
        }
        if (hold->from > now) {
            v.readable = MIN(v.readable, hold->from);
            in_flight |= hold->sharer;
        } else if (hold->until > now) {
            v.readable = now;
        }
    }

    if ((sharer && !in_flight) ||
        (now < t->departing_until && domain < model->map.nr_domains &&
         contention_set_has(contention_departing(t, model->map.words),
                            domain))) {
        v.readable = now;
    }
    return v;
}

/*
 * A domain that waits for a copy loads what is in the line when the copy
 * arrives. A store which is later must not have been made by then, as it may
 * by a thread whose clock is ahead.
 */
static bool line_watched(const ContentionModel *model, const View *v)
{
    return v->shown >= model->latest;
}

/* A free access is made; the next one may not even come here. */
static void line_hit(ContentionModel *model, ContentionLine *line,
                     unsigned domain, const View *v, bool store)
{
    line->dirty |= store && owns(line, domain);
    if (store) {
        contention_changed(model, line->key);
    }
    if (v->stable) {
        /*
         * A dirty line has no sharers, so @domain is its owner; the first
         * store to a clean one must come here, to make it dirty.
         */
        contention_filter_enter(model, domain, line->key,
                                line->dirty && !line_watched(model, v));
    }
}

/*
 * The distance of the nearest or furthest of those who hold @line besides
 * @domain itself.
 */
static unsigned holder_distance(const ContentionModel *model,
                                const ContentionLine *line, unsigned domain,
                                bool furthest)
{
    const ContentionMap *map = &model->map;
    const ContentionTraffic *t = line->traffic;
    unsigned chip = map->domain_chip[domain];
    unsigned found = contention_map_distance(map, line->owner, domain);

    if (!t->nr_sharers) {
        return found;
    }
    for (unsigned hops = 0; hops <= map->max_hops; hops++) {
        const uint64_t *there = contention_map_at_hops(map, chip, hops);
        unsigned distance = CONTENTION_SAME_CHIP + hops;
        uint64_t any = 0;

        for (unsigned i = 0; i < map->words; i++) {
            uint64_t bits = t->bits[i] & there[i];

            if (i == domain / 64) {
                bits &= ~(UINT64_C(1) << (domain % 64));
            }
            any |= bits;
        }
        if (any && (found == CONTENTION_SAME_DOMAIN ||
                    (furthest ? distance > found : distance < found))) {
            found = distance;
        }
    }
    return found;
}

/*
 * The domain that has the line while exclusive transfers are pending, or the
 * one that gets it next if it is on its way.
 */
static unsigned line_supplier(const ContentionLine *line, ContentionTime now)
{
    const ContentionHolds *owners = &line->traffic->owners;
    uint32_t next = first_waiting(line->traffic, now);

    if (next > owners->first && owners->hold[next - 1].until > now) {
        return owners->hold[next - 1].domain;
    }
    return next < owners->end ? owners->hold[next].domain : line->owner;
}

/* Waiting requests that slow a transfer of @line down, @waiters being all */
static unsigned slowing_waiters(const ContentionModel *model,
                                const ContentionLine *line, unsigned waiters,
                                ContentionTime now)
{
    const ContentionMap *map = &model->map;
    const ContentionTraffic *t = line->traffic;
    unsigned chip = map->domain_chip[line->owner];
    unsigned n = line->arrival > now;

    if (!waiters || !model->params.waiter_slope ||
        model->params.waiter_scope == CONTENTION_WAITERS_ALL) {
        return waiters;
    }
    for (uint32_t i = first_waiting(t, now); i < t->owners.end; i++) {
        n += map->domain_chip[t->owners.hold[i].domain] == chip;
    }
    for (unsigned i = 0; t->blocked && i < t->blocked->len; i++) {
        unsigned cpu = g_array_index(t->blocked, ContentionRequest, i).who;

        n += map->domain_chip[map->cpu_domain[cpu]] == chip;
    }
    return n;
}

static ContentionTime transfer_cost(const ContentionModel *model,
                                    const ContentionLine *line,
                                    unsigned distance, unsigned waiters,
                                    ContentionTime now)
{
    ContentionTime cost = model->cost[distance];

    waiters = slowing_waiters(model, line, waiters, now);
    return cost + cost * waiters * model->params.waiter_slope /
                  (100 * CONTENTION_PERCENT);
}

/* The sharers lose their copies when the line leaves, at @leaves. */
static void retire_sharers(ContentionModel *model, ContentionLine *line,
                           unsigned domain, ContentionTime now,
                           ContentionTime leaves, ContentionTime arrival)
{
    ContentionTraffic *t = line->traffic;
    unsigned words = model->map.words;
    uint64_t *sharers = contention_sharers(t);
    uint64_t *departing = contention_departing(t, words);
    bool departing_busy = t->departing_until > now;

    for (unsigned i = 0; i < words; i++) {
        for (uint64_t bits = sharers[i]; bits; bits &= bits - 1) {
            contention_filter_drop(model, i * 64 + __builtin_ctzll(bits),
                                   line->key);
        }
    }

    /* Copies in flight arrive, for those who wait for them. */
    for (uint32_t i = 0; i < t->copies.end; i++) {
        ContentionHold *hold = &t->copies.hold[i];

        if (hold->sharer) {
            hold->sharer = false;
            hold->until = hold->domain == domain ? arrival : leaves;
            contention_set_remove(sharers, hold->domain);
        }
    }

    /* Its own copy serves the domain until its exclusive one is there. */
    if (domain < model->map.nr_domains &&
        contention_set_has(sharers, domain)) {
        contention_set_remove(sharers, domain);
        *contention_holds_add(&t->copies) = (ContentionHold) {
            .from = now, .until = arrival, .domain = domain,
        };
    }

    for (unsigned i = 0; i < words; i++) {
        if (departing_busy) {
            /* A set is departing already: keep these one by one. */
            for (uint64_t bits = sharers[i]; bits; bits &= bits - 1) {
                *contention_holds_add(&t->copies) = (ContentionHold) {
                    .from = now, .until = leaves,
                    .domain = i * 64 + __builtin_ctzll(bits),
                };
            }
        } else {
            departing[i] = sharers[i];
        }
        sharers[i] = 0;
    }
    if (!departing_busy) {
        t->departing_until = leaves;
    }
    t->nr_sharers = 0;
}

/* @domain takes the line from all others, after those who asked before. */
static void take_line(ContentionModel *model, ContentionLine *line,
                      unsigned domain, const View *v, bool store,
                      ContentionTime now, ContentionResult *r)
{
    const ContentionParams *p = &model->params;
    ContentionTraffic *t = contention_line_traffic(line, model->map.words);
    bool copy = line->owner == domain ||
                (domain < model->map.nr_domains &&
                 contention_set_has(contention_sharers(t), domain));
    ContentionTime start = MAX(now, t->busy_until);
    ContentionTime arrival, leaves;

    r->kind = !store ? CONTENTION_EXCLUSIVE_LOAD
              : copy ? CONTENTION_UPGRADE : CONTENTION_STORE;
    r->from = line->owner;
    if (copy) {
        r->distance = holder_distance(model, line, domain, p->upgrade_rule ==
                                      CONTENTION_UPGRADE_FURTHEST);
    } else {
        r->distance = contention_map_distance(&model->map, line->owner, domain);
    }
    r->waited = start - now;
    r->transfer = transfer_cost(model, line, r->distance, v->waiters, now);

    arrival = start + r->transfer;
    leaves = p->holder_rule == CONTENTION_HOLDER_NONE
             ? now : start + r->transfer * p->departure / 100;

    *contention_holds_add(&t->owners) = (ContentionHold) {
        .from = line->arrival,
        .until = line->owner == domain ? arrival : leaves,
        .domain = line->owner,
        .writable = !t->nr_sharers,
    };
    contention_filter_drop(model, line->owner, line->key);
    if (t->nr_sharers) {
        retire_sharers(model, line, domain, now, leaves, arrival);
    }

    line->owner = domain;
    line->arrival = arrival;
    line->dirty = store;
    t->busy_until = arrival;
    t->longest_queue = MAX(t->longest_queue, v->waiters + 1);
}

/* @domain gets a copy, and becomes a sharer if @keep. */
static void copy_line(ContentionModel *model, ContentionLine *line,
                      unsigned domain, const View *v, bool keep,
                      ContentionTime now, ContentionResult *r)
{
    const ContentionParams *p = &model->params;
    ContentionTraffic *t = contention_line_traffic(line, model->map.words);
    ContentionTime start = now, arrival;
    bool pending = false;

    if (p->load_queue == CONTENTION_LOADS_SERIALISED) {
        start = MAX(now, t->busy_until);
    } else {
        pending = v->waiters > 0;
    }
    r->kind = pending ? CONTENTION_TRANSIENT_LOAD : CONTENTION_SHARED_LOAD;
    if (pending) {
        r->from = line_supplier(line, now);
        r->distance = contention_map_distance(&model->map, r->from, domain);
    } else {
        r->from = line->owner;
        r->distance = holder_distance(model, line, domain, false);
    }
    r->waited = start - now;
    r->transfer = transfer_cost(model, line, r->distance, v->waiters, now);

    arrival = start + r->transfer;
    t->busy_until = MAX(t->busy_until,
                        start + r->transfer * p->load_occupancy / 100);
    if (!keep) {
        return;
    }
    if (!pending) {
        contention_set_add(contention_sharers(t), domain);
        t->nr_sharers++;
        line->dirty = false;
        contention_filter_downgrade(model, line->owner, line->key);
    }
    if (arrival > now) {
        *contention_holds_add(&t->copies) = (ContentionHold) {
            .from = arrival, .until = arrival, .domain = domain,
            .sharer = !pending,
        };
    }
}

static void first_touch(ContentionModel *model, uint64_t key, unsigned domain,
                        bool store, ContentionTime now)
{
    ContentionLine *line = contention_directory_add(&model->directory, key);

    line->owner = domain;
    line->arrival = now;
    line->dirty = store;
    contention_filter_enter(model, domain, key, store);
}

void contention_take(ContentionModel *model, ContentionLine *line,
                     unsigned domain, bool store, ContentionTime now,
                     ContentionResult *r)
{
    View v;

    contention_traffic_prune(line->traffic, now);
    v = line_view(model, line, domain, now);
    r->waiters = v.waiters;
    take_line(model, line, domain, &v, store, now, r);
}

/*
 * Decides what an access to a known line is, and does it.  False when it is
 * blocked, as @request, which is NULL for a controller.
 */
static bool access_line(ContentionModel *model, ContentionLine *line,
                        const ContentionRequest *request, unsigned domain,
                        bool store, ContentionTime now, ContentionResult *r)
{
    const ContentionParams *p = &model->params;
    View v;

    if (line->traffic) {
        contention_traffic_prune(line->traffic, now);
    }
    v = line_view(model, line, domain, now);
    r->waiters = v.waiters;

    if (store ? v.writable : v.readable == now) {
        line_hit(model, line, domain, &v, store);
    } else if (store && v.fetched != CONTENTION_NEVER &&
               p->merge_rule == CONTENTION_MERGE_ALL) {
        r->kind = CONTENTION_MERGE;
        r->waited = v.fetched - now;
        line->dirty |= owns(line, domain);
    } else if (!store && v.readable != CONTENTION_NEVER) {
        r->kind = CONTENTION_MERGE;
        r->waited = v.readable - now;
    } else if (store || (p->load_rule == CONTENTION_LOAD_MIGRATORY &&
                         line->dirty)) {
        if (request && contention_must_block(model, line, now)) {
            contention_block(model, line, request);
            return false;
        }
        take_line(model, line, domain, &v, store, now, r);
    } else {
        copy_line(model, line, domain, &v, true, now, r);
    }
    return true;
}

void contention_advance(ContentionModel *model, ContentionTime now)
{
    model->latest = MAX(model->latest, now);
}

bool contention_probe(ContentionModel *model, unsigned cpu, uint64_t line,
                      bool store, ContentionTime now)
{
    unsigned domain = model->map.cpu_domain[cpu];
    ContentionLine *entry = contention_directory_find(&model->directory, line);
    View v;

    if (!entry) {
        return false;
    }
    v = line_view(model, entry, domain, now);
    if (store ? !v.writable || (v.shown < now && line_watched(model, &v))
              : v.readable != now) {
        return false;
    }
    model->stats.count[CONTENTION_HIT]++;
    line_hit(model, entry, domain, &v, store);
    return true;
}

static ContentionTime cpu_access(ContentionModel *model,
                                 const ContentionRequest *request,
                                 ContentionResult *r)
{
    unsigned domain = model->map.cpu_domain[request->who];
    ContentionTime now = request->now;
    ContentionLine *entry = contention_directory_find(&model->directory,
                                                      request->line);

    if (entry) {
        if (!access_line(model, entry, request, domain, request->store, now,
                         r)) {
            return CONTENTION_BLOCKED;
        }
    } else {
        r->kind = CONTENTION_FIRST_TOUCH;
        first_touch(model, request->line, domain, request->store, now);
    }
    contention_count(model, entry, request, r);
    return r->waited + r->transfer;
}

static ContentionTime dma_access(ContentionModel *model,
                                 const ContentionRequest *request,
                                 ContentionResult *r)
{
    unsigned domain = model->map.nr_domains + request->who;
    ContentionTime now = request->now;
    ContentionLine *entry = contention_directory_find(&model->directory,
                                                      request->line);

    if (entry && request->store) {
        access_line(model, entry, NULL, domain, true, now, r);
    } else if (entry) {
        View v = line_view(model, entry, domain, now);

        r->waiters = v.waiters;
        if (v.readable == CONTENTION_NEVER) {
            copy_line(model, entry, domain, &v, false, now, r);
        } else {
            r->waited = v.readable - now;
        }
    } else if (request->store) {
        first_touch(model, request->line, domain, true, now);
    }
    r->kind = request->store ? CONTENTION_DMA_WRITE : CONTENTION_DMA_READ;
    contention_count(model, entry, request, r);
    return r->waited + r->transfer;
}

ContentionTime contention_request(ContentionModel *model,
                                  const ContentionRequest *request,
                                  ContentionResult *result)
{
    ContentionResult r = { .from = -1 };
    ContentionTime stall;

    model->latest = MAX(model->latest, request->now);
    stall = request->dma ? dma_access(model, request, &r)
                         : cpu_access(model, request, &r);
    if (result && stall != CONTENTION_BLOCKED) {
        *result = r;
    }
    return stall;
}

ContentionTime contention_access(ContentionModel *model, unsigned cpu,
                                 uint64_t line, bool store,
                                 ContentionTime now, ContentionResult *result)
{
    return contention_request(model, &(ContentionRequest) {
        .now = now, .line = line, .who = cpu, .store = store,
    }, result);
}

ContentionTime contention_store_conditional(ContentionModel *model,
                                            unsigned cpu, uint64_t line,
                                            ContentionTime now,
                                            ContentionResult *result)
{
    return contention_request(model, &(ContentionRequest) {
        .now = now, .line = line, .who = cpu, .store = true,
        .conditional = true,
    }, result);
}

ContentionTime contention_dma(ContentionModel *model, unsigned chip,
                              uint64_t line, bool write, ContentionTime now,
                              ContentionResult *result)
{
    return contention_request(model, &(ContentionRequest) {
        .now = now, .line = line, .who = chip, .dma = true, .store = write,
    }, result);
}
