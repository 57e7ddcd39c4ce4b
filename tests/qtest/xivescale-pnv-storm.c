/*
 * QTest testcases of the contention model on PowerNV
 *  - a storm of IPIs between simulated hardware threads
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "xivescale-pnv-storm.h"

#define NEVER           INT64_MAX

/* What a thread does next when no interrupt does it */
typedef enum StormStep {
    STEP_TRIGGER,
    STEP_WAIT,
    STEP_DONE,
} StormStep;

typedef enum HandlerStep {
    HANDLER_NONE,
    HANDLER_QUEUE,
    HANDLER_ACK,
    HANDLER_EOI,
    HANDLER_COUNT_LOAD,
    HANDLER_COUNT_STORE,
    HANDLER_SIGNAL,
    HANDLER_CPPR,
} HandlerStep;

/**
 * struct StormThread - a simulated hardware thread
 * @chip, @index: where it is; also the source that interrupts it
 * @cpu: its number
 * @next, @prev: whom it interrupts, by whom it is
 * @clock: its time, ns
 * @step, @handler: what it does next
 * @irq_at: when the interrupt that is on its way arrives, or NEVER
 * @flag_at: when the flag it waits for is stored, or NEVER
 * @sent, @received: IPIs
 */
typedef struct StormThread StormThread;
struct StormThread {
    unsigned chip;
    unsigned index;
    unsigned cpu;
    StormThread *next;
    StormThread *prev;
    int64_t clock;
    StormStep step;
    HandlerStep handler;
    int64_t irq_at;
    int64_t flag_at;
    unsigned sent;
    unsigned received;
};

typedef struct Storm {
    XsMachine *m;
    const StormConfig *config;
    StormThread *threads;
    unsigned nr_threads;
    GArray *counts;
} Storm;

static uint32_t event_data(const StormThread *t)
{
    return 0x1000 + t->cpu;
}

static uint64_t counter_line(const Storm *s, const StormThread *t)
{
    return xs_line(s->config->line_per_chip ? t->chip : 0);
}

static uint64_t flag_line(const StormThread *t)
{
    return xs_line(XS_CHIPS + t->cpu);
}

/* Whole nanoseconds, as all parameters are. */
static int64_t stall_ns(int64_t ps)
{
    g_assert_cmpint(ps % 1000, ==, 0);
    return ps / 1000;
}

static void handler_step(Storm *s, StormThread *t)
{
    XsMachine *m = s->m;
    int64_t now = t->clock;
    int64_t stall = 0;

    switch (t->handler) {
    case HANDLER_QUEUE:
        stall = stall_ns(xs_load(m, t->cpu,
                                 xs_queue_addr(m, t->cpu, t->received), now));
        /* The controller of the chip took the line when it wrote. */
        g_assert_cmpint(stall, ==, STORM_SAME_CHIP);
        g_assert_cmphex(xs_queue_entry(m, t->cpu, t->received), ==,
                        xs_queue_full_entry(event_data(t)));
        t->received++;
        break;
    case HANDLER_ACK:
        stall = STORM_TIMA_LOAD;
        g_assert_cmphex(xs_ack(m, t->cpu), ==, XS_NSR_PHYS << 8 | XS_PRIORITY);
        break;
    case HANDLER_EOI:
        stall = STORM_ESB_LOAD;
        xs_eoi(m, t->chip, t->index);
        break;
    case HANDLER_COUNT_LOAD:
        stall = stall_ns(xs_load(m, t->cpu, counter_line(s, t), now));
        break;
    case HANDLER_COUNT_STORE: {
        StormCount count = { .chip = t->chip, .cpu = t->cpu, .at = now };

        stall = stall_ns(xs_store(m, t->cpu, counter_line(s, t), now));
        count.done = now + stall;
        g_array_append_val(s->counts, count);
        break;
    }
    case HANDLER_SIGNAL:
        stall = stall_ns(xs_store(m, t->cpu, flag_line(t->prev), now));
        t->prev->flag_at = now + stall;
        break;
    case HANDLER_CPPR:
        xs_set_cppr(m, t->cpu, 0xff);
        t->handler = HANDLER_NONE;
        return;
    case HANDLER_NONE:
        g_assert_not_reached();
    }
    t->clock += stall;
    t->handler++;
}

