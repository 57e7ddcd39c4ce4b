/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events of the contention model */
#include "trace/trace-hw_intc_contention.h"
