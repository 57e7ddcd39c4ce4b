/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a 64-bit Power instruction accesses, and what it does to registers.
 *
 * As far as compilers use it for integers; what is not here is unknown.
 */

#include "names.h"

#define STORE   1
#define UPDATE  2
/* The data register is none of the general ones. */
#define OTHER   4

typedef struct Form {
    unsigned op;                /* primary or extended opcode */
    const char *name;
    unsigned size;
    unsigned flags;
} Form;

/* Displacement of 16 bits */
static const Form d_forms[] = {
    { 32, "lwz", 4 }, { 33, "lwzu", 4, UPDATE },
    { 34, "lbz", 1 }, { 35, "lbzu", 1, UPDATE },
    { 36, "stw", 4, STORE }, { 37, "stwu", 4, STORE | UPDATE },
    { 38, "stb", 1, STORE }, { 39, "stbu", 1, STORE | UPDATE },
    { 40, "lhz", 2 }, { 41, "lhzu", 2, UPDATE },
    { 42, "lha", 2 }, { 43, "lhau", 2, UPDATE },
    { 44, "sth", 2, STORE }, { 45, "sthu", 2, STORE | UPDATE },
    { 48, "lfs", 4, OTHER }, { 50, "lfd", 8, OTHER },
    { 52, "stfs", 4, STORE | OTHER }, { 54, "stfd", 8, STORE | OTHER },
};

/* Displacement of 14 bits; op is primary opcode * 4 + the low two bits */
static const Form ds_forms[] = {
    { 58 * 4 + 0, "ld", 8 }, { 58 * 4 + 1, "ldu", 8, UPDATE },
    { 58 * 4 + 2, "lwa", 4 },
    { 62 * 4 + 0, "std", 8, STORE }, { 62 * 4 + 1, "stdu", 8, STORE | UPDATE },
};

/* Primary opcode 31: address in two registers */
static const Form x_forms[] = {
    { 20, "lwarx", 4 }, { 21, "ldx", 8 }, { 23, "lwzx", 4 },
    { 52, "lbarx", 1 }, { 53, "ldux", 8, UPDATE },
    { 55, "lwzux", 4, UPDATE }, { 84, "ldarx", 8 }, { 87, "lbzx", 1 },
    { 116, "lharx", 2 }, { 119, "lbzux", 1, UPDATE },
    { 149, "stdx", 8, STORE }, { 150, "stwcx.", 4, STORE },
    { 151, "stwx", 4, STORE }, { 181, "stdux", 8, STORE | UPDATE },
    { 183, "stwux", 4, STORE | UPDATE }, { 214, "stdcx.", 8, STORE },
    { 215, "stbx", 1, STORE }, { 247, "stbux", 1, STORE | UPDATE },
    { 279, "lhzx", 2 }, { 311, "lhzux", 2, UPDATE }, { 341, "lwax", 4 },
    { 343, "lhax", 2 }, { 373, "lwaux", 4, UPDATE },
    { 375, "lhaux", 2, UPDATE }, { 407, "sthx", 2, STORE },
    { 439, "sthux", 2, STORE | UPDATE }, { 532, "ldbrx", 8 },
    { 534, "lwbrx", 4 }, { 599, "lfdx", 8, OTHER },
    { 660, "stdbrx", 8, STORE }, { 662, "stwbrx", 4, STORE },
    { 694, "stbcx.", 1, STORE }, { 726, "sthcx.", 2, STORE },
    { 727, "stfdx", 8, STORE | OTHER }, { 790, "lhbrx", 2 },
    { 918, "sthbrx", 2, STORE },
};

static unsigned field(uint32_t word, unsigned first, unsigned last)
{
    return word >> (31 - last) & ((1u << (last - first + 1)) - 1);
}

static const Form *form_of(const Form *forms, size_t n, unsigned op)
{
    for (size_t i = 0; i < n; i++) {
        if (forms[i].op == op) {
            return &forms[i];
        }
    }
    return NULL;
}

bool insn_decode(uint32_t word, Insn *insn)
{
    unsigned op = field(word, 0, 5);
    const Form *form;

    *insn = (Insn) { .base = -1, .index = -1, .data = -1 };
    if (op == 31) {
        form = form_of(x_forms, G_N_ELEMENTS(x_forms), field(word, 21, 30));
        insn->indexed = true;
    } else if (op == 58 || op == 62) {
        form = form_of(ds_forms, G_N_ELEMENTS(ds_forms), op * 4 + (word & 3));
        insn->disp = (int16_t)(word & 0xfffc);
    } else {
        form = form_of(d_forms, G_N_ELEMENTS(d_forms), op);
        insn->disp = (int16_t)(word & 0xffff);
    }
    if (!form) {
        return false;
    }
    insn->name = form->name;
    insn->size = form->size;
    insn->store = form->flags & STORE;
    insn->update = form->flags & UPDATE;
    if (!(form->flags & OTHER)) {
        insn->data = field(word, 6, 10);
    }
    if (field(word, 11, 15)) {
        insn->base = field(word, 11, 15);
    }
    if (insn->indexed) {
        insn->index = field(word, 16, 20);
        if (insn->base < 0) {
            insn->base = insn->index;
            insn->index = -1;
            insn->indexed = false;
        }
    }
    return true;
}

