/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Contention model: what it costs to share memory between hardware threads
 *
 * A machine with many chips does not run at the rate of its instructions
 * but at the rate at which they hand cache lines to each other.  This model
 * says how long each access to memory waits for its line, and how long an
 * interrupt takes through the interrupt fabric.  It models coherence, not
 * capacity: caches are infinite, instruction fetch is free.
 *
 * = Machine
 *
 *      chip 0                                chip 1
 *     +-----------------------------+       +-----------------------------+
 *     | +----------+   +----------+ |       | +----------+   +----------+ |
 *     | | domain 0 |   | domain 1 | |       | | domain 2 |   | domain 3 | |
 *     | | C  C     |   | C  C     | |       | | C  C     |   | C  C     | |
 *     | | tttt tttt|   | tttt tttt| |       | | tttt tttt|   | tttt tttt| |
 *     | +----+-----+   +-----+----+ |       | +----+-----+   +-----+----+ |
 *     |      +--same-chip-ns-+      |       |      |               |      |
 *     |  +---+--------------------+ |  hop  | +----+---------------+----+ |
 *     |  | interrupt controller   |<--------->| interrupt controller    | |
 *     |  +------------------------+ |       | +-------------------------+ |
 *     +-----------------------------+       +-----------------------------+
 *
 * - thread  a hardware thread, one vCPU of QEMU; here simply "cpu", numbered
 *           as the caller numbers them
 * - core    what executes threads
 * - domain  the threads that share an L2 cache: the `cores-per-domain` cores
 *           of a chip whose core numbers agree when divided by that number.
 *           The unit of coherence: inside it a line moves for nothing
 *           (`same-domain-ns`)
 * - chip    domains and an interrupt controller
 * - hop     one link between chips; the topology says how many lie between
 *           two chips
 * - line    128 bytes of host memory, named by the host address >> 7
 *
 * Each chip's interrupt controller is a holder of lines too (a domain
 * without threads, numbered after the others): it writes event queues.
 *
 * = Lines
 *
 * The directory keeps for each line
 *
 *   owner       the domain that asked for it exclusively last
 *   arrival     when the line is there; until then it is in flight
 *   dirty       written since the owner acquired it, and not shared since
 *   sharers     the domains that hold a copy besides
 *   busy until  the end of the last exclusive transfer
 *   holds       domains which still have, or wait for, a line that is
 *               promised to another: {domain, from, until}
 *
 * The first touch of a line is free and makes the toucher its owner.  Then a
 * load by a domain that holds a copy is free, and so is a store by an owner
 * without sharers.  All else is a transfer:
 *
 *   store   exclusive.  Exclusive transfers of one line are serialised: each
 *           starts when the one before has arrived.  This queue is where
 *           scaling ends.
 *
 *             start    = max(now, busy until)
 *             arrival  = start + cost(distance from the owner before)
 *             stall    = arrival - now
 *
 *           The owner before keeps the line until it leaves, at start plus
 *           `departure-pct` of the cost: until then its threads may load it
 *           (`holder-rule`), but a store needs the line and queues again.
 *           Threads of the domain that waits join its request and wait for
 *           the same arrival (`merge-rule`).
 *
 *   upgrade a store by a domain that holds a shared copy: the same with the
 *           distance of the nearest or the furthest other holder
 *           (`upgrade-rule`).  The copy may be loaded meanwhile.
 *
 *   load    gets a copy from the nearest holder.  The owner stays, but must
 *           upgrade to store again.  While exclusive transfers are pending
 *           it starts at once (`load-queue`), is served by the domain that
 *           has the line in that moment, or will have it next if it is on
 *           its way, and the copy serves only the threads that wait for it:
 *           when it has arrived it is gone.
 *
 * Domains 1 and 2 store to a line of domain 0, at 0 and at 20 ns; each
 * transfer takes 60 ns and the line leaves half way:
 *
 *               0         30        60        90        120
 *     domain 0  |  loads  |  misses
 *     domain 1  |  waits            |  loads  |  misses
 *     domain 2  |     | waits                           |  loads, stores
 *
 * cost = time by distance * (1 + waiters * `waiter-slope-pct` / 100), where
 * waiters is the number of exclusive requests of the line that have not
 * arrived when the request is made.
 *
 * Distances are numbered: 0 same domain, 1 same chip, 1 + n chips n hops
 * apart; the cost of the last is `cross-chip-ns` + (n - 1) * `hop-ns`.
 *
 * = Interrupt fabric
 *
 *   store to ESB --trigger,hops--> source chip --route,queue write,hops-->
 *       target chip --notify,match--> thread
 *
 * Each chip's controller serves one event at a time, for `service-ns`; an
 * event to another chip is served by both.
 *
 * = Clocks
 *
 * All times are simulated, int64_t, in picoseconds.  The model has no clock:
 * the caller gives `now`, the local time of the thread that accesses, and
 * charges it what is returned; the access completes at now + stall.  Calls
 * come in the order of `now` but for a small lookahead: a `now` that goes
 * back a little is harmless, its results are just not exact.  The model is
 * not thread safe: one thread calls it.
 */

