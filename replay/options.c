/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: the command line of xs-replay, and the rates it asks for.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <glib.h>
#include "options.h"

static const char help[] =
"Usage: xs-replay --pattern FILE... --chips CORES,... --threads N\n"
"                 --point PATTERN:CPUS[:PUBLISHED[:fit]]... [OPTION...]\n"
"Replay recorded storms (docs/replay.md). Prints a line a point; with --free\n"
"finds parameters for the points marked 'fit'.\n"
"  --pattern FILE       pattern file; numbered from 0 in the order given\n"
"  --chips CORES,...    cores of each chip\n"
"  --threads N          threads of a core\n"
"  --hops N,...         links between chips, a row after the other (default 1)\n"
"  --point ...          pattern's number, CPUs, rate to compare with\n"
"  --param NAME=VALUE   parameter of the model, instruction-ps or pause-ns\n"
"  --free NAME=MIN:MAX  parameter to be found\n"
"  --offset N           from a sender to its target (default 8)\n"
"  --warmup-us N        (default 200)\n"
"  --duration-us N      window of the measurement (default 2000)\n"
"  --interrupts N       after which it ends before (default 10000; 0: never)\n"
"  --seeds N            runs of which a point is the mean (default 1)\n"
"  --evaluations N      limit of the optimiser (default 400)\n";

const char *replay_options_help(void)
{
    return help;
}

static bool fault(GError **errp, const char *option, const char *text,
                  const char *why)
{
    g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_VALUE,
                "%s %s: %s", option, text, why);
    return false;
}

static bool unsigned_number(const char *text, unsigned low, unsigned high,
                            unsigned *value)
{
    guint64 v;

    if (!g_ascii_string_to_unsigned(text, 10, low, high, &v, NULL)) {
        return false;
    }
    *value = v;
    return true;
}

static bool real_number(const char *text, double *value)
{
    char *end;

    *value = g_ascii_strtod(text, &end);
    return end != text && !*end && *value >= 0 && *value < 1e15;
}

bool replay_set_param(ContentionParams *params, ReplayRun *run,
                      const char *name, const char *text, GError **errp)
{
    double value;

    if (!strcmp(name, "instruction-ps")) {
        if (!real_number(text, &value) || value < 1 || value > 1000000) {
            return fault(errp, name, text, "must be 1 to 1000000 ps");
        }
        run->instruction = value + 0.5;
        return true;
    }
    if (!strcmp(name, "pause-ns")) {
        if (!real_number(text, &value) || value < 1 || value > 1000000) {
            return fault(errp, name, text, "must be 1 to 1000000 ns");
        }
        run->pause = value * CONTENTION_PS_PER_NS + 0.5;
        return true;
    }
    return contention_params_set(params, name, text, errp);
}

double replay_get_param(const ReplayOptions *o, const char *name)
{
    g_autofree char *text = NULL;

    if (!strcmp(name, "instruction-ps")) {
        return o->run.instruction;
    }
    if (!strcmp(name, "pause-ns")) {
        return (double)o->run.pause / CONTENTION_PS_PER_NS;
    }
    text = contention_params_get(&o->params, name, NULL);
    return text ? g_ascii_strtod(text, NULL) : 0;
}

static bool parse_param(ReplayOptions *o, const char *text, GError **errp)
{
    g_auto(GStrv) split = g_strsplit(text, "=", 2);

    if (!split[0] || !split[1]) {
        return fault(errp, "--param", text, "expected NAME=VALUE");
    }
    return replay_set_param(&o->params, &o->run, split[0], split[1], errp);
}

static bool parse_free(ReplayOptions *o, const char *text, GError **errp)
{
    g_auto(GStrv) split = g_strsplit_set(text, "=:", 3);
    ContentionParams params = o->params;
    ReplayRun run = o->run;
    ReplayFree f;

    if (g_strv_length(split) != 3 || !real_number(split[1], &f.low) ||
        !real_number(split[2], &f.high) || f.low >= f.high) {
        return fault(errp, "--free", text, "expected NAME=MIN:MAX, two "
                     "numbers of which the first is the smaller");
    }
    for (unsigned i = 1; i < 3; i++) {
        if (!replay_set_param(&params, &run, split[0], split[i], errp)) {
            g_prefix_error(errp, "--free %s: ", text);
            return false;
        }
    }
    for (unsigned i = 0; i < o->free->len; i++) {
        if (!strcmp(g_array_index(o->free, ReplayFree, i).name, split[0])) {
            return fault(errp, "--free", text, "is given twice");
        }
    }
    f.name = g_strdup(split[0]);
    g_array_append_val(o->free, f);
    return true;
}

static bool parse_point(ReplayOptions *o, const char *text, GError **errp)
{
    g_auto(GStrv) split = g_strsplit(text, ":", 4);
    unsigned n = g_strv_length(split);
    ReplayPoint p = { .fit = n == 4 };

    if (n < 2 || !unsigned_number(split[0], 0, 1000, &p.pattern) ||
        !unsigned_number(split[1], 2, CONTENTION_MAX_CPUS, &p.cpus) ||
        (n > 2 && (!real_number(split[2], &p.published) ||
                   p.published <= 0)) ||
        (n > 3 && strcmp(split[3], "fit"))) {
        return fault(errp, "--point", text,
                     "expected PATTERN:CPUS[:PUBLISHED[:fit]]");
    }
    g_array_append_val(o->points, p);
    return true;
}