static void sender_step(Storm *s, StormThread *t)
{
    if (t->step == STEP_TRIGGER) {
        xs_trigger(s->m, t->chip, t->next->index);
        g_assert_cmpint(t->next->irq_at, ==, NEVER);
        t->next->irq_at = t->clock + STORM_DELIVERY;
        t->step = STEP_WAIT;
        return;
    }
    t->clock += stall_ns(xs_load(s->m, t->cpu, flag_line(t), t->clock));
    t->flag_at = NEVER;
    t->sent++;
    if (t->sent < s->config->loops) {
        t->clock += STORM_THINK;
        t->step = STEP_TRIGGER;
    } else {
        t->step = STEP_DONE;
    }
}

static int64_t sender_at(const StormThread *t)
{
    switch (t->step) {
    case STEP_TRIGGER:
        return t->clock;
    case STEP_WAIT:
        return t->flag_at == NEVER ? NEVER : MAX(t->clock, t->flag_at);
    default:
        return NEVER;
    }
}

/* When the thread acts next. */
static int64_t thread_at(const StormThread *t)
{
    if (t->handler) {
        return t->clock;
    }
    return MIN(sender_at(t),
               t->irq_at == NEVER ? NEVER : MAX(t->clock, t->irq_at));
}

static void thread_act(Storm *s, StormThread *t, int64_t now)
{
    t->clock = now;
    if (t->handler) {
        handler_step(s, t);
    } else if (t->irq_at <= now) {
        t->irq_at = NEVER;
        t->clock += STORM_ENTRY;
        t->handler = HANDLER_QUEUE;
    } else {
        sender_step(s, t);
    }
}

/*
 * The threads of chip 0 start one after the other, those of chip 1 spread
 * evenly between them.
 */
static int64_t start_time(const StormConfig *c, unsigned chip, unsigned index)
{
    if (chip == 0) {
        return index * STORM_STAGGER;
    }
    return index * MAX(c->threads[0], 1) / c->threads[1] * STORM_STAGGER +
           STORM_STAGGER / 2;
}

static void add_chip(Storm *s, unsigned chip)
{
    unsigned n = s->config->threads[chip];
    StormThread *first = &s->threads[s->nr_threads];

    for (unsigned i = 0; i < n; i++) {
        StormThread *t = &first[i];

        *t = (StormThread) {
            .chip = chip,
            .index = i,
            .cpu = xs_cpu(s->m, chip, i % s->m->cores, i / s->m->cores),
            .next = &first[(i + 1) % n],
            .prev = &first[(i + n - 1) % n],
            .clock = start_time(s->config, chip, i),
            .irq_at = NEVER,
            .flag_at = NEVER,
        };
        xs_route(s->m, chip, i, t->cpu, event_data(t));
    }
    s->nr_threads += n;
}

GArray *storm_run(XsMachine *m, const StormConfig *config)
{
    g_autofree StormThread *threads = NULL;
    Storm s = {
        .m = m,
        .config = config,
        .counts = g_array_new(false, false, sizeof(StormCount)),
    };

    threads = g_new(StormThread, config->threads[0] + config->threads[1]);
    s.threads = threads;
    for (unsigned chip = 0; chip < XS_CHIPS; chip++) {
        add_chip(&s, chip);
    }
    for (;;) {
        StormThread *first = NULL;
        int64_t at = NEVER;

        for (unsigned i = 0; i < s.nr_threads; i++) {
            if (thread_at(&threads[i]) < at) {
                first = &threads[i];
                at = thread_at(first);
            }
        }
        if (!first) {
            break;
        }
        xs_clock(m, at);
        thread_act(&s, first, at);
    }
    for (unsigned i = 0; i < s.nr_threads; i++) {
        g_assert_cmpuint(threads[i].sent, ==, config->loops);
        g_assert_cmpuint(threads[i].received, ==, config->loops);
        g_assert_cmphex(xs_nsr(m, threads[i].cpu), ==, 0);
    }
    return s.counts;
}
