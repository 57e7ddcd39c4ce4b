/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where in the source an instruction comes from.
 */

#include <dwarf.h>
#include <string.h>
#include "names.h"

int code_scopes(File *file, uint64_t pc, Dwarf_Die **scopes)
{
    Dwarf_Addr at = pc - file->bias;
    Dwarf_Die unit, *found = NULL;
    int n;

    *scopes = NULL;
    if (!file->dwarf || !dwarf_addrdie(file->dwarf, at, &unit)) {
        return 0;
    }
    n = dwarf_getscopes(&unit, at, &found);
    if (n <= 0) {
        return 0;
    }
    /* These may go on with where an inline function was written. */
    n = dwarf_getscopes_die(&found[0], scopes);
    free(found);
    return MAX(n, 0);
}

/* As short as it can be: below the source tree if the file says so. */
static const char *tidy(const char *path)
{
    while (g_str_has_prefix(path, "./")) {
        path += 2;
    }
    return path;
}

static void describe_line(File *file, uint64_t pc, Dwarf_Die *unit,
                          GString *out)
{
    Dwarf_Line *line = dwarf_getsrc_die(unit, pc - file->bias);
    const char *source;
    int number;

    if (!line) {
        return;
    }
    source = dwarf_linesrc(line, NULL, NULL);
    if (source && !dwarf_lineno(line, &number) && number > 0) {
        json_string(out, "file", tidy(source));
        json_number(out, "line", number);
    }
}

/* The functions around the instruction, innermost first. */
static void describe_functions(Dwarf_Die *scopes, int n, GString *out)
{
    bool any = false;

    for (int i = 0; i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        const char *name;
        Dwarf_Attribute attr;
        Dwarf_Word line;

        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) {
            continue;
        }
        name = dwarf_diename(&scopes[i]);
        if (!name) {
            continue;
        }
        g_string_append(out, any ? ", {" : ", \"functions\": [{");
        any = true;
        json_string(out, "name", name);
        if (tag == DW_TAG_inlined_subroutine &&
            dwarf_attr(&scopes[i], DW_AT_call_line, &attr) &&
            !dwarf_formudata(&attr, &line)) {
            json_number(out, "called_at", line);
        }
        g_string_append_c(out, '}');
        if (tag == DW_TAG_subprogram) {
            break;
        }
    }
    if (any) {
        g_string_append_c(out, ']');
    }
}

void code_describe(uint64_t pc, GString *out)
{
    File *file = file_of(pc);
    const Symbol *symbol;
    Dwarf_Die *scopes;
    uint32_t word;
    Insn insn;
    int n;

    if (!file) {
        return;
    }
    json_string(out, "module", file->name);
    symbol = symbol_at(file, pc, true);
    if (symbol) {
        json_string(out, "symbol", symbol->name);
        json_number(out, "symbol_offset", pc - symbol->addr);
    }
    n = code_scopes(file, pc, &scopes);
    if (n) {
        describe_line(file, pc, &scopes[n - 1], out);
        describe_functions(scopes, n, out);
    }
    free(scopes);
    if (text_word(file, pc, &word) && insn_decode(word, &insn)) {
        json_string(out, "instruction", insn.name);
        json_number(out, "size", insn.size);
    }
}
