/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Region-of-interest markers: tell the simulator which part of a run to model.
 *
 * Each marker is an instruction that changes nothing (an exclusive-or of a
 * register with zero, in a form no compiler emits), so a real machine, and a
 * QEMU without the model, executes it as a no-op. The simulator acts on it in
 * privileged state only. On other architectures the markers are empty.
 *
 * A region is entered and left once per run of the load; entering it twice, or
 * leaving one that was not entered, is an error that ends the simulation.
 */
#ifndef XS_ROI_H
#define XS_ROI_H

#if defined(__powerpc64__)
#define XS_ROI_ENTER_INSN	"xoris 11,11,0"
#define XS_ROI_LEAVE_INSN	"xoris 12,12,0"

/* The memory clobber keeps the load's accesses on their side of the marker. */
static inline void xs_roi_enter(void)
{
	__asm__ __volatile__(XS_ROI_ENTER_INSN : : : "memory");
}

static inline void xs_roi_leave(void)
{
	__asm__ __volatile__(XS_ROI_LEAVE_INSN : : : "memory");
}
#else
static inline void xs_roi_enter(void)
{
}

static inline void xs_roi_leave(void)
{
}
#endif

#endif /* XS_ROI_H */
