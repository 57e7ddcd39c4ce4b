/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: runs a pattern on the threads of a machine.
 *
 * Two queues by time, as in accel/tcg/simtime.c: threads, by when they come
 * to their next operation, and events (a line that becomes free, interrupts
 * that are delivered), which come first when times are equal.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <glib.h>
#include "replay.h"
#include "../accel/tcg/simtime-heap.h"

/* A thread may start this much later than another, ps */
#define START_SPREAD 1000000

/* Operations without an interrupt handled after which a storm has stopped */
#define STUCK_EVENTS 50000000

#define NEVER INT64_MAX

/* A line by who owns it: steps of -8 to 8 */
#define STEPS 17

/* A place in a pattern: the operations of a variant, the next one */
typedef struct Position {
    const ReplayOp *first;
    const ReplayOp *next;
} Position;

/*
 * @access: an operation's access is under way, to be completed at its time
 * @left: of the interrupted "send", time to its next operation, ps
 * @asserted, @queued: P and Q of the source of its interrupt: it has not been
 *                     ended, and another trigger has come meanwhile
 * @ended: the interrupt under way has been
 * @calls: made, @done: by it, of those the target has handled
 * @polled: line on which it is parked, or -1; @polled_at: last iteration
 * @interrupt: when it will be interrupted, as far as is known, or NEVER
 */
typedef struct Thread {
    Position send;
    Position handle;
    bool handling;
    bool access;
    bool blocked;
    bool polling;
    bool asserted;
    bool queued;
    bool ended;
    unsigned pending;
    ContentionTime left;
    uint64_t calls;
    uint64_t done;
    int64_t polled;
    ContentionTime polled_at;
    ContentionTime interrupt;
    unsigned source;
    unsigned target;
} Thread;

typedef struct Event {
    bool deliver;           /* an interrupt; else a line is free */
    unsigned cpu;
    uint64_t line;
} Event;

typedef struct Replay {
    const ReplayPattern *pattern;
    const ReplayMachine *machine;
    const ReplayRun *run;
    ContentionModel *model;
    Thread *threads;
    int32_t *parked;        /* by line of a link: thread parked, or -1 */
    uint64_t *first;        /* by pattern line: its first model line */
    uint32_t *lines;        /* by cpu, pattern line and step: model line */
    SimHeap cpus;
    SimHeap events;
    GArray *event;          /* Event, by id */
    GArray *unused;         /* ids */
    uint32_t order;
    uint64_t random;
    unsigned send_weight;
    unsigned handle_weight;
    uint64_t early;         /* interrupts handled in the warm-up */
    uint64_t handled;
    ContentionTime lookahead;
    ContentionTime from;
    ContentionTime until;
} Replay;

