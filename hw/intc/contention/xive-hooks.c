/*
 * What the XIVE models ask the contention model: nothing, without one
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/intc/contention/xive-hooks.h"

const ContentionXiveOps *contention_xive;
