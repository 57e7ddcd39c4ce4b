/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Ranking of the contention model's attribution: lines, their accesses and
 * instructions, the costliest first.
 */

#include "hw/intc/contention/port.h"
#include "tables.h"

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* More stall first; then more time of controllers, then more transfers. */
static int compare_sums(const ContentionSums *a, const ContentionSums *b)
{
    int order = compare(contention_sums_stall(b), contention_sums_stall(a));

    if (!order) {
        order = compare(b->dma_time, a->dma_time);
    }
    if (!order) {
        order = compare(contention_sums_transfers(b) + b->dma,
                        contention_sums_transfers(a) + a->dma);
    }
    return order;
}

static int compare_lines(const void *p, const void *q)
{
    const ContentionRankedLine *a = p, *b = q;
    int order = compare_sums(a->sums, b->sums);

    return order ? order : compare(a->address, b->address);
}

static unsigned access_kind(bool dma, bool store, bool conditional)
{
    return (dma ? ACCESS_DMA : 0) | (store ? ACCESS_STORE : 0) |
           (conditional ? ACCESS_CONDITIONAL : 0);
}

static int compare_instructions(const void *p, const void *q)
{
    const ContentionRankedInstruction *a = *(void **)p, *b = *(void **)q;
    int order = compare_sums(&a->sums, &b->sums);

    if (!order) {
        order = compare(a->pc, b->pc);
    }
    if (!order) {
        order = compare(a->user, b->user);
    }
    if (!order) {
        order = compare(access_kind(a->dma, a->store, a->conditional),
                        access_kind(b->dma, b->store, b->conditional));
    }
    return order ? order : compare(a->chip, b->chip);
}

/* By line first: the accesses of each stand together. */
static int compare_accesses(const void *p, const void *q)
{
    const ContentionRankedAccess *a = p, *b = q;
    int order = compare(a->line, b->line);

    if (!order) {
        order = compare_sums(a->sums, b->sums);
    }
    if (!order) {
        order = compare(a->instruction, b->instruction);
    }
    if (!order) {
        order = compare(a->origin.ea, b->origin.ea);
    }
    return order ? order : compare(a->origin.size, b->origin.size);
}

static guint instruction_hash(gconstpointer p)
{
    const ContentionRankedInstruction *i = p;
    uint64_t h = (i->pc ^ i->chip) * UINT64_C(0x9e3779b97f4a7c15);

    return h >> 32 ^ access_kind(i->dma, i->store, i->conditional);
}

static gboolean instruction_equal(gconstpointer p, gconstpointer q)
{
    const ContentionRankedInstruction *a = p, *b = q;

    return a->pc == b->pc && a->user == b->user && a->dma == b->dma &&
           a->store == b->store && a->conditional == b->conditional &&
           a->chip == b->chip;
}

static void rank_lines(ContentionRanking *r, const ContentionAttribution *a,
                       ContentionAddressFn *address, void *opaque,
                       unsigned *rank)
{
    g_autoptr(GHashTable) number = g_hash_table_new(NULL, NULL);

    r->nr_lines = a->lines.n;
    r->lines = g_new0(ContentionRankedLine, r->nr_lines);
    for (unsigned i = 0; i < r->nr_lines; i++) {
        const LineRecord *l = line_record(a, i + 1);

        r->lines[i] = (ContentionRankedLine) {
            .address = address(l->key, opaque),
            .sums = &l->sums,
            .readers = l->counts,
            .writers = l->counts + a->nr_holders,
        };
        g_hash_table_insert(number, (gpointer)&l->sums, GUINT_TO_POINTER(i));
    }
    qsort(r->lines, r->nr_lines, sizeof(*r->lines), compare_lines);
    for (unsigned i = 0; i < r->nr_lines; i++) {
        rank[GPOINTER_TO_UINT(g_hash_table_lookup(number,
                                                  r->lines[i].sums))] = i;
    }
}

/* Instructions in the order in which they were first seen, and whose each
 * access is. */
static GPtrArray *sum_instructions(const ContentionAttribution *a,
                                   ContentionRankedInstruction **of_access)
{
    g_autoptr(GHashTable) known = g_hash_table_new(instruction_hash,
                                                   instruction_equal);
    GPtrArray *all = g_ptr_array_new();

    for (uint32_t i = 0; i < a->accesses.n; i++) {
        AccessRecord *r = access_record(a, i + 1);
        bool dma = r->key.kind & ACCESS_DMA;
        ContentionRankedInstruction key = {
            .pc = dma ? 0 : r->key.pc,
            .user = r->key.user,
            .dma = dma,
            .chip = dma ? r->key.pc : 0,
            .store = r->key.kind & ACCESS_STORE,
            .conditional = r->key.kind & ACCESS_CONDITIONAL,
        };
        ContentionRankedInstruction *found = g_hash_table_lookup(known, &key);

        if (!found) {
            found = g_memdup2(&key, sizeof(key));
            found->by_chip = g_new0(ContentionByChip, a->nr_chips);
            g_hash_table_add(known, found);
            g_ptr_array_add(all, found);
        }
        contention_sums_add(&found->sums, &r->sums);
        for (unsigned chip = 0; chip < a->nr_chips; chip++) {
            found->by_chip[chip].count += access_by_chip(r)[chip].count;
            found->by_chip[chip].stall += access_by_chip(r)[chip].stall;
        }
        of_access[i] = found;
    }
    return all;
}

