/*
 * Contention model: the device that puts it into a PowerNV machine
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * "-device contention,same-chip-ns=57,..." has no registers and no bus: it
 * holds the parameters, learns the topology from the machine and answers
 * the generated code and the interrupt controllers.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "exec/memory.h"
#include "hw/core/cpu.h"
#include "hw/qdev-properties.h"
#include "hw/resettable.h"
#include "system/qtest.h"
#include "system/reset.h"
#include "system/simtime.h"
#include "device.h"
#include "trace.h"

static ContentionState *the_device;

ContentionState *contention_device(void)
{
    return the_device;
}

bool contention_active(void)
{
    /* What comes from the main loop has no place in simulated time. */
    return qtest_enabled() || (simtime_in_region() && current_cpu);
}

/* The model as the generated code sees it */

static void *device_filter(unsigned cpu_index)
{
    return (void *)contention_filter(the_device->model, cpu_index);
}

static bool device_probe(unsigned cpu_index, uint64_t line, bool store,
                         int64_t now)
{
    contention_advance(the_device->model, simtime_floor());
    return contention_probe(the_device->model, cpu_index, line, store, now);
}

QEMU_BUILD_BUG_ON(CONTENTION_BLOCKED != SIMTIME_BLOCKED);

static int64_t device_access(unsigned cpu_index, const SimtimeRequest *r,
                             int64_t now)
{
    return contention_request(the_device->model, &(ContentionRequest) {
        .now = now,
        .line = r->line,
        .origin = {
            .pc = r->pc, .ea = r->ea, .size = r->size, .user = r->user,
        },
        .who = cpu_index,
        .store = r->kind != SIMTIME_LOAD,
        .conditional = r->kind == SIMTIME_STORE_CONDITIONAL,
    }, NULL);
}

/* Requests that wait for a line: the vCPU sleeps until it is granted. */

static void device_line_free(int64_t when, void *opaque)
{
    uint64_t *line = opaque;

    /* Those who waited when the region was left have given up. */
    if (the_device->open) {
        contention_grant(the_device->model, *line, when);
    }
    g_free(line);
}

static void device_free_at(uint64_t line, int64_t when, void *opaque)
{
    simtime_event_add(when, -1, device_line_free,
                      g_memdup2(&line, sizeof(line)));
}

static void device_granted(unsigned cpu, uint64_t line, int64_t when,
                           void *opaque)
{
    if (trace_event_get_state_backends(TRACE_CONTENTION_LINE_GRANT)) {
        trace_contention_line_grant(cpu, contention_line_address(line, NULL),
                                    when);
    }
    simtime_unblock(cpu, line, when);
}

/* The store conditional starts anew, and finds its reservation lost. */
static void device_lost(unsigned cpu, uint64_t line, int64_t when,
                        void *opaque)
{
    simtime_unblock(cpu, 0, when);
}

static const ContentionArbiterOps device_arbiter = {
    .free_at = device_free_at,
    .granted = device_granted,
    .lost = device_lost,
};

/*
 * Where the region that ends writes: the file of the property, or FILE.2,
 * FILE.3 ... when the run had regions before. The caller frees it.
 */
static char *region_file(const ContentionState *s, const char *file)
{
    return s->regions == 1 ? g_strdup(file)
                           : g_strdup_printf("%s.%u", file, s->regions);
}

static void write_stats(ContentionState *s, int64_t now)
{
    g_autofree char *file = region_file(s, s->stats_file);
    g_autoptr(GString) out = g_string_new("{\"parameters\": ");
    g_autoptr(GError) err = NULL;
    SimtimeCounts c = simtime_counts();

    contention_params_json(&s->params, out);
    g_string_append(out, ",\n \"region\": {\"start_ns\": ");
    contention_append_ns(out, s->region_start);
    g_string_append(out, ", \"end_ns\": ");
    contention_append_ns(out, now);
    g_string_append_printf(out, ", \"instructions\": %" PRId64
                           ", \"slices\": %" PRId64
                           ", \"polls\": %" PRId64
                           ", \"poll_instructions\": %" PRId64 "},\n ",
                           c.instructions - s->region_counts.instructions,
                           c.slices - s->region_counts.slices,
                           c.polls - s->region_counts.polls,
                           c.poll_instructions -
                           s->region_counts.poll_instructions);
    contention_stats_json(s->model, out);
    g_string_append(out, "}\n");

    if (!g_file_set_contents(file, out->str, out->len, &err)) {
        error_report("contention: stats-file: %s", err->message);
    }
}

/* Where the guest has the line of host address @line << 7. */
uint64_t contention_line_address(uint64_t line, void *opaque)
{
    ram_addr_t offset;
    MemoryRegion *mr = memory_region_from_host(
        (void *)(uintptr_t)(line << CONTENTION_LINE_SHIFT), &offset);

    for (; mr; mr = mr->container) {
        offset += mr->addr;
    }
    return offset;
}

