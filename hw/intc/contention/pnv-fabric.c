/*
 * Contention model: the interrupt fabric of the PowerNV XIVE controllers
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The XIVE models work as always, but at the time at which the hardware
 * would have come so far: the ESB state changes at the trigger, and the END
 * notification, with its event queue write and its presentation, is queued
 * for the time of delivery which the core computes.
 */

#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "target/ppc/cpu.h"
#include "hw/intc/contention/record.h"
#include "hw/intc/contention/xive-hooks.h"
#include "hw/ppc/pnv_chip.h"
#include "hw/ppc/pnv_xive.h"
#include "hw/ppc/xive2_regs.h"
#include "hw/ppc/xive_regs.h"
#include "system/simtime.h"
#include "device.h"

/**
 * struct PendingEvent - an END notification on its way
 * @xrtr: the router (XiveRouter or Xive2Router) that does it
 * @eas, @eas2: what it notifies
 * @notify: XIVE2's way to do it
 * @chip: where the queue is written
 * @resets: how often the machine had been reset when it was triggered
 * @timer: its clock when vCPUs have none (qtest)
 */
typedef struct PendingEvent {
    void *xrtr;
    union {
        XiveEAS eas;
        Xive2Eas eas2;
    };
    Xive2EndNotifyFn *notify;
    unsigned chip;
    unsigned resets;
    QEMUTimer *timer;
} PendingEvent;

static ContentionModel *fabric_model;
static GHashTable *chip_of_controller;      /* Object to chip + 1 */
static GPtrArray *controllers;              /* by chip */
static GHashTable *thread_of_nvt;           /* NVT to XiveTCTX */
static unsigned writing_chip;
static unsigned resets;

static unsigned controller_chip(void *controller, unsigned otherwise)
{
    gpointer chip = g_hash_table_lookup(chip_of_controller, controller);

    return chip ? GPOINTER_TO_UINT(chip) - 1 : otherwise;
}

/* Without clocks per vCPU, in a qtest, there is just QEMU's. */
static int64_t fabric_now(void)
{
    return simtime_enabled() ? simtime_now()
                             : qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) *
                               SIMTIME_PS_PER_NS;
}

/* Presenter look-up */

static gpointer nvt_key(uint8_t blk, uint32_t idx)
{
    return GUINT_TO_POINTER((uint64_t)blk << 32 | idx);
}

/* The ring in which @tctx presents the NVT, or -1. */
static int thread_matches(XiveTCTX *tctx, uint8_t format, uint8_t nvt_blk,
                          uint32_t nvt_idx, uint32_t logic_serv)
{
    XivePresenter *xptr = tctx->xptr;
    XivePresenterClass *xpc = XIVE_PRESENTER_GET_CLASS(xptr);

    if (!object_dynamic_cast(OBJECT(xptr), TYPE_XIVE2_ROUTER) ||
        xpc->get_config(xptr) & XIVE_PRESENTER_GEN1_TIMA_OS) {
        return xive_presenter_tctx_match(xptr, tctx, format, nvt_blk, nvt_idx,
                                         false, logic_serv);
    }
    return xive2_presenter_tctx_match(xptr, tctx, format, nvt_blk, nvt_idx,
                                      false, false, logic_serv);
}

/*
 * The machine scans every thread of every chip for each notification. Where
 * a VP was found last is where it is found next, unless its CAM line has
 * changed, which the match tells, or the set of enabled threads has.
 */
static int fabric_match_nvt(XiveFabric *xfb, uint8_t format, uint8_t nvt_blk,
                            uint32_t nvt_idx, bool crowd, bool cam_ignore,
                            uint8_t priority, uint32_t logic_serv,
                            XiveTCTXMatch *match)
{
    gpointer key = nvt_key(nvt_blk, nvt_idx);
    bool specific = !format && !crowd && !cam_ignore;
    int count;

    if (specific) {
        XiveTCTX *tctx = g_hash_table_lookup(thread_of_nvt, key);

        if (tctx) {
            int ring = thread_matches(tctx, format, nvt_blk, nvt_idx,
                                      logic_serv);

            if (ring != -1) {
                match->ring = ring;
                match->tctx = tctx;
                return 1;
            }
        }
    }

    count = XIVE_FABRIC_GET_CLASS(xfb)->match_nvt(xfb, format, nvt_blk,
                                                  nvt_idx, crowd, cam_ignore,
                                                  priority, logic_serv, match);
    if (specific && count == 1) {
        g_hash_table_insert(thread_of_nvt, key, match->tctx);
    }
    return count;
}