/* splitmix64, as the core's arbitration has it: one word of state. */
static uint64_t next_random(Replay *r)
{
    uint64_t z = r->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static unsigned random_below(Replay *r, unsigned n)
{
    return (next_random(r) >> 32) * n >> 32;
}

static void choose_variant(Replay *r, const GPtrArray *variants,
                           unsigned weight, Position *at)
{
    unsigned pick = variants->len > 1 ? random_below(r, weight) : 0;

    for (unsigned i = 0; i < variants->len; i++) {
        const ReplayVariant *v = g_ptr_array_index(variants, i);

        at->first = at->next = &g_array_index(v->ops, ReplayOp, 0);
        if (pick < v->weight) {
            break;
        }
        pick -= v->weight;
    }
}

static const ReplayOp *op_at(const Position *p)
{
    return p->next;
}

static Position *position(Thread *t)
{
    return t->handling ? &t->handle : &t->send;
}

static void event_add(Replay *r, ContentionTime when, Event e)
{
    uint32_t id;

    if (r->unused->len) {
        id = g_array_index(r->unused, uint32_t, r->unused->len - 1);
        g_array_set_size(r->unused, r->unused->len - 1);
        g_array_index(r->event, Event, id) = e;
    } else {
        id = r->event->len;
        g_array_append_val(r->event, e);
        sim_heap_reserve(&r->events, r->event->len);
    }
    sim_heap_insert(&r->events, when, r->order++, id);
}

static void thread_queue(Replay *r, unsigned cpu, ContentionTime when)
{
    if (sim_heap_queued(&r->cpus, cpu)) {
        sim_heap_move(&r->cpus, when, cpu);
    } else {
        sim_heap_insert(&r->cpus, when, cpu, cpu);
    }
}

static void thread_unqueue(Replay *r, unsigned cpu)
{
    if (sim_heap_queued(&r->cpus, cpu)) {
        sim_heap_remove(&r->cpus, cpu);
    }
}

static ContentionTime thread_time(const Replay *r, unsigned cpu)
{
    return r->cpus.e[r->cpus.pos[cpu] - 1].key;
}

/* The model's line for that of @op when @cpu executes it */
static uint64_t model_line(const Replay *r, unsigned cpu, const ReplayOp *op)
{
    return r->lines[(cpu * r->pattern->scopes->len + op->line) * STEPS +
                    STEPS / 2 + op->step];
}

static uint64_t find_model_line(const Replay *r, unsigned cpu, unsigned line,
                                int step)
{
    int owner = cpu;

    for (int i = step; i > 0; i--) {
        owner = r->threads[owner].target;
    }
    for (int i = step; i < 0; i++) {
        owner = r->threads[owner].source;
    }
    switch (g_array_index(r->pattern->scopes, ReplayScope, line)) {
    case REPLAY_CHIP:
        return r->first[line] + contention_cpu_chip(r->model, owner);
    case REPLAY_GLOBAL:
        return r->first[line];
    default:
        return r->first[line] + owner;
    }
}

static void find_model_lines(Replay *r)
{
    unsigned n = r->pattern->scopes->len;
    uint32_t *at = r->lines = g_new(uint32_t, r->run->cpus * n * STEPS);

    for (unsigned cpu = 0; cpu < r->run->cpus; cpu++) {
        for (unsigned line = 0; line < n; line++) {
            for (int step = -STEPS / 2; step <= STEPS / 2; step++) {
                *at++ = find_model_line(r, cpu, line, step);
            }
        }
    }
}

/*
 * What @cpu may do on its own: until then nobody else's access, which comes
 * before, can have an effect on lines that it holds.
 */
static ContentionTime thread_horizon(const Replay *r, unsigned cpu)
{
    const SimHeap *h = &r->cpus;
    ContentionTime others = r->events.n ? r->events.e[0].key : NEVER;

    /* The first of the others, the second of all if @cpu is the first */
    for (unsigned i = 0; i < MIN(h->n, 3); i++) {
        if (h->e[i].id != cpu) {
            others = MIN(others, h->e[i].key);
        }
    }
    return MIN(others == NEVER ? NEVER : others + r->lookahead,
               r->threads[cpu].interrupt);
}

/*
 * From the operation before to the next, past those which are free and in
 * which nobody can come between.
 */
static void thread_next(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];
    Position *p = position(t);
    const ContentionFilter *filter = contention_filter(r->model, cpu);
    ContentionTime horizon = thread_horizon(r, cpu);

    for (;;) {
        const ReplayOp *op = op_at(p);

        now += op->instructions * r->run->instruction;
        if (now >= horizon || op->kind > REPLAY_CONDITIONAL ||
            !contention_filter_hit(filter, model_line(r, cpu, op),
                                   op->kind != REPLAY_LOAD)) {
            break;
        }
        p->next++;
    }
    thread_queue(r, cpu, now);
}

/* Somebody else asks for @line: whoever polls it must look again. */
static void unpark(Replay *r, uint64_t line, ContentionTime now)
{
    int cpu = r->parked[line];
    ContentionTime period, when;
    Thread *t;

    if (cpu < 0) {
        return;
    }
    r->parked[line] = -1;
    t = &r->threads[cpu];
    t->polled = -1;
    if (t->handling) {
        return;
    }
    period = op_at(&t->send)->period * r->run->instruction + r->run->pause;
    when = t->polled_at;
    if (now > when) {
        when += (now - when + period - 1) / period * period;
    }
    thread_queue(r, cpu, when);
}

static ContentionTime do_access(Replay *r, unsigned cpu, const ReplayOp *op,
                                ContentionTime now)
{
    uint64_t line = model_line(r, cpu, op);
    bool store = op->kind == REPLAY_STORE || op->kind == REPLAY_RELEASE ||
                 op->kind == REPLAY_CONDITIONAL;

    if (contention_filter_hit(contention_filter(r->model, cpu), line, store)) {
        return 0;
    }
    /* No probe: who is first may make the access at once. */
    if (r->parked[line] != (int)cpu) {
        unpark(r, line, now);
    }
    return op->kind == REPLAY_CONDITIONAL ?
           contention_store_conditional(r->model, cpu, line, now, NULL) :
           contention_access(r->model, cpu, line, store, now, NULL);
}

