/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * C types as the debug information describes them.
 */

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>
#include "names.h"

/* More alternatives than this say nothing to a reader. */
#define MAX_NAMES   4

bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    Dwarf_Attribute attr;

    return dwarf_attr_integrate(die, DW_AT_type, &attr) &&
           dwarf_formref_die(&attr, type);
}

bool type_strip(Dwarf_Die *type, Dwarf_Die *stripped)
{
    return !dwarf_peel_type(type, stripped) &&
           dwarf_tag(stripped) != DW_TAG_unspecified_type;
}

uint64_t type_size(Dwarf_Die *type)
{
    Dwarf_Word size;

    return dwarf_aggregate_size(type, &size) ? 0 : size;
}

/* A declaration stands for the definition in another file, if there is one. */
void type_complete(Dwarf_Die *type)
{
    const char *name = dwarf_diename(type);
    Dwarf_Die found;

    if (!name || !dwarf_hasattr(type, DW_AT_declaration)) {
        return;
    }
    for (unsigned i = 0; file_nth(i); i++) {
        File *file = file_nth(i);

        if (file->dwarf && file->dwarf == dwarf_cu_getdwarf(type->cu) &&
            type_named(file, name, &found) &&
            dwarf_tag(&found) == dwarf_tag(type)) {
            *type = found;
            return;
        }
    }
}

bool type_pointee(Dwarf_Die *type, Dwarf_Die *pointee)
{
    Dwarf_Die pointer;

    if (!type_strip(type, &pointer) ||
        dwarf_tag(&pointer) != DW_TAG_pointer_type ||
        !type_of(&pointer, pointee)) {
        return false;
    }
    return type_strip(pointee, &pointer);
}

bool type_is_aggregate(Dwarf_Die *type)
{
    Dwarf_Die stripped;

    if (!type_strip(type, &stripped)) {
        return false;
    }
    switch (dwarf_tag(&stripped)) {
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_array_type:
        return true;
    default:
        return false;
    }
}

void type_name(Dwarf_Die *type, GString *out)
{
    const char *name = dwarf_diename(type);
    Dwarf_Die inner;

    switch (dwarf_tag(type)) {
    case DW_TAG_structure_type:
        g_string_append_printf(out, "struct %s", name ?: "{...}");
        return;
    case DW_TAG_union_type:
        g_string_append_printf(out, "union %s", name ?: "{...}");
        return;
    case DW_TAG_enumeration_type:
        g_string_append_printf(out, "enum %s", name ?: "{...}");
        return;
    case DW_TAG_pointer_type:
        if (type_of(type, &inner)) {
            type_name(&inner, out);
        } else {
            g_string_append(out, "void");
        }
        g_string_append(out, " *");
        return;
    case DW_TAG_array_type:
        if (type_of(type, &inner)) {
            type_name(&inner, out);
        }
        g_string_append(out, "[]");
        return;
    case DW_TAG_subroutine_type:
        g_string_append(out, "function");
        return;
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
        if (type_of(type, &inner)) {
            type_name(&inner, out);
        } else {
            g_string_append(out, "void");
        }
        return;
    default:
        g_string_append(out, name ?: "?");
    }
}

/* Offset in bytes of a member, and of a bit field the bits in it. */
static uint64_t member_offset(Dwarf_Die *member, bool *bits)
{
    Dwarf_Attribute attr;
    Dwarf_Word value = 0;

    *bits = dwarf_hasattr(member, DW_AT_bit_size);
    if (dwarf_attr(member, DW_AT_data_bit_offset, &attr) &&
        !dwarf_formudata(&attr, &value)) {
        return value / 8;
    }
    if (dwarf_attr(member, DW_AT_data_member_location, &attr)) {
        dwarf_formudata(&attr, &value);
    }
    return value;
}

static uint64_t member_size(Dwarf_Die *member, Dwarf_Die *type)
{
    Dwarf_Attribute attr;
    Dwarf_Word bits, first = 0;

    if (dwarf_attr(member, DW_AT_bit_size, &attr) &&
        !dwarf_formudata(&attr, &bits)) {
        if (dwarf_attr(member, DW_AT_data_bit_offset, &attr)) {
            dwarf_formudata(&attr, &first);
        }
        return (first % 8 + bits + 7) / 8;
    }
    return type_size(type);
}

int64_t type_member(Dwarf_Die *aggregate, const char *path, Dwarf_Die *type)
{
    size_t length = strcspn(path, ".");
    Dwarf_Die stripped, member;

    if (!type_strip(aggregate, &stripped)) {
        return -1;
    }
    type_complete(&stripped);
    if (dwarf_child(&stripped, &member)) {
        return -1;
    }
    do {
        const char *name = dwarf_diename(&member);
        Dwarf_Die of;
        int64_t offset, inner;
        bool bits;

        if (dwarf_tag(&member) != DW_TAG_member || !type_of(&member, &of)) {
            continue;
        }
        offset = member_offset(&member, &bits);
        if (!name) {
            inner = type_member(&of, path, type);
            if (inner >= 0) {
                return offset + inner;
            }
        } else if (!strncmp(name, path, length) && !name[length]) {
            if (path[length]) {
                inner = type_member(&of, path + length + 1, type);
                return inner < 0 ? -1 : offset + inner;
            }
            if (type) {
                *type = of;
            }
            return offset;
        }
    } while (!dwarf_siblingof(&member, &member));
    return -1;
}

