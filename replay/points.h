/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Rates of the points of xs-replay's command line
 */

#ifndef REPLAY_POINTS_H
#define REPLAY_POINTS_H

#include <stdio.h>
#include "options.h"

/*
 * The mean over the seeds of each point's rate, by its index into o->points;
 * of all, or only of those that may be fitted to. Runs them on all CPUs of the
 * host; the result does not depend on how many these are. False as
 * replay_run(), for the first point at fault.
 */
bool replay_points(const ReplayOptions *o, const ContentionParams *params,
                   const ReplayRun *run, bool fit_only, double *rates,
                   GError **errp);

/* One line "PATTERN CPUS RATE" a point. */
bool replay_print_rates(const ReplayOptions *o, FILE *out, GError **errp);

#endif /* REPLAY_POINTS_H */
