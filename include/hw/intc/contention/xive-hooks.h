/*
 * What the XIVE models ask the contention model
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The XIVE models do not know whether there is a contention model: without
 * one each of these is a test of a pointer that is NULL.
 */

#ifndef HW_INTC_CONTENTION_XIVE_HOOKS_H
#define HW_INTC_CONTENTION_XIVE_HOOKS_H

#include "hw/ppc/xive.h"
#include "hw/ppc/xive2.h"

typedef void Xive2EndNotifyFn(Xive2Router *xrtr, uint8_t end_blk,
                              uint32_t end_idx, uint32_t end_data);

/**
 * struct ContentionXiveOps - the interrupt fabric of the model
 * @defer: queue the END notification of @eas for its time of delivery;
 *         false: it happens at once
 * @defer2: the same for XIVE2, whose notification is @notify
 * @mmio: the running vCPU accesses the controller @xive (or another owner
 *        of interrupt sources), its TIMA or an ESB page
 * @queue_write: an event was written to guest address @addr of a queue
 * @match_nvt: presenter look-up in constant time; as
 *             XiveFabricClass::match_nvt
 * @threads_changed: the set of enabled threads may have changed
 */
typedef struct ContentionXiveOps {
    bool (*defer)(XiveRouter *xrtr, const XiveEAS *eas);
    bool (*defer2)(Xive2Router *xrtr, const Xive2Eas *eas,
                   Xive2EndNotifyFn *notify);
    void (*mmio)(Object *xive, bool tima, bool store);
    void (*queue_write)(uint64_t addr);
    int (*match_nvt)(XiveFabric *xfb, uint8_t format, uint8_t nvt_blk,
                     uint32_t nvt_idx, bool crowd, bool cam_ignore,
                     uint8_t priority, uint32_t logic_serv,
                     XiveTCTXMatch *match);
    void (*threads_changed)(void);
} ContentionXiveOps;

/** contention_xive: NULL without a contention model. */
extern const ContentionXiveOps *contention_xive;

static inline bool contention_defer(XiveRouter *xrtr, const XiveEAS *eas)
{
    return contention_xive && contention_xive->defer(xrtr, eas);
}

static inline bool contention_defer2(Xive2Router *xrtr, const Xive2Eas *eas,
                                     Xive2EndNotifyFn *notify)
{
    return contention_xive && contention_xive->defer2(xrtr, eas, notify);
}

static inline void contention_esb_access(XiveSource *xsrc, bool store)
{
    if (contention_xive) {
        contention_xive->mmio(OBJECT(xsrc->xive), false, store);
    }
}

static inline void contention_tima_access(XivePresenter *xptr, bool store)
{
    if (contention_xive) {
        contention_xive->mmio(OBJECT(xptr), true, store);
    }
}

static inline void contention_queue_write(uint64_t addr)
{
    if (contention_xive) {
        contention_xive->queue_write(addr);
    }
}

static inline int contention_match_nvt(XiveFabric *xfb, uint8_t format,
                                       uint8_t nvt_blk, uint32_t nvt_idx,
                                       bool crowd, bool cam_ignore,
                                       uint8_t priority, uint32_t logic_serv,
                                       XiveTCTXMatch *match)
{
    if (contention_xive) {
        return contention_xive->match_nvt(xfb, format, nvt_blk, nvt_idx,
                                          crowd, cam_ignore, priority,
                                          logic_serv, match);
    }
    return XIVE_FABRIC_GET_CLASS(xfb)->match_nvt(xfb, format, nvt_blk,
                                                 nvt_idx, crowd, cam_ignore,
                                                 priority, logic_serv, match);
}

static inline void contention_threads_changed(void)
{
    if (contention_xive) {
        contention_xive->threads_changed();
    }
}

#endif /* HW_INTC_CONTENTION_XIVE_HOOKS_H */
