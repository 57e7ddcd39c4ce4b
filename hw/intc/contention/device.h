/*
 * Contention model: what the QEMU side of it shares
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HW_INTC_CONTENTION_DEVICE_H
#define HW_INTC_CONTENTION_DEVICE_H

#include "hw/qdev-core.h"
#include "hw/intc/contention/attribution.h"
#include "hw/intc/contention/contention.h"
#include "hw/ppc/pnv.h"
#include "system/simtime.h"
#include "qom/object.h"

#define TYPE_CONTENTION "contention"
OBJECT_DECLARE_SIMPLE_TYPE(ContentionState, CONTENTION)

/**
 * struct ContentionState - the device
 * @params: what the properties say
 * @stats_file: where the counters go when the region is left, or NULL
 * @attribution_file: where lines and instructions go then, or NULL
 * @attribution_entries: limit of the tables of these, 0: none are kept
 * @model: the core, from realize on
 * @region_start: when the region was entered, ps
 * @region_counts: work done until then
 */
struct ContentionState {
    DeviceState parent_obj;

    ContentionParams params;
    char *stats_file;
    char *attribution_file;
    uint32_t attribution_entries;
    ContentionModel *model;
    int64_t region_start;
    SimtimeCounts region_counts;
};

/** contention_machine: the machine, or NULL when it has no XIVE chips. */
PnvMachineState *contention_machine(void);

/** contention_active: whether accesses and events are timed at present. */
bool contention_active(void);

/**
 * contention_build_topology: places of all hardware threads of @pnv, by
 * cpu_index. Free @topology->places.
 */
void contention_build_topology(PnvMachineState *pnv,
                               ContentionTopology *topology);

/**
 * contention_fabric_attach: let the interrupt controllers of @pnv take
 * their times from @model.
 */
void contention_fabric_attach(ContentionModel *model, PnvMachineState *pnv);

/** contention_fabric_reset: forget the events that are on their way. */
void contention_fabric_reset(void);

/** contention_cpu: index of the vCPU that accesses now, or -1. */
int contention_cpu(void);

/** contention_stall: let that vCPU lose @ps. */
void contention_stall(int64_t ps);

/** contention_qtest_attach: commands by which qtests act as threads. */
void contention_qtest_attach(ContentionModel *model);

#endif /* HW_INTC_CONTENTION_DEVICE_H */