static void region_until(const ContentionState *s, int64_t now,
                         ContentionRegion *region)
{
    SimtimeCounts c = simtime_counts();
    int64_t instructions = c.instructions - s->region_counts.instructions;
    int64_t polls = c.poll_instructions -
                    s->region_counts.poll_instructions;

    *region = (ContentionRegion) {
        .start = s->region_start,
        .end = now,
        .instructions = instructions,
        .instruction_time = instructions * simtime_instruction_ps(),
        .poll_time = polls * simtime_instruction_ps(),
        .paused = c.paused - s->region_counts.paused,
    };
}

void contention_region_now(const ContentionState *s, ContentionRegion *region)
{
    if (s->open) {
        region_until(s, simtime_now(), region);
    } else {
        *region = s->region;
    }
}

void contention_region_restart(ContentionState *s)
{
    s->region_start = simtime_now();
    s->region_counts = simtime_counts();
    s->region = (ContentionRegion) {
        .start = s->region_start, .end = s->region_start,
    };
}

static void write_attribution(ContentionState *s)
{
    g_autofree char *file = region_file(s, s->attribution_file);
    g_autoptr(GString) out = g_string_new(NULL);
    g_autoptr(GError) err = NULL;

    contention_attribution_json(s->model, &s->region, contention_line_address,
                                NULL, out);
    if (!g_file_set_contents(file, out->str, out->len, &err)) {
        error_report("contention: attribution-file: %s", err->message);
    }
}

static void device_region(bool enter, int64_t now)
{
    ContentionState *s = the_device;

    s->open = enter;
    contention_record_region(s, enter, now);
    if (enter) {
        s->regions++;
        contention_reset(s->model);
        contention_region_restart(s);
        trace_contention_region_enter(now);
        if (s->trace_file) {
            contention_trace_open(s->trace_file, s->trace_records, now);
        }
        return;
    }
    region_until(s, now, &s->region);
    trace_contention_region_leave(now, s->region.instructions);
    contention_trace_close(now);
    if (s->stats_file) {
        write_stats(s, now);
    }
    if (s->attribution_file) {
        write_attribution(s);
    }
    if (s->memory_file) {
        g_autofree char *file = region_file(s, s->memory_file);
        Error *err = NULL;

        if (!contention_write_memory(file, &err)) {
            error_prepend(&err, "contention: memory-file: ");
            error_report_err(err);
        }
    }
}

static void device_watch(unsigned cpu_index, uint64_t line)
{
    contention_watch(the_device->model, cpu_index, line);
}

static void device_changed(uint64_t line, void *opaque)
{
    simtime_line_changed(line);
}

static const SimtimeModelOps device_ops = {
    .filter = device_filter,
    .probe = device_probe,
    .access = device_access,
    .watch = device_watch,
    .region = device_region,
};

/* Properties, from the core's table */

static char *device_get_param(Object *obj, Error **errp, void *opaque)
{
    const ContentionParamInfo *info = opaque;

    return contention_params_get(&CONTENTION(obj)->params, info->name, NULL);
}

static void device_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    g_autofree char *text = device_get_param(obj, errp, opaque);

    visit_type_str(v, name, &text, errp);
}

static void device_set(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    g_autofree char *text = NULL;
    g_autoptr(GError) err = NULL;

    if (DEVICE(obj)->realized) {
        error_setg(errp, "contention: %s cannot change while the machine "
                   "runs: give it on the command line", name);
        return;
    }
    if (visit_type_str(v, name, &text, errp) &&
        !contention_params_set(&CONTENTION(obj)->params, name, text, &err)) {
        error_setg(errp, "contention: %s", err->message);
    }
}

/*
 * "qom-set PATH region true|false" from the monitor. The vCPU thread may be
 * in the middle of a slice, so it is asked to do it between two.
 */
static void region_work(CPUState *cpu, run_on_cpu_data data)
{
    Error *err = NULL;

    if (data.host_int) {
        simtime_region_enter(&err);
    } else {
        simtime_region_leave(&err);
    }
    if (err) {
        error_report_err(err);
    }
}

static bool device_get_region(Object *obj, Error **errp)
{
    return simtime_in_region();
}

static void device_set_region(Object *obj, bool value, Error **errp)
{
    if (!DEVICE(obj)->realized) {
        error_setg(errp, "contention: region can be set only while the "
                   "machine runs");
    } else if (!simtime_enabled()) {
        error_setg(errp, "contention: region needs clocks per vCPU: "
                   "use -accel tcg,simtime=on");
    } else if (value == simtime_in_region()) {
        error_setg(errp, "contention: the region of interest is %s already",
                   value ? "entered" : "left");
    } else {
        async_run_on_cpu(first_cpu, region_work, RUN_ON_CPU_HOST_INT(value));
    }
}

