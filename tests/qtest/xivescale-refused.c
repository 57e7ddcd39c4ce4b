/*
 * QTest helper: command lines that QEMU must refuse
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "xivescale-refused.h"

/* A QEMU that takes what it must refuse would run for ever. */
#define TIMEOUT_S       60

static void set_timeout(gpointer opaque)
{
    alarm(TIMEOUT_S);
}

void xs_refused(const char *words, const char *format, ...)
{
    g_autofree char *args = NULL;
    g_autofree char *command = NULL;
    g_autofree char *err = NULL;
    g_auto(GStrv) word = g_strsplit(words, "|", 0);
    const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
    va_list ap;
    int status;

    va_start(ap, format);
    args = g_strdup_vprintf(format, ap);
    va_end(ap);
    command = g_strdup_printf("exec %s -bios /dev/null -nodefaults "
                              "-display none -S %s </dev/null",
                              getenv("QTEST_QEMU_BINARY"), args);
    argv[2] = command;
    g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                               G_SPAWN_STDOUT_TO_DEV_NULL, set_timeout, NULL,
                               NULL, &err, &status, NULL));
    g_test_message("%s: %s", args, err);

    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_true(g_str_has_suffix(err, "\n"));
    g_assert_true(strchr(err, '\n') == err + strlen(err) - 1);
    for (unsigned i = 0; word[i]; i++) {
        if (!strstr(err, word[i])) {
            g_error("%s: no '%s' in: %s", args, word[i], err);
        }
    }
}
