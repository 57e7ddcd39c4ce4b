/*
 * Contention model: the trace file of the region of interest
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A header and records of 64 bytes each, little endian, in the order in
 * which the model did them, which is nearly that of their times; see
 * docs/report-format.md. The file keeps the beginning of the region: when it
 * has its number of records, the rest is counted.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/error-report.h"
#include "device.h"

#define TRACE_MAGIC     "XSTRACE\n"
#define TRACE_VERSION   1

/* Kinds above those of ContentionKind */
enum {
    TRACE_GIVEN_UP = 16,
    TRACE_EVENT = 17,
    TRACE_MMIO = 32,            /* + ContentionMmio */
};

enum {
    TRACE_STORE = 1,
    TRACE_CONDITIONAL = 2,
    TRACE_USER = 4,
    TRACE_DMA = 8,
};

/**
 * struct TraceHeader - the first 64 bytes
 * @magic: TRACE_MAGIC
 * @version: TRACE_VERSION
 * @record_bytes: size of a record, and of this
 * @records: number of records
 * @dropped: what came after the last of them
 * @start, @end: of the region, ps
 * @cpus, @chips, @domains: of the machine
 */
typedef struct QEMU_PACKED TraceHeader {
    char magic[8];
    uint32_t version;
    uint32_t record_bytes;
    uint64_t records;
    uint64_t dropped;
    int64_t start;
    int64_t end;
    uint32_t cpus;
    uint32_t chips;
    uint32_t domains;
    uint32_t pad;
} TraceHeader;

/**
 * struct TraceRecord - one access, event or register access
 * @time: when it was asked for, ps
 * @waited: ps until the transfer began; of an event: until it was served
 * @transfer: ps of the transfer; of an event: from then to delivery
 * @gpa: guest physical address of the line; of an event: its source's chip
 * @pc, @ea: as in ContentionOrigin; 0 for a controller
 * @who: vCPU, or chip of the controller, or chip that triggers the event
 * @from: domain that had the line, or -1; chip of the target of an event or
 *        of the controller
 * @kind: ContentionKind or TRACE_*
 * @flags: TRACE_STORE ...
 * @distance: of the transfer
 * @size: bytes
 */
typedef struct QEMU_PACKED TraceRecord {
    int64_t time;
    int64_t waited;
    int64_t transfer;
    uint64_t gpa;
    uint64_t pc;
    uint64_t ea;
    uint32_t who;
    int32_t from;
    uint8_t kind;
    uint8_t flags;
    uint8_t distance;
    uint8_t pad;
    uint16_t size;
    uint16_t waiters;
} TraceRecord;

QEMU_BUILD_BUG_ON(sizeof(TraceHeader) != 64);
QEMU_BUILD_BUG_ON(sizeof(TraceRecord) != 64);

static FILE *trace;
static char *trace_path;
static uint64_t trace_limit;
static TraceHeader header;

bool contention_tracing(void)
{
    return trace;
}

static void trace_failed(void)
{
    error_report("contention: trace-file: %s: %s", trace_path,
                 strerror(errno));
    if (trace) {
        fclose(trace);
        trace = NULL;
    }
}

static void write_header(void)
{
    TraceHeader h = header;

    h.version = cpu_to_le32(h.version);
    h.record_bytes = cpu_to_le32(h.record_bytes);
    h.records = cpu_to_le64(h.records);
    h.dropped = cpu_to_le64(h.dropped);
    h.start = cpu_to_le64(h.start);
    h.end = cpu_to_le64(h.end);
    h.cpus = cpu_to_le32(h.cpus);
    h.chips = cpu_to_le32(h.chips);
    h.domains = cpu_to_le32(h.domains);
    if (fwrite(&h, sizeof(h), 1, trace) != 1) {
        trace_failed();
    }
}

void contention_trace_open(const char *path, uint64_t limit, int64_t now)
{
    const ContentionModel *model = contention_device()->model;

    g_free(trace_path);
    trace_path = g_strdup(path);
    trace_limit = limit;
    header = (TraceHeader) {
        .magic = TRACE_MAGIC, .version = TRACE_VERSION,
        .record_bytes = sizeof(TraceRecord),
        .start = now, .end = now,
        .cpus = contention_nr_cpus(model),
        .chips = contention_nr_chips(model),
        .domains = contention_nr_domains(model),
    };
    trace = fopen(path, "wb");
    if (!trace) {
        trace_failed();
        return;
    }
    write_header();
}

void contention_trace_close(int64_t now)
{
    if (!trace) {
        return;
    }
    header.end = now;
    if (fseek(trace, 0, SEEK_SET)) {
        trace_failed();
        return;
    }
    write_header();
    if (trace) {
        FILE *f = g_steal_pointer(&trace);

        if (fclose(f)) {
            trace_failed();
        }
    }
}

static void write_record(const TraceRecord *record)
{
    TraceRecord r = *record;

    if (header.records == trace_limit) {
        header.dropped++;
        return;
    }
    header.records++;
    r.time = cpu_to_le64(r.time);
    r.waited = cpu_to_le64(r.waited);
    r.transfer = cpu_to_le64(r.transfer);
    r.gpa = cpu_to_le64(r.gpa);
    r.pc = cpu_to_le64(r.pc);
    r.ea = cpu_to_le64(r.ea);
    r.who = cpu_to_le32(r.who);
    r.from = cpu_to_le32(r.from);
    r.size = cpu_to_le16(r.size);
    r.waiters = cpu_to_le16(r.waiters);
    if (fwrite(&r, sizeof(r), 1, trace) != 1) {
        trace_failed();
    }
}

static TraceRecord request_record(const ContentionRequest *r)
{
    return (TraceRecord) {
        .time = r->now,
        .gpa = contention_line_address(r->line, NULL),
        .pc = r->origin.pc,
        .ea = r->origin.ea,
        .who = r->who,
        .from = -1,
        .flags = (r->store ? TRACE_STORE : 0) | (r->dma ? TRACE_DMA : 0) |
                 (r->conditional ? TRACE_CONDITIONAL : 0) |
                 (r->origin.user ? TRACE_USER : 0),
        .size = r->origin.size,
    };
}

void contention_trace_access(const ContentionRequest *request,
                             const ContentionResult *result)
{
    TraceRecord r = request_record(request);

    r.waited = result->waited;
    r.transfer = result->transfer;
    r.from = result->from;
    r.kind = result->kind;
    r.distance = result->distance;
    r.waiters = MIN(result->waiters, UINT16_MAX);
    write_record(&r);
}

void contention_trace_given_up(const ContentionRequest *request,
                               int64_t waited)
{
    TraceRecord r = request_record(request);

    r.waited = waited;
    r.kind = TRACE_GIVEN_UP;
    write_record(&r);
}

void contention_trace_event(unsigned from, unsigned source, unsigned target,
                            int64_t now, const ContentionDelivery *d)
{
    write_record(&(TraceRecord) {
        .time = now, .waited = d->served - now,
        .transfer = d->delivered - d->served,
        .gpa = source, .who = from, .from = target, .kind = TRACE_EVENT,
    });
}

void contention_trace_mmio(unsigned cpu, unsigned chip, ContentionMmio kind,
                           int64_t now, int64_t stall)
{
    write_record(&(TraceRecord) {
        .time = now, .transfer = stall, .who = cpu, .from = chip,
        .kind = TRACE_MMIO + kind,
    });
}
