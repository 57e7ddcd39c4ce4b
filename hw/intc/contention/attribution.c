/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Attribution of the contention model: enters what accesses have cost into
 * tables of lines and of accesses.
 *
 * The tables are larger than the host's caches, and an access finds nothing
 * there that it needs. So accesses are logged, and entered many at a time:
 * what several of them need is fetched at once, and the rest of the model
 * keeps its place in the caches meanwhile. Whoever reads the tables has the
 * log entered first.
 */

#include "hw/intc/contention/port.h"
#include "tables.h"

#define MIN_SLOT_BITS   10
#define MIN_RECORDS     256
/* The record of a line for which there is no room */
#define NO_RECORD       UINT32_MAX
/* Accesses logged before they are entered, and those fetched for at a time */
#define LOG_ENTRIES     512u
#define LOG_BATCH       16u

/**
 * struct LogEntry - an access that is to be entered
 * @request: what was asked for
 * @result: what it cost; not of one that was given up
 * @given_up: it is a store conditional that was given up
 * @stall: of a thread, ps
 * @line: number of the LineRecord, or NO_RECORD
 * @longest_queue: of the line, at that time
 * @hash: of the AccessKey
 */
struct LogEntry {
    ContentionRequest request;
    ContentionResult result;
    bool given_up;
    ContentionTime stall;
    uint32_t line;
    unsigned longest_queue;
    uint64_t hash;
};

ContentionTime contention_sums_stall(const ContentionSums *s)
{
    ContentionTime stall = s->waited + s->merged + s->given_up_time;

    for (unsigned i = 0; i < CONTENTION_DISTANCES; i++) {
        stall += s->moves[i].time;
    }
    return stall;
}

uint64_t contention_sums_transfers(const ContentionSums *s)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < CONTENTION_DISTANCES; i++) {
        n += s->moves[i].count;
    }
    return n;
}

void contention_sums_add(ContentionSums *s, const ContentionSums *more)
{
    for (unsigned i = 0; i < CONTENTION_DISTANCES; i++) {
        s->moves[i].count += more->moves[i].count;
        s->moves[i].time += more->moves[i].time;
    }
    s->waits += more->waits;
    s->waited += more->waited;
    s->merges += more->merges;
    s->merged += more->merged;
    s->given_up += more->given_up;
    s->given_up_time += more->given_up_time;
    s->dma += more->dma;
    s->dma_waits += more->dma_waits;
    s->dma_waited += more->dma_waited;
    s->dma_time += more->dma_time;
    s->longest_queue = MAX(s->longest_queue, more->longest_queue);
}

static void sums_count(ContentionSums *s, bool dma, const ContentionResult *r)
{
    if (contention_is_transfer(r)) {
        bool exclusive = r->kind != CONTENTION_SHARED_LOAD &&
                         r->kind != CONTENTION_TRANSIENT_LOAD &&
                         r->kind != CONTENTION_DMA_READ;

        if (dma) {
            s->dma++;
            s->dma_waits += r->waited > 0;
            s->dma_waited += r->waited;
        } else {
            s->moves[r->distance].count++;
            s->moves[r->distance].time += r->transfer;
            s->waits += r->waited > 0;
            s->waited += r->waited;
        }
        if (exclusive) {
            s->longest_queue = MAX(s->longest_queue, r->waiters + 1);
        }
    } else if (!dma) {
        s->merges++;
        s->merged += r->waited;
    }
    if (dma) {
        s->dma_time += r->waited + r->transfer;
    }
}

static void sums_give_up(ContentionSums *s, ContentionTime waited)
{
    s->given_up++;
    s->given_up_time += waited;
}

/* The number of a new record, all zero; 0 when there may be no more. */
static uint32_t table_add(Table *t, uint32_t limit)
{
    if (t->n == limit) {
        return 0;
    }
    if (t->n == t->max) {
        t->max = MIN(t->max ? t->max * 2 : MIN_RECORDS, limit);
        t->records = g_realloc_n(t->records, t->max, t->stride);
    }
    memset(t->records + t->n * t->stride, 0, t->stride);
    return ++t->n;
}

static uint64_t key_hash(const AccessKey *k)
{
    uint64_t h = k->pc;

    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15) + k->ea;
    h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9) + k->line;
    h ^= (uint64_t)k->size << 40 | (uint64_t)k->kind << 20 | k->user;
    return (h ^ h >> 32) * UINT64_C(0x94d049bb133111eb);
}

static bool key_equal(const AccessKey *a, const AccessKey *b)
{
    return a->pc == b->pc && a->ea == b->ea && a->line == b->line &&
           a->size == b->size && a->user == b->user && a->kind == b->kind;
}

/* The slot of @key: it holds its number, or is where it belongs. */
static uint32_t *slot_find(const ContentionAttribution *a,
                           const AccessKey *key, uint64_t hash)
{
    size_t mask = ((size_t)1 << a->slot_bits) - 1;
    size_t slot = hash >> (64 - a->slot_bits);

    while (a->slots[slot] &&
           !key_equal(&access_record(a, a->slots[slot])->key, key)) {
        slot = (slot + 1) & mask;
    }
    return &a->slots[slot];
}

