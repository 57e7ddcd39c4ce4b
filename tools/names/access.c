/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The type of what an instruction accesses.
 *
 * The debug information says for each instruction which variables are in which
 * registers. If the base register of a load holds a "struct irq_desc *", the
 * displacement is the offset of a member. Where the base holds no variable,
 * the instructions before, as far as control must have come through them, say
 * what it was made from: another register and a number, or a member of a
 * struct that is a pointer itself.
 */

#include <dwarf.h>
#include <string.h>
#include "names.h"

/* How many registers or pointers to follow */
#define MAX_STEPS   8

/* A value known as far as its type: a pointer to @type, plus @offset */
typedef struct Pointer {
    Dwarf_Die type;
    int64_t offset;
    uint64_t size;
    bool found;
} Pointer;

/*
 * A variable whose value is that of register @reg plus @value is a pointer:
 * what @reg + @offset points at lies at @offset - @value in what it is a
 * pointer to. The largest such thing says most.
 */
static void consider(Dwarf_Die *variable, int64_t value, int64_t offset,
                     Pointer *best)
{
    Dwarf_Die type, pointee, stripped;
    int64_t at = offset - value;
    uint64_t size;

    if (!type_of(variable, &type) || !type_pointee(&type, &pointee)) {
        return;
    }
    size = type_size(&pointee);
    if (!size && type_strip(&pointee, &stripped)) {
        /* Only declared in this file */
        type_complete(&stripped);
        pointee = stripped;
        size = type_size(&pointee);
    }
    if (at < 0 || (uint64_t)at >= size || (best->found && best->size >= size)) {
        return;
    }
    *best = (Pointer) { pointee, at, size, true };
}

/* A variable's location here, if it is a register or made from one. */
static bool value_in_register(Dwarf_Die *variable, Dwarf_Addr pc, int reg,
                              int64_t *value)
{
    Dwarf_Attribute attr;
    Dwarf_Op *ops;
    size_t n;

    if (!dwarf_attr_integrate(variable, DW_AT_location, &attr) ||
        dwarf_getlocation_addr(&attr, pc, &ops, &n, 1) != 1) {
        return false;
    }
    if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31) {
        *value = 0;
        return ops[0].atom - DW_OP_reg0 == reg;
    }
    if (n == 2 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 &&
        ops[1].atom == DW_OP_stack_value) {
        *value = ops[0].number;
        return ops[0].atom - DW_OP_breg0 == reg;
    }
    return false;
}

/* Objects on the stack: @disp from the stack pointer is where one begins. */
static void consider_frame(File *file, Dwarf_Die *variable, Dwarf_Addr pc,
                           int64_t disp, int64_t cfa, Pointer *best)
{
    Dwarf_Attribute attr;
    Dwarf_Die type;
    Dwarf_Op *ops;
    size_t n;
    uint64_t size;
    int64_t at;

    if (!dwarf_attr_integrate(variable, DW_AT_location, &attr) ||
        dwarf_getlocation_addr(&attr, pc, &ops, &n, 1) != 1 || n != 1 ||
        ops[0].atom != DW_OP_fbreg || !type_of(variable, &type)) {
        return;
    }
    at = disp - cfa - (int64_t)ops[0].number;
    size = type_size(&type);
    if (at >= 0 && (uint64_t)at < size) {
        *best = (Pointer) { type, at, size, true };
    }
}

/* The canonical frame address as an offset from the stack pointer. */
static bool frame_address(File *file, Dwarf_Addr pc, int64_t *cfa)
{
    Dwarf_CFI *cfi = dwarf_getcfi(file->dwarf);
    Dwarf_Frame *frame = NULL;
    Dwarf_Addr bias = 0;
    Dwarf_Op *ops;
    size_t n;
    bool found = false;

    if (!cfi) {
        cfi = dwfl_module_eh_cfi(file->mod, &bias);
        pc -= bias - file->bias;
    }
    if (!cfi || dwarf_cfi_addrframe(cfi, pc, &frame)) {
        return false;
    }
    if (!dwarf_frame_cfa(frame, &ops, &n) && n == 1) {
        if (ops[0].atom == DW_OP_breg1) {
            *cfa = ops[0].number;
            found = true;
        } else if (ops[0].atom == DW_OP_bregx && ops[0].number == 1) {
            *cfa = ops[0].number2;
            found = true;
        }
    }
    free(frame);
    return found;
}

