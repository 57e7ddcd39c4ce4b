/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: fits parameters, with the optimisers of NLopt.
 *
 * A rate is a step function of its parameters with some noise (another order
 * of two accesses changes all that follows), so nothing here asks for a
 * derivative: DIRECT finds the valley, SBPLX its ground.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <glib.h>
#include <nlopt.h>
#include "fit.h"
#include "points.h"

/* How much worse a fit may be for a parameter to count as possible */
#define FLAT 0.01

/* Of the evaluations, so many per cent look everywhere first. */
#define GLOBAL_PCT 50

typedef struct Fit {
    const ReplayOptions *o;
    unsigned evaluations;
    GError *err;
} Fit;

static bool apply(const ReplayOptions *o, const double *x,
                  ContentionParams *params, ReplayRun *run, GError **errp)
{
    *params = o->params;
    *run = o->run;
    for (unsigned i = 0; i < o->free->len; i++) {
        const ReplayFree *f = &g_array_index(o->free, ReplayFree, i);
        const ContentionParamInfo *info = contention_params_find(f->name,
                                                                 NULL);
        char text[G_ASCII_DTOSTR_BUF_SIZE];
        bool whole = !info || info->type == CONTENTION_PARAM_INTEGER;

        g_ascii_formatd(text, sizeof(text), whole ? "%.0f" : "%.3f",
                        CLAMP(x[i], f->low, f->high));
        if (!replay_set_param(params, run, f->name, text, errp)) {
            return false;
        }
    }
    return true;
}

static double objective(unsigned n, const double *x, double *gradient,
                        void *opaque)
{
    Fit *fit = opaque;
    const ReplayOptions *o = fit->o;
    ContentionParams params;
    ReplayRun run;
    g_autofree double *rates = g_new(double, o->points->len);
    double sum = 0;
    unsigned count = 0;

    if (fit->err || !apply(o, x, &params, &run, &fit->err)) {
        return HUGE_VAL;
    }
    fit->evaluations++;
    if (!replay_points(o, &params, &run, true, rates, &fit->err)) {
        return HUGE_VAL;
    }
    for (unsigned i = 0; i < o->points->len; i++) {
        const ReplayPoint *p = &g_array_index(o->points, ReplayPoint, i);

        if (p->fit) {
            /* A storm in which nothing is handled is as wrong as can be. */
            double error = log(MAX(rates[i], 0.001) / p->published);

            sum += error * error;
            count++;
        }
    }
    return sqrt(sum / count);
}

static void optimise(Fit *fit, nlopt_algorithm algorithm, unsigned limit,
                     double *x)
{
    unsigned n = fit->o->free->len;
    g_autofree double *low = g_new(double, n);
    g_autofree double *high = g_new(double, n);
    g_autofree double *step = g_new(double, n);
    nlopt_opt opt = nlopt_create(algorithm, n);
    double value;

    for (unsigned i = 0; i < n; i++) {
        const ReplayFree *f = &g_array_index(fit->o->free, ReplayFree, i);

        low[i] = f->low;
        high[i] = f->high;
        step[i] = (f->high - f->low) / 20;
        x[i] = CLAMP(x[i], f->low, f->high);
    }
    nlopt_set_lower_bounds(opt, low);
    nlopt_set_upper_bounds(opt, high);
    nlopt_set_initial_step(opt, step);
    nlopt_set_min_objective(opt, objective, fit);
    nlopt_set_maxeval(opt, limit);
    nlopt_set_xtol_rel(opt, 0.001);
    /* Whatever it ends with, @x is the best it has seen. */
    nlopt_optimize(opt, x, &value);
    nlopt_destroy(opt);
}

static const char *decimal(char *buffer, double value)
{
    return g_ascii_formatd(buffer, G_ASCII_DTOSTR_BUF_SIZE, "%.4f", value);
}

