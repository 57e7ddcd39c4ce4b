/*
 * Contention model: its commands of QMP and of the human monitor
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The vCPU thread works on the model without a lock, so commands do their
 * work there, between two slices.
 */

#include "qemu/osdep.h"
#include "qemu/module.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-contention.h"
#include "qobject/qdict.h"
#include "device.h"

#define DEFAULT_ROWS 10

/**
 * struct Work - a command on its way to the vCPU thread
 * @device: the device
 * @enter: of contention-region
 * @lines, @accesses, @instructions: of query-contention
 * @info: the answer of query-contention
 * @err: what went wrong
 */
typedef struct Work {
    ContentionState *device;
    bool enter;
    uint32_t lines;
    uint32_t accesses;
    uint32_t instructions;
    ContentionInfo *info;
    Error *err;
} Work;

static bool do_work(Work *work, run_on_cpu_func fn, Error **errp)
{
    work->device = contention_device();
    if (!work->device) {
        error_setg(errp, "there is no contention model: use "
                   "-device contention");
        return false;
    }
    run_on_cpu(first_cpu, fn, RUN_ON_CPU_HOST_PTR(work));
    if (work->err) {
        error_propagate(errp, work->err);
        return false;
    }
    return true;
}

static unsigned nr_distances(const ContentionModel *model)
{
    unsigned n = contention_nr_chips(model), most = 1;

    for (unsigned i = 1; i < n; i++) {
        for (unsigned j = 0; j < i; j++) {
            most = MAX(most, contention_hops(model, i, j));
        }
    }
    return CONTENTION_CROSS_CHIP + most;
}

static ContentionCost *cost(const ContentionModel *model,
                            const ContentionSums *s)
{
    ContentionCost *c = g_new0(ContentionCost, 1);
    uint64List **transfers = &c->transfers;
    intList **transfer = &c->transfer;

    for (unsigned i = 0; i < nr_distances(model); i++) {
        QAPI_LIST_APPEND(transfers, s->moves[i].count);
        QAPI_LIST_APPEND(transfer, s->moves[i].time);
    }
    c->stall = contention_sums_stall(s);
    c->waits = s->waits;
    c->wait = s->waited;
    c->merges = s->merges;
    c->merge = s->merged;
    c->given_ups = s->given_up;
    c->given_up = s->given_up_time;
    c->dma = s->dma;
    c->dma_time = s->dma_time;
    c->longest_queue = s->longest_queue;
    return c;
}

static ContentionOperation operation(bool dma, bool store, bool conditional)
{
    if (dma) {
        return store ? CONTENTION_OPERATION_DMA_WRITE
                     : CONTENTION_OPERATION_DMA_READ;
    }
    return conditional ? CONTENTION_OPERATION_CONDITIONAL
           : store ? CONTENTION_OPERATION_STORE : CONTENTION_OPERATION_LOAD;
}

static ContentionAccess *access_info(const ContentionModel *model,
                                     const ContentionRankedAccess *a)
{
    ContentionAccess *info = g_new0(ContentionAccess, 1);

    info->operation = operation(a->dma, a->store, a->conditional);
    info->has_pc = !a->dma;
    info->pc = a->origin.pc;
    info->has_chip = a->dma;
    info->chip = a->chip;
    info->user = a->origin.user;
    info->offset = a->offset;
    info->size = a->origin.size;
    info->domains = a->domains;
    info->cost = cost(model, a->sums);
    return info;
}

static ContentionLine *line_info(const ContentionModel *model,
                                 const ContentionRankedLine *line,
                                 uint32_t accesses)
{
    ContentionLine *info = g_new0(ContentionLine, 1);
    ContentionAccessList **tail = &info->accesses;

    info->address = line->address;
    info->has_effective_address = line->has_ea;
    info->effective_address = line->ea;
    info->cost = cost(model, line->sums);
    for (unsigned i = 0; i < MIN(accesses, line->nr_accesses); i++) {
        QAPI_LIST_APPEND(tail, access_info(model, &line->accesses[i]));
    }
    return info;
}

static ContentionInstruction *
instruction_info(const ContentionModel *model,
                 const ContentionRankedInstruction *i)
{
    ContentionInstruction *info = g_new0(ContentionInstruction, 1);

    info->operation = operation(i->dma, i->store, i->conditional);
    info->has_pc = !i->dma;
    info->pc = i->pc;
    info->has_chip = i->dma;
    info->chip = i->chip;
    info->user = i->user;
    info->lines = i->lines;
    info->cost = cost(model, &i->sums);
    return info;
}

static void query_work(CPUState *cpu, run_on_cpu_data data)
{
    Work *work = data.host_ptr;
    const ContentionModel *model = work->device->model;
    g_autoptr(ContentionRanking) r =
        contention_ranking_new(model, contention_line_address, NULL);
    ContentionInfo *info;
    ContentionRegion region;
    strList **distances;
    ContentionLineList **lines;
    ContentionInstructionList **instructions;

    if (!r) {
        error_setg(&work->err, "contention: nothing is attributed with "
                   "attribution-entries=0: raise it");
        return;
    }
    contention_region_now(work->device, &region);
    info = work->info = g_new0(ContentionInfo, 1);
    info->region = work->device->open;
    info->start = region.start;
    info->end = region.end;
    info->instructions = region.instructions;
    info->total = cost(model, r->total);
    info->nr_lines = r->nr_lines;
    info->nr_instructions = r->nr_instructions;
    info->dropped_lines = r->dropped_lines;
    info->dropped_accesses = r->dropped_accesses;

    distances = &info->distances;
    for (unsigned i = 0; i < nr_distances(model); i++) {
        QAPI_LIST_APPEND(distances, g_strdup(contention_distance_name(i)));
    }
    lines = &info->lines;
    for (unsigned i = 0; i < MIN(work->lines, r->nr_lines); i++) {
        QAPI_LIST_APPEND(lines, line_info(model, &r->lines[i],
                                          work->accesses));
    }
    instructions = &info->instructions_by_cost;
    for (unsigned i = 0; i < MIN(work->instructions, r->nr_instructions);
         i++) {
        QAPI_LIST_APPEND(instructions,
                         instruction_info(model, &r->instructions[i]));
    }
}

