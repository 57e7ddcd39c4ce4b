/*
 * Contention model: writes the accesses of a storm into a file
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>
#include "qemu/error-report.h"
#include "qapi/error.h"
#include "hw/intc/contention/record.h"
#include "device.h"

/* Of the file that is being written, if any */
static FILE *record_file;
static const char *record_name;
static int64_t record_from, record_until;

static void recorder_close(void)
{
    FILE *f = record_file;

    record_file = NULL;
    simtime_set_recorder(NULL);
    if (f && fclose(f)) {
        error_report("contention: record-file: %s: %s", record_name,
                     g_strerror(errno));
    }
}

static void recorder_write(const void *data, size_t size)
{
    if (fwrite(data, size, 1, record_file) != 1) {
        error_report("contention: record-file: %s: %s", record_name,
                     g_strerror(errno));
        recorder_close();
    }
}

static void recorder_entry(const SimtimeRecord *r)
{
    ContentionRecordEntry e = {
        .time = r->time,
        .instructions = r->instructions,
        .line = r->line,
        .pc = r->pc,
        .cpu = r->cpu_index,
        .type = r->kind == SIMTIME_LOAD ? CONTENTION_RECORD_LOAD :
                r->kind == SIMTIME_STORE ? CONTENTION_RECORD_STORE :
                r->kind == SIMTIME_STORE_CONDITIONAL ?
                CONTENTION_RECORD_CONDITIONAL : CONTENTION_RECORD_PAUSE,
        .flags = r->masked ? CONTENTION_RECORD_MASKED : 0,
    };

    if (r->time >= record_until) {
        recorder_close();
    } else if (record_file && r->time >= record_from) {
        recorder_write(&e, sizeof(e));
    }
}

void contention_record_event(unsigned type, uint64_t line, unsigned a,
                             unsigned b)
{
    SimtimeRecord r;
    ContentionRecordEntry e = { .line = line, .type = type, .a = a, .b = b };

    if (!record_file) {
        return;
    }
    simtime_position(&r);
    e.time = r.time;
    if (type != CONTENTION_RECORD_DMA) {
        e.cpu = r.cpu_index;
        e.instructions = r.instructions;
        e.flags = r.masked ? CONTENTION_RECORD_MASKED : 0;
    }
    if (e.time >= record_from && e.time < record_until) {
        recorder_write(&e, sizeof(e));
    }
}

void contention_record_region(ContentionState *s, bool enter, int64_t now)
{
    ContentionRecordHeader header = {
        .magic = CONTENTION_RECORD_MAGIC,
        .version = CONTENTION_RECORD_VERSION,
        .nr_cpus = contention_nr_cpus(s->model),
        .instruction_ps = simtime_instruction_ps(),
    };

    if (!s->record_file) {
        return;
    }
    recorder_close();
    if (!enter) {
        return;
    }
    record_file = g_fopen(s->record_file, "wb");
    record_name = s->record_file;
    if (!record_file) {
        error_report("contention: record-file: %s: %s", record_name,
                     g_strerror(errno));
        return;
    }
    record_from = now + (int64_t)s->record_start_us * 1000 * 1000;
    record_until = record_from + (int64_t)s->record_us * 1000 * 1000;
    recorder_write(&header, sizeof(header));
    for (unsigned i = 0; record_file && i < header.nr_cpus; i++) {
        ContentionPlace p = s->places[i];
        ContentionRecordPlace place = {
            .chip = p.chip, .core = p.core, .thread = p.thread,
        };

        recorder_write(&place, sizeof(place));
    }
    if (record_file) {
        simtime_set_recorder(recorder_entry);
    }
}
