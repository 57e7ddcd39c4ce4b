/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slab objects: from the page's descriptor to the cache that owns it.
 */

#include <dwarf.h>
#include <string.h>
#include "names.h"

/* Memory is described by sections of this size on 64-bit Power. */
#define SECTION_BITS    24

static struct {
    bool known;
    uint64_t sections;          /* the first section, or a table of tables */
    bool tables;
    uint64_t section;           /* bytes of a section's description */
    int64_t map;                /* where in it its pages' descriptors are */
    uint64_t map_mask;
    uint64_t page_size;
    uint64_t descriptor;        /* bytes of a page's descriptor */
    uint64_t slab_bit;
    int64_t flags, head, cache;
    int64_t name, size;
} layout;

static bool init_sections(File *kernel)
{
    Symbol symbol;
    Dwarf_Die variable, type, section, bits;
    uint64_t last;

    if (!symbol_named(kernel, "mem_section", &symbol) ||
        !variable_at(kernel, symbol.addr, &variable) ||
        !type_of(&variable, &type) || !type_strip(&type, &type) ||
        !type_named(kernel, "mem_section", &section) ||
        !type_named(kernel, "SECTION_MARKED_PRESENT_BIT", &bits) ||
        !type_enumerator(&bits, "SECTION_MAP_LAST_BIT", &last)) {
        return false;
    }
    layout.sections = symbol.addr + guest_slide();
    layout.tables = dwarf_tag(&type) == DW_TAG_pointer_type;
    if (layout.tables && !memory_u64(layout.sections, &layout.sections)) {
        return false;
    }
    layout.section = type_size(&section);
    layout.map = type_member(&section, "section_mem_map", NULL);
    layout.map_mask = ~((UINT64_C(1) << last) - 1);
    return layout.section && layout.map >= 0;
}

void slab_init(File *kernel)
{
    Dwarf_Die page, slab, cache, flags;
    Symbol zero_page;
    uint64_t value;

    if (!memory_present() || !kernel->dwarf || !init_sections(kernel) ||
        !type_named(kernel, "page", &page) ||
        !type_named(kernel, "slab", &slab) ||
        !type_named(kernel, "kmem_cache", &cache) ||
        !type_named(kernel, "pageflags", &flags) ||
        !type_enumerator(&flags, "PG_slab", &value) ||
        /* The page of zeros is an array of one page. */
        !symbol_named(kernel, "empty_zero_page", &zero_page)) {
        return;
    }
    layout.slab_bit = UINT64_C(1) << value;
    layout.page_size = zero_page.size;
    layout.descriptor = type_size(&page);
    layout.flags = type_member(&page, "flags", NULL);
    layout.head = type_member(&page, "compound_head", NULL);
    layout.cache = type_member(&slab, "slab_cache", NULL);
    layout.name = type_member(&cache, "name", NULL);
    layout.size = type_member(&cache, "size", NULL);
    layout.known = layout.page_size && layout.descriptor &&
                   layout.flags >= 0 && layout.head >= 0 &&
                   layout.cache >= 0 && layout.name >= 0 && layout.size >= 0;
}

/* Where the descriptor of page 0 would be, as its section sees it. */
static bool page_map(uint64_t physical, uint64_t *map)
{
    uint64_t number = physical >> SECTION_BITS, at;

    if (layout.tables) {
        uint64_t each = layout.page_size / layout.section;

        if (!memory_u64(layout.sections + number / each * 8, &at) || !at) {
            return false;
        }
        number %= each;
    } else {
        at = layout.sections;
    }
    if (!memory_u64(at + number * layout.section + layout.map, map)) {
        return false;
    }
    *map &= layout.map_mask;
    return *map;
}

bool slab_object(uint64_t addr, SlabObject *object)
{
    uint64_t page, flags, head, cache, name, number, start, map;
    uint32_t size;

    if (!layout.known || addr < LINEAR_MAP || addr >= LINEAR_END ||
        !page_map(addr - LINEAR_MAP, &map)) {
        return false;
    }
    number = (addr - LINEAR_MAP) / layout.page_size;
    page = map + number * layout.descriptor;
    if (!memory_u64(page + layout.head, &head)) {
        return false;
    }
    /* A page behind the first of several points to that one. */
    if (head & 1) {
        page = head - 1;
        number = (page - map) / layout.descriptor;
    }
    if (!memory_u64(page + layout.flags, &flags) ||
        !(flags & layout.slab_bit) ||
        !memory_u64(page + layout.cache, &cache) ||
        !memory_u64(cache + layout.name, &name) ||
        !memory_u32(cache + layout.size, &size) || !size ||
        !memory_string(name, object->cache, sizeof(object->cache))) {
        return false;
    }
    start = LINEAR_MAP + number * layout.page_size;
    object->size = size;
    object->start = start + (addr - start) / size * size;
    return true;
}