static const Property device_properties[] = {
    DEFINE_PROP_STRING("stats-file", ContentionState, stats_file),
    DEFINE_PROP_STRING("attribution-file", ContentionState, attribution_file),
    DEFINE_PROP_STRING("memory-file", ContentionState, memory_file),
    DEFINE_PROP_UINT32("attribution-entries", ContentionState,
                       attribution_entries, 1 << 18),
    DEFINE_PROP_STRING("trace-file", ContentionState, trace_file),
    DEFINE_PROP_UINT32("trace-records", ContentionState, trace_records,
                       1 << 20),
    DEFINE_PROP_STRING("record-file", ContentionState, record_file),
    DEFINE_PROP_UINT32("record-start-us", ContentionState, record_start_us,
                       400),
    DEFINE_PROP_UINT32("record-us", ContentionState, record_us, 100),
};

static void device_realize(DeviceState *dev, Error **errp)
{
    ContentionState *s = CONTENTION(dev);
    PnvMachineState *pnv = contention_machine();
    ContentionTopology topology;
    g_autoptr(GError) err = NULL;

    if (the_device) {
        error_setg(errp, "contention: there is one already: "
                   "drop the second -device contention");
        return;
    }
    if (!pnv) {
        error_setg(errp, "contention: the machine has no XIVE chips: "
                   "use -M powernv9 or powernv10");
        return;
    }
    if (!simtime_enabled() && !qtest_enabled()) {
        error_setg(errp, "contention: needs clocks per vCPU: "
                   "use -accel tcg,simtime=on");
        return;
    }

    if (s->attribution_entries > CONTENTION_MAX_ATTRIBUTION) {
        error_setg(errp, "contention: attribution-entries: '%" PRIu32 "' is "
                   "out of range; it takes 0 to %u entries",
                   s->attribution_entries, CONTENTION_MAX_ATTRIBUTION);
        return;
    }
    if (s->attribution_file && !s->attribution_entries) {
        error_setg(errp, "contention: attribution-file: there is nothing to "
                   "write with attribution-entries=0: raise it");
        return;
    }

    if (!s->record_us || s->record_us > CONTENTION_MAX_RECORD_US) {
        error_setg(errp, "contention: record-us: '%" PRIu32 "' is out of "
                   "range; it takes 1 to %u us", s->record_us,
                   CONTENTION_MAX_RECORD_US);
        return;
    }

    contention_build_topology(pnv, &topology);
    s->model = contention_new(&s->params, &topology, &err);
    s->places = topology.places;
    if (!s->model) {
        g_free((void *)topology.places);
        error_setg(errp, "contention: %s", err->message);
        return;
    }

    contention_set_attribution(s->model, s->attribution_entries);
    contention_attach_tracer(s->model);
    the_device = s;
    contention_fabric_attach(s->model, pnv);
    if (simtime_enabled()) {
        contention_set_arbiter(s->model, &device_arbiter, s);
        contention_set_observer(s->model, device_changed, s);
        simtime_set_model(&device_ops);
    } else {
        contention_qtest_attach(s->model);
    }
    qemu_register_resettable(OBJECT(dev));
}

static void device_reset_hold(Object *obj, ResetType type)
{
    contention_reset(CONTENTION(obj)->model);
    simtime_unblock_all();
    contention_fabric_reset();
}

static void device_init(Object *obj)
{
    contention_params_init(&CONTENTION(obj)->params);
}

static void device_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    ResettableClass *rc = RESETTABLE_CLASS(oc);
    const ContentionParamInfo *info;
    size_t n;

    dc->desc = "Cache-line contention between chips, and interrupt fabric";
    dc->realize = device_realize;
    dc->user_creatable = true;
    dc->hotpluggable = false;
    rc->phases.hold = device_reset_hold;
    device_class_set_props(dc, device_properties);
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);

    object_class_property_add_bool(oc, "region", device_get_region,
                                   device_set_region);
    object_class_property_set_description(oc, "region",
        "Whether the region of interest is open");

    info = contention_params_table(&n);
    for (size_t i = 0; i < n; i++) {
        object_class_property_add(oc, info[i].name, "str", device_get,
                                  device_set, NULL, (void *)&info[i]);
        object_class_property_set_description(oc, info[i].name, info[i].doc);
    }
}

static const TypeInfo device_info = {
    .name = TYPE_CONTENTION,
    .parent = TYPE_DEVICE,
    .instance_size = sizeof(ContentionState),
    .instance_init = device_init,
    .class_init = device_class_init,
};

static void device_register_types(void)
{
    type_register_static(&device_info);
}

type_init(device_register_types)
