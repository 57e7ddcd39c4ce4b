/*
 * Simulated time: hardware thread priority
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "system/simtime.h"

/* Program Priority Register: the field in bits 11-13, and "low". */
#define PPR_PRI_SHIFT 50
#define PPR_PRI_MASK  7
#define PPR_PRI_LOW   2

bool simtime_cpu_low_priority(CPUState *cs)
{
    unsigned pri = cpu_env(cs)->spr[SPR_PPR] >> PPR_PRI_SHIFT & PPR_PRI_MASK;

    /* 0 is what the register holds before anybody has written it. */
    return pri && pri <= PPR_PRI_LOW;
}

void simtime_cpu_state(CPUState *cs, uint64_t *state)
{
    CPUPPCState *env = cpu_env(cs);
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(env->gpr); i++) {
        state[n++] = env->gpr[i];
    }
    state[n++] = env->nip;
    state[n++] = env->lr;
    state[n++] = env->ctr;
    state[n++] = env->msr;
    state[n++] = cpu_read_xer(env);
    state[n++] = ppc_get_cr(env);
    state[n++] = env->reserve_addr;
    state[n++] = 0;
    QEMU_BUILD_BUG_ON(ARRAY_SIZE(env->gpr) + 8 != SIMTIME_STATE_WORDS);
}
