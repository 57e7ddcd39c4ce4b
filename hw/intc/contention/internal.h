/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the files of the contention core share with each other.
 */

#ifndef HW_INTC_CONTENTION_INTERNAL_H
#define HW_INTC_CONTENTION_INTERNAL_H

#include "hw/intc/contention/attribution.h"
#include "hw/intc/contention/contention.h"

#define CONTENTION_NEVER INT64_MAX

/* topology.c: who shares what, and how far all are from each other */

typedef struct ContentionMap {
    unsigned nr_cpus;
    unsigned nr_chips;
    unsigned nr_domains;    /* of threads; controllers are numbered after */
    unsigned words;         /* of a set of domains */
    unsigned max_hops;
    uint16_t *cpu_domain;
    uint8_t *domain_chip;   /* nr_domains + nr_chips */
    uint8_t *hops;          /* nr_chips * nr_chips */
    uint64_t *at_hops;      /* [chip][hops][words]: the domains there */
} ContentionMap;

bool contention_map_init(ContentionMap *map, const ContentionTopology *topology,
                         unsigned cores_per_domain, GError **errp);
void contention_map_destroy(ContentionMap *map);

static inline unsigned contention_map_hops(const ContentionMap *map,
                                           unsigned a, unsigned b)
{
    return map->hops[a * map->nr_chips + b];
}

/* Distance between domains, controllers included */
static inline unsigned contention_map_distance(const ContentionMap *map,
                                               unsigned a, unsigned b)
{
    if (a == b) {
        return CONTENTION_SAME_DOMAIN;
    }
    return CONTENTION_SAME_CHIP +
           contention_map_hops(map, map->domain_chip[a], map->domain_chip[b]);
}

/* The domains of threads which are @hops away from @chip, as a set */
static inline const uint64_t *contention_map_at_hops(const ContentionMap *map,
                                                     unsigned chip,
                                                     unsigned hops)
{
    return map->at_hops + (chip * (map->max_hops + 1) + hops) * map->words;
}

/* directory.c: what is known of each line */

/*
 * A domain waits for the line until @from and may load it until @until,
 * which may be earlier: then only those who wait get the line.
 */
typedef struct ContentionHold {
    ContentionTime from;
    ContentionTime until;
    uint16_t domain;
    bool writable;          /* owners: had no sharers when taken over */
    bool sharer;            /* copies: in flight, the domain is a sharer */
} ContentionHold;

typedef struct ContentionHolds {
    ContentionHold *hold;   /* [first] to [end - 1] */
    uint32_t first;
    uint32_t end;
    uint32_t max;
} ContentionHolds;

/*
 * The part of a line that only lines have which were ever transferred: most
 * lines belong to one domain for ever.
 */
typedef struct ContentionTraffic {
    ContentionTime busy_until;      /* end of the last serialised transfer */
    ContentionTime departing_until; /* the set "departing" may load till then */
    ContentionTime stall;
    ContentionTime waited;
    uint64_t transfers;
    /*
     * The owners from whom the line was taken over, and who still have it
     * or wait for it.  In the order of @from: transfers are serialised; and
     * so in the order in which they are over, because each loses the line
     * before the next has it.
     */
    ContentionHolds owners;
    /* Copies that are in flight, or departing one by one; in no order */
    ContentionHolds copies;
    /* ContentionRequest: those blocked until the line is granted; or NULL */
    GArray *blocked;
    uint32_t record;                /* of attribution.c, or 0 */
    uint16_t longest_queue;
    uint16_t nr_sharers;
    uint64_t bits[];                /* sharers, then departing */
} ContentionTraffic;

typedef struct ContentionLine {
    uint64_t key;
    ContentionTime arrival;         /* of the owner */
    ContentionTraffic *traffic;     /* or NULL */
    uint16_t owner;
    bool dirty;
} ContentionLine;

typedef struct ContentionSlot {
    uint32_t tag;                   /* low bits of the key */
    uint32_t number;                /* of the line, from 1; 0: empty */
} ContentionSlot;

typedef struct ContentionDirectory {
    ContentionSlot *slots;
    unsigned slot_bits;
    uint32_t nr_lines;
    GPtrArray *chunks;              /* of lines, which never move */
} ContentionDirectory;

void contention_directory_init(ContentionDirectory *dir);
void contention_directory_reset(ContentionDirectory *dir);
void contention_directory_destroy(ContentionDirectory *dir);
ContentionLine *contention_directory_find(const ContentionDirectory *dir,
                                          uint64_t key);
/* @key must not be there yet */
ContentionLine *contention_directory_add(ContentionDirectory *dir,
                                         uint64_t key);
ContentionLine *contention_directory_nth(const ContentionDirectory *dir,
                                         uint32_t n);

ContentionTraffic *contention_line_traffic(ContentionLine *line,
                                           unsigned words);