static void slots_grow(ContentionAttribution *a)
{
    a->slot_bits++;
    g_free(a->slots);
    a->slots = g_new0(uint32_t, (size_t)1 << a->slot_bits);
    for (uint32_t number = 1; number <= a->accesses.n; number++) {
        const AccessKey *key = &access_record(a, number)->key;

        *slot_find(a, key, key_hash(key)) = number;
    }
}

/* The number of the line's record, or NO_RECORD */
static uint32_t line_number(ContentionAttribution *a, ContentionLine *line)
{
    ContentionTraffic *t = line->traffic;

    if (!t->record) {
        t->record = table_add(&a->lines, a->entries);
        if (!t->record) {
            t->record = NO_RECORD;
            a->dropped_lines++;
        } else {
            line_record(a, t->record)->key = line->key;
        }
    }
    return t->record;
}

static AccessKey entry_key(const LogEntry *e)
{
    const ContentionRequest *request = &e->request;

    return (AccessKey) {
        .pc = request->dma ? request->who : request->origin.pc,
        .ea = request->dma ? 0 : request->origin.ea,
        .size = request->dma ? 0 : request->origin.size,
        .user = !request->dma && request->origin.user,
        .line = e->line,
        .kind = (request->dma ? ACCESS_DMA : 0) |
                (request->store ? ACCESS_STORE : 0) |
                (request->conditional ? ACCESS_CONDITIONAL : 0),
    };
}

/* NULL when there is no room, or the line has no record. */
static AccessRecord *find_access(ContentionAttribution *a, const LogEntry *e)
{
    AccessKey key = entry_key(e);
    uint32_t *slot, number;

    if (e->line == NO_RECORD) {
        return NULL;
    }
    slot = slot_find(a, &key, e->hash);
    if (*slot) {
        return access_record(a, *slot);
    }
    number = table_add(&a->accesses, a->entries);
    if (!number) {
        return NULL;
    }
    access_record(a, number)->key = key;
    *slot = number;
    if (number > (uint32_t)1 << (a->slot_bits - 1)) {
        slots_grow(a);
    }
    return access_record(a, number);
}

static void sums_enter(ContentionSums *s, const LogEntry *e)
{
    if (e->given_up) {
        sums_give_up(s, e->stall);
    } else {
        sums_count(s, e->request.dma, &e->result);
    }
}

static void flow_enter(const ContentionModel *model, const LogEntry *e)
{
    ContentionAttribution *a = model->attribution;
    const ContentionRequest *request = &e->request;
    unsigned to = request->dma ? request->who
                               : contention_cpu_chip(model, request->who);
    unsigned from = model->map.domain_chip[e->result.from];
    ContentionFlow *flow = &a->flows[(request->dma * a->nr_chips + from) *
                                     a->nr_chips + to];

    flow->count++;
    flow->time += e->result.transfer;
    flow->waited += e->result.waited;
}

static unsigned request_holder(const ContentionModel *model,
                               const ContentionRequest *request)
{
    return request->dma ? model->map.nr_domains + request->who
                        : model->map.cpu_domain[request->who];
}

static uint64_t *line_count(const ContentionModel *model, LineRecord *l,
                            const ContentionRequest *request)
{
    return &l->counts[(request->store ? model->attribution->nr_holders : 0) +
                      request_holder(model, request)];
}

static void enter(const ContentionModel *model, const LogEntry *e)
{
    ContentionAttribution *a = model->attribution;
    unsigned holder = request_holder(model, &e->request);
    unsigned chip = model->map.domain_chip[holder];
    ContentionSums *line_sums = &a->dropped_line;
    AccessRecord *r = find_access(a, e);

    if (e->line != NO_RECORD) {
        LineRecord *l = line_record(a, e->line);

        (*line_count(model, l, &e->request))++;
        line_sums = &l->sums;
    }
    sums_enter(&a->total, e);
    sums_enter(line_sums, e);
    if (r) {
        access_by_chip(r)[chip].count++;
        access_by_chip(r)[chip].stall += e->stall;
        contention_set_add(access_domains(a, r), holder);
        sums_enter(&r->sums, e);
    } else {
        a->dropped_accesses++;
        sums_enter(&a->dropped_access, e);
    }
    if (e->given_up) {
        return;
    }
    if (contention_is_transfer(&e->result)) {
        flow_enter(model, e);
    }
    /* The line's own count also knows those that were given up. */
    line_sums->longest_queue = MAX(line_sums->longest_queue,
                                   e->longest_queue);
    a->total.longest_queue = MAX(a->total.longest_queue, e->longest_queue);
}

/* Only a hint: what of a record most accesses need */
static void prefetch(const void *record, const void *rest)
{
    __builtin_prefetch(record, 1);
    __builtin_prefetch((const char *)record + 64, 1);
    __builtin_prefetch(rest, 1);
}