static void rank_instructions(ContentionRanking *r,
                              const ContentionAttribution *a,
                              unsigned *instruction_of_access)
{
    g_autofree ContentionRankedInstruction **of_access =
        g_new(ContentionRankedInstruction *, a->accesses.n);
    g_autoptr(GPtrArray) all = sum_instructions(a, of_access);
    g_autoptr(GHashTable) rank = g_hash_table_new(NULL, NULL);

    if (all->len) {
        qsort(all->pdata, all->len, sizeof(*all->pdata), compare_instructions);
    }
    r->nr_instructions = all->len;
    r->instructions = g_new(ContentionRankedInstruction, all->len);
    for (unsigned i = 0; i < all->len; i++) {
        r->instructions[i] =
            *(ContentionRankedInstruction *)g_ptr_array_index(all, i);
        g_hash_table_insert(rank, g_ptr_array_index(all, i),
                            GUINT_TO_POINTER(i));
    }
    for (uint32_t i = 0; i < a->accesses.n; i++) {
        instruction_of_access[i] =
            GPOINTER_TO_UINT(g_hash_table_lookup(rank, of_access[i]));
    }
    for (unsigned i = 0; i < all->len; i++) {
        g_free(g_ptr_array_index(all, i));
    }
}

static void rank_accesses(ContentionRanking *r, const ContentionAttribution *a,
                          const unsigned *line_rank,
                          const unsigned *instruction)
{
    r->nr_accesses = a->accesses.n;
    r->accesses = g_new0(ContentionRankedAccess, r->nr_accesses);
    for (uint32_t i = 0; i < a->accesses.n; i++) {
        AccessRecord *record = access_record(a, i + 1);
        const AccessKey *key = &record->key;
        bool dma = key->kind & ACCESS_DMA;
        unsigned domains = 0;

        for (unsigned word = 0; word < a->set_words; word++) {
            domains += __builtin_popcountll(access_domains(a, record)[word]);
        }
        r->accesses[i] = (ContentionRankedAccess) {
            .line = line_rank[key->line - 1],
            .instruction = instruction[i],
            .origin = {
                .pc = dma ? 0 : key->pc, .ea = key->ea, .size = key->size,
                .user = key->user,
            },
            .offset = key->ea & (CONTENTION_LINE_BYTES - 1),
            .dma = dma,
            .chip = dma ? key->pc : 0,
            .store = key->kind & ACCESS_STORE,
            .conditional = key->kind & ACCESS_CONDITIONAL,
            .sums = &record->sums,
            .by_chip = access_by_chip(record),
            .domains = domains,
        };
    }
    qsort(r->accesses, r->nr_accesses, sizeof(*r->accesses), compare_accesses);
}

/* What lines and instructions know from their accesses */
static void link_accesses(ContentionRanking *r)
{
    g_autofree unsigned *last_line = g_new(unsigned, r->nr_instructions);

    for (unsigned i = 0; i < r->nr_instructions; i++) {
        last_line[i] = UINT_MAX;
    }
    for (unsigned i = 0; i < r->nr_accesses; i++) {
        const ContentionRankedAccess *access = &r->accesses[i];
        ContentionRankedLine *line = &r->lines[access->line];

        if (!line->nr_accesses++) {
            line->accesses = access;
        }
        if (!line->has_ea && !access->dma) {
            line->has_ea = true;
            line->ea = access->origin.ea - access->offset;
            line->user = access->origin.user;
        }
        if (last_line[access->instruction] != access->line) {
            last_line[access->instruction] = access->line;
            r->instructions[access->instruction].lines++;
        }
    }
}

ContentionRanking *contention_ranking_new(const ContentionModel *model,
                                          ContentionAddressFn *address,
                                          void *opaque)
{
    const ContentionAttribution *a = contention_attribution_tables(model);
    g_autofree unsigned *line_rank = NULL;
    g_autofree unsigned *instruction = NULL;
    ContentionRanking *r;

    if (!a) {
        return NULL;
    }
    r = g_new0(ContentionRanking, 1);
    line_rank = g_new(unsigned, a->lines.n);
    instruction = g_new(unsigned, a->accesses.n);
    rank_lines(r, a, address, opaque, line_rank);
    rank_instructions(r, a, instruction);
    rank_accesses(r, a, line_rank, instruction);
    link_accesses(r);
    r->total = &a->total;
    r->dropped_lines = a->dropped_lines;
    r->dropped_line = &a->dropped_line;
    r->dropped_accesses = a->dropped_accesses;
    r->dropped_access = &a->dropped_access;
    return r;
}

void contention_ranking_free(ContentionRanking *r)
{
    if (!r) {
        return;
    }
    for (unsigned i = 0; i < r->nr_instructions; i++) {
        g_free(r->instructions[i].by_chip);
    }
    g_free(r->instructions);
    g_free(r->lines);
    g_free(r->accesses);
    g_free(r);
}
