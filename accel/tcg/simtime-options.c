/*
 * Simulated time: properties of the accelerator
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/memalign.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object.h"
#include "system/cpu-timers.h"
#include "simtime-internal.h"
#include "simtime-jmp-cache.h"

SimtimeOptions simtime_options = {
    .instruction_ps = 580,
    .lookahead_ns = 50,
    .quantum_ns = 100 * 1000,
    .pause_ns = 100,
    .pause_instructions = 100,
};

/**
 * struct SimtimeProperty - an integer property
 * @name: property name, with its unit
 * @value: where it is kept
 * @min, @max: range
 * @description: shown where QEMU lists properties
 */
typedef struct SimtimeProperty {
    const char *name;
    uint64_t *value;
    uint64_t min, max;
    const char *description;
} SimtimeProperty;

static const SimtimeProperty simtime_properties[] = {
    { "simtime-instruction-ps", &simtime_options.instruction_ps, 1, 1000000,
      "Simulated time of one instruction (ps)" },
    { "simtime-lookahead-ns", &simtime_options.lookahead_ns, 0, 1000000,
      "How far a vCPU may run past the next clock inside the region of "
      "interest (ns)" },
    { "simtime-quantum-ns", &simtime_options.quantum_ns, 1000, 100000000,
      "How far a vCPU may run past the next clock outside the region of "
      "interest (ns)" },
    { "simtime-pause-ns", &simtime_options.pause_ns, 1, 1000000,
      "How long a thread stops fetching at a priority-lowering hint inside "
      "the region of interest (ns)" },
    { "simtime-pause-instructions", &simtime_options.pause_instructions,
      1, 1000000,
      "Instructions per quantum of a thread at low priority outside the "
      "region of interest" },
    { "simtime-limit-ms", &simtime_options.limit_ms, 0, 100000000,
      "Simulated time at which the run is given up (ms, 0: never)" },
};

static void simtime_get_u64(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    const SimtimeProperty *p = opaque;
    uint64_t value = *p->value;

    visit_type_uint64(v, name, &value, errp);
}

static void simtime_set_u64(Object *obj, Visitor *v, const char *name,
                            void *opaque, Error **errp)
{
    const SimtimeProperty *p = opaque;
    int64_t value;

    if (!visit_type_int64(v, name, &value, NULL)) {
        error_setg(errp, "%s must be an integer between %" PRIu64 " and %"
                   PRIu64, name, p->min, p->max);
        return;
    }
    if (value < 0 || value < p->min || value > p->max) {
        error_setg(errp, "%s must be between %" PRIu64 " and %" PRIu64
                   ", not %" PRId64, name, p->min, p->max, value);
        return;
    }
    *p->value = value;
}

static bool mttcg_chosen;

static bool check_mttcg(bool enabled, bool mttcg, Error **errp)
{
    if (enabled && mttcg) {
        error_setg(errp, "simtime=on and thread=multi exclude each other: "
                   "drop one of them");
        return false;
    }
    return true;
}

bool simtime_allow_mttcg(Error **errp)
{
    mttcg_chosen = true;
    return check_mttcg(simtime_options.enabled, true, errp);
}

static bool simtime_get_enabled(Object *obj, Error **errp)
{
    return simtime_options.enabled;
}

static void simtime_set_enabled(Object *obj, bool value, Error **errp)
{
    if (value && icount_enabled()) {
        error_setg(errp, "simtime=on and -icount exclude each other: "
                   "drop one of them");
        return;
    }
    if (!check_mttcg(value, mttcg_chosen, errp)) {
        return;
    }
    simtime_options.enabled = value;
}

void simtime_class_init(ObjectClass *oc)
{
    object_class_property_add_bool(oc, "simtime", simtime_get_enabled,
                                   simtime_set_enabled);
    object_class_property_set_description(oc, "simtime",
        "One simulated clock per vCPU; implies thread=single");

    for (size_t i = 0; i < ARRAY_SIZE(simtime_properties); i++) {
        const SimtimeProperty *p = &simtime_properties[i];

        object_class_property_add(oc, p->name, "int", simtime_get_u64,
                                  simtime_set_u64, NULL, (void *)p);
        object_class_property_set_description(oc, p->name, p->description);
    }
}

bool simtime_init_machine(bool mttcg, unsigned max_cpus)
{
    if (!simtime_options.enabled) {
        return mttcg;
    }

    /* Generated code counts instructions as it does for -icount. */
    use_icount = ICOUNT_PRECISE;

    simtime.instruction_ps = simtime_options.instruction_ps;
    simtime.deadline_stale = true;
    simtime.nr_vcpus = max_cpus;
    simtime.vcpus = qemu_memalign(__alignof__(SimVCPU),
                                  max_cpus * sizeof(SimVCPU));
    memset(simtime.vcpus, 0, max_cpus * sizeof(SimVCPU));
    sim_heap_reserve(&simtime.queue, max_cpus);
    simtime_jmp_cache_init();
    return false;
}
