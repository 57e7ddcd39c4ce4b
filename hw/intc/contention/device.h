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

/* Longest record, us: it has every access, and must not fill the disk. */
#define CONTENTION_MAX_RECORD_US 10000u

OBJECT_DECLARE_SIMPLE_TYPE(ContentionState, CONTENTION)

/**
 * struct ContentionState - the device
 * @params: what the properties say
 * @stats_file: where the counters go when the region is left, or NULL
 * @attribution_file: where lines and instructions go then, or NULL
 * @memory_file: where an image of the guest's memory goes then, or NULL
 * @attribution_entries: limit of the tables of these, 0: none are kept
 * @trace_file: where the trace of the region goes, or NULL
 * @trace_records: limit of that file
 * @record_file: where accesses are recorded, or NULL
 * @record_start_us: from the start of the region to that of the record, us
 * @record_us: length of the record, us
 * @places: of the hardware threads, by cpu_index
 * @model: the core, from realize on
 * @open: the region is open
 * @regions: how many times it was entered; the first writes to the files of
 *           the properties, others to FILE.2, FILE.3 ...
 * @region_start: when it was entered, or counters were reset, ps
 * @region_counts: work done until then
 * @region: of the last region that was left
 */
struct ContentionState {
    DeviceState parent_obj;

    ContentionParams params;
    char *stats_file;
    char *attribution_file;
    char *memory_file;
    uint32_t attribution_entries;
    char *trace_file;
    uint32_t trace_records;
    char *record_file;
    uint32_t record_start_us;
    uint32_t record_us;
    const ContentionPlace *places;
    ContentionModel *model;
    bool open;
    unsigned regions;
    int64_t region_start;
    SimtimeCounts region_counts;
    ContentionRegion region;
};

/** contention_device: the device, or NULL. */
ContentionState *contention_device(void);

/** contention_line_address: where the guest has a line; @opaque is unused. */
uint64_t contention_line_address(uint64_t line, void *opaque);

/** contention_region_now: the open region until now, or the last one. */
void contention_region_now(const ContentionState *s, ContentionRegion *region);

/**
 * contention_region_restart: count time and work from now on, as the
 * counters of the model do after contention_reset_counters().
 */
void contention_region_restart(ContentionState *s);

/** contention_attach_tracer: let trace events and file see the model work. */
void contention_attach_tracer(ContentionModel *model);

/**
 * contention_trace_open: begin a trace at @path which takes @limit records;
 * what comes then is counted. Reports an error and goes on without.
 */
void contention_trace_open(const char *path, uint64_t limit, int64_t now);
/** contention_trace_close: end it, if there is one. */
void contention_trace_close(int64_t now);
/** contention_tracing: whether there is one. */
bool contention_tracing(void);
void contention_trace_access(const ContentionRequest *request,
                             const ContentionResult *result);
void contention_trace_given_up(const ContentionRequest *request,
                               int64_t waited);
void contention_trace_event(unsigned from, unsigned source, unsigned target,
                            int64_t now, const ContentionDelivery *d);
void contention_trace_mmio(unsigned cpu, unsigned chip, ContentionMmio kind,
                           int64_t now, int64_t stall);

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

/**
 * contention_write_memory: write an ELF core file of the guest's physical
 * memory to @path, with holes for pages of zeros. False with @errp set.
 */
bool contention_write_memory(const char *path, Error **errp);

/** contention_fabric_reset: forget the events that are on their way. */
void contention_fabric_reset(void);

/** contention_cpu: index of the vCPU that accesses now, or -1. */
int contention_cpu(void);

/** contention_stall: let that vCPU lose @ps. */
void contention_stall(int64_t ps);

/** contention_qtest_attach: commands by which qtests act as threads. */
void contention_qtest_attach(ContentionModel *model);

/**
 * contention_record_region: start or end the record when the region of
 * interest is entered or left.
 */
void contention_record_region(ContentionState *s, bool enter, int64_t now);

/**
 * contention_record_event: record what only the device knows of.
 * @type: CONTENTION_RECORD_MMIO, _TRIGGER or _DMA, with what @line, @a and
 *        @b mean there
 */
void contention_record_event(unsigned type, uint64_t line, unsigned a,
                             unsigned b);

#endif /* HW_INTC_CONTENTION_DEVICE_H */