/* Extended opcodes of 31 that write only the register in bits 6-10 ... */
static bool x_writes_rt(unsigned op)
{
    switch (op & 511) {         /* without the bit for overflow */
    case 8: case 10: case 40: case 104: case 136: case 138: case 200:
    case 202: case 232: case 234: case 235: case 266: case 233: case 489:
    case 491: case 457: case 459:
        return true;
    }
    switch (op) {
    case 9: case 11: case 73: case 75: case 339: case 371: case 83: case 19:
        return true;
    }
    /* isel has its condition in the upper bits */
    return (op & 31) == 15;
}

/* ... and those that write only the one in bits 11-15. */
static bool x_writes_ra(unsigned op)
{
    switch (op) {
    case 24: case 26: case 27: case 28: case 58: case 60: case 122: case 124:
    case 154: case 186: case 284: case 316: case 378: case 412: case 444:
    case 476: case 506: case 508: case 536: case 538: case 539: case 570:
    case 792: case 794: case 824: case 826: case 827: case 922: case 954:
    case 986:
        return true;
    }
    return false;
}

/* Extended opcodes of 31 that write no general register at all */
static bool x_writes_none(unsigned op)
{
    switch (op) {
    case 0: case 32: case 4: case 68: case 54: case 86: case 246: case 278:
    case 467: case 598: case 854: case 982: case 1014: case 144: case 30:
    case 62:
        return true;
    }
    return false;
}

static InsnEffect x_effect(uint32_t word, int reg, int *source,
                           int64_t *value)
{
    unsigned op = field(word, 21, 30);
    int rt = field(word, 6, 10), ra = field(word, 11, 15);

    if (x_writes_none(op)) {
        return INSN_KEEPS;
    }
    if (x_writes_rt(op)) {
        return rt == reg ? INSN_UNKNOWN : INSN_KEEPS;
    }
    if (x_writes_ra(op)) {
        if (ra != reg) {
            return INSN_KEEPS;
        }
        if (op == 444 && rt == (int)field(word, 16, 20)) {
            *source = rt;       /* mr */
            *value = 0;
            return INSN_COPY;
        }
        return INSN_UNKNOWN;
    }
    return rt == reg || ra == reg ? INSN_UNKNOWN : INSN_KEEPS;
}

InsnEffect insn_effect(uint32_t word, int reg, int *source, int64_t *value)
{
    unsigned op = field(word, 0, 5);
    int rt = field(word, 6, 10), ra = field(word, 11, 15);
    Insn insn;

    if (insn_decode(word, &insn)) {
        if (insn.update && insn.base == reg) {
            return INSN_UNKNOWN;
        }
        if (insn.store || insn.data != reg) {
            return INSN_KEEPS;
        }
        return insn.size == 8 && !insn.indexed ? INSN_LOAD : INSN_UNKNOWN;
    }
    switch (op) {
    case 14:                    /* addi, li */
        if (rt != reg) {
            return INSN_KEEPS;
        }
        *source = ra;
        *value = (int16_t)word;
        return ra ? INSN_COPY : INSN_CONSTANT;
    case 7: case 8: case 12: case 13: case 15:
        return rt == reg ? INSN_UNKNOWN : INSN_KEEPS;
    case 20: case 21: case 23: case 24: case 25: case 26: case 27: case 28:
    case 29: case 30:
        return ra == reg ? INSN_UNKNOWN : INSN_KEEPS;
    case 2: case 3: case 10: case 11: case 16: case 18: case 19:
        return INSN_KEEPS;
    case 31:
        return x_effect(word, reg, source, value);
    default:
        return INSN_UNKNOWN;
    }
}

/* The register of the condition and link branches, bclr and bcctr */
static bool is_register_branch(uint32_t word)
{
    unsigned op = field(word, 21, 30);

    return field(word, 0, 5) == 19 && (op == 16 || op == 528 || op == 560);
}

bool insn_is_branch(uint32_t word)
{
    unsigned op = field(word, 0, 5);

    return op == 16 || op == 18 || is_register_branch(word);
}

bool insn_is_call(uint32_t word)
{
    unsigned op = field(word, 0, 5);

    return (insn_is_branch(word) && word & 1) || op == 17;
}

bool insn_target(uint32_t word, uint64_t addr, uint64_t *target)
{
    unsigned op = field(word, 0, 5);

    if (word & 1) {
        return false;
    }
    if (op == 18) {
        *target = (word & 2 ? 0 : addr) +
                  ((int32_t)(word << 6) >> 6 & ~INT32_C(3));
        return true;
    }
    if (op == 16) {
        *target = (word & 2 ? 0 : addr) + (int16_t)(word & 0xfffc);
        return true;
    }
    return false;
}

bool insn_ends_flow(uint32_t word)
{
    unsigned op = field(word, 0, 5);
    bool always = (field(word, 6, 10) & 20) == 20;

    if (word & 1 && insn_is_branch(word)) {
        return false;
    }
    return op == 18 || ((op == 16 || is_register_branch(word)) && always);
}