#ifndef HW_INTC_CONTENTION_H
#define HW_INTC_CONTENTION_H

#include "hw/intc/contention/params.h"
#include "hw/intc/contention/filter.h"

#define CONTENTION_LINE_SHIFT   7
#define CONTENTION_LINE_BYTES   (1 << CONTENTION_LINE_SHIFT)

#define CONTENTION_MAX_CPUS     16384
#define CONTENTION_MAX_CHIPS    64
#define CONTENTION_MAX_HOPS     6

enum {
    CONTENTION_SAME_DOMAIN,
    CONTENTION_SAME_CHIP,
    CONTENTION_CROSS_CHIP,      /* + hops - 1 */
    CONTENTION_DISTANCES = CONTENTION_CROSS_CHIP + CONTENTION_MAX_HOPS,
};

typedef struct ContentionModel ContentionModel;

/* Where a thread is.  Chips are numbered from 0 without gaps. */
typedef struct ContentionPlace {
    unsigned chip;
    unsigned core;
    unsigned thread;
} ContentionPlace;

typedef struct ContentionTopology {
    unsigned nr_cpus;
    const ContentionPlace *places;  /* one a cpu */
    unsigned nr_chips;
    /*
     * nr_chips * nr_chips links between chips: symmetric, 0 from a chip to
     * itself, else 1 to CONTENTION_MAX_HOPS.  NULL: one between any two.
     */
    const uint8_t *hops;
} ContentionTopology;

/*
 * Both arguments are copied.  NULL with a message naming the parameter or
 * the cpu at fault.
 */
ContentionModel *contention_new(const ContentionParams *params,
                                const ContentionTopology *topology,
                                GError **errp);
void contention_free(ContentionModel *model);
/* Forgets lines, queues and counters; parameters and topology stay. */
void contention_reset(ContentionModel *model);

const ContentionParams *contention_params(const ContentionModel *model);
unsigned contention_nr_cpus(const ContentionModel *model);
unsigned contention_nr_chips(const ContentionModel *model);
unsigned contention_nr_domains(const ContentionModel *model);
unsigned contention_cpu_domain(const ContentionModel *model, unsigned cpu);
unsigned contention_cpu_chip(const ContentionModel *model, unsigned cpu);
unsigned contention_domain_chip(const ContentionModel *model, unsigned domain);
unsigned contention_hops(const ContentionModel *model, unsigned from_chip,
                         unsigned to_chip);
/* "same-domain", "same-chip", "cross-chip", "cross-chip-2-hops", ... */
const char *contention_distance_name(unsigned distance);

/* Accesses */

typedef enum ContentionKind {
    CONTENTION_HIT,             /* free: the domain holds what it needs */
    CONTENTION_FIRST_TOUCH,     /* free: nobody had the line */
    CONTENTION_MERGE,           /* waits for a fetch of its own domain */
    CONTENTION_SHARED_LOAD,     /* gets a copy */
    CONTENTION_TRANSIENT_LOAD,  /* gets a copy while others take the line */
    CONTENTION_EXCLUSIVE_LOAD,  /* takes a line written elsewhere */
    CONTENTION_STORE,           /* takes the line */
    CONTENTION_UPGRADE,         /* has a copy, takes the others' */
    CONTENTION_DMA_READ,        /* by an interrupt controller */
    CONTENTION_DMA_WRITE,
    CONTENTION_KINDS,
} ContentionKind;

typedef struct ContentionResult {
    ContentionKind kind;
    unsigned distance;          /* of the transfer */
    unsigned waiters;           /* exclusive requests found waiting */
    int from;                   /* domain before, or that supplies; or -1 */
    ContentionTime waited;      /* part of the stall before the transfer */
    ContentionTime transfer;    /* part of the stall that is the transfer */
} ContentionResult;

/* The filter of the domain of @cpu; valid until contention_free(). */
const ContentionFilter *contention_filter(const ContentionModel *model,
                                          unsigned cpu);

/*
 * No access comes before @now any more.  A line that has arrived by then may
 * enter filters; without this call the latest contention_access() says it.
 */
void contention_advance(ContentionModel *model, ContentionTime now);

