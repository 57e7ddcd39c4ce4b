/*
 * Simulated time: what translators call
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TCG_SIMTIME_GEN_H
#define TCG_SIMTIME_GEN_H

#ifdef CONFIG_USER_ONLY
static inline void simtime_translate_insn(int num_insns) { }
static inline void simtime_gen_access(TCGOpcode opc, TCGTemp *addr,
                                      uint32_t oi) { }
static inline void simtime_gen_conditional(void) { }
static inline bool simtime_gen_mark(unsigned reg, bool user) { return false; }
static inline bool simtime_hint_pauses(unsigned reg) { return true; }
static inline bool simtime_wait_pauses(void) { return false; }
#else
/**
 * simtime_translate_insn: the translation of an instruction begins.
 * @num_insns: its number in the block, from 1
 */
void simtime_translate_insn(int num_insns);

/**
 * simtime_gen_access: emit the model's look at a load or store.
 * @opc: INDEX_op_qemu_*
 * @addr: guest address
 * @oi: its MemOpIdx
 */
void simtime_gen_access(TCGOpcode opc, TCGTemp *addr, uint32_t oi);

/**
 * simtime_gen_conditional: the rest of the instruction is a store
 * conditional: its loads are none of the guest's, its store is one that
 * fails when another vCPU gets the line first.
 */
void simtime_gen_conditional(void);

/**
 * simtime_gen_mark: emit a marker of the region of interest.
 * @reg: register of the "xoris rN,rN,0"
 * @user: the instruction is executed in user space
 *
 * Returns false when @reg makes it an ordinary no-op; otherwise the block
 * must end here.
 */
bool simtime_gen_mark(unsigned reg, bool user);

/**
 * simtime_hint_pauses: whether "or rN,rN,rN" makes the thread give way.
 * @reg: register of the hint
 *
 * With clocks on, a hint that raises the priority does not.
 */
bool simtime_hint_pauses(unsigned reg);

/**
 * simtime_wait_pauses: whether "wait 2,0" (pause_short) makes the thread
 * give way rather than being a no-op.
 */
bool simtime_wait_pauses(void);
#endif

#endif /* TCG_SIMTIME_GEN_H */
