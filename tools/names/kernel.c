/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ELF files of a guest: symbols, and an index of their debug information.
 */

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>
#include "names.h"

static GPtrArray *files;
static Dwfl *dwfl;

/* What libdwfl asks about a module, now or later */
typedef struct Answers {
    char *path;
    GHashTable *sections;
} Answers;

static int find_elf(Dwfl_Module *mod, void **data, const char *name,
                    Dwarf_Addr base, char **file_name, Elf **elf)
{
    const Answers *answers = *data;

    *file_name = strdup(answers->path);
    return open(answers->path, O_RDONLY | O_CLOEXEC);
}

static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name,
                          Dwarf_Addr base, const char *file_name,
                          const char *debuglink, GElf_Word crc,
                          char **debuginfo)
{
    /* Never over the network: libdwfl's own search might. */
    return -1;
}

static int section_address(Dwfl_Module *mod, void **data, const char *name,
                           Dwarf_Addr base, const char *section,
                           GElf_Word index, const GElf_Shdr *header,
                           Dwarf_Addr *addr)
{
    const Answers *answers = *data;
    const uint64_t *known = g_hash_table_lookup(answers->sections, section);

    /* What was thrown away after the start of the module is nowhere. */
    *addr = known ? *known : (Dwarf_Addr)-1;
    return DWARF_CB_OK;
}

static const Dwfl_Callbacks callbacks = {
    .find_elf = find_elf,
    .find_debuginfo = find_debuginfo,
    .section_address = section_address,
};

static gint by_address(gconstpointer a, gconstpointer b)
{
    const Symbol *x = a, *y = b;

    if (x->addr != y->addr) {
        return x->addr < y->addr ? -1 : 1;
    }
    /* Of several names of one place the global one, then the first. */
    if (x->global != y->global) {
        return x->global ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void read_symbols(File *file)
{
    int n = dwfl_module_getsymtab(file->mod);

    file->symbols = g_array_new(false, false, sizeof(Symbol));
    for (int i = 1; i < n; i++) {
        GElf_Sym sym;
        GElf_Addr addr;
        const char *name = dwfl_module_getsym_info(file->mod, i, &sym, &addr,
                                                   NULL, NULL, NULL);
        unsigned type = GELF_ST_TYPE(sym.st_info);

        if (!name || !*name || sym.st_shndx == SHN_UNDEF ||
            sym.st_shndx == SHN_ABS || type == STT_SECTION ||
            type == STT_FILE) {
            continue;
        }
        g_array_append_val(file->symbols, ((Symbol) {
            .addr = addr,
            .size = sym.st_size,
            .name = name,
            .code = type == STT_FUNC,
            .global = GELF_ST_BIND(sym.st_info) != STB_LOCAL,
        }));
    }
    g_array_sort(file->symbols, by_address);
}

static File *add_file(const char *name, Dwfl_Module *mod)
{
    File *file = g_new0(File, 1);

    file->name = g_strdup(name);
    file->mod = mod;
    file->dwarf = dwfl_module_getdwarf(mod, &file->bias);
    read_symbols(file);
    if (!files) {
        files = g_ptr_array_new();
    }
    g_ptr_array_add(files, file);
    return file;
}

static void build_id(const char *path, GBytes **id)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const void *data;
    ssize_t n;

    *id = NULL;
    if (elf) {
        n = dwelf_elf_gnu_build_id(elf, &data);
        if (n > 0) {
            *id = g_bytes_new(data, n);
        }
        elf_end(elf);
    }
    if (fd >= 0) {
        close(fd);
    }
}

File *kernel_open(const char *path)
{
    g_autofree char *debug = g_strconcat(path, ".debug", NULL);
    g_autoptr(GBytes) id = NULL;
    g_autoptr(GBytes) debug_id = NULL;
    Dwfl_Module *mod;
    GElf_Ehdr header;
    GElf_Addr bias;

    elf_version(EV_CURRENT);
    dwfl = dwfl_begin(&callbacks);
    if (access(path, R_OK)) {
        fail("%s: cannot be read: %s", path, g_strerror(errno));
    }
    if (!access(debug, R_OK)) {
        build_id(path, &id);
        build_id(debug, &debug_id);
        if (id && debug_id && g_bytes_equal(id, debug_id)) {
            path = debug;
        } else {
            warn("%s is not of the same build as %s: not used", debug, path);
        }
    }
    dwfl_report_begin(dwfl);
    mod = dwfl_report_elf(dwfl, "vmlinux", path, -1, 0, true);
    if (!mod || dwfl_report_end(dwfl, NULL, NULL)) {
        fail("%s: cannot be read: %s", path, dwfl_errmsg(-1));
    }
    if (!gelf_getehdr(dwfl_module_getelf(mod, &bias), &header) ||
        header.e_machine != EM_PPC64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB) {
        fail("%s: no little-endian ppc64 ELF file; give the kernel's vmlinux",
             path);
    }
    return add_file("vmlinux", mod);
}

File *module_open(const char *name, const char *path, GHashTable *sections)
{
    GHashTableIter iter;
    gpointer key, value;
    uint64_t low = UINT64_MAX, high = 0;
    Dwfl_Module *mod;
    Answers *answers;
    void **data;
    GElf_Addr bias;

    g_hash_table_iter_init(&iter, sections);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        uint64_t addr = *(uint64_t *)value;

        if (g_str_has_prefix(key, ".") && addr >= LINEAR_END) {
            low = MIN(low, addr);
            high = MAX(high, addr);
        }
    }
    if (high < low) {
        return NULL;
    }
    dwfl_report_begin_add(dwfl);
    mod = dwfl_report_module(dwfl, name, low, high + 1);
    dwfl_report_end(dwfl, NULL, NULL);
    if (mod) {
        answers = g_new(Answers, 1);
        answers->path = g_strdup(path);
        answers->sections = g_hash_table_ref(sections);
        dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
        *data = answers;
    }
    if (!mod || !dwfl_module_getelf(mod, &bias)) {
        warn("module %s: %s cannot be read: %s", name, path, dwfl_errmsg(-1));
        return NULL;
    }
    return add_file(name, mod);
}

