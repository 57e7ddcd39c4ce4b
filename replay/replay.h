/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay of a recorded storm through the core of the contention model
 *
 * A pattern says what a thread does from one call to the next ("send") and
 * when an interrupt comes ("handle"): how many instructions pass between the
 * accesses to lines that others touch too, and whose line each is.  With it
 * a storm on any number of threads and chips can be simulated without a
 * guest.  See docs/replay.md.
 */

#ifndef REPLAY_H
#define REPLAY_H

#include "hw/intc/contention/contention.h"

#define REPLAY_VERSION 1

/* Whose line it is */
typedef enum ReplayScope {
    REPLAY_CPU,         /* a thread's own, written by interrupt controllers */
    REPLAY_LINK,        /* of a thread and those next to it in the ring */
    REPLAY_CHIP,        /* of the threads of a chip */
    REPLAY_GLOBAL,      /* of all */
    REPLAY_SCOPES,
} ReplayScope;

typedef enum ReplayOpKind {
    REPLAY_LOAD,        /* to REPLAY_CONDITIONAL: nothing but an access */
    REPLAY_STORE,
    REPLAY_CONDITIONAL, /* as a load, then a store that may be given up */
    REPLAY_MMIO,        /* @line is a ContentionMmio, @at where it goes */
    REPLAY_TRIGGER,     /* interrupt for the target; @at: source's chip */
    REPLAY_WAIT,        /* polls a line until the call is done */
    REPLAY_RELEASE,     /* the store by which the handler says it is */
    REPLAY_PAUSE,       /* a hint outside of a loop that polls */
    REPLAY_END,
} ReplayOpKind;

/* The chip that an MMIO access or a trigger goes to */
typedef enum ReplayAt {
    REPLAY_AT_OWN,
    REPLAY_AT_TARGET,
    REPLAY_AT_FIRST,    /* chip 0 whoever asks */
} ReplayAt;

/*
 * @instructions: that pass before it
 * @step: place in the ring of the thread whose line it is, from the thread
 *        that executes: -1 who sends to it, 0 itself, 1 its target
 * @period: of REPLAY_WAIT, instructions of an iteration
 */
typedef struct ReplayOp {
    ReplayOpKind kind;
    unsigned instructions;
    unsigned line;
    int step;
    ReplayAt at;
    unsigned period;
} ReplayOp;

/* One way in which a part was seen to go, and how often */
typedef struct ReplayVariant {
    unsigned weight;
    GArray *ops;        /* ReplayOp; the last is REPLAY_END */
} ReplayVariant;

typedef struct ReplayPattern {
    char *name;
    GArray *scopes;     /* ReplayScope of each line */
    GPtrArray *send;    /* ReplayVariant */
    GPtrArray *handle;
    int queue_line;     /* written by the controller at delivery, or -1 */
} ReplayPattern;

/*
 * From the text of a pattern file.  NULL with a message that names the line
 * at fault.
 */
ReplayPattern *replay_pattern_parse(const char *text, GError **errp);
ReplayPattern *replay_pattern_load(const char *path, GError **errp);
void replay_pattern_free(ReplayPattern *pattern);

/* A machine of @nr_chips chips with their own numbers of cores */
typedef struct ReplayMachine {
    unsigned nr_chips;
    unsigned cores[CONTENTION_MAX_CHIPS];
    unsigned threads;           /* of a core */
    uint8_t *hops;              /* as in ContentionTopology, or NULL */
    unsigned nr_hops;           /* numbers in it */
} ReplayMachine;

/*
 * @cpus: of the storm, the first of the machine
 * @offset: from a sender to its target
 * @interrupts: handled after which the window ends before @duration, and a
 *              quarter of which end @warmup as well; 0: times alone count
 * Times in ps.
 */
typedef struct ReplayRun {
    unsigned cpus;
    unsigned offset;
    unsigned interrupts;
    ContentionTime instruction;
    ContentionTime pause;
    ContentionTime warmup;
    ContentionTime duration;
} ReplayRun;

typedef struct ReplayResult {
    uint64_t handled;           /* in the window */
    double rate;                /* million a second */
    uint64_t events;            /* work done, for speed */
} ReplayResult;

/*
 * False with a message naming what is at fault: a machine that is none, more
 * CPUs than it has, an offset that is not below them, a storm that stops.
 */
bool replay_run(const ReplayPattern *pattern, const ContentionParams *params,
                const ReplayMachine *machine, const ReplayRun *run,
                ReplayResult *result, GError **errp);

#endif /* REPLAY_H */
