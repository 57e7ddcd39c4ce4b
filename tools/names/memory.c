/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The image of the guest's memory: an ELF core file with physical addresses.
 */

#include <gelf.h>
#include <string.h>
#include "names.h"

/* Radix page tables: 52 bits of address, the root has 13 of them. */
#define RADIX_BITS      52
#define RADIX_ROOT_BITS 13
#define RADIX_LEVELS    4
#define PTE_VALID       (UINT64_C(1) << 63)
#define PTE_LEAF        (UINT64_C(1) << 62)
#define PTE_ADDRESS     UINT64_C(0x01fffffffffff000)
#define PDE_NEXT        UINT64_C(0x0fffffffffffff00)
#define PDE_SIZE        0x1f

typedef struct Range {
    uint64_t start;
    uint64_t size;
    uint64_t stored;            /* the rest is zero */
    const char *bytes;
} Range;

static GMappedFile *image;
static GArray *ranges;
static uint64_t radix_root;

void memory_open(const char *path)
{
    g_autoptr(GError) err = NULL;
    const Elf64_Ehdr *header;
    const char *bytes;
    size_t length;

    image = g_mapped_file_new(path, false, &err);
    if (!image) {
        fail("%s", err->message);
    }
    bytes = g_mapped_file_get_contents(image);
    length = g_mapped_file_get_length(image);
    header = (const Elf64_Ehdr *)bytes;
    if (length < sizeof(*header) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_CORE ||
        header->e_phoff > length || header->e_phentsize != sizeof(Elf64_Phdr) ||
        (length - header->e_phoff) / sizeof(Elf64_Phdr) < header->e_phnum) {
        fail("%s: no image of a guest's memory; give what "
             "-device contention,memory-file= has written", path);
    }
    ranges = g_array_new(false, false, sizeof(Range));
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *p =
            (const Elf64_Phdr *)(bytes + header->e_phoff) + i;

        if (p->p_type != PT_LOAD) {
            continue;
        }
        if (p->p_offset > length || p->p_filesz > length - p->p_offset) {
            fail("%s: truncated", path);
        }
        g_array_append_val(ranges, ((Range) {
            p->p_paddr, p->p_memsz, p->p_filesz, bytes + p->p_offset,
        }));
    }
}

void memory_close(void)
{
    g_clear_pointer(&image, g_mapped_file_unref);
    g_clear_pointer(&ranges, g_array_unref);
}

bool memory_present(void)
{
    return image;
}

bool memory_range(unsigned i, uint64_t *start, uint64_t *size)
{
    if (!ranges || i >= ranges->len) {
        return false;
    }
    *start = g_array_index(ranges, Range, i).start;
    *size = g_array_index(ranges, Range, i).size;
    return true;
}

bool memory_physical(uint64_t addr, void *buffer, size_t size)
{
    for (unsigned i = 0; ranges && i < ranges->len; i++) {
        const Range *r = &g_array_index(ranges, Range, i);
        uint64_t at = addr - r->start, n;

        if (addr < r->start || at >= r->size || size > r->size - at) {
            continue;
        }
        n = at < r->stored ? MIN(size, r->stored - at) : 0;
        memcpy(buffer, r->bytes + at, n);
        memset((char *)buffer + n, 0, size - n);
        return true;
    }
    return false;
}

void memory_set_root(uint64_t physical)
{
    radix_root = physical;
}

static bool walk(uint64_t addr, uint64_t *physical)
{
    uint64_t table = radix_root;
    unsigned shift = RADIX_BITS, bits = RADIX_ROOT_BITS;

    for (unsigned level = 0; table && level < RADIX_LEVELS; level++) {
        uint64_t entry;

        if (bits < 5 || bits >= shift) {
            return false;
        }
        shift -= bits;
        if (!memory_physical(table + (addr >> shift & ((1 << bits) - 1)) * 8,
                             &entry, sizeof(entry))) {
            return false;
        }
        entry = GUINT64_FROM_BE(entry);
        if (!(entry & PTE_VALID)) {
            return false;
        }
        if (entry & PTE_LEAF) {
            uint64_t mask = (UINT64_C(1) << shift) - 1;

            *physical = (entry & PTE_ADDRESS & ~mask) | (addr & mask);
            return true;
        }
        table = entry & PDE_NEXT;
        bits = entry & PDE_SIZE;
    }
    return false;
}

bool memory_translate(uint64_t addr, uint64_t *physical)
{
    if (addr >= LINEAR_MAP && addr < LINEAR_END) {
        *physical = addr - LINEAR_MAP;
        return true;
    }
    return radix_root && walk(addr & ((UINT64_C(1) << RADIX_BITS) - 1),
                              physical);
}

/* A piece of an object that crosses pages may be anywhere. */
bool memory_read(uint64_t addr, void *buffer, size_t size)
{
    while (size) {
        size_t n = MIN(size, 4096 - (addr & 4095));
        uint64_t physical;

        if (!memory_translate(addr, &physical) ||
            !memory_physical(physical, buffer, n)) {
            return false;
        }
        addr += n;
        buffer = (char *)buffer + n;
        size -= n;
    }
    return true;
}

bool memory_u64(uint64_t addr, uint64_t *value)
{
    bool ok = memory_read(addr, value, sizeof(*value));

    *value = ok ? GUINT64_FROM_LE(*value) : 0;
    return ok;
}

bool memory_u32(uint64_t addr, uint32_t *value)
{
    bool ok = memory_read(addr, value, sizeof(*value));

    *value = ok ? GUINT32_FROM_LE(*value) : 0;
    return ok;
}

bool memory_string(uint64_t addr, char *buffer, size_t room)
{
    for (size_t i = 0; i + 1 < room; i++) {
        if (!memory_read(addr + i, buffer + i, 1)) {
            return false;
        }
        if (!buffer[i]) {
            return g_utf8_validate(buffer, i, NULL);
        }
    }
    buffer[room - 1] = '\0';
    return g_utf8_validate(buffer, -1, NULL);
}