static void enter_batch(const ContentionModel *model, LogEntry *e, unsigned n)
{
    ContentionAttribution *a = model->attribution;

    for (unsigned i = 0; i < n; i++) {
        AccessKey key = entry_key(&e[i]);

        e[i].hash = key_hash(&key);
        __builtin_prefetch(&a->slots[e[i].hash >> (64 - a->slot_bits)], 1);
        if (e[i].line != NO_RECORD) {
            LineRecord *l = line_record(a, e[i].line);

            prefetch(l, line_count(model, l, &e[i].request));
        }
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t number = a->slots[e[i].hash >> (64 - a->slot_bits)];

        /* Most often it is this record; to be wrong costs nothing. */
        if (number) {
            AccessRecord *r = access_record(a, number);

            prefetch(r, access_domains(a, r));
        }
    }
    for (unsigned i = 0; i < n; i++) {
        enter(model, &e[i]);
    }
}

ContentionAttribution *contention_attribution_tables(
    const ContentionModel *model)
{
    ContentionAttribution *a = model->attribution;

    if (a) {
        for (unsigned i = 0; i < a->logged; i += LOG_BATCH) {
            enter_batch(model, &a->log[i], MIN(LOG_BATCH, a->logged - i));
        }
        a->logged = 0;
    }
    return a;
}

static LogEntry *log_add(ContentionModel *model, ContentionLine *line,
                         const ContentionRequest *request)
{
    ContentionAttribution *a = model->attribution;
    LogEntry *e;

    if (a->logged == LOG_ENTRIES) {
        contention_attribution_tables(model);
    }
    e = &a->log[a->logged++];
    e->request = *request;
    e->line = line_number(a, line);
    e->longest_queue = line->traffic->longest_queue;
    return e;
}

void contention_attribute(ContentionModel *model, ContentionLine *line,
                          const ContentionRequest *request,
                          const ContentionResult *r)
{
    LogEntry *e = log_add(model, line, request);

    e->result = *r;
    e->given_up = false;
    e->stall = request->dma ? 0 : r->waited + r->transfer;
}

void contention_attribute_given_up(ContentionModel *model,
                                   ContentionLine *line,
                                   const ContentionRequest *request,
                                   ContentionTime waited)
{
    LogEntry *e = log_add(model, line, request);

    e->given_up = true;
    e->stall = waited;
}

void contention_attribute_event(ContentionModel *model, unsigned from_chip,
                                unsigned target_chip, ContentionTime time)
{
    ContentionAttribution *a = model->attribution;

    if (a) {
        ContentionFlow *flow = &a->events[from_chip * a->nr_chips +
                                          target_chip];

        flow->count++;
        flow->time += time;
    }
}

const ContentionFlow *contention_flow(const ContentionModel *model, bool dma,
                                      unsigned from, unsigned to)
{
    const ContentionAttribution *a = contention_attribution_tables(model);

    return a ? &a->flows[(dma * a->nr_chips + from) * a->nr_chips + to] : NULL;
}

const ContentionFlow *contention_event_flow(const ContentionModel *model,
                                            unsigned from, unsigned to)
{
    const ContentionAttribution *a = model->attribution;

    return a ? &a->events[from * a->nr_chips + to] : NULL;
}

unsigned contention_attribution(const ContentionModel *model)
{
    return model->attribution ? model->attribution->entries : 0;
}

void contention_attribution_destroy(ContentionModel *model)
{
    ContentionAttribution *a = model->attribution;

    if (a) {
        g_free(a->lines.records);
        g_free(a->accesses.records);
        g_free(a->slots);
        g_free(a->log);
        g_free(a->flows);
        g_free(a->events);
        g_free(a);
        model->attribution = NULL;
    }
}

void contention_attribution_reset(ContentionModel *model)
{
    contention_set_attribution(model, contention_attribution(model));
}

void contention_set_attribution(ContentionModel *model, unsigned entries)
{
    const ContentionMap *map = &model->map;
    ContentionAttribution *a;

    g_assert(entries <= CONTENTION_MAX_ATTRIBUTION);
    contention_attribution_destroy(model);
    for (uint32_t i = 0; i < model->directory.nr_lines; i++) {
        ContentionTraffic *t =
            contention_directory_nth(&model->directory, i)->traffic;

        if (t) {
            t->record = 0;
        }
    }
    if (!entries) {
        return;
    }
    a = g_new0(ContentionAttribution, 1);
    a->entries = entries;
    a->nr_chips = map->nr_chips;
    a->nr_holders = map->nr_domains + map->nr_chips;
    a->set_words = (a->nr_holders + 63) / 64;
    a->lines.stride = sizeof(LineRecord) + 2 * a->nr_holders *
                                           sizeof(uint64_t);
    a->accesses.stride = sizeof(AccessRecord) +
                         a->nr_chips * sizeof(ContentionByChip) +
                         a->set_words * sizeof(uint64_t);
    a->slot_bits = MIN_SLOT_BITS;
    a->slots = g_new0(uint32_t, (size_t)1 << a->slot_bits);
    a->log = g_new(LogEntry, LOG_ENTRIES);
    a->flows = g_new0(ContentionFlow, 2 * a->nr_chips * a->nr_chips);
    a->events = g_new0(ContentionFlow, a->nr_chips * a->nr_chips);
    model->attribution = a;
}
