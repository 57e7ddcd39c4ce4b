/*
 * Simulated time: one jump cache for the code that all vCPUs have in common
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The jump cache of a vCPU is 64 KiB. One thread which runs hundreds of
 * vCPUs for some fifty instructions each never finds them in the caches of
 * the host: the look-ups were 18 % of the time of a storm on 128 threads.
 * Privileged code is at the same addresses everywhere, so its entries are
 * the same for all, and one cache serves.
 */

#ifndef ACCEL_TCG_SIMTIME_JMP_CACHE_H
#define ACCEL_TCG_SIMTIME_JMP_CACHE_H

#include "tb-jmp-cache.h"

/**
 * struct SimtimeShared - the common jump cache
 * @jc: the cache, NULL when every vCPU has only its own
 * @mask: bits of a block's flags that tell whether its code is common
 * @value: what they are then
 */
typedef struct SimtimeShared {
    CPUJumpCache *jc;
    uint32_t mask;
    uint32_t value;
} SimtimeShared;

#ifdef CONFIG_USER_ONLY
static const SimtimeShared simtime_shared;
#else
extern SimtimeShared simtime_shared;
#endif

/* Make the common cache, if the target knows of code that is common. */
void simtime_jmp_cache_init(void);

/* The jump cache for code of @flags on @cpu */
static inline CPUJumpCache *simtime_jmp_cache(CPUState *cpu, uint32_t flags)
{
    if (simtime_shared.jc &&
        (flags & simtime_shared.mask) == simtime_shared.value) {
        return simtime_shared.jc;
    }
    return cpu->tb_jmp_cache;
}

/* Whatever one vCPU forgets may have been in the common cache. */
static inline void simtime_jmp_cache_clear(unsigned first, unsigned n)
{
    if (simtime_shared.jc) {
        for (unsigned i = first; i < first + n; i++) {
            qatomic_set(&simtime_shared.jc->array[i].tb, NULL);
        }
    }
}

#endif /* ACCEL_TCG_SIMTIME_JMP_CACHE_H */