static unsigned at_chip(const Replay *r, unsigned cpu, ReplayAt at)
{
    switch (at) {
    case REPLAY_AT_OWN:
        return contention_cpu_chip(r->model, cpu);
    case REPLAY_AT_TARGET:
        return contention_cpu_chip(r->model, r->threads[cpu].target);
    default:
        return 0;
    }
}

static void handle_begin(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];

    t->pending--;
    t->handling = true;
    t->ended = false;
    choose_variant(r, r->pattern->handle, r->handle_weight, &t->handle);
    thread_next(r, cpu, now);
}

/* The next poll of a thread whose last one, at @now, found nothing */
static void poll_again(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];
    const ReplayOp *op = op_at(&t->send);
    uint64_t line = model_line(r, cpu, op);

    if (contention_filter_hit(contention_filter(r->model, cpu), line, false) &&
        (r->parked[line] < 0 || r->parked[line] == (int)cpu)) {
        t->polled = line;
        t->polled_at = now;
        r->parked[line] = cpu;
        thread_unqueue(r, cpu);
        return;
    }
    thread_queue(r, cpu, now + op->period * r->run->instruction +
                         r->run->pause);
}

/*
 * May an interrupt come after the operation that @t has made? The store to an
 * ESB page is the trigger that follows, the same instruction.
 */
static bool interruptible(const Thread *t, const ReplayOp *op)
{
    return !t->handling &&
           !(op->kind == REPLAY_MMIO && op->line == CONTENTION_ESB_STORE);
}

/* The warm-up ends after a quarter of the interrupts that end the window. */
static void count_handled(Replay *r, ContentionTime now)
{
    if (now >= r->from) {
        r->handled += now < r->until;
    } else if (r->run->interrupts &&
               ++r->early >= MAX(r->run->interrupts / 4, 1)) {
        r->from = now;
    }
}

/* The access of @cpu's operation is made, its time is over. */
static void complete(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];
    const ReplayOp *op = op_at(position(t));

    t->access = false;
    if (op->kind == REPLAY_WAIT && t->done < t->calls) {
        t->polling = true;
        if (t->pending) {
            /* Between two iterations as good as within one. */
            t->left = op->period * r->run->instruction;
            handle_begin(r, cpu, now);
        } else {
            poll_again(r, cpu, now);
        }
        return;
    }
    t->polling = false;
    if (op->kind == REPLAY_RELEASE) {
        r->threads[t->source].done++;
        count_handled(r, now);
    }
    position(t)->next++;
    if (interruptible(t, op) && t->pending) {
        t->left = op_at(&t->send)->instructions * r->run->instruction;
        handle_begin(r, cpu, now);
        return;
    }
    thread_next(r, cpu, now);
}

static void notify(Replay *r, unsigned from, unsigned source, unsigned target,
                   ContentionTime now)
{
    Thread *t = &r->threads[target];

    t->interrupt = contention_fabric_trigger(r->model, from, source,
                       contention_cpu_chip(r->model, target), now, NULL);
    event_add(r, t->interrupt, (Event) { .deliver = true, .cpu = target });
}

static void trigger(Replay *r, unsigned cpu, unsigned source,
                    ContentionTime now)
{
    unsigned target = r->threads[cpu].target;
    Thread *t = &r->threads[target];

    if (t->asserted) {
        t->queued = true;
        return;
    }
    t->asserted = true;
    notify(r, contention_cpu_chip(r->model, cpu), source, target, now);
}

/* What was queued is a trigger of its own, by who ends the interrupt. */
static void end_interrupt(Replay *r, unsigned cpu, unsigned source,
                          ContentionTime now)
{
    Thread *t = &r->threads[cpu];

    t->ended = true;
    t->asserted = t->queued;
    if (t->queued) {
        t->queued = false;
        notify(r, contention_cpu_chip(r->model, cpu), source, cpu, now);
    }
}

