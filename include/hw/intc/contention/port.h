/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Port of the contention core: the only way by which it sees QEMU.
 *
 * Every .c file of the core includes this header first.  With
 * CONTENTION_STANDALONE defined the core needs nothing but GLib, so that it
 * is compiled and unit tested in a second without QEMU.
 */

#ifndef HW_INTC_CONTENTION_PORT_H
#define HW_INTC_CONTENTION_PORT_H

#ifdef CONTENTION_STANDALONE
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#else
#include "qemu/osdep.h"
#endif

#endif /* HW_INTC_CONTENTION_PORT_H */
