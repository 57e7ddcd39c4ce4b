/*
 * Simulated time: the region of interest
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Blocks translated for the region differ in one bit of their compile
 * flags, so both kinds live beside each other and entering the region
 * flushes nothing.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "exec/translation-block.h"
#include "system/runstate.h"
#include "tcg/tcg.h"
#include "simtime-internal.h"

#define HELPER_H "accel/tcg/simtime-helper.h"
#include "exec/helper-proto.h.inc"
#undef HELPER_H

static void simtime_set_region(bool open)
{
    int64_t now = simtime_now();

    simtime.region = open;
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        CPUState *cpu = simtime.vcpus[i].cpu;

        if (cpu && simtime.ops) {
            cpu->tcg_cflags = open ? cpu->tcg_cflags | CF_SIMTIME
                                   : cpu->tcg_cflags & ~CF_SIMTIME;
        }
    }
    if (simtime.ops) {
        simtime.ops->region(open, now);
    }
    simtime_unblock_all();
    simtime_poll_wake_all();
    simtime_wake_all();
    simtime_end_slice();
}

bool simtime_region_enter(Error **errp)
{
    if (!simtime_enabled()) {
        error_setg(errp, "there is no region of interest without clocks: "
                   "use -accel tcg,simtime=on");
        return false;
    }
    if (simtime.region) {
        error_setg(errp, "the region of interest was entered twice: "
                   "leave it first");
        return false;
    }
    simtime_set_region(true);
    return true;
}

bool simtime_region_leave(Error **errp)
{
    if (!simtime.region) {
        error_setg(errp, "the region of interest was left without having "
                   "been entered: enter it first");
        return false;
    }
    simtime_set_region(false);
    return true;
}

void simtime_set_model(const SimtimeModelOps *ops)
{
    simtime.ops = ops;
    for (unsigned i = 0; i < simtime.nr_vcpus; i++) {
        SimVCPU *v = &simtime.vcpus[i];

        /* A machine may have fewer vCPUs than maxcpus. */
        v->filter = ops && v->cpu ? ops->filter(i) : NULL;
    }
}

/*
 * A marker instruction. Without clocks it is the no-op that it is on real
 * hardware; a mistake of the guest in using it ends the run, since what
 * would be measured is not what was meant.
 */
void HELPER(simtime_mark)(uint32_t mark, uint32_t user)
{
    Error *err = NULL;

    if (!simtime_enabled()) {
        return;
    }
    if (user) {
        warn_report_once("marker of the region of interest in user space "
                         "ignored: place it in the kernel or a module");
        return;
    }

    bql_lock();
    if (mark == SIMTIME_MARK_ENTER) {
        simtime_region_enter(&err);
    } else {
        simtime_region_leave(&err);
    }
    if (err) {
        error_prepend(&err, "guest, vCPU %d: ", current_cpu->cpu_index);
        error_report_err(err);
        qemu_system_shutdown_request_with_code(SHUTDOWN_CAUSE_GUEST_PANIC,
                                               EXIT_FAILURE);
    }
    bql_unlock();
}
