/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Replay: reads pattern files.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <glib.h>
#include "replay.h"

static const char *const scope_names[] = { "cpu", "link", "chip", "global" };
static const char *const op_names[] = {
    "load", "store", "conditional", "mmio", "trigger", "wait", "release",
    "pause", "end",
};
static const char *const at_names[] = { "own", "target", "first" };

static void variant_free(gpointer data)
{
    ReplayVariant *v = data;

    g_array_free(v->ops, true);
    g_free(v);
}

void replay_pattern_free(ReplayPattern *p)
{
    if (p) {
        g_free(p->name);
        g_array_free(p->scopes, true);
        g_ptr_array_free(p->send, true);
        g_ptr_array_free(p->handle, true);
        g_free(p);
    }
}

/* Index of @word among @n names, or -1 */
static int find(const char *word, const char *const *names, int n)
{
    for (int i = 0; word && i < n; i++) {
        if (!strcmp(word, names[i])) {
            return i;
        }
    }
    return -1;
}

static bool number(const char *word, gint64 low, gint64 high, gint64 *value)
{
    return word && g_ascii_string_to_signed(word, 10, low, high, value, NULL);
}

/* Words: INSTRUCTIONS KIND [...]; why it cannot be, or NULL */
static const char *parse_op(const ReplayPattern *p, char **words, unsigned n,
                            bool handle, ReplayOp *op)
{
    gint64 instructions, line = 0, step = 0, period = 0;
    int kind = n >= 2 ? find(words[1], op_names, G_N_ELEMENTS(op_names)) : -1;

    if (n < 2 || !number(words[0], 0, 100000000, &instructions)) {
        return "expected INSTRUCTIONS KIND ...";
    }
    if (kind < 0) {
        return "unknown kind of operation";
    }
    *op = (ReplayOp) { .kind = kind, .instructions = instructions };
    switch (op->kind) {
    case REPLAY_LOAD:
    case REPLAY_STORE:
    case REPLAY_CONDITIONAL:
    case REPLAY_WAIT:
    case REPLAY_RELEASE:
        if (n != (kind == REPLAY_WAIT ? 5 : 4) ||
            !number(words[2], 0, (gint64)p->scopes->len - 1, &line) ||
            !number(words[3], -8, 8, &step)) {
            return "expected LINE STEP, a line declared above and a step "
                   "of -8 to 8";
        }
        if (kind == REPLAY_WAIT &&
            (handle || !number(words[4], 1, 10000, &period) ||
             g_array_index(p->scopes, ReplayScope, line) != REPLAY_LINK)) {
            return "a wait belongs to 'send', polls a line of a link, and "
                   "has a period of 1 to 10000 instructions";
        }
        if (kind == REPLAY_RELEASE && !handle) {
            return "a release belongs to 'handle'";
        }
        break;
    case REPLAY_MMIO:
        op->at = n == 4 ? find(words[3], at_names, 3) : -1;
        if (n != 4 || (int)op->at < 0 ||
            !number(words[2], 0, CONTENTION_MMIO_KINDS - 1, &line)) {
            return "expected KIND own|target|first";
        }
        break;
    case REPLAY_TRIGGER:
        op->at = n == 3 ? find(words[2], at_names, 3) : -1;
        if (n != 3 || (int)op->at < 0 || handle) {
            return "expected own|target|first, in 'send'";
        }
        break;
    default:
        if (n != 2) {
            return "too many words";
        }
    }
    op->line = line;
    op->step = step;
    op->period = period;
    return NULL;
}

/* Does it do once what a part must do once? */
static const char *check_variant(const ReplayVariant *v, bool handle)
{
    unsigned count[REPLAY_END + 1] = { 0 };
    unsigned waits_after = 0;

    for (unsigned i = 0; i < v->ops->len; i++) {
        const ReplayOp *op = &g_array_index(v->ops, ReplayOp, i);

        count[op->kind]++;
        waits_after += op->kind == REPLAY_WAIT && count[REPLAY_TRIGGER] == 1;
    }
    if (handle && count[REPLAY_RELEASE] != 1) {
        return "a way to handle needs one release";
    }
    if (!handle && (count[REPLAY_TRIGGER] != 1 || count[REPLAY_WAIT] != 1 ||
                    waits_after != 1)) {
        return "a way to send needs one trigger and one wait after it";
    }
    return NULL;
}