typedef struct Search {
    File *file;
    Dwarf_Addr pc;
    int reg;
    int64_t offset;
    bool frame;                 /* reg is the stack pointer, cfa known */
    int64_t cfa;
    Pointer best;
} Search;

static void search_scope(Search *s, Dwarf_Die *scope)
{
    Dwarf_Die child;
    int64_t value;

    if (dwarf_child(scope, &child)) {
        return;
    }
    do {
        int tag = dwarf_tag(&child);

        if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter) {
            continue;
        }
        if (s->frame) {
            consider_frame(s->file, &child, s->pc, s->offset, s->cfa,
                           &s->best);
        }
        if (value_in_register(&child, s->pc, s->reg, &value)) {
            consider(&child, value, s->offset, &s->best);
        }
    } while (!dwarf_siblingof(&child, &child));
}

static Pointer from_variables(File *file, uint64_t pc, int reg,
                              int64_t offset)
{
    Search s = {
        .file = file, .pc = pc - file->bias, .reg = reg, .offset = offset,
    };
    Dwarf_Die *scopes;
    int n = code_scopes(file, pc, &scopes);

    s.frame = reg == 1 && n && frame_address(file, s.pc, &s.cfa);
    for (int i = 0; i < n; i++) {
        search_scope(&s, &scopes[i]);
        if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
            break;
        }
    }
    free(scopes);
    return s.best;
}

/*
 * Whether control comes to @pc only from the word before: no branch of the
 * function goes there, nor may one through a register.
 */
static bool only_from_before(File *file, const Symbol *function, uint64_t pc)
{
    uint32_t word;

    if (!text_word(file, pc - 4, &word) || insn_ends_flow(word)) {
        return false;
    }
    for (uint64_t at = function->addr; at < function->addr + function->size;
         at += 4) {
        uint64_t target;

        if (!text_word(file, at, &word)) {
            return false;
        }
        if (insn_target(word, at, &target) && target == pc) {
            return false;
        }
        /* bctr: a table of branches */
        if (word == 0x4e800420) {
            return false;
        }
    }
    return true;
}

/*
 * Registers 14 to 31 belong to the caller: a function saves one before it
 * defines it, and restores it at its ends. If it defines one but once, that is
 * the value wherever it uses it, whichever way control has come there.
 */
static bool only_definition(File *file, const Symbol *function, int reg,
                            uint64_t *where)
{
    int64_t saved = 0, frame = 0;
    bool has_saved = false, found = false;

    if (reg < 14) {
        return false;
    }
    for (uint64_t at = function->addr; at < function->addr + function->size;
         at += 4) {
        uint32_t word;
        int source;
        int64_t value;
        Insn insn;

        if (!text_word(file, at, &word)) {
            return false;
        }
        if (insn_decode(word, &insn) && insn.base == 1 && !insn.indexed) {
            if (insn.store && insn.data == reg && !found && !has_saved) {
                saved = insn.disp;
                has_saved = true;
                continue;
            }
            if (insn.store && insn.update && insn.data == 1 && !frame) {
                frame = -insn.disp;
            }
            /* The place of the save, before or after the frame is made */
            if (!insn.store && insn.data == reg && has_saved &&
                (insn.disp == saved || insn.disp == saved + frame ||
                 insn.disp == saved - frame)) {
                continue;
            }
        }
        if (insn_effect(word, reg, &source, &value) != INSN_KEEPS) {
            if (found) {
                return false;
            }
            found = true;
            *where = at;
        }
    }
    return found && has_saved;
}