/*
 * Slow look-up after the filter missed: is the access free at @now?  If so
 * it is done (the caller needs no contention_access()) and the line enters
 * the filter, unless another domain has asked for it or a thread of this one
 * may still have to wait for it.  If not nothing has changed.  A first touch
 * is not free here, since it changes the owner.  @now may be ahead of that of
 * the next contention_access(); a store is not free before another domain has
 * loaded the copy that it waits for and that is to arrive earlier.
 */
bool contention_probe(ContentionModel *model, unsigned cpu, uint64_t line,
                      bool store, ContentionTime now);

/*
 * Does the access and returns its stall, >= 0: it completes at @now + stall.
 * @result may be NULL.
 *
 * With an arbiter attached and `arbitration` other than by arrival, an
 * exclusive request of a busy line cannot know its stall, because those who
 * ask later may be served before it.  It returns CONTENTION_BLOCKED, and
 * ContentionArbiterOps.granted() says when it completes: the access is done
 * then and must not be repeated.
 */
#define CONTENTION_BLOCKED ((ContentionTime)-1)

ContentionTime contention_access(ContentionModel *model, unsigned cpu,
                                 uint64_t line, bool store,
                                 ContentionTime now,
                                 ContentionResult *result);

/* Where in the guest an access comes from; attribution asks, no rule does. */
typedef struct ContentionOrigin {
    uint64_t pc;                /* address of the instruction */
    uint64_t ea;                /* effective address of the first byte */
    uint16_t size;              /* bytes, all in one line; 0: unknown */
    bool user;                  /* both addresses are of user space */
} ContentionOrigin;

/* An access with all that is known of it */
typedef struct ContentionRequest {
    ContentionTime now;         /* when it is made */
    uint64_t line;
    ContentionOrigin origin;
    uint32_t who;               /* cpu, or chip of the controller if @dma */
    bool dma;
    bool store;
    bool conditional;           /* a store conditional: see below */
} ContentionRequest;

/*
 * Does the access and returns what contention_access(),
 * contention_store_conditional() or contention_dma() would, which are short
 * forms of it without an origin.
 */
ContentionTime contention_request(ContentionModel *model,
                                  const ContentionRequest *request,
                                  ContentionResult *result);

/*
 * A store conditional (stcx.): a store, but one that is given up when it is
 * blocked and another gets the line first, because its reservation is lost.
 */
ContentionTime contention_store_conditional(ContentionModel *model,
                                            unsigned cpu, uint64_t line,
                                            ContentionTime now,
                                            ContentionResult *result);

/*
 * The interrupt controller of @chip reads or writes a line.  A write takes
 * it from all who hold it: they miss afterwards.  A read leaves everything
 * as it is.  Returns the time it takes the controller; no thread stalls.
 */
ContentionTime contention_dma(ContentionModel *model, unsigned chip,
                              uint64_t line, bool write, ContentionTime now,
                              ContentionResult *result);

/* Arbitration */

typedef struct ContentionArbiterOps {
    /* @line is free at @when: call contention_grant() at that time. */
    void (*free_at)(uint64_t line, ContentionTime when, void *opaque);
    /* The access of @cpu to @line that was blocked completes at @when. */
    void (*granted)(unsigned cpu, uint64_t line, ContentionTime when,
                    void *opaque);
    /*
     * Another gets the line, at @when, for which the store conditional of
     * @cpu was blocked: it is given up.
     */
    void (*lost)(unsigned cpu, uint64_t line, ContentionTime when,
                 void *opaque);
} ContentionArbiterOps;

/*
 * Lets the requests of a line wait for each other.  @ops is kept; without an
 * arbiter requests are served by arrival, whatever `arbitration` says.
 */
void contention_set_arbiter(ContentionModel *model,
                            const ContentionArbiterOps *ops, void *opaque);

/* Gives @line, free at @now, to one of those who wait for it, if any does. */
void contention_grant(ContentionModel *model, uint64_t line,
                      ContentionTime now);

/* Threads that wait for a line to change */

/*
 * The copy of @line that some domain had is gone, or one of its own threads
 * stores to it.  Told too often rather than too rarely.
 */
typedef void ContentionChangedFn(uint64_t line, void *opaque);

void contention_set_observer(ContentionModel *model, ContentionChangedFn *fn,
                             void *opaque);

/*
 * Stores to @line by @cpu's own domain, which the filter would let pass, are
 * told to the observer, until the first of them.
 */
void contention_watch(ContentionModel *model, unsigned cpu, uint64_t line);

/* Interrupt fabric */

/* The stages of an event, each the moment at which it is completed. */
typedef struct ContentionDelivery {
    ContentionTime triggered;   /* the event is at the source controller */
    ContentionTime served;      /* the source controller has served it */
    ContentionTime queued;      /* the event queue is written */
    ContentionTime presented;   /* the target controller has served it */
    ContentionTime delivered;   /* the thread sees the interrupt */
} ContentionDelivery;