bool type_has(Dwarf_Die *aggregate, const char *path, int64_t *offset,
              Dwarf_Die *type)
{
    *offset = type_member(aggregate, path, type);
    return *offset >= 0;
}

bool type_enumerator(Dwarf_Die *enumeration, const char *name,
                     uint64_t *value)
{
    Dwarf_Die child;
    Dwarf_Attribute attr;

    if (dwarf_child(enumeration, &child)) {
        return false;
    }
    do {
        if (!g_strcmp0(dwarf_diename(&child), name)) {
            return dwarf_attr(&child, DW_AT_const_value, &attr) &&
                   !dwarf_formudata(&attr, value);
        }
    } while (!dwarf_siblingof(&child, &child));
    return false;
}

static void array_path(Dwarf_Die *array, uint64_t offset, unsigned size,
                       GString *out, Dwarf_Die *leaf, bool *leaf_known)
{
    Dwarf_Die element;
    uint64_t each;

    *leaf_known = false;
    if (!type_of(array, &element)) {
        return;
    }
    each = type_size(&element);
    if (!each) {
        return;
    }
    /* Of several dimensions the debug information has one array: flat index. */
    g_string_append_printf(out, "[%" PRIu64 "]", offset / each);
    type_path(&element, offset % each, size, out, leaf, leaf_known);
}

/* One member that covers the offset, with its path from here on. */
static char *member_path(Dwarf_Die *member, uint64_t offset, unsigned size,
                         bool dot, Dwarf_Die *leaf, bool *leaf_known)
{
    GString *path = g_string_new(NULL);
    const char *name = dwarf_diename(member);
    Dwarf_Die type;
    bool bits;

    *leaf_known = false;
    offset -= member_offset(member, &bits);
    if (type_of(member, &type)) {
        if (name) {
            g_string_append_printf(path, "%s%s", dot ? "." : "", name);
            type_path(&type, bits ? 0 : offset, size, path, leaf, leaf_known);
        } else {
            if (dot) {
                g_string_append_c(path, '.');
            }
            type_path(&type, offset, size, path, leaf, leaf_known);
            if (path->len == 1 && dot) {
                g_string_truncate(path, 0);
            }
        }
    }
    return g_string_free(path, false);
}

static void aggregate_path(Dwarf_Die *aggregate, uint64_t offset,
                           unsigned size, GString *out, Dwarf_Die *leaf,
                           bool *leaf_known)
{
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    Dwarf_Die member;
    /* Path components inside an anonymous member follow its parent's dot. */
    bool dot = out->len && out->str[out->len - 1] != '.';

    *leaf_known = false;
    if (dwarf_child(aggregate, &member)) {
        return;
    }
    do {
        Dwarf_Die type, found;
        uint64_t at, length;
        bool bits, known;
        char *path;

        if (dwarf_tag(&member) != DW_TAG_member || !type_of(&member, &type)) {
            continue;
        }
        at = member_offset(&member, &bits);
        length = member_size(&member, &type);
        /* An array without length at the end goes on as long as it likes. */
        if (offset < at || (length && offset - at >= length) ||
            (!length && dwarf_tag(&type) != DW_TAG_array_type)) {
            continue;
        }
        path = member_path(&member, offset, size, dot, &found, &known);
        if (!*path) {
            g_free(path);
            continue;
        }
        if (!paths->len) {
            *leaf_known = known;
            if (known) {
                *leaf = found;
            }
        } else {
            *leaf_known = false;
        }
        g_ptr_array_add(paths, path);
    } while (!dwarf_siblingof(&member, &member));

    if (paths->len == 1) {
        g_string_append(out, paths->pdata[0]);
    } else if (paths->len) {
        g_string_append(out, dot ? ".{" : "{");
        for (unsigned i = 0; i < paths->len; i++) {
            const char *path = paths->pdata[i];

            if (i == MAX_NAMES) {
                g_string_append(out, "|...");
                break;
            }
            g_string_append_printf(out, "%s%s", i ? "|" : "",
                                   path + (dot && *path == '.'));
        }
        g_string_append_c(out, '}');
    }
}

void type_path(Dwarf_Die *type, uint64_t offset, unsigned size, GString *out,
               Dwarf_Die *leaf, bool *leaf_known)
{
    Dwarf_Die stripped;

    *leaf_known = false;
    if (!type_strip(type, &stripped)) {
        return;
    }
    type_complete(&stripped);
    switch (dwarf_tag(&stripped)) {
    case DW_TAG_array_type:
        array_path(&stripped, offset, size, out, leaf, leaf_known);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        aggregate_path(&stripped, offset, size, out, leaf, leaf_known);
        break;
    default:
        *leaf = *type;
        *leaf_known = !offset;
    }
}