static bool parse_chips(ReplayOptions *o, const char *text, GError **errp)
{
    g_auto(GStrv) split = g_strsplit(text, ",", -1);

    o->machine.nr_chips = g_strv_length(split);
    if (o->machine.nr_chips > CONTENTION_MAX_CHIPS) {
        return fault(errp, "--chips", text, "more than 64 chips");
    }
    for (unsigned i = 0; split[i]; i++) {
        if (!unsigned_number(split[i], 1, 1024, &o->machine.cores[i])) {
            return fault(errp, "--chips", text,
                         "expected the cores of each chip, 1 to 1024");
        }
    }
    return true;
}

static bool parse_hops(ReplayOptions *o, const char *text, GError **errp)
{
    g_auto(GStrv) split = g_strsplit(text, ",", -1);
    unsigned n = g_strv_length(split), hops;

    g_free(o->machine.hops);
    o->machine.hops = g_new(uint8_t, n);
    for (unsigned i = 0; i < n; i++) {
        if (!unsigned_number(split[i], 0, CONTENTION_MAX_HOPS, &hops)) {
            return fault(errp, "--hops", text, "expected numbers of 0 to 6");
        }
        o->machine.hops[i] = hops;
    }
    /* Checked against the chips when both are known. */
    o->machine.nr_hops = n;
    return true;
}

static bool parse_one(ReplayOptions *o, const char *name, const char *text,
                      GError **errp)
{
    static const struct {
        const char *name;
        size_t offset;
        unsigned low, high;
    } numbers[] = {
        { "--threads", offsetof(ReplayOptions, machine.threads), 1, 64 },
        { "--offset", offsetof(ReplayOptions, run.offset), 1, 16383 },
        { "--interrupts", offsetof(ReplayOptions, run.interrupts), 0,
          100000000 },
        { "--seeds", offsetof(ReplayOptions, seeds), 1, 1000 },
        { "--evaluations", offsetof(ReplayOptions, evaluations), 1, 1000000 },
    };
    ReplayPattern *p;
    unsigned value;

    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++) {
        if (!strcmp(name, numbers[i].name)) {
            unsigned *field = (unsigned *)((char *)o + numbers[i].offset);

            return unsigned_number(text, numbers[i].low, numbers[i].high,
                                   field) ||
                   fault(errp, name, text, "is no number of its range");
        }
    }
    if (!strcmp(name, "--warmup-us") || !strcmp(name, "--duration-us")) {
        if (!unsigned_number(text, name[2] == 'd', 10000000, &value)) {
            return fault(errp, name, text, "is no number of its range");
        }
        *(name[2] == 'd' ? &o->run.duration : &o->run.warmup) =
            (ContentionTime)value * 1000 * CONTENTION_PS_PER_NS;
        return true;
    }
    if (!strcmp(name, "--pattern")) {
        p = replay_pattern_load(text, errp);
        if (p) {
            g_ptr_array_add(o->patterns, p);
        }
        return p != NULL;
    }
    if (!strcmp(name, "--param")) {
        return parse_param(o, text, errp);
    }
    if (!strcmp(name, "--free")) {
        return parse_free(o, text, errp);
    }
    if (!strcmp(name, "--point")) {
        return parse_point(o, text, errp);
    }
    if (!strcmp(name, "--chips")) {
        return parse_chips(o, text, errp);
    }
    if (!strcmp(name, "--hops")) {
        return parse_hops(o, text, errp);
    }
    return fault(errp, name, text, "unknown option (see --help)");
}

static void free_clear(gpointer data)
{
    g_free(((ReplayFree *)data)->name);
}

bool replay_options_parse(ReplayOptions *o, int argc, char **argv,
                          GError **errp)
{
    memset(o, 0, sizeof(*o));
    o->patterns = g_ptr_array_new_with_free_func(
        (GDestroyNotify)replay_pattern_free);
    o->points = g_array_new(false, false, sizeof(ReplayPoint));
    o->free = g_array_new(false, false, sizeof(ReplayFree));
    g_array_set_clear_func(o->free, free_clear);
    contention_params_init(&o->params);
    o->run = (ReplayRun) { .offset = 8, .interrupts = 10000,
                           .instruction = 580, .pause = 100000,
                           .warmup = 200000000, .duration = 2000000000 };
    o->seeds = 1;
    o->evaluations = 400;

    for (int i = 1; i < argc; i += 2) {
        if (!strcmp(argv[i], "--help")) {
            o->help = true;
            return true;
        }
        if (i + 1 == argc) {
            return fault(errp, argv[i], "", "its value is missing");
        }
        if (!parse_one(o, argv[i], argv[i + 1], errp)) {
            return false;
        }
    }
    if (!o->patterns->len || !o->points->len || !o->machine.nr_chips ||
        !o->machine.threads) {
        return fault(errp, "--pattern, --point, --chips and --threads", "",
                     "are all needed (see --help)");
    }
    if (o->machine.hops &&
        o->machine.nr_hops != o->machine.nr_chips * o->machine.nr_chips) {
        return fault(errp, "--hops", "", "needs a number for each pair of "
                     "chips, both ways and to itself");
    }
    for (unsigned i = 0; i < o->points->len; i++) {
        if (g_array_index(o->points, ReplayPoint, i).pattern >=
            o->patterns->len) {
            return fault(errp, "--point", "", "names a pattern that is not "
                         "given");
        }
    }
    return true;
}

void replay_options_clear(ReplayOptions *o)
{
    g_ptr_array_free(o->patterns, true);
    g_array_free(o->points, true);
    g_array_free(o->free, true);
    g_free(o->machine.hops);
}
