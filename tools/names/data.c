/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is at an address of the guest's memory.
 */

#include <string.h>
#include "names.h"

static void json_type(GString *out, Dwarf_Die *type, const char *name)
{
    g_autoptr(GString) text = g_string_new(NULL);

    type_name(type, text);
    json_string(out, name, text->str);
}

static void json_path(GString *out, Dwarf_Die *type, uint64_t offset,
                      unsigned size)
{
    g_autoptr(GString) path = g_string_new(NULL);
    Dwarf_Die leaf;
    bool known;

    type_path(type, offset, size, path, &leaf, &known);
    json_string(out, "field", path->str);
    if (known) {
        json_type(out, &leaf, "field_type");
    }
}

/* A variable by its link address, with what lies at the offset in it. */
static void describe_variable(File *file, uint64_t link, unsigned size,
                              GString *out)
{
    const Symbol *symbol = symbol_at(file, link, false);
    Dwarf_Die die, type;

    if (!symbol) {
        return;
    }
    json_string(out, "module", file->name);
    json_string(out, "symbol", symbol->name);
    json_number(out, "symbol_offset", link - symbol->addr);
    json_number(out, "symbol_size", symbol->size);
    if (file->dwarf && variable_at(file, symbol->addr, &die) &&
        type_of(&die, &type)) {
        json_type(out, &type, "type");
        json_path(out, &type, link - symbol->addr, size);
    }
}

static void describe_area(const Area *area, uint64_t addr, unsigned size,
                          GString *out)
{
    Dwarf_Die type;

    json_string(out, "kind", area->kind);
    if (area->name) {
        json_string(out, "task", area->name);
        json_number(out, "pid", area->number);
    } else {
        json_number(out, "cpu", area->number);
    }
    json_number(out, "object_offset", addr - area->start);
    json_number(out, "object_size", area->size);
    if (!strcmp(area->kind, "paca") &&
        type_named(file_nth(0), "paca_struct", &type)) {
        json_type(out, &type, "type");
        json_path(out, &type, addr - area->start, size);
    }
}

void data_describe(uint64_t addr, unsigned size, GString *out)
{
    const Area *area = guest_area(addr);
    uint64_t link;
    SlabObject object;
    File *file;
    int cpu;

    if (area) {
        describe_area(area, addr, size, out);
        return;
    }
    if (guest_percpu(addr, &cpu, &link, &file)) {
        json_string(out, "kind", "per-cpu");
        json_number(out, "cpu", cpu);
        if (file) {
            describe_variable(file, link, size, out);
        }
        return;
    }
    if (slab_object(addr, &object)) {
        json_string(out, "kind", "slab");
        json_string(out, "cache", object.cache);
        json_number(out, "object_offset", addr - object.start);
        json_number(out, "object_size", object.size);
        return;
    }
    link = addr - guest_slide();
    file = file_nth(0);
    if (!symbol_at(file, link, false)) {
        file = file_of(addr);
        link = addr;
        if (file == file_nth(0)) {
            file = NULL;
        }
    }
    if (file && symbol_at(file, link, false)) {
        json_string(out, "kind", "static");
        describe_variable(file, link, size, out);
        return;
    }
    json_string(out, "kind", "unknown");
}

/*
 * The type by the instruction must fit what is known of the place: an object
 * of a slab cache, say, cannot be part of a struct larger than it.
 */
static bool fits(uint64_t start, uint64_t size)
{
    SlabObject object;
    const Area *area = guest_area(start);

    if (area) {
        return size <= area->size - (start - area->start);
    }
    if (slab_object(start, &object)) {
        return size <= object.size - (start - object.start);
    }
    return true;
}

/* What an instruction accesses is asked for each address that it accessed. */
typedef struct Known {
    bool known;
    Dwarf_Die type;
    uint64_t size;
    uint64_t offset;
    unsigned bytes;
} Known;

static const Known *known_access(uint64_t pc)
{
    static GHashTable *cache;
    Known *known;

    if (!cache) {
        cache = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                      g_free);
    }
    known = g_hash_table_lookup(cache, &pc);
    if (!known) {
        File *file = file_of(pc);
        Insn insn;

        known = g_new0(Known, 1);
        if (file && access_type(file, pc, &known->type, &known->offset,
                                &insn)) {
            known->known = true;
            known->bytes = insn.size;
            known->size = type_size(&known->type);
        }
        g_hash_table_insert(cache, g_memdup2(&pc, sizeof(pc)), known);
    }
    return known;
}

void access_describe(uint64_t pc, uint64_t addr, GString *out)
{
    const Known *k = known_access(pc);
    Dwarf_Die type;

    if (!k->known || !fits(addr - k->offset, k->size)) {
        return;
    }
    type = k->type;
    json_type(out, &type, "type");
    json_number(out, "type_size", k->size);
    json_number(out, "type_offset", k->offset);
    json_path(out, &type, k->offset, k->bytes);
}
