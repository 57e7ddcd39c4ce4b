/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Command line of xs-replay
 */

#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "replay.h"

/* A figure to be met, or only to be told: rate 0 is unknown. */
typedef struct ReplayPoint {
    unsigned pattern;           /* index into patterns */
    unsigned cpus;
    double published;
    bool fit;
} ReplayPoint;

/* A parameter to be found between @low and @high, in the unit of its name */
typedef struct ReplayFree {
    char *name;
    double low;
    double high;
} ReplayFree;

typedef struct ReplayOptions {
    bool help;
    GPtrArray *patterns;        /* ReplayPattern */
    GArray *points;             /* ReplayPoint */
    GArray *free;               /* ReplayFree */
    ContentionParams params;
    ReplayMachine machine;
    ReplayRun run;
    unsigned seeds;             /* each point is the mean of so many */
    unsigned evaluations;       /* of the optimiser, at most */
} ReplayOptions;

/* False with the option at fault; clear @o in any case. */
bool replay_options_parse(ReplayOptions *o, int argc, char **argv,
                          GError **errp);
void replay_options_clear(ReplayOptions *o);
const char *replay_options_help(void);

/*
 * Sets a parameter of the model, "instruction-ps" or "pause-ns".  False with
 * the name and its range.
 */
bool replay_set_param(ContentionParams *params, ReplayRun *run,
                      const char *name, const char *text, GError **errp);
double replay_get_param(const ReplayOptions *o, const char *name);

#endif /* REPLAY_OPTIONS_H */