ContentionInfo *qmp_query_contention(bool has_lines, uint32_t lines,
                                     bool has_accesses, uint32_t accesses,
                                     bool has_instructions,
                                     uint32_t instructions, Error **errp)
{
    Work work = {
        .lines = has_lines ? lines : DEFAULT_ROWS,
        .accesses = has_accesses ? accesses : DEFAULT_ROWS,
        .instructions = has_instructions ? instructions : DEFAULT_ROWS,
    };

    do_work(&work, query_work, errp);
    return work.info;
}

static void reset_work(CPUState *cpu, run_on_cpu_data data)
{
    Work *work = data.host_ptr;

    contention_reset_counters(work->device->model);
    contention_region_restart(work->device);
}

void qmp_contention_reset(Error **errp)
{
    Work work = { };

    do_work(&work, reset_work, errp);
}

static void region_work(CPUState *cpu, run_on_cpu_data data)
{
    Work *work = data.host_ptr;

    if (work->enter) {
        simtime_region_enter(&work->err);
    } else {
        simtime_region_leave(&work->err);
    }
}

void qmp_contention_region(bool enter, Error **errp)
{
    Work work = { .enter = enter };

    do_work(&work, region_work, errp);
}

static double share(const ContentionCost *part, const ContentionCost *all)
{
    return all->stall ? 100.0 * part->stall / all->stall : 0;
}

static uint64_t transfers(const ContentionCost *c, bool across)
{
    uint64_t n = 0;
    unsigned distance = 0;

    for (const uint64List *l = c->transfers; l; l = l->next) {
        if (!across || distance >= CONTENTION_CROSS_CHIP) {
            n += l->value;
        }
        distance++;
    }
    return n;
}

static void print_cost(Monitor *mon, const ContentionCost *c,
                       const ContentionCost *all)
{
    monitor_printf(mon, "%6.2f%% %13" PRId64 " %10" PRIu64 " %10" PRIu64
                   " %13" PRId64 " ", share(c, all),
                   c->stall / SIMTIME_PS_PER_NS, transfers(c, false),
                   transfers(c, true), c->wait / SIMTIME_PS_PER_NS);
}

static void print_who(Monitor *mon, ContentionOperation op, bool has_pc,
                      uint64_t pc, uint32_t chip, bool user)
{
    if (has_pc) {
        monitor_printf(mon, "%s at 0x%016" PRIx64 "%s",
                       ContentionOperation_str(op), pc, user ? " user" : "");
    } else {
        monitor_printf(mon, "%s by controller of chip %" PRIu32,
                       ContentionOperation_str(op), chip);
    }
}

static void hmp_info_contention(Monitor *mon, const QDict *qdict)
{
    bool has = qdict_haskey(qdict, "lines");
    int64_t rows = qdict_get_try_int(qdict, "lines", DEFAULT_ROWS);
    g_autoptr(ContentionInfo) info = NULL;
    Error *err = NULL;

    if (rows < 0 || rows > UINT32_MAX) {
        monitor_printf(mon, "Error: lines: give 0 or more\n");
        return;
    }
    info = qmp_query_contention(has, rows, true, 3, has, rows, &err);
    if (hmp_handle_error(mon, err)) {
        return;
    }

    monitor_printf(mon, "region of interest: %s, %" PRId64 " ns, %" PRId64
                   " instructions\n", info->region ? "open" : "left",
                   (info->end - info->start) / SIMTIME_PS_PER_NS,
                   info->instructions);
    monitor_printf(mon, "%" PRIu32 " lines, %" PRIu32 " instructions; not "
                   "entered: %" PRIu64 " lines, %" PRIu64 " accesses\n",
                   info->nr_lines, info->nr_instructions,
                   info->dropped_lines, info->dropped_accesses);
    monitor_printf(mon, "\n  stall      stall ns  transfers cross-chip"
                   "       wait ns\n");
    print_cost(mon, info->total, info->total);
    monitor_printf(mon, "all\n");
    for (ContentionLineList *l = info->lines; l; l = l->next) {
        print_cost(mon, l->value->cost, info->total);
        monitor_printf(mon, "line 0x%" PRIx64 "\n", l->value->address);
        for (ContentionAccessList *a = l->value->accesses; a; a = a->next) {
            print_cost(mon, a->value->cost, info->total);
            monitor_printf(mon, "  +%" PRIu32 " ", a->value->offset);
            print_who(mon, a->value->operation, a->value->has_pc,
                      a->value->pc, a->value->chip, a->value->user);
            monitor_printf(mon, "\n");
        }
    }
    monitor_printf(mon, "\n");
    for (ContentionInstructionList *i = info->instructions_by_cost; i;
         i = i->next) {
        print_cost(mon, i->value->cost, info->total);
        print_who(mon, i->value->operation, i->value->has_pc, i->value->pc,
                  i->value->chip, i->value->user);
        monitor_printf(mon, "\n");
    }
}

static void contention_hmp_init(void)
{
    monitor_register_hmp("contention", true, hmp_info_contention);
}

type_init(contention_hmp_init)
