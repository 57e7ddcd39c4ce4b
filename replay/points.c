/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: runs points side by side.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <glib.h>
#include "points.h"

/* One run: a point with one seed */
typedef struct Job {
    const ReplayPoint *point;
    unsigned seed;              /* counted from that of the parameters */
    double rate;
    GError *err;
} Job;

typedef struct Jobs {
    const ReplayOptions *o;
    const ContentionParams *params;
    const ReplayRun *run;
} Jobs;

static void job_run(gpointer data, gpointer opaque)
{
    const Jobs *jobs = opaque;
    Job *job = data;
    ContentionParams params = *jobs->params;
    ReplayRun run = *jobs->run;
    ReplayResult result;

    params.seed += job->seed;
    run.cpus = job->point->cpus;
    if (replay_run(g_ptr_array_index(jobs->o->patterns, job->point->pattern),
                   &params, &jobs->o->machine, &run, &result, &job->err)) {
        job->rate = result.rate;
    }
}

bool replay_points(const ReplayOptions *o, const ContentionParams *params,
                   const ReplayRun *run, bool fit_only, double *rates,
                   GError **errp)
{
    Jobs jobs = { .o = o, .params = params, .run = run };
    unsigned n = o->points->len * o->seeds;
    g_autofree Job *job = g_new0(Job, n);
    GThreadPool *pool = g_thread_pool_new(job_run, &jobs,
                                          g_get_num_processors(), false,
                                          NULL);
    GError *first = NULL;

    for (unsigned i = 0; i < n; i++) {
        job[i].point = &g_array_index(o->points, ReplayPoint, i / o->seeds);
        job[i].seed = i % o->seeds;
        if (job[i].point->fit || !fit_only) {
            g_thread_pool_push(pool, &job[i], NULL);
        }
    }
    g_thread_pool_free(pool, false, true);

    for (unsigned i = 0; i < n; i++) {
        unsigned at = i / o->seeds;

        rates[at] = (i % o->seeds ? rates[at] : 0) + job[i].rate / o->seeds;
        if (job[i].err && !first) {
            first = g_steal_pointer(&job[i].err);
        }
        g_clear_error(&job[i].err);
    }
    if (first) {
        g_propagate_error(errp, first);
    }
    return !first;
}

bool replay_print_rates(const ReplayOptions *o, FILE *out, GError **errp)
{
    g_autofree double *rates = g_new(double, o->points->len);

    if (!replay_points(o, &o->params, &o->run, false, rates, errp)) {
        return false;
    }
    for (unsigned i = 0; i < o->points->len; i++) {
        const ReplayPoint *p = &g_array_index(o->points, ReplayPoint, i);
        const ReplayPattern *pattern = g_ptr_array_index(o->patterns,
                                                         p->pattern);
        char text[G_ASCII_DTOSTR_BUF_SIZE];

        fprintf(out, "%s %u %s\n", pattern->name, p->cpus,
                g_ascii_formatd(text, sizeof(text), "%.4f", rates[i]));
    }
    return true;
}