static void fabric_threads_changed(void)
{
    g_hash_table_remove_all(thread_of_nvt);
}

/* Index of the vCPU to which the NVT was presented last, or -1. */
static int nvt_cpu(uint8_t blk, uint32_t idx)
{
    XiveTCTX *tctx = g_hash_table_lookup(thread_of_nvt, nvt_key(blk, idx));

    return tctx ? tctx->cs->cpu_index : -1;
}

/* Events */

static void pending_notify(PendingEvent *e)
{
    writing_chip = e->chip;
    if (e->notify) {
        e->notify(e->xrtr,
                  xive_get_field64(EAS2_END_BLOCK, e->eas2.w),
                  xive_get_field64(EAS2_END_INDEX, e->eas2.w),
                  xive_get_field64(EAS2_END_DATA, e->eas2.w));
    } else {
        /* Forwards the event if another controller keeps the END. */
        XIVE_ROUTER_GET_CLASS(e->xrtr)->end_notify(e->xrtr, &e->eas);
    }
}

static void pending_deliver(int64_t when, void *opaque)
{
    PendingEvent *e = opaque;

    /* What was on its way at a reset is lost. */
    if (e->resets == resets) {
        pending_notify(e);
    }
    if (e->timer) {
        timer_free(e->timer);
    }
    g_free(e);
}

static void pending_timer(void *opaque)
{
    pending_deliver(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) * SIMTIME_PS_PER_NS,
                    opaque);
}

/* @cpu: index of the vCPU that is going to be notified, or -1 */
static void pending_queue(PendingEvent *e, int cpu, unsigned end_chip)
{
    unsigned source = controller_chip(e->xrtr, 0);
    unsigned from = source;
    int64_t now = fabric_now();
    int from_cpu = contention_cpu();
    int64_t when;

    if (from_cpu >= 0) {
        from = contention_cpu_chip(fabric_model, from_cpu);
    }
    e->resets = resets;
    e->chip = cpu >= 0 ? contention_cpu_chip(fabric_model, cpu) : end_chip;
    contention_record_event(CONTENTION_RECORD_TRIGGER, e->chip, source,
                            cpu >= 0 ? cpu : UINT16_MAX);
    when = contention_fabric_trigger(fabric_model, from, source, e->chip, now,
                                     NULL);

    if (simtime_enabled()) {
        simtime_event_add(when, cpu, pending_deliver, e);
    } else if (when <= now) {
        pending_deliver(when, e);
    } else {
        e->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pending_timer, e);
        timer_mod(e->timer, DIV_ROUND_UP(when, SIMTIME_PS_PER_NS));
    }
}

/* ENDs are kept by the chip of their block, where there is such a chip. */
static unsigned block_chip(uint8_t blk, void *xrtr)
{
    return blk < contention_nr_chips(fabric_model) ? blk
                                                   : controller_chip(xrtr, 0);
}

/* The controller that can read the ENDs of @blk. */
static void *block_router(uint8_t blk, void *xrtr)
{
    void *router = blk < controllers->len ? g_ptr_array_index(controllers, blk)
                                          : NULL;

    return router ?: xrtr;
}

static bool fabric_defer(XiveRouter *xrtr, const XiveEAS *eas)
{
    uint8_t blk = xive_get_field64(EAS_END_BLOCK, eas->w);
    PendingEvent *e;
    XiveEND end;
    int cpu = -1;

    if (!contention_active()) {
        return false;
    }
    if (!xive_router_get_end(block_router(blk, xrtr), blk,
                             xive_get_field64(EAS_END_INDEX, eas->w), &end)) {
        cpu = nvt_cpu(xive_get_field32(END_W6_NVT_BLOCK, end.w6),
                      xive_get_field32(END_W6_NVT_INDEX, end.w6));
    }
    e = g_new0(PendingEvent, 1);
    e->xrtr = xrtr;
    e->eas = *eas;
    pending_queue(e, cpu, block_chip(blk, xrtr));
    return true;
}

