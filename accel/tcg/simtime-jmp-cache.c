/*
 * Simulated time: one jump cache for the code that all vCPUs have in common
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "simtime-internal.h"
#include "simtime-jmp-cache.h"

SimtimeShared simtime_shared;

void simtime_jmp_cache_init(void)
{
    const SimtimeTargetOps *target = simtime.target;

    if (target && target->common_mask) {
        simtime_shared.jc = g_new0(CPUJumpCache, 1);
        simtime_shared.mask = target->common_mask;
        simtime_shared.value = target->common_value;
    }
}