ReplayPattern *replay_pattern_parse(const char *text, GError **errp)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    ReplayPattern *p = g_new0(ReplayPattern, 1);
    ReplayVariant *open = NULL;
    const char *why = NULL;
    bool handle = false;
    unsigned i;

    p->scopes = g_array_new(false, false, sizeof(ReplayScope));
    p->send = g_ptr_array_new_with_free_func(variant_free);
    p->handle = g_ptr_array_new_with_free_func(variant_free);
    p->queue_line = -1;

    for (i = 0; lines[i] && !why; i++) {
        g_auto(GStrv) split = g_strsplit_set(lines[i], " \t\r", -1);
        unsigned n = 0;
        gint64 value;

        /* Drop the empty words, and comments. */
        for (unsigned j = 0; split[j]; j++) {
            char *word = split[j];

            if (!*word || *word == '#') {
                bool rest = *word == '#';

                g_free(word);
                if (rest) {
                    for (j++; split[j]; j++) {
                        g_free(split[j]);
                    }
                    break;
                }
            } else {
                split[n++] = word;
            }
        }
        split[n] = NULL;
        if (!n) {
            continue;
        }

        if (!p->name) {
            if (n != 3 || strcmp(split[0], "xivescale-pattern")) {
                why = "no pattern: the first line must be "
                      "'xivescale-pattern VERSION NAME'";
            } else if (!number(split[1], REPLAY_VERSION, REPLAY_VERSION,
                               &value)) {
                why = "another version than 1: record the kernel again";
            } else {
                p->name = g_strdup(split[2]);
            }
        } else if (open) {
            ReplayOp op;

            why = parse_op(p, split, n, handle, &op);
            if (!why) {
                g_array_append_val(open->ops, op);
                if (op.kind == REPLAY_END) {
                    why = check_variant(open, handle);
                    open = NULL;
                }
            }
        } else if (!strcmp(split[0], "line")) {
            int scope = n == 2 ? find(split[1], scope_names, REPLAY_SCOPES)
                               : -1;
            ReplayScope s = scope;

            if (scope < 0) {
                why = "expected line cpu|link|chip|global";
            } else {
                g_array_append_val(p->scopes, s);
            }
        } else if (!strcmp(split[0], "queue")) {
            if (n != 2 ||
                !number(split[1], 0, (gint64)p->scopes->len - 1, &value)) {
                why = "expected queue LINE";
            } else {
                p->queue_line = value;
            }
        } else if (!strcmp(split[0], "send") || !strcmp(split[0], "handle")) {
            if (n != 2 || !number(split[1], 1, 1000000, &value)) {
                why = "expected a weight of 1 to 1000000";
            } else {
                handle = *split[0] == 'h';
                open = g_new0(ReplayVariant, 1);
                open->weight = value;
                open->ops = g_array_new(false, false, sizeof(ReplayOp));
                g_ptr_array_add(handle ? p->handle : p->send, open);
            }
        } else {
            why = "expected line, queue, send or handle";
        }
    }
    if (!why && !p->name) {
        why = "no pattern: the file is empty";
    } else if (!why && (open || !p->send->len || !p->handle->len)) {
        why = "truncated: 'send' and 'handle' parts that end with 'end' are "
              "needed; record the kernel again";
    }
    if (why) {
        g_set_error(errp, CONTENTION_ERROR, CONTENTION_ERROR_VALUE,
                    "line %u: %s", i, why);
        replay_pattern_free(p);
        return NULL;
    }
    return p;
}

ReplayPattern *replay_pattern_load(const char *path, GError **errp)
{
    g_autofree char *text = NULL;
    ReplayPattern *p;

    if (!g_file_get_contents(path, &text, NULL, errp)) {
        return NULL;
    }
    p = replay_pattern_parse(text, errp);
    if (!p) {
        g_prefix_error(errp, "%s: ", path);
    }
    return p;
}
