/*
 * Contention model: commands by which qtests act as hardware threads
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 *   contention load|store CPU ADDRESS NOW [PC]
 *
 * is an access of vCPU CPU to a byte of guest memory at NOW ps of simulated
 * time, by the instruction at PC (0); its effective address is ADDRESS. The
 * answer is "OK STALL", in ps. A test keeps the clocks of its threads and
 * makes the accesses in the order of their times, as the scheduler would.
 *
 *   contention cpu CPU
 *
 * says whose the accesses to registers are that follow (-1: nobody's, as at
 * first), and answers how long those since the last such command stalled.
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/rcu.h"
#include "exec/address-spaces.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "system/qtest.h"
#include "system/simtime.h"
#include "device.h"

static ContentionModel *qtest_model;
static int qtest_cpu = -1;
static int64_t qtest_stall;

int contention_cpu(void)
{
    return current_cpu ? current_cpu->cpu_index : qtest_cpu;
}

void contention_stall(int64_t ps)
{
    if (current_cpu) {
        simtime_stall(ps);
    } else {
        qtest_stall += ps;
    }
}

static bool command_cpu(CharBackend *chr, const char *word)
{
    int cpu;

    if (qemu_strtoi(word, NULL, 0, &cpu) || cpu < -1 ||
        cpu >= (int)contention_nr_cpus(qtest_model)) {
        qtest_sendf(chr, "FAIL contention: bad argument\n");
        return true;
    }
    qtest_sendf(chr, "OK %" PRId64 "\n", qtest_stall);
    qtest_cpu = cpu;
    qtest_stall = 0;
    return true;
}

static bool qtest_command(CharBackend *chr, gchar **words)
{
    uint64_t cpu, addr, now, pc = 0;
    unsigned n = g_strv_length(words);
    bool store;
    hwaddr xlat, len = 1;
    MemoryRegion *mr;
    uintptr_t host;
    int64_t stall;

    if (strcmp(words[0], "contention")) {
        return false;
    }
    if (n == 3 && !strcmp(words[1], "cpu")) {
        return command_cpu(chr, words[2]);
    }
    if (n != 5 && n != 6) {
        return false;
    }
    store = !strcmp(words[1], "store");
    if ((!store && strcmp(words[1], "load")) ||
        qemu_strtou64(words[2], NULL, 0, &cpu) ||
        qemu_strtou64(words[3], NULL, 0, &addr) ||
        qemu_strtou64(words[4], NULL, 0, &now) ||
        (n == 6 && qemu_strtou64(words[5], NULL, 0, &pc)) ||
        cpu >= contention_nr_cpus(qtest_model)) {
        qtest_sendf(chr, "FAIL contention: bad argument\n");
        return true;
    }

    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(&address_space_memory, addr, &xlat, &len,
                                 store, MEMTXATTRS_UNSPECIFIED);
    if (!memory_region_is_ram(mr)) {
        qtest_sendf(chr, "FAIL contention: no RAM\n");
        return true;
    }
    host = (uintptr_t)memory_region_get_ram_ptr(mr) + xlat;
    stall = contention_request(qtest_model, &(ContentionRequest) {
        .now = now, .line = host >> CONTENTION_LINE_SHIFT, .who = cpu,
        .store = store, .origin = { .pc = pc, .ea = addr, .size = 1 },
    }, NULL);
    qtest_sendf(chr, "OK %" PRId64 "\n", stall);
    return true;
}

void contention_qtest_attach(ContentionModel *model)
{
    qtest_model = model;
    qtest_set_command_cb(qtest_command);
}
