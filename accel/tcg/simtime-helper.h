/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Simulated time: run-time helpers called from generated code */
DEF_HELPER_FLAGS_4(simtime_access, TCG_CALL_NO_WG, void, env, i64, ptr, i32)
DEF_HELPER_FLAGS_2(simtime_mark, TCG_CALL_NO_RWG, void, i32, i32)
