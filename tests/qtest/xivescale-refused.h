/*
 * QTest helper: command lines that QEMU must refuse
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_QTEST_XIVESCALE_REFUSED_H
#define TESTS_QTEST_XIVESCALE_REFUSED_H

/**
 * xs_refused - QEMU must end with status 1 after one line
 * @words: what that line contains, all of it, separated by '|'
 * @format: arguments of QEMU, after firmware that is none, no display, and -S
 */
void xs_refused(const char *words, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

#endif /* TESTS_QTEST_XIVESCALE_REFUSED_H */