/* A thread comes to its next operation. */
static void thread_step(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];
    Position *p = position(t);
    const ReplayOp *op = op_at(p);
    ContentionTime stall = 0;

    if (t->access) {
        complete(r, cpu, now);
        return;
    }
    switch (op->kind) {
    case REPLAY_PAUSE:
        stall = r->run->pause;
        break;
    case REPLAY_MMIO:
        stall = contention_fabric_mmio(r->model, cpu, at_chip(r, cpu, op->at),
                                       op->line);
        if (t->handling && !t->ended &&
            (op->line == CONTENTION_ESB_LOAD ||
             op->line == CONTENTION_ESB_STORE)) {
            end_interrupt(r, cpu, at_chip(r, cpu, op->at), now);
        }
        break;
    case REPLAY_TRIGGER:
        t->calls++;
        trigger(r, cpu, at_chip(r, cpu, op->at), now);
        break;
    case REPLAY_END:
        if (t->handling && !t->ended) {
            end_interrupt(r, cpu, contention_cpu_chip(r->model, cpu), now);
        }
        if (!t->handling) {
            choose_variant(r, r->pattern->send, r->send_weight, &t->send);
            thread_next(r, cpu, now);
        } else if (t->pending) {
            handle_begin(r, cpu, now);
        } else {
            t->handling = false;
            thread_queue(r, cpu, now + t->left);
        }
        return;
    default:
        stall = do_access(r, cpu, op, now);
        break;
    }
    t->access = true;
    if (stall == CONTENTION_BLOCKED) {
        t->blocked = true;
        thread_unqueue(r, cpu);
    } else if (stall) {
        thread_queue(r, cpu, now + stall);
    } else {
        complete(r, cpu, now);
    }
}

static void deliver(Replay *r, unsigned cpu, ContentionTime now)
{
    Thread *t = &r->threads[cpu];
    int queue = r->pattern->queue_line;

    t->interrupt = NEVER;
    if (queue >= 0) {
        contention_dma(r->model, contention_cpu_chip(r->model, cpu),
                       r->first[queue] + cpu, true, now, NULL);
    }
    t->pending++;
    if (t->handling || t->access) {
        return;
    }
    if (t->polled >= 0) {
        /* It looks again as soon as it is back. */
        r->parked[t->polled] = -1;
        t->polled = -1;
        t->left = op_at(&t->send)->period * r->run->instruction;
    } else {
        t->left = MAX(thread_time(r, cpu) - now, 0);
        if (t->polling) {
            /* An interrupt ends the pause. */
            t->left = MIN(t->left, op_at(&t->send)->period *
                                   r->run->instruction);
        }
    }
    handle_begin(r, cpu, now);
}

/* The core's arbitration */

static void line_free_at(uint64_t line, ContentionTime when, void *opaque)
{
    event_add(opaque, when, (Event) { .line = line });
}

static void line_granted(unsigned cpu, uint64_t line, ContentionTime when,
                         void *opaque)
{
    Replay *r = opaque;

    r->threads[cpu].blocked = false;
    thread_queue(r, cpu, when);
}

/* Back to the load with reservation, the last one of the line. */
static void line_lost(unsigned cpu, uint64_t line, ContentionTime when,
                      void *opaque)
{
    Replay *r = opaque;
    Thread *t = &r->threads[cpu];
    Position *p = position(t);
    const ReplayOp *op = op_at(p);

    t->blocked = t->access = false;
    for (const ReplayOp *before = op; before-- > p->first; ) {
        if (before->kind == REPLAY_LOAD && before->line == op->line &&
            before->step == op->step) {
            p->next = before;
            break;
        }
    }
    thread_queue(r, cpu, when);
}

static const ContentionArbiterOps arbiter = {
    .free_at = line_free_at,
    .granted = line_granted,
    .lost = line_lost,
};

static unsigned total_weight(const GPtrArray *variants)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < variants->len; i++) {
        sum += ((ReplayVariant *)g_ptr_array_index(variants, i))->weight;
    }
    return sum;
}

static ContentionModel *build_model(const ContentionParams *params,
                                    const ReplayMachine *m, GError **errp)
{
    g_autoptr(GArray) places = g_array_new(false, false,
                                           sizeof(ContentionPlace));
    ContentionTopology topology = { .nr_chips = m->nr_chips,
                                    .hops = m->hops };

    for (unsigned chip = 0; chip < m->nr_chips; chip++) {
        for (unsigned core = 0; core < m->cores[chip]; core++) {
            for (unsigned thread = 0; thread < m->threads; thread++) {
                ContentionPlace p = { chip, core, thread };

                g_array_append_val(places, p);
            }
        }
    }
    topology.nr_cpus = places->len;
    topology.places = (const ContentionPlace *)places->data;
    return contention_new(params, &topology, errp);
}

/*
 * A line that is taken over leaves after part of the transfer, and a copy is
 * there after one, so who has it can do as he likes until then.
 */
static ContentionTime lookahead(const ContentionParams *p)
{
    ContentionTime shortest = MIN(MIN(p->same_chip, p->cross_chip),
                                  p->notify + p->match);

    return p->holder_rule == CONTENTION_HOLDER_LOAD_STORE
           ? shortest * p->departure / 100 : 0;
}

