/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names for the addresses of a Linux guest on 64-bit Power.
 *
 * Two sources of knowledge: the debug information and symbols of the kernel
 * and of its modules, and an image of the guest's memory, which says where
 * things were at that moment. What neither says is unknown, and stays so:
 * nothing here is decided by likelihood.
 *
 *      kernel.c    ELF files, symbols, variables and types by name
 *      type.c      members of a type by name, and by offset
 *      code.c      function, file and line of an instruction
 *      insn.c      what an instruction accesses, by which registers
 *      access.c    the type of what an instruction accesses
 *      memory.c    the memory image, physical and effective addresses
 *      guest.c     per-CPU areas, stacks, modules: read once from the image
 *      slab.c      slab objects
 *      data.c      what is at an address
 *      main.c      the requests
 *
 * Addresses are effective addresses of the guest's kernel unless called
 * physical; "link" addresses are those of the ELF file, which differ by the
 * slide of a relocated kernel.
 */

#ifndef XIVESCALE_NAMES_H
#define XIVESCALE_NAMES_H

#include <elfutils/libdwfl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the kernel maps all of physical memory. */
#define LINEAR_MAP  UINT64_C(0xc000000000000000)
#define LINEAR_END  UINT64_C(0xc008000000000000)

/* One line on stderr and status 1, for what the user can mend. */
void fail(const char *format, ...) G_GNUC_PRINTF(1, 2) G_GNUC_NORETURN;
/* One line on stderr; the answers are poorer, but not wrong. */
void warn(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* kernel.c */

/* An ELF file of the guest: the kernel or a module. */
typedef struct File {
    char *name;                 /* "vmlinux", or of the module */
    Dwfl_Module *mod;
    Dwarf *dwarf;               /* NULL without debug information */
    GElf_Addr bias;             /* of addresses in dwarf */
    GArray *symbols;            /* Symbol, by address */
    GHashTable *variables;      /* link address -> offset of its DIE */
    GHashTable *types;          /* name of a struct, union or enum -> DIE */
} File;

typedef struct Symbol {
    uint64_t addr;              /* link address; of a module: as loaded */
    uint64_t size;              /* 0 if not told */
    const char *name;
    bool code;
    bool global;
} Symbol;

/* The kernel, from @path or @path.debug; exits if it cannot be read. */
File *kernel_open(const char *path);
/* A module with its sections at these addresses (name -> uint64_t *). */
File *module_open(const char *name, const char *path, GHashTable *sections);
void files_close(void);
/* The file that has @addr in one of its symbols or sections, or NULL. */
File *file_of(uint64_t addr);
File *file_nth(unsigned i);

/* The symbol at or before @addr, within its size if that is known. */
const Symbol *symbol_at(const File *file, uint64_t addr, bool code);
/* By name; false if there is none. */
bool symbol_named(const File *file, const char *name, Symbol *symbol);
/* The DIE of the variable that begins at @addr. */
bool variable_at(File *file, uint64_t addr, Dwarf_Die *die);
/*
 * "task_struct", "pageflags"; complete definitions only. An enumeration
 * without a name has that of its first enumerator here.
 */
bool type_named(File *file, const char *name, Dwarf_Die *type);
/* The words of the file's text: false where it has none. */
bool text_word(const File *file, uint64_t addr, uint32_t *word);

/* type.c */

/* Without typedefs and qualifiers; false for void. */
bool type_strip(Dwarf_Die *type, Dwarf_Die *stripped);
bool type_of(Dwarf_Die *die, Dwarf_Die *type);
/* Puts the definition in place of a declaration, if there is one. */
void type_complete(Dwarf_Die *type);
/* Bytes; 0 if not known, or for void. */
uint64_t type_size(Dwarf_Die *type);
/* What a pointer type points to; false for void * and what is no pointer. */
bool type_pointee(Dwarf_Die *type, Dwarf_Die *pointee);
/* "struct irq_desc", "atomic_t"; appended to @out. */
void type_name(Dwarf_Die *type, GString *out);
bool type_is_aggregate(Dwarf_Die *type);
/*
 * The member "a.b.c" of a struct, through anonymous structs and unions.
 * Returns its offset in bytes, -1 if there is none. @type may be NULL.
 */
int64_t type_member(Dwarf_Die *aggregate, const char *path, Dwarf_Die *type);
/* The same; false if there is none. */
bool type_has(Dwarf_Die *aggregate, const char *path, int64_t *offset,
              Dwarf_Die *type);
/*
 * Appends the path of what lies at @offset, "node.u_flags" or "tv[3].sec",
 * for an access of @size bytes (0: not known). Members that cannot be told
 * apart are all named: "{a|b}". Nothing is appended for a scalar. @leaf is
 * the type there, as far as it is one.
 */
void type_path(Dwarf_Die *type, uint64_t offset, unsigned size, GString *out,
               Dwarf_Die *leaf, bool *leaf_known);
/* The value of an enumerator of an enumeration. */
bool type_enumerator(Dwarf_Die *enumeration, const char *name,
                     uint64_t *value);

/* insn.c */

typedef struct Insn {
    const char *name;           /* of a load or store, else NULL */
    bool store;
    bool update;                /* writes the address back to the base */
    bool indexed;               /* address is base + index */
    int8_t base;                /* register, or -1 for zero */
    int8_t index;
    int8_t data;                /* register loaded or stored, or -1 */
    int64_t disp;               /* address is base + disp unless indexed */
    unsigned size;              /* bytes */
} Insn;

/* False if the word is no load or store that is known. */
bool insn_decode(uint32_t word, Insn *insn);

typedef enum InsnEffect {
    INSN_KEEPS,                 /* the register keeps its value */
    INSN_UNKNOWN,               /* it gets one that is not known */
    INSN_COPY,                  /* it becomes source + value */
    INSN_CONSTANT,              /* it becomes value */
    INSN_LOAD,                  /* it is loaded, by a decoded instruction */
} InsnEffect;

/* What an instruction does to a general register. */
InsnEffect insn_effect(uint32_t word, int reg, int *source, int64_t *value);
/* Whether control may go on elsewhere than at the next word. */
bool insn_is_branch(uint32_t word);
bool insn_is_call(uint32_t word);
/* A direct branch that is no call, and its target. */
bool insn_target(uint32_t word, uint64_t addr, uint64_t *target);
/* Nothing falls through to the next word. */
bool insn_ends_flow(uint32_t word);

/* access.c */

/*
 * The type of which the instruction at @pc accesses a part, and the offset
 * of that part, from the variables that are in its registers there.
 */
bool access_type(File *file, uint64_t pc, Dwarf_Die *type, uint64_t *offset,
                 Insn *insn);

/* code.c */

/* Appends members of a JSON object about an instruction. */
void code_describe(uint64_t pc, GString *out);
/* The scopes around @pc, innermost first, as they lie in the code. */
int code_scopes(File *file, uint64_t pc, Dwarf_Die **scopes);

/* memory.c */

/* An ELF core file of physical memory. */
void memory_open(const char *path);
void memory_close(void);
bool memory_present(void);
bool memory_physical(uint64_t addr, void *buffer, size_t size);
/* The ranges of physical memory. */
bool memory_range(unsigned i, uint64_t *start, uint64_t *size);
/* The root of the kernel's radix tree, for addresses outside the linear map. */
void memory_set_root(uint64_t physical);
bool memory_translate(uint64_t addr, uint64_t *physical);
bool memory_read(uint64_t addr, void *buffer, size_t size);
bool memory_u64(uint64_t addr, uint64_t *value);
bool memory_u32(uint64_t addr, uint32_t *value);
/* A string of at most @room - 1 bytes; false if it cannot be read. */
bool memory_string(uint64_t addr, char *buffer, size_t room);

/* guest.c */

typedef struct Area {
    uint64_t start;
    uint64_t size;
    const char *kind;           /* "stack", "irq-stack", "paca", ... */
    char *name;                 /* "xs_storm/5", or NULL */
    int number;                 /* pid or CPU */
} Area;

/*
 * Reads where things are; @module_dirs are searched for NAME.ko.debug and
 * NAME.ko. By how much the kernel is moved is found too, unless it is told.
 */
void guest_read(File *kernel, const char *const *module_dirs);
void guest_set_slide(int64_t slide);
/* Effective minus link addresses of the kernel. */
int64_t guest_slide(void);
const Area *guest_area(uint64_t addr);
/* The CPU in whose area @addr is, and the link address of the variable. */
bool guest_percpu(uint64_t addr, int *cpu, uint64_t *link, File **file);

/* slab.c */

typedef struct SlabObject {
    char cache[64];
    uint64_t start;
    uint64_t size;              /* of an object with its padding */
} SlabObject;

void slab_init(File *kernel);
bool slab_object(uint64_t addr, SlabObject *object);

/* data.c */

/* Appends what is at @addr, for an access of @size bytes (0: not known). */
void data_describe(uint64_t addr, unsigned size, GString *out);
/* Appends the type and field that the instruction at @pc accesses at @addr. */
void access_describe(uint64_t pc, uint64_t addr, GString *out);

/* JSON, in main.c */

void json_string(GString *out, const char *name, const char *value);
void json_number(GString *out, const char *name, int64_t value);

#endif /* XIVESCALE_NAMES_H */