void files_close(void)
{
    for (unsigned i = 0; files && i < files->len; i++) {
        File *file = files->pdata[i];
        void **data;
        Answers *answers;

        dwfl_module_info(file->mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
        answers = *data;
        if (answers) {
            g_hash_table_unref(answers->sections);
            g_free(answers->path);
            g_free(answers);
        }
        g_array_unref(file->symbols);
        g_clear_pointer(&file->variables, g_hash_table_unref);
        g_clear_pointer(&file->types, g_hash_table_unref);
        g_free(file->name);
        g_free(file);
    }
    g_clear_pointer(&files, g_ptr_array_unref);
    dwfl_end(dwfl);
}

File *file_nth(unsigned i)
{
    return files && i < files->len ? files->pdata[i] : NULL;
}

/* Symbols of no size, at the ends of sections, reach up to the next one. */
static const Symbol *symbol_before(const File *file, uint64_t addr)
{
    unsigned low = 0, high = file->symbols->len;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (g_array_index(file->symbols, Symbol, middle).addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low ? &g_array_index(file->symbols, Symbol, low - 1) : NULL;
}

const Symbol *symbol_at(const File *file, uint64_t addr, bool code)
{
    const Symbol *first = (const Symbol *)file->symbols->data;
    const Symbol *found = NULL;

    for (const Symbol *s = symbol_before(file, addr);
         s && s >= first; s--) {
        bool inside = addr - s->addr < s->size;

        if (inside && s->code == code) {
            /* Go on: of several at one address the sort has put one first. */
            if (found && found->addr != s->addr) {
                break;
            }
            found = s;
        } else if (found || addr - s->addr > 1 << 20) {
            break;
        }
    }
    if (!found && code) {
        /* Assembly has labels without size. */
        const Symbol *s = symbol_before(file, addr);

        if (s && !s->size && addr - s->addr < 0x1000) {
            found = s;
            while (found > first && found[-1].addr == s->addr) {
                found--;
            }
        }
    }
    return found;
}

File *file_of(uint64_t addr)
{
    for (unsigned i = 0; files && i < files->len; i++) {
        File *file = files->pdata[i];

        if (symbol_at(file, addr, true) || symbol_at(file, addr, false)) {
            return file;
        }
    }
    return NULL;
}

bool symbol_named(const File *file, const char *name, Symbol *symbol)
{
    for (unsigned i = 0; i < file->symbols->len; i++) {
        const Symbol *s = &g_array_index(file->symbols, Symbol, i);

        if (!strcmp(s->name, name)) {
            *symbol = *s;
            return true;
        }
    }
    return false;
}

static uint64_t *offset_copy(Dwarf_Die *die)
{
    uint64_t offset = dwarf_dieoffset(die);

    return g_memdup2(&offset, sizeof(offset));
}

static void index_variable(File *file, Dwarf_Die *die)
{
    Dwarf_Attribute attr;
    Dwarf_Op *ops;
    size_t n;

    if (dwarf_attr(die, DW_AT_location, &attr) &&
        !dwarf_getlocation(&attr, &ops, &n) && n == 1 &&
        ops[0].atom == DW_OP_addr) {
        uint64_t addr = ops[0].number + file->bias;

        if (!g_hash_table_contains(file->variables, &addr)) {
            g_hash_table_insert(file->variables,
                                g_memdup2(&addr, sizeof(addr)),
                                offset_copy(die));
        }
    }
}

/* Static variables of functions are inside them. */
static void index_function(File *file, Dwarf_Die *die)
{
    Dwarf_Die child;

    if (dwarf_child(die, &child)) {
        return;
    }
    do {
        switch (dwarf_tag(&child)) {
        case DW_TAG_variable:
            index_variable(file, &child);
            break;
        case DW_TAG_lexical_block:
            index_function(file, &child);
            break;
        default:
            break;
        }
    } while (!dwarf_siblingof(&child, &child));
}

static void index_die(File *file, Dwarf_Die *die)
{
    const char *name;
    Dwarf_Die first;

    switch (dwarf_tag(die)) {
    case DW_TAG_variable:
        index_variable(file, die);
        break;
    case DW_TAG_subprogram:
        index_function(file, die);
        break;
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        name = dwarf_diename(die);
        if (!name && dwarf_tag(die) == DW_TAG_enumeration_type &&
            !dwarf_child(die, &first)) {
            name = dwarf_diename(&first);
        }
        if (name && !dwarf_hasattr(die, DW_AT_declaration) &&
            !g_hash_table_contains(file->types, name)) {
            g_hash_table_insert(file->types, (gpointer)name,
                                offset_copy(die));
        }
        break;
    default:
        break;
    }
}

static void build_index(File *file)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit, child;
    uint8_t type;

    if (file->variables) {
        return;
    }
    file->variables = g_hash_table_new_full(g_int64_hash, g_int64_equal,
                                            g_free, g_free);
    file->types = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    while (file->dwarf &&
           !dwarf_get_units(file->dwarf, cu, &cu, NULL, &type, &unit, NULL)) {
        if (dwarf_child(&unit, &child)) {
            continue;
        }
        do {
            index_die(file, &child);
        } while (!dwarf_siblingof(&child, &child));
    }
}

bool variable_at(File *file, uint64_t addr, Dwarf_Die *die)
{
    const uint64_t *offset;

    build_index(file);
    offset = g_hash_table_lookup(file->variables, &addr);
    return offset && dwarf_offdie(file->dwarf, *offset, die);
}

bool type_named(File *file, const char *name, Dwarf_Die *type)
{
    const uint64_t *offset;

    build_index(file);
    offset = g_hash_table_lookup(file->types, name);
    return offset && dwarf_offdie(file->dwarf, *offset, type);
}

bool text_word(const File *file, uint64_t addr, uint32_t *word)
{
    Elf *elf;
    GElf_Addr bias, at = addr;
    Elf_Scn *section;
    GElf_Shdr header;
    Elf_Data *data;

    section = dwfl_module_address_section(file->mod, &at, &bias);
    elf = dwfl_module_getelf(file->mod, &bias);
    if (!section || !elf || !gelf_getshdr(section, &header) ||
        header.sh_type == SHT_NOBITS) {
        return false;
    }
    data = elf_rawdata(section, NULL);
    if (!data || at + sizeof(*word) > data->d_size) {
        return false;
    }
    memcpy(word, (const char *)data->d_buf + at, sizeof(*word));
    *word = GUINT32_FROM_LE(*word);
    return true;
}