static bool check_run(const ContentionModel *model, const ReplayRun *run,
                      GError **errp)
{
    unsigned have = contention_nr_cpus(model);

    if (run->cpus < 2 || run->cpus > have) {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_TOPOLOGY,
                    "%u cpus: the machine allows 2 to %u", run->cpus, have);
    } else if (!run->offset || run->offset >= run->cpus) {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_RANGE,
                    "offset %u: for %u cpus it must be 1 to %u", run->offset,
                    run->cpus, run->cpus - 1);
    } else if (run->instruction <= 0 || run->pause < 0 || run->warmup < 0 ||
               run->duration <= 0) {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_RANGE,
                    "times of an instruction and of the window must be "
                    "positive, of pause and warm-up not negative");
    } else {
        return true;
    }
    return false;
}

bool replay_run(const ReplayPattern *pattern, const ContentionParams *params,
                const ReplayMachine *machine, const ReplayRun *run,
                ReplayResult *result, GError **errp)
{
    ContentionModel *model = build_model(params, machine, errp);
    unsigned n = run->cpus;
    uint64_t lines = 1, steps = 0, last = 0, last_handled = 0;
    bool ok = true;
    Replay r = {
        .pattern = pattern, .machine = machine, .run = run, .model = model,
        .from = run->warmup, .until = run->warmup + run->duration,
        .random = params->seed,
        .send_weight = total_weight(pattern->send),
        .handle_weight = total_weight(pattern->handle),
        .lookahead = lookahead(params),
    };

    if (!model) {
        return false;
    }
    if (!check_run(model, run, errp)) {
        contention_free(model);
        return false;
    }
    contention_reset(model);
    contention_set_arbiter(model, &arbiter, &r);

    r.threads = g_new0(Thread, n);
    r.first = g_new(uint64_t, pattern->scopes->len);
    for (unsigned i = 0; i < pattern->scopes->len; i++) {
        r.first[i] = lines;
        lines += MAX(n, machine->nr_chips);
    }
    r.parked = g_new(int32_t, lines);
    for (uint64_t i = 0; i < lines; i++) {
        r.parked[i] = -1;
    }
    r.event = g_array_new(false, false, sizeof(Event));
    r.unused = g_array_new(false, false, sizeof(uint32_t));
    sim_heap_reserve(&r.cpus, n);
    for (unsigned i = 0; i < n; i++) {
        Thread *t = &r.threads[i];

        t->target = (i + run->offset) % n;
        t->source = (i + n - run->offset) % n;
        t->polled = -1;
        t->interrupt = NEVER;
        choose_variant(&r, pattern->send, r.send_weight, &t->send);
        thread_queue(&r, i, random_below(&r, START_SPREAD));
    }
    find_model_lines(&r);

    for (;;) {
        ContentionTime clock = r.cpus.n ? r.cpus.e[0].key : NEVER;
        ContentionTime event = r.events.n ? r.events.e[0].key : NEVER;

        if (MIN(clock, event) >= r.until) {
            /* With nothing left to happen a storm has stopped. */
            ok = MIN(clock, event) != NEVER;
            break;
        }
        steps++;
        if (event <= clock) {
            uint32_t id = r.events.e[0].id;
            Event e = g_array_index(r.event, Event, id);

            sim_heap_remove(&r.events, id);
            g_array_append_val(r.unused, id);
            if (e.deliver) {
                deliver(&r, e.cpu, event);
            } else {
                contention_grant(model, e.line, event);
            }
        } else {
            thread_step(&r, r.cpus.e[0].id, clock);
        }
        if (r.handled != last_handled) {
            if (r.handled == run->interrupts) {
                /* It counts with the time until it was handled. */
                r.until = MIN(event, clock);
                break;
            }
            last_handled = r.handled;
            last = steps;
        } else if (steps - last > STUCK_EVENTS) {
            ok = false;
            break;
        }
    }

    if (ok) {
        result->handled = r.handled;
        result->rate = r.handled * 1e6 / MAX(r.until - r.from, 1);
        result->events = steps;
    } else {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_VALUE,
                    "the storm of '%s' stops: its pattern does not make a "
                    "call come to its end; record the kernel again",
                    pattern->name);
    }
    g_free(r.threads);
    g_free(r.first);
    g_free(r.lines);
    g_free(r.parked);
    g_array_free(r.event, true);
    g_array_free(r.unused, true);
    g_free(r.cpus.e);
    g_free(r.cpus.pos);
    g_free(r.events.e);
    g_free(r.events.pos);
    contention_free(model);
    return ok;
}
