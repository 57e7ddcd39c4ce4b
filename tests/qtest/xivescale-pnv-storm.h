/*
 * QTest testcases of the contention model on PowerNV
 *  - a storm of IPIs between simulated hardware threads
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each thread sends an IPI to the next thread of its chip (the last to the
 * first), waits until that has handled it, and sends again; so each is
 * interrupted by the thread before it, too. All threads do the same:
 *
 *   sender                     target
 *
 *   think        STORM_THINK
 *   trigger      ---- STORM_DELIVERY --->  enter  STORM_ENTRY
 *   wait                                   load the event queue entry
 *     :                                    acknowledge  STORM_TIMA_LOAD
 *     :                                    EOI          STORM_ESB_LOAD
 *     :                                    load a counter
 *     :                                    store the counter
 *     :          <-- store the sender's flag
 *   load the flag                          set CPPR
 *
 * The counter's line is shared by all threads or by those of a chip. Each
 * thread has a clock; the one with the smallest clock acts. An interrupt is
 * taken between two steps of the sender's part, not inside the handler.
 */

#ifndef TEST_XIVESCALE_PNV_STORM_H
#define TEST_XIVESCALE_PNV_STORM_H

#include "xivescale-pnv-common.h"

/* ns */
#define STORM_SAME_CHIP         100
#define STORM_CROSS_CHIP        300
#define STORM_TIMA_LOAD         30
#define STORM_ESB_LOAD          20
#define STORM_THINK             50
#define STORM_ENTRY             100
#define STORM_STAGGER           100
/* 20 to the controller, 10 to route, 10 to write, 50 to notify, 10 to match */
#define STORM_DELIVERY          100

#define STORM_PARAMS            \
    "same-chip-ns=100,cross-chip-ns=300,departure-pct=50," \
    "arbitration=arrival,service-ns=0,trigger-ns=20,route-ns=10," \
    "queue-write-ns=10,notify-ns=50,match-ns=10," \
    "tima-load-ns=30,esb-load-ns=20"

/**
 * struct StormConfig - what to run
 * @threads: threads that take part on each chip: the first threads of all
 *           cores, then the second, ...
 * @line_per_chip: a counter a chip, not one for all
 * @loops: IPIs which each thread sends
 */
typedef struct StormConfig {
    unsigned threads[XS_CHIPS];
    bool line_per_chip;
    unsigned loops;
} StormConfig;

/**
 * struct StormCount - one increment of a counter
 * @chip, @cpu: of the thread
 * @at: when its store was made, ns
 * @done: when its store was completed
 */
typedef struct StormCount {
    unsigned chip;
    unsigned cpu;
    int64_t at;
    int64_t done;
} StormCount;

/**
 * storm_run: run it on @m, which was started with STORM_PARAMS.
 *
 * Returns all increments, in the order in which they were made, and checks
 * on the way that each event arrives when it must, and that each load of an
 * event queue finds that the controller has taken the line.
 */
GArray *storm_run(XsMachine *m, const StormConfig *config);

#endif /* TEST_XIVESCALE_PNV_STORM_H */
