/*
 * Simulated time: what the scheduler asks about a POWER thread
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "cpu.h"
#include "system/simtime.h"

/* Program Priority Register: the field in bits 11-13, and "low". */
#define PPR_PRI_SHIFT 50
#define PPR_PRI_MASK  7
#define PPR_PRI_LOW   2

static bool low_priority(CPUState *cs)
{
    unsigned pri = cpu_env(cs)->spr[SPR_PPR] >> PPR_PRI_SHIFT & PPR_PRI_MASK;

    /* 0 is what the register holds before anybody has written it. */
    return pri && pri <= PPR_PRI_LOW;
}

static bool user(CPUState *cs)
{
    return FIELD_EX64(cpu_env(cs)->msr, MSR, PR);
}

static bool masked(CPUState *cs)
{
    return !FIELD_EX64(cpu_env(cs)->msr, MSR, EE);
}

static void state(CPUState *cs, uint64_t *words)
{
    CPUPPCState *env = cpu_env(cs);
    unsigned n = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(env->gpr); i++) {
        words[n++] = env->gpr[i];
    }
    words[n++] = env->nip;
    words[n++] = env->lr;
    words[n++] = env->ctr;
    words[n++] = env->msr;
    words[n++] = cpu_read_xer(env);
    words[n++] = ppc_get_cr(env);
    words[n++] = env->reserve_addr;
    words[n++] = 0;
    QEMU_BUILD_BUG_ON(ARRAY_SIZE(env->gpr) + 8 != SIMTIME_STATE_WORDS);
}

static const SimtimeTargetOps simtime_ppc = {
    .low_priority = low_priority,
    .masked = masked,
    .state = state,
    /* Host kernel and firmware; a guest of theirs has its own translation. */
    .common_mask = 1u << HFLAGS_HV | 1u << HFLAGS_PR,
    .common_value = 1u << HFLAGS_HV,
    .user = user,
};

static void simtime_ppc_init(void)
{
    simtime_set_target(&simtime_ppc);
}

type_init(simtime_ppc_init)
