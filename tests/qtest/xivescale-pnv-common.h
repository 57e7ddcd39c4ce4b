/*
 * QTest testcases of the contention model on PowerNV
 *  - a machine whose interrupt controllers are set up by hand
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * No guest runs in a qtest: the test does what firmware and kernel would,
 * on behalf of hardware threads. All that a test of the model needs is the
 * same for XIVE (powernv9) and XIVE2 (powernv10): threads ("cpu", counted
 * through the whole machine) each with an event queue, and sources (IPIs) of
 * a chip which are routed to a thread.
 */

#ifndef TEST_XIVESCALE_PNV_COMMON_H
#define TEST_XIVESCALE_PNV_COMMON_H

#include "libqtest.h"

#define XS_CHIPS                2
#define XS_PRIORITY             6
#define XS_LINE_BYTES           128

/* PQ bits of an event state buffer */
#define XS_ESB_RESET            0
#define XS_ESB_OFF              1
#define XS_ESB_PENDING          2
#define XS_ESB_QUEUED           3

/* What the thread's notification register says of an interrupt */
#define XS_NSR_PHYS             0x80

/**
 * struct XsMachine - a running QEMU
 * @qts: connection to it
 * @xive2: it has XIVE2
 * @cores: cores of a chip
 * @threads: threads of a core
 * @now: the virtual clock, ns
 * @indirect: thread whose TIMA each XIVE has in its window, plus 1
 */
typedef struct XsMachine {
    QTestState *qts;
    bool xive2;
    unsigned cores;
    unsigned threads;
    int64_t now;
    unsigned indirect[XS_CHIPS];
} XsMachine;

/**
 * xs_start: start @machine ("powernv9" or "powernv10") with two chips and
 * "-device contention,@params", and set up its controllers and threads.
 */
XsMachine *xs_start(const char *machine, unsigned cores, unsigned threads,
                    const char *params);
void xs_stop(XsMachine *m);

/** xs_cpu: the number of a hardware thread. */
unsigned xs_cpu(const XsMachine *m, unsigned chip, unsigned core,
                unsigned thread);

/** xs_clock: move the virtual clock on to @ns. */
void xs_clock(XsMachine *m, int64_t ns);

/*
 * Sources
 */

/** xs_route: let source @irq of @chip notify @cpu with @data. */
void xs_route(XsMachine *m, unsigned chip, unsigned irq, unsigned cpu,
              uint32_t data);
void xs_trigger(XsMachine *m, unsigned chip, unsigned irq);
void xs_eoi(XsMachine *m, unsigned chip, unsigned irq);
uint8_t xs_esb(XsMachine *m, unsigned chip, unsigned irq);

/*
 * Threads
 */

/** xs_queue_addr: guest address of entry @n of the event queue of @cpu. */
uint64_t xs_queue_addr(const XsMachine *m, unsigned cpu, unsigned n);
uint32_t xs_queue_entry(XsMachine *m, unsigned cpu, unsigned n);
/** xs_queue_full_entry: what the controller writes at the first round. */
uint32_t xs_queue_full_entry(uint32_t data);
uint8_t xs_nsr(XsMachine *m, unsigned cpu);
/** xs_ack: accept the interrupt; NSR in the high byte, CPPR in the low. */
uint16_t xs_ack(XsMachine *m, unsigned cpu);
void xs_set_cppr(XsMachine *m, unsigned cpu, uint8_t cppr);

/*
 * The contention model
 */

/** xs_line: guest address of line @n of memory that is free for tests. */
uint64_t xs_line(unsigned n);
/** xs_load, xs_store: access by @cpu at @now ns; returns the stall, ps. */
int64_t xs_load(XsMachine *m, unsigned cpu, uint64_t addr, int64_t now);
int64_t xs_store(XsMachine *m, unsigned cpu, uint64_t addr, int64_t now);
/**
 * xs_act_as: say whose the register accesses are that follow (-1: nobody's);
 * returns how long those since the last call have stalled, ps.
 */
int64_t xs_act_as(XsMachine *m, int cpu);

#endif /* TEST_XIVESCALE_PNV_COMMON_H */