/* How far may parameter @i go before the fit is worse by FLAT? */
static double flat_until(Fit *fit, const double *best, unsigned i,
                         double least, double end)
{
    g_autofree double *x = g_memdup2(best, fit->o->free->len * sizeof(*x));
    double good = best[i], bad = end;

    x[i] = end;
    if (objective(fit->o->free->len, x, NULL, fit) <= least + FLAT) {
        return end;
    }
    for (unsigned n = 0; n < 6; n++) {
        x[i] = (good + bad) / 2;
        if (objective(fit->o->free->len, x, NULL, fit) <= least + FLAT) {
            good = x[i];
        } else {
            bad = x[i];
        }
    }
    return good;
}

static bool print_rates(const ReplayOptions *o, const double *x,
                        const char *prefix, bool published, FILE *out,
                        GError **errp)
{
    char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE];
    ContentionParams params;
    g_autofree double *rates = g_new(double, o->points->len);
    ReplayRun run;

    if (!apply(o, x, &params, &run, errp) ||
        !replay_points(o, &params, &run, false, rates, errp)) {
        return false;
    }
    for (unsigned i = 0; i < o->points->len; i++) {
        const ReplayPoint *p = &g_array_index(o->points, ReplayPoint, i);

        fprintf(out, "%s %u %u %s", prefix, p->pattern, p->cpus,
                decimal(a, rates[i]));
        if (published) {
            fprintf(out, " %s %s", decimal(b, p->published),
                    p->fit ? "fit" : "held-out");
        }
        fputc('\n', out);
    }
    return true;
}

static bool print_sensitivity(const ReplayOptions *o, const double *best,
                              FILE *out, GError **errp)
{
    unsigned n = o->free->len;

    for (unsigned i = 0; i < n; i++) {
        const ReplayFree *f = &g_array_index(o->free, ReplayFree, i);

        for (int pct = -10; pct <= 10; pct += 20) {
            g_autofree double *x = g_memdup2(best, n * sizeof(*x));
            g_autofree char *prefix =
                g_strdup_printf("sensitivity %s %+d", f->name, pct);

            x[i] *= 1 + pct / 100.0;
            if (!print_rates(o, x, prefix, false, out, errp)) {
                return false;
            }
        }
    }
    return true;
}

bool replay_fit(const ReplayOptions *o, FILE *out, GError **errp)
{
    unsigned n = o->free->len, fits = 0;
    g_autofree double *x = g_new(double, n);
    char a[G_ASCII_DTOSTR_BUF_SIZE], b[G_ASCII_DTOSTR_BUF_SIZE],
         c[G_ASCII_DTOSTR_BUF_SIZE];
    Fit fit = { .o = o };
    double least;

    for (unsigned i = 0; i < o->points->len; i++) {
        fits += g_array_index(o->points, ReplayPoint, i).fit;
    }
    if (fits < n) {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_VALUE,
                    "%u points cannot fix %u parameters: mark more of them "
                    "'fit' or free fewer", fits, n);
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        x[i] = replay_get_param(o, g_array_index(o->free, ReplayFree, i).name);
    }

    optimise(&fit, NLOPT_GN_DIRECT_L, MAX(o->evaluations * GLOBAL_PCT / 100,
                                          1), x);
    optimise(&fit, NLOPT_LN_SBPLX, MAX(o->evaluations *
                                       (100 - GLOBAL_PCT) / 100, 1), x);
    least = objective(n, x, NULL, &fit);
    if (fit.err) {
        g_propagate_error(errp, fit.err);
        return false;
    }
    fprintf(out, "objective %s %u\n", decimal(a, least), fit.evaluations);
    for (unsigned i = 0; i < n; i++) {
        const ReplayFree *f = &g_array_index(o->free, ReplayFree, i);

        fprintf(out, "fitted %s %s %s %s\n", f->name, decimal(a, x[i]),
                decimal(b, flat_until(&fit, x, i, least, f->low)),
                decimal(c, flat_until(&fit, x, i, least, f->high)));
    }
    if (fit.err) {
        g_propagate_error(errp, fit.err);
        return false;
    }
    return print_rates(o, x, "rate", true, out, errp) &&
           print_sensitivity(o, x, out, errp);
}