/* Makes room for one more; the caller fills it. */
ContentionHold *contention_holds_add(ContentionHolds *holds);
/* Forgets the holds that are over at @now. */
void contention_traffic_prune(ContentionTraffic *traffic, ContentionTime now);

static inline uint64_t *contention_sharers(ContentionTraffic *t)
{
    return t->bits;
}

static inline uint64_t *contention_departing(ContentionTraffic *t,
                                             unsigned words)
{
    return t->bits + words;
}

static inline bool contention_set_has(const uint64_t *set, unsigned n)
{
    return set[n / 64] >> (n % 64) & 1;
}

static inline void contention_set_add(uint64_t *set, unsigned n)
{
    set[n / 64] |= UINT64_C(1) << (n % 64);
}

static inline void contention_set_remove(uint64_t *set, unsigned n)
{
    set[n / 64] &= ~(UINT64_C(1) << (n % 64));
}

/* transfer.c */

/* @domain takes @line exclusively, at once; @r says what it costs. */
void contention_take(ContentionModel *model, ContentionLine *line,
                     unsigned domain, bool store, ContentionTime now,
                     ContentionResult *r);

/* arbiter.c */

/* Must an exclusive request of @line made at @now wait for a grant? */
bool contention_must_block(const ContentionModel *model,
                           const ContentionLine *line, ContentionTime now);
void contention_block(ContentionModel *model, ContentionLine *line,
                      const ContentionRequest *request);
/* The next random number of the model, of any 32 bits. */
uint32_t contention_random(ContentionModel *model);

/* filter.c */

void contention_filters_init(ContentionModel *model);
void contention_filters_reset(ContentionModel *model);
void contention_filters_destroy(ContentionModel *model);

/* The three accept controllers, which have no filter. */
void contention_filter_enter(ContentionModel *model, unsigned domain,
                             uint64_t line, bool writable);
void contention_filter_drop(ContentionModel *model, unsigned domain,
                            uint64_t line);
void contention_filter_downgrade(ContentionModel *model, unsigned domain,
                                 uint64_t line);

/* fabric.c */

typedef struct ContentionSpan {
    ContentionTime start;
    ContentionTime end;
} ContentionSpan;

typedef struct ContentionService {
    ContentionSpan *spans;          /* busy times, in order, not touching */
    unsigned nr_spans;
    unsigned max_spans;
    uint64_t events;
    uint64_t waits;                 /* events that found it busy */
    ContentionTime waited;
    uint64_t mmio[CONTENTION_MMIO_KINDS];
    ContentionTime mmio_stall[CONTENTION_MMIO_KINDS];
} ContentionService;

void contention_services_init(ContentionModel *model);
void contention_services_reset(ContentionModel *model);
void contention_services_reset_counters(ContentionModel *model);
void contention_services_destroy(ContentionModel *model);

/* stats.c */

/* An access to @line, or to a line that is new if NULL, has had @result. */
void contention_count(ContentionModel *model, ContentionLine *line,
                      const ContentionRequest *request,
                      const ContentionResult *result);
/* The blocked store conditional @request is given up after @waited. */
void contention_count_given_up(ContentionModel *model, ContentionLine *line,
                               const ContentionRequest *request,
                               ContentionTime waited);
/* Is the access of @result a transfer? */
bool contention_is_transfer(const ContentionResult *result);

/* attribution.c */

typedef struct ContentionAttribution ContentionAttribution;

void contention_attribution_reset(ContentionModel *model);
void contention_attribution_destroy(ContentionModel *model);
void contention_attribute(ContentionModel *model, ContentionLine *line,
                          const ContentionRequest *request,
                          const ContentionResult *result);
void contention_attribute_given_up(ContentionModel *model,
                                   ContentionLine *line,
                                   const ContentionRequest *request,
                                   ContentionTime waited);
void contention_attribute_event(ContentionModel *model, unsigned from_chip,
                                unsigned target_chip, ContentionTime time);
void contention_sums_add(ContentionSums *sums, const ContentionSums *more);

struct ContentionModel {
    ContentionParams params;
    ContentionMap map;
    ContentionTime cost[CONTENTION_DISTANCES];
    ContentionFilter *filters;      /* one a domain of threads */
    ContentionDirectory directory;
    ContentionService *services;    /* one a chip */
    ContentionTime latest;          /* "now" of the latest access */
    const ContentionArbiterOps *arbiter;
    void *arbiter_opaque;
    ContentionChangedFn *changed;   /* the observer, or NULL */
    void *changed_opaque;
    uint64_t random;                /* state of the random numbers */
    ContentionAttribution *attribution;     /* or NULL */
    const ContentionTracerOps *tracer;  /* or NULL */
    void *tracer_opaque;
    ContentionStats stats;
};

static inline void contention_changed(const ContentionModel *model,
                                      uint64_t line)
{
    if (model->changed) {
        model->changed(line, model->changed_opaque);
    }
}

#endif /* HW_INTC_CONTENTION_INTERNAL_H */