static bool fabric_defer2(Xive2Router *xrtr, const Xive2Eas *eas,
                          Xive2EndNotifyFn *notify)
{
    uint8_t blk = xive_get_field64(EAS2_END_BLOCK, eas->w);
    PendingEvent *e;
    Xive2End end;
    int cpu = -1;

    if (!contention_active()) {
        return false;
    }
    if (!xive2_router_get_end(xrtr, blk,
                              xive_get_field64(EAS2_END_INDEX, eas->w),
                              &end)) {
        cpu = nvt_cpu(xive_get_field32(END2_W6_VP_BLOCK, end.w6),
                      xive_get_field32(END2_W6_VP_OFFSET, end.w6));
    }
    e = g_new0(PendingEvent, 1);
    e->xrtr = xrtr;
    e->eas2 = *eas;
    e->notify = notify;
    pending_queue(e, cpu, block_chip(blk, xrtr));
    return true;
}

/* Accesses */

static void fabric_mmio(Object *xive, bool tima, bool store)
{
    ContentionMmio kind;
    int cpu = contention_cpu();

    if (!contention_active() || cpu < 0) {
        return;
    }
    if (tima) {
        kind = store ? CONTENTION_TIMA_STORE : CONTENTION_TIMA_LOAD;
    } else {
        kind = store ? CONTENTION_ESB_STORE : CONTENTION_ESB_LOAD;
    }
    contention_record_event(CONTENTION_RECORD_MMIO, 0,
                            controller_chip(xive, 0), kind);
    contention_stall(contention_fabric_mmio(fabric_model, cpu,
                                            controller_chip(xive,
                                                contention_cpu_chip(
                                                    fabric_model, cpu)),
                                            kind));
}

/* The line leaves the caches of the threads that read the queue last. */
static void fabric_queue_write(uint64_t addr)
{
    hwaddr xlat, len = 1;
    MemoryRegion *mr;

    if (!contention_active()) {
        return;
    }
    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(&address_space_memory, addr, &xlat, &len,
                                 true, MEMTXATTRS_UNSPECIFIED);
    if (memory_region_is_ram(mr)) {
        uintptr_t host = (uintptr_t)memory_region_get_ram_ptr(mr) + xlat;

        contention_record_event(CONTENTION_RECORD_DMA,
                                host >> CONTENTION_LINE_SHIFT, writing_chip,
                                0);
        contention_dma(fabric_model, writing_chip,
                       host >> CONTENTION_LINE_SHIFT, true, fabric_now(),
                       NULL);
    }
}

static const ContentionXiveOps fabric_ops = {
    .defer = fabric_defer,
    .defer2 = fabric_defer2,
    .mmio = fabric_mmio,
    .queue_write = fabric_queue_write,
    .match_nvt = fabric_match_nvt,
    .threads_changed = fabric_threads_changed,
};

void contention_fabric_reset(void)
{
    resets++;
    fabric_threads_changed();
}

void contention_fabric_attach(ContentionModel *model, PnvMachineState *pnv)
{
    fabric_model = model;
    chip_of_controller = g_hash_table_new(NULL, NULL);
    controllers = g_ptr_array_new();
    thread_of_nvt = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < pnv->num_chips; i++) {
        PnvChip *chip = pnv->chips[i];
        void *xive = NULL;

        if (object_dynamic_cast(OBJECT(chip), TYPE_PNV9_CHIP)) {
            xive = &PNV9_CHIP(chip)->xive;
        } else if (object_dynamic_cast(OBJECT(chip), TYPE_PNV10_CHIP)) {
            xive = &PNV10_CHIP(chip)->xive;
        }
        g_ptr_array_add(controllers, xive);
        if (xive) {
            g_hash_table_insert(chip_of_controller, xive,
                                GUINT_TO_POINTER(i + 1));
        }
    }
    contention_xive = &fabric_ops;
}
