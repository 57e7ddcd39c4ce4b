/*
 * Simulated time: what generated code says of a load or store
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_TCG_SIMTIME_ACCESS_H
#define ACCEL_TCG_SIMTIME_ACCESS_H

/*
 * One word: bits 0-3 MMU index, 4-6 log2 of the size, 7 store, 8 store
 * conditional, 9 and up number of instructions of the block before this one.
 */
static inline uint32_t simtime_access_info(unsigned mmu_idx, unsigned size,
                                           bool store, bool conditional,
                                           unsigned insn)
{
    return mmu_idx | size << 4 | store << 7 | conditional << 8 | insn << 9;
}

static inline unsigned simtime_info_mmu_idx(uint32_t info)
{
    return info & 0xf;
}

/* Size of the access in bytes. */
static inline unsigned simtime_info_size(uint32_t info)
{
    return 1u << (info >> 4 & 7);
}

static inline bool simtime_info_store(uint32_t info)
{
    return info >> 7 & 1;
}

static inline bool simtime_info_conditional(uint32_t info)
{
    return info >> 8 & 1;
}

static inline unsigned simtime_info_insn(uint32_t info)
{
    return info >> 9;
}

#endif /* ACCEL_TCG_SIMTIME_ACCESS_H */
