/*
 * Contention model: where the hardware threads of a PowerNV machine are
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/cpu/core.h"
#include "hw/ppc/pnv_chip.h"
#include "hw/ppc/pnv_core.h"
#include "target/ppc/cpu.h"
#include "device.h"

PnvMachineState *contention_machine(void)
{
    PnvMachineState *pnv;

    pnv = (PnvMachineState *)object_dynamic_cast(qdev_get_machine(),
                                                 TYPE_PNV_MACHINE);
    if (!pnv || (!object_dynamic_cast(OBJECT(pnv->chips[0]), TYPE_PNV9_CHIP) &&
                 !object_dynamic_cast(OBJECT(pnv->chips[0]),
                                      TYPE_PNV10_CHIP))) {
        return NULL;
    }
    return pnv;
}

void contention_build_topology(PnvMachineState *pnv,
                               ContentionTopology *topology)
{
    unsigned nr = 0;
    ContentionPlace *places;

    /*
     * What the chips have, not what -smp says: all threads are there from the
     * beginning, and a chip may have fewer cores than the largest.
     */
    for (unsigned chip = 0; chip < pnv->num_chips; chip++) {
        nr += pnv->chips[chip]->nr_cores * pnv->chips[chip]->nr_threads;
    }
    places = g_new0(ContentionPlace, nr);

    for (unsigned chip = 0; chip < pnv->num_chips; chip++) {
        PnvChip *c = pnv->chips[chip];

        for (unsigned core = 0; core < c->nr_cores; core++) {
            PnvCore *pc = c->cores[core];

            for (int t = 0; t < CPU_CORE(pc)->nr_threads; t++) {
                unsigned index = CPU(pc->threads[t])->cpu_index;

                g_assert(index < nr);
                places[index] = (ContentionPlace) {
                    .chip = chip, .core = core, .thread = t,
                };
            }
        }
    }

    *topology = (ContentionTopology) {
        .nr_cpus = nr,
        .places = places,
        .nr_chips = pnv->num_chips,
    };
}
