/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Finds parameters for which a replay meets published rates
 */

#ifndef REPLAY_FIT_H
#define REPLAY_FIT_H

#include "options.h"

/*
 * The objective is the root mean square of log(rate / published) over the
 * points marked for it.  Prints lines of words:
 *
 *   objective VALUE EVALUATIONS
 *   fitted NAME VALUE LOW HIGH     the objective stays below its minimum plus
 *                                  0.01 (about 1 %) from LOW to HIGH
 *   rate PATTERN CPUS RATE PUBLISHED FIT
 *   sensitivity NAME PCT PATTERN CPUS RATE    at PCT % more or less
 */
bool replay_fit(const ReplayOptions *o, FILE *out, GError **errp);

#endif /* REPLAY_FIT_H */
