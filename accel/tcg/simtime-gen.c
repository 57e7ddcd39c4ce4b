/*
 * Simulated time: instrumentation of translated loads and stores
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/translation-block.h"
#include "exec/memopidx.h"
#include "tcg/tcg.h"
#include "tcg/tcg-op-common.h"
#include "tcg/tcg-temp-internal.h"
#include "tcg/simtime-gen.h"
#include "system/simtime.h"
#include "simtime-access.h"

#define HELPER_H "accel/tcg/simtime-helper.h"
#include "exec/helper-proto.h.inc"
#include "exec/helper-gen.h.inc"
#include "exec/helper-info.c.inc"
#undef HELPER_H

/* Number of instructions of the block before the one being translated. */
static __thread uint32_t insn_index;
static __thread bool insn_conditional;

void simtime_translate_insn(int num_insns)
{
    insn_index = num_insns - 1;
    insn_conditional = false;
}

void simtime_gen_conditional(void)
{
    insn_conditional = true;
}

static bool is_store(TCGOpcode opc)
{
    switch (opc) {
    case INDEX_op_qemu_st_i32:
    case INDEX_op_qemu_st8_i32:
    case INDEX_op_qemu_st_i64:
    case INDEX_op_qemu_st_i128:
        return true;
    default:
        return false;
    }
}

void simtime_gen_access(TCGOpcode opc, TCGTemp *addr, uint32_t oi)
{
    TranslationBlock *tb = tcg_ctx->gen_tb;
    TCGv_i64 addr64;
    uint32_t info;

    if (likely(!(tb->cflags & CF_SIMTIME))) {
        return;
    }
    if (insn_conditional && !is_store(opc)) {
        return;
    }

    info = simtime_access_info(get_mmuidx(oi), get_memop(oi) & MO_SIZE,
                               is_store(opc), insn_conditional, insn_index);
    if (tcg_ctx->addr_type == TCG_TYPE_I32) {
        addr64 = tcg_temp_ebb_new_i64();
        tcg_gen_extu_i32_i64(addr64, temp_tcgv_i32(addr));
        gen_helper_simtime_access(tcg_env, addr64, tcg_constant_ptr(tb),
                                  tcg_constant_i32(info));
        tcg_temp_free_i64(addr64);
    } else {
        gen_helper_simtime_access(tcg_env, temp_tcgv_i64(addr),
                                  tcg_constant_ptr(tb),
                                  tcg_constant_i32(info));
    }
}

bool simtime_gen_mark(unsigned reg, bool user)
{
    if (!simtime_enabled() ||
        (reg != SIMTIME_MARK_ENTER && reg != SIMTIME_MARK_LEAVE)) {
        return false;
    }
    gen_helper_simtime_mark(tcg_constant_i32(reg), tcg_constant_i32(user));
    return true;
}

bool simtime_hint_pauses(unsigned reg)
{
    switch (reg) {
    case 2: /* normal */
    case 3: /* high */
    case 5: /* medium high */
    case 6: /* medium low */
    case 7: /* very high */
        return !simtime_enabled();
    default:
        return true;
    }
}

bool simtime_wait_pauses(void)
{
    return simtime_enabled();
}
