/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * xs-replay: rates of a recorded storm on machines described on the command
 * line.  scripts/predict and scripts/calibrate call it.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <glib.h>
#include "fit.h"
#include "options.h"
#include "points.h"
#include "replay.h"

int main(int argc, char **argv)
{
    g_autoptr(GError) err = NULL;
    ReplayOptions o;
    bool ok = replay_options_parse(&o, argc, argv, &err);

    if (ok && o.help) {
        fputs(replay_options_help(), stdout);
    } else if (ok) {
        ok = o.free->len ? replay_fit(&o, stdout, &err)
                         : replay_print_rates(&o, stdout, &err);
    }
    replay_options_clear(&o);
    if (!ok) {
        fprintf(stderr, "xs-replay: %s\n", err->message);
        return 2;
    }
    return EXIT_SUCCESS;
}
