/*
 * PowerNV machines whose chips have different numbers of cores
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "hw/boards.h"
#include "hw/ppc/pnv.h"

/* No chip has more: PnvChip's mask of cores has a bit for each. */
#define MAX_CORES   64

static char *chip_cores_text(const PnvChipCores *cores)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < cores->nr_chips; i++) {
        g_string_append_printf(text, "%s%u", i ? ":" : "", cores->nr[i]);
    }
    return g_string_free(g_steal_pointer(&text), false);
}

static char *chip_cores_get(Object *obj, Error **errp)
{
    return chip_cores_text(&PNV_MACHINE(obj)->chip_cores);
}

static void chip_cores_set(Object *obj, const char *value, Error **errp)
{
    g_auto(GStrv) words = g_strsplit(value, ":", 0);
    PnvChipCores cores = { .nr_chips = g_strv_length(words) };

    if (!cores.nr_chips || cores.nr_chips > PNV_CHIP_CORES_MAX_CHIPS) {
        error_setg(errp, "chip-cores=%s: there must be 1 to %u numbers, one "
                   "for each chip, such as 12:10:10:12", value,
                   PNV_CHIP_CORES_MAX_CHIPS);
        return;
    }
    for (unsigned i = 0; i < cores.nr_chips; i++) {
        if (!g_ascii_isdigit(words[i][0]) ||
            qemu_strtoui(words[i], NULL, 10, &cores.nr[i]) ||
            !cores.nr[i] || cores.nr[i] > MAX_CORES) {
            error_setg(errp, "chip-cores=%s: '%s' is not a number of cores; "
                       "give 1 to %u for each chip, such as 12:10:10:12",
                       value, words[i], MAX_CORES);
            return;
        }
    }
    PNV_MACHINE(obj)->chip_cores = cores;
}

void pnv_chip_cores_class_init(ObjectClass *oc)
{
    object_class_property_add_str(oc, "chip-cores", chip_cores_get,
                                  chip_cores_set);
    object_class_property_set_description(oc, "chip-cores",
                              "Cores of each chip, such as 12:10:10:12, where "
                              "not all have as many as -smp says");
}

void pnv_chip_cores_check(PnvMachineState *pnv)
{
    const PnvChipCores *cores = &pnv->chip_cores;
    const CpuTopology *smp = &MACHINE(pnv)->smp;
    /* The machine has split its big cores by now; users speak of whole ones. */
    unsigned halves = pnv->big_core ? 2 : 1;
    unsigned smp_cores = smp->cores / halves;
    unsigned threads = smp->threads * halves;
    g_autofree char *text = chip_cores_text(cores);
    g_autofree char *fix = NULL;
    unsigned largest = 0, sum = 0;

    if (!cores->nr_chips) {
        return;
    }
    for (unsigned i = 0; i < cores->nr_chips; i++) {
        largest = MAX(largest, cores->nr[i]);
        sum += cores->nr[i];
    }
    fix = g_strdup_printf("give -smp %u,sockets=%u,cores=%u,threads=%u,"
                          "maxcpus=%u", sum * threads, cores->nr_chips,
                          largest, threads,
                          cores->nr_chips * largest * threads);

    if (cores->nr_chips != pnv->num_chips) {
        error_report("chip-cores=%s is for %u chips and -smp for %u; %s",
                     text, cores->nr_chips, pnv->num_chips, fix);
    } else if (largest != smp_cores) {
        error_report("chip-cores=%s: the largest chip has %u cores and -smp "
                     "says %u; %s", text, largest, smp_cores, fix);
    } else if (sum * threads != smp->cpus) {
        error_report("chip-cores=%s: %u cores of %u threads are %u CPUs and "
                     "-smp says %u; %s", text, sum, threads, sum * threads,
                     smp->cpus, fix);
    } else {
        return;
    }
    exit(EXIT_FAILURE);
}

unsigned pnv_chip_nr_cores(PnvMachineState *pnv, unsigned chip)
{
    const PnvChipCores *cores = &pnv->chip_cores;

    if (!cores->nr_chips) {
        return MACHINE(pnv)->smp.cores;
    }
    return cores->nr[chip] * (pnv->big_core ? 2 : 1);
}
