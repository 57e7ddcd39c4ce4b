/*
 * Contention model: its QMP commands in targets that have no model
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-contention.h"

static void no_model(Error **errp)
{
    error_setg(errp, "this target has no contention model: use "
               "qemu-system-ppc64");
}

ContentionInfo *qmp_query_contention(bool has_lines, uint32_t lines,
                                     bool has_accesses, uint32_t accesses,
                                     bool has_instructions,
                                     uint32_t instructions, Error **errp)
{
    no_model(errp);
    return NULL;
}

void qmp_contention_reset(Error **errp)
{
    no_model(errp);
}

void qmp_contention_region(bool enter, Error **errp)
{
    no_model(errp);
}