/*
 * A thread of @from_chip triggers a source of @source_chip at @now, for a
 * thread of @target_chip.  Returns the moment (not the duration) of delivery
 * and occupies the controllers.  @delivery may be NULL.
 */
ContentionTime contention_fabric_trigger(ContentionModel *model,
                                         unsigned from_chip,
                                         unsigned source_chip,
                                         unsigned target_chip,
                                         ContentionTime now,
                                         ContentionDelivery *delivery);

typedef enum ContentionMmio {
    CONTENTION_TIMA_LOAD,
    CONTENTION_TIMA_STORE,
    CONTENTION_ESB_LOAD,
    CONTENTION_ESB_STORE,
    CONTENTION_MMIO_KINDS,
} ContentionMmio;

/*
 * The stall of @cpu at an access to the controller of @chip.  A load waits
 * for the way there and back, a store is posted.
 */
ContentionTime contention_fabric_mmio(ContentionModel *model, unsigned cpu,
                                      unsigned chip, ContentionMmio kind);

/* Tracing */

typedef struct ContentionTracerOps {
    /* An access that was not free: it completes after the result's times. */
    void (*access)(const ContentionRequest *request,
                   const ContentionResult *result, void *opaque);
    /* It is blocked; there were @waiters exclusive requests before it. */
    void (*blocked)(const ContentionRequest *request, unsigned waiters,
                    void *opaque);
    /* A blocked store conditional is given up after @waited. */
    void (*given_up)(const ContentionRequest *request, ContentionTime waited,
                     void *opaque);
    void (*event)(unsigned from_chip, unsigned source_chip,
                  unsigned target_chip, ContentionTime now,
                  const ContentionDelivery *delivery, void *opaque);
    void (*mmio)(unsigned cpu, unsigned chip, ContentionMmio kind,
                 ContentionTime stall, void *opaque);
} ContentionTracerOps;

/* Tells @ops, which is kept, what happens; NULL: nobody.  It must not act. */
void contention_set_tracer(ContentionModel *model,
                           const ContentionTracerOps *ops, void *opaque);

/* Statistics */

typedef struct ContentionStats {
    /* accesses that missed the filter, and their stalls */
    uint64_t count[CONTENTION_KINDS];
    ContentionTime stall[CONTENTION_KINDS];
    /* transfers to threads (not DMA) by distance, and their stalls */
    uint64_t transfers[CONTENTION_DISTANCES];
    ContentionTime transfer_stall[CONTENTION_DISTANCES];
    uint64_t waits;             /* transfers that had to queue */
    ContentionTime waited;      /* ... and for how long altogether */
    unsigned longest_queue;     /* most exclusive requests of a line at once */
    /* stores conditional given up while blocked, and how long they were */
    uint64_t given_up;
    ContentionTime given_up_time;
    /* fabric */
    uint64_t triggers;
    uint64_t cross_chip_triggers;
    ContentionTime delivery;    /* sum of the times from trigger to delivery */
    uint64_t service_waits;     /* events that found a controller busy */
    ContentionTime service_waited;
    ContentionTime longest_service_wait;
    uint64_t mmio[CONTENTION_MMIO_KINDS];
    ContentionTime mmio_stall[CONTENTION_MMIO_KINDS];
} ContentionStats;

const ContentionStats *contention_stats(const ContentionModel *model);

/*
 * Appends the counters as the members of a JSON object, without the braces:
 * the caller adds members of its own.
 */
void contention_stats_json(const ContentionModel *model, GString *out);

/* "load", "merge", ...: as in the JSON form */
const char *contention_kind_name(ContentionKind kind);
const char *contention_mmio_name(ContentionMmio kind);

/*
 * Forgets all counters and attributions; lines stay as they are, so that
 * what follows costs what it would have cost.
 */
void contention_reset_counters(ContentionModel *model);

typedef struct ContentionLineStats {
    uint64_t line;
    unsigned owner;             /* domain, or nr_domains + chip */
    uint64_t transfers;         /* to threads and controllers */
    ContentionTime stall;       /* of all accesses to it */
    ContentionTime waited;      /* the part spent in the line's queue */
    unsigned longest_queue;     /* exclusive requests at once */
} ContentionLineStats;

/* Calls @fn for each line that was transferred, in no useful order. */
void contention_foreach_line(const ContentionModel *model,
                             void (*fn)(const ContentionLineStats *stats,
                                        void *opaque),
                             void *opaque);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ContentionModel, contention_free)

#endif /* HW_INTC_CONTENTION_H */
