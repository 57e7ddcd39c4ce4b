/*
 * PowerNV machines whose chips have different numbers of cores
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * -smp says one number of cores for all chips. The machine property
 * "chip-cores" says one for each, in the order of the chips:
 *
 *   -M powernv10,big-core=on,chip-cores=12:10:10:12
 *   -smp 352,sockets=4,cores=12,threads=8,maxcpus=384
 *
 * -smp still gives the number of chips, the cores of the largest and the
 * threads of a core; its number of CPUs must be that of the threads there are,
 * and maxcpus the product that QEMU asks for. Without the property the machine
 * is as -smp says.
 */

#ifndef HW_PPC_PNV_CHIP_CORES_H
#define HW_PPC_PNV_CHIP_CORES_H

/* What a powernv machine can have. */
#define PNV_CHIP_CORES_MAX_CHIPS    16

typedef struct PnvMachineState PnvMachineState;

/**
 * struct PnvChipCores - the value of chip-cores
 * @nr_chips: numbers given, 0 to %PNV_CHIP_CORES_MAX_CHIPS; 0: no property
 * @nr: cores of each chip, from 1; big cores where the machine has them
 */
typedef struct PnvChipCores {
    unsigned nr_chips;
    unsigned nr[PNV_CHIP_CORES_MAX_CHIPS];
} PnvChipCores;

/**
 * pnv_chip_cores_class_init: give a class of machines the property
 * @oc: class of machines
 */
void pnv_chip_cores_class_init(ObjectClass *oc);

/**
 * pnv_chip_cores_check: end QEMU if the property contradicts -smp
 * @pnv: the machine, before chips are made, with its number of chips known
 *
 * One line of error says what to give instead.
 */
void pnv_chip_cores_check(PnvMachineState *pnv);

/**
 * pnv_chip_nr_cores: how many PnvCore a chip gets
 * @pnv: the machine
 * @chip: number of the chip
 *
 * Returns: the chip's property nr-cores: small cores, two to a big one.
 */
unsigned pnv_chip_nr_cores(PnvMachineState *pnv, unsigned chip);

#endif