static Pointer pointer_in(File *file, const Symbol *function, uint64_t pc,
                          int reg, int64_t offset, int steps);

/* What a load of a pointer got, from the type of where it was loaded. */
static Pointer loaded_by(File *file, const Symbol *function, uint64_t pc,
                         const Insn *load, int64_t offset, int steps)
{
    Pointer none = { .found = false };
    Pointer from = pointer_in(file, function, pc, load->base, load->disp,
                              steps);
    g_autoptr(GString) path = g_string_new(NULL);
    Dwarf_Die leaf, pointee;
    bool known;
    uint64_t size;

    if (!from.found) {
        return none;
    }
    type_path(&from.type, from.offset, load->size, path, &leaf, &known);
    if (!known || !type_pointee(&leaf, &pointee)) {
        return none;
    }
    size = type_size(&pointee);
    if (offset < 0 || (uint64_t)offset >= size) {
        return none;
    }
    return (Pointer) { pointee, offset, size, true };
}

/* What it points at after the instruction at @pc has defined it. */
static Pointer defined_at(File *file, const Symbol *function, uint64_t pc,
                          int reg, int64_t offset, int steps)
{
    Pointer none = { .found = false };
    int64_t value;
    uint32_t word;
    int source;
    Insn load;

    if (!text_word(file, pc, &word)) {
        return none;
    }
    switch (insn_effect(word, reg, &source, &value)) {
    case INSN_COPY:
        return pointer_in(file, function, pc, source, offset + value, steps);
    case INSN_LOAD:
        insn_decode(word, &load);
        if (load.base >= 0) {
            return loaded_by(file, function, pc, &load, offset, steps);
        }
        return none;
    default:
        /* The result of a call, say: the variable it went to may tell. */
        return from_variables(file, pc + 4, reg, offset);
    }
}

static bool better(const Pointer *found, const Pointer *best)
{
    return found->found && (!best->found || found->size > best->size);
}

/* What register @reg plus @offset points at, before @pc is executed. */
static Pointer pointer_in(File *file, const Symbol *function, uint64_t pc,
                          int reg, int64_t offset, int steps)
{
    Pointer best = from_variables(file, pc, reg, offset), found;
    uint64_t at = pc, where = 0;

    if ((best.found && type_is_aggregate(&best.type)) || !function ||
        steps >= MAX_STEPS) {
        return best;
    }
    while (at > function->addr && only_from_before(file, function, at)) {
        uint32_t word;
        int source;
        int64_t value;

        at -= 4;
        if (!text_word(file, at, &word)) {
            return best;
        }
        /* Registers 0 and 3 to 12 do not outlive a call. */
        if (insn_is_call(word) && (reg == 0 || (reg >= 3 && reg <= 12))) {
            return best;
        }
        if (insn_effect(word, reg, &source, &value) != INSN_KEEPS) {
            found = defined_at(file, function, at, reg, offset, steps + 1);
            return better(&found, &best) ? found : best;
        }
        /* A variable may have been in it then, and be gone now. */
        found = from_variables(file, at, reg, offset);
        if (found.found && type_is_aggregate(&found.type)) {
            return found;
        }
    }
    if (only_definition(file, function, reg, &where)) {
        found = defined_at(file, function, where, reg, offset, steps + 1);
        if (better(&found, &best)) {
            best = found;
        }
    }
    return best;
}

bool access_type(File *file, uint64_t pc, Dwarf_Die *type, uint64_t *offset,
                 Insn *insn)
{
    const Symbol *function = symbol_at(file, pc, true);
    Pointer found;
    uint32_t word;

    if (!text_word(file, pc, &word) || !insn_decode(word, insn) ||
        !file->dwarf || insn->indexed || insn->base < 0) {
        return false;
    }
    found = pointer_in(file, function && function->size ? function : NULL, pc,
                       insn->base, insn->disp, 0);
    if (!found.found) {
        return false;
    }
    *type = found.type;
    *offset = found.offset;
    return true;
}
