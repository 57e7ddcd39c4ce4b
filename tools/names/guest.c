/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where things were in the guest, from its own variables.
 *
 * Names of variables and members are those of Linux 6.1. Where a kernel has
 * none of that name, what depends on it remains unknown.
 */

#include <dwarf.h>
#include <elf.h>
#include <string.h>
#include <unistd.h>
#include "names.h"

#define MAX_CPUS    16384
#define MAX_TASKS   (1 << 20)
#define MAX_MODULES 4096
/* The kernel moves itself by whole units of this */
#define SLIDE_STEP  0x10000

static int64_t slide;
static bool slide_known;
static GArray *areas;           /* Area, by start */

static unsigned nr_cpus;
static uint64_t *percpu_offset;
static uint64_t percpu_start, percpu_static, percpu_unit;

/* A module's own per-CPU variables, as an address before the CPU's offset */
typedef struct ModulePercpu {
    File *file;
    uint64_t base;
    uint64_t size;
} ModulePercpu;

static GArray *module_percpu;

void guest_set_slide(int64_t value)
{
    slide = value;
    slide_known = true;
}

int64_t guest_slide(void)
{
    return slide;
}

/* The address in the guest of a variable of the kernel; 0 if it has none. */
static uint64_t variable(File *kernel, const char *name)
{
    Symbol symbol;

    return symbol_named(kernel, name, &symbol) ? symbol.addr + slide : 0;
}

static bool variable_u64(File *kernel, const char *name, uint64_t *value)
{
    uint64_t addr = variable(kernel, name);

    return addr && memory_u64(addr, value);
}

static bool variable_u32(File *kernel, const char *name, uint32_t *value)
{
    uint64_t addr = variable(kernel, name);

    return addr && memory_u32(addr, value);
}

static void add_area(uint64_t start, uint64_t size, const char *kind,
                     const char *name, int number)
{
    if (start && size) {
        g_array_append_val(areas, ((Area) {
            start, size, kind, g_strdup(name), number,
        }));
    }
}

static gint by_start(gconstpointer a, gconstpointer b)
{
    const Area *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

const Area *guest_area(uint64_t addr)
{
    const Area *found = NULL;

    for (unsigned i = 0; areas && i < areas->len; i++) {
        const Area *area = &g_array_index(areas, Area, i);

        if (area->start > addr) {
            break;
        }
        if (addr - area->start < area->size) {
            found = area;       /* the innermost */
        }
    }
    return found;
}

/*
 * The kernel's banner is in its file; where it is in memory, there the kernel
 * is. A kernel that was moved has the same layout at another multiple.
 */
static void find_slide(File *kernel)
{
    Symbol banner;
    char text[128], here[128];
    uint32_t word;
    uint64_t start, size;
    size_t length = 0;

    if (slide_known || !memory_present()) {
        return;
    }
    if (!symbol_named(kernel, "linux_banner", &banner)) {
        warn("the kernel has no symbol linux_banner: taken as not moved");
        return;
    }
    while (length + 4 <= sizeof(text) &&
           text_word(kernel, banner.addr + length, &word)) {
        memcpy(text + length, &word, 4);
        length += 4;
        if (memchr(text + length - 4, '\n', 4)) {
            break;
        }
    }
    if (length < 16) {
        warn("the kernel's file lacks the text of linux_banner: taken as "
             "not moved");
        return;
    }
    if (memory_read(banner.addr, here, length) &&
        !memcmp(text, here, length)) {
        return;
    }
    for (unsigned i = 0; memory_range(i, &start, &size); i++) {
        uint64_t first = start + (banner.addr - LINEAR_MAP) % SLIDE_STEP;

        for (uint64_t at = first; at + length <= start + size;
             at += SLIDE_STEP) {
            if (memory_physical(at, here, length) &&
                !memcmp(text, here, length)) {
                slide = at + LINEAR_MAP - banner.addr;
                return;
            }
        }
    }
    fail("the memory image holds another kernel: its text '%.40s...' is not "
         "there; give the vmlinux that ran", text);
}

static void find_page_tables(File *kernel)
{
    uint64_t pgd, mm = variable(kernel, "init_mm");
    Dwarf_Die type;
    int64_t offset;

    if (mm && type_named(kernel, "mm_struct", &type) &&
        type_has(&type, "pgd", &offset, NULL) &&
        memory_u64(mm + offset, &pgd) && pgd >= LINEAR_MAP) {
        memory_set_root(pgd - LINEAR_MAP);
    }
}

static void read_percpu(File *kernel)
{
    uint64_t table = variable(kernel, "__per_cpu_offset");
    uint64_t end = variable(kernel, "__per_cpu_end");
    uint32_t n, unit;

    percpu_start = variable(kernel, "__per_cpu_start");
    if (!table || !percpu_start || end < percpu_start ||
        !variable_u32(kernel, "nr_cpu_ids", &n) || !n || n > MAX_CPUS) {
        return;
    }
    percpu_static = end - percpu_start;
    percpu_unit = variable_u32(kernel, "pcpu_unit_size", &unit) ? unit
                                                                : 0;
    percpu_unit = MAX(percpu_unit, percpu_static);
    percpu_offset = g_new0(uint64_t, n);
    for (unsigned i = 0; i < n; i++) {
        if (!memory_u64(table + i * 8, &percpu_offset[i])) {
            return;
        }
    }
    nr_cpus = n;
}

bool guest_percpu(uint64_t addr, int *cpu, uint64_t *link, File **file)
{
    for (unsigned i = 0; i < nr_cpus; i++) {
        uint64_t at = addr - percpu_offset[i];

        if (!percpu_offset[i] || at - percpu_start >= percpu_unit) {
            continue;
        }
        *cpu = i;
        *file = NULL;
        if (at - percpu_start < percpu_static) {
            *link = at - slide;
            *file = file_nth(0);
        }
        for (unsigned m = 0; module_percpu && m < module_percpu->len; m++) {
            const ModulePercpu *p = &g_array_index(module_percpu,
                                                   ModulePercpu, m);

            if (at - p->base < p->size) {
                *link = at;
                *file = p->file;
            }
        }
        return true;
    }
    return false;
}

/* Offsets of the members of task_struct that name a task and its stack */
typedef struct TaskLayout {
    int64_t stack, comm, pid, tasks, signal, thread_node, thread_head;
    uint64_t stack_size;
    bool threads;
} TaskLayout;

static bool task_layout(File *kernel, TaskLayout *t)
{
    Dwarf_Die task, signal, stack;

    if (!type_named(kernel, "task_struct", &task) ||
        !type_named(kernel, "thread_union", &stack)) {
        return false;
    }
    t->stack = type_member(&task, "stack", NULL);
    t->comm = type_member(&task, "comm", NULL);
    t->pid = type_member(&task, "pid", NULL);
    t->tasks = type_member(&task, "tasks", NULL);
    t->signal = type_member(&task, "signal", NULL);
    t->thread_node = type_member(&task, "thread_node", NULL);
    t->stack_size = type_size(&stack);
    t->threads = t->signal >= 0 && t->thread_node >= 0 &&
                 type_named(kernel, "signal_struct", &signal) &&
                 (t->thread_head = type_member(&signal, "thread_head",
                                               NULL)) >= 0;
    return t->stack >= 0 && t->comm >= 0 && t->pid >= 0 && t->tasks >= 0 &&
           t->stack_size;
}

static void add_task(const TaskLayout *t, uint64_t task)
{
    char comm[17] = "";
    uint64_t stack;
    uint32_t pid;

    if (memory_u64(task + t->stack, &stack) &&
        memory_u32(task + t->pid, &pid) &&
        memory_string(task + t->comm, comm, sizeof(comm))) {
        add_area(stack, t->stack_size, "stack", comm, pid);
    }
}

/* The other threads of a process, of which @task is the first. */
static void add_threads(const TaskLayout *t, uint64_t task, unsigned *left)
{
    uint64_t signal, head, node;

    if (!t->threads || !memory_u64(task + t->signal, &signal) || !signal) {
        return;
    }
    head = node = signal + t->thread_head;
    while (memory_u64(node, &node) && node && node != head && *left) {
        (*left)--;
        if (node - t->thread_node != task) {
            add_task(t, node - t->thread_node);
        }
    }
}

/* The idle tasks of all CPUs but the first are in no list. */
static void read_idle_tasks(File *kernel, const TaskLayout *t)
{
    uint64_t queues = variable(kernel, "runqueues"), task;
    Dwarf_Die rq;
    int64_t idle;

    if (!queues || !type_named(kernel, "rq", &rq) ||
        !type_has(&rq, "idle", &idle, NULL)) {
        return;
    }
    for (unsigned i = 0; i < nr_cpus; i++) {
        if (percpu_offset[i] &&
            memory_u64(queues + percpu_offset[i] + idle, &task) && task) {
            add_task(t, task);
        }
    }
}

static void read_tasks(File *kernel)
{
    uint64_t first = variable(kernel, "init_task"), task = first, next;
    unsigned left = MAX_TASKS;
    TaskLayout t;

    if (!first || !task_layout(kernel, &t)) {
        return;
    }
    do {
        add_task(&t, task);
        add_threads(&t, task, &left);
        if (!memory_u64(task + t.tasks, &next) || !next) {
            break;
        }
        task = next - t.tasks;
    } while (task != first && left--);
    read_idle_tasks(kernel, &t);
}

static void read_cpu_areas(File *kernel)
{
    static const struct {
        const char *table;
        const char *kind;
    } stacks[] = {
        { "hardirq_ctx", "irq-stack" }, { "softirq_ctx", "softirq-stack" },
    };
    Dwarf_Die type;
    uint64_t pacas, table, at;
    uint64_t size = type_named(kernel, "thread_union", &type)
                    ? type_size(&type) : 0;
    uint64_t paca_size = type_named(kernel, "paca_struct", &type)
                         ? type_size(&type) : 0;

    for (unsigned cpu = 0; cpu < nr_cpus; cpu++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(stacks); i++) {
            table = variable(kernel, stacks[i].table);
            if (table && memory_u64(table + cpu * 8, &at)) {
                add_area(at, size, stacks[i].kind, NULL, cpu);
            }
        }
        if (variable_u64(kernel, "paca_ptrs", &pacas) && pacas &&
            memory_u64(pacas + cpu * 8, &at)) {
            add_area(at, paca_size, "paca", NULL, cpu);
        }
    }
}

/* The pages to which the interrupt controller writes events. */
static void read_event_queues(File *kernel)
{
    Dwarf_Die type, queue, each;
    Symbol symbol;
    int64_t page, in_queue;
    uint64_t size;
    uint32_t shift;

    if (!symbol_named(kernel, "xive_cpu", &symbol) ||
        !type_named(kernel, "xive_cpu", &type) ||
        !type_has(&type, "queue", &page, &queue) ||
        !type_strip(&queue, &queue) || !type_of(&queue, &each) ||
        !type_has(&each, "qpage", &in_queue, NULL) ||
        !variable_u32(kernel, "xive_queue_shift", &shift) || shift > 30) {
        return;
    }
    size = type_size(&each);
    for (unsigned cpu = 0; cpu < nr_cpus && size; cpu++) {
        uint64_t xc, at;

        if (!percpu_offset[cpu] ||
            !memory_u64(symbol.addr + slide + percpu_offset[cpu], &xc)) {
            continue;
        }
        for (unsigned i = 0; xc && i < type_size(&queue) / size; i++) {
            if (memory_u64(xc + page + i * size + in_queue, &at)) {
                add_area(at, UINT64_C(1) << shift, "event-queue", NULL, cpu);
            }
        }
    }
}

static char *module_file(const char *const *dirs, const char *name)
{
    static const char *const endings[] = { ".ko.debug", ".ko" };

    for (unsigned i = 0; dirs && dirs[i]; i++) {
        for (unsigned e = 0; e < G_N_ELEMENTS(endings); e++) {
            g_autofree char *path = g_strconcat(dirs[i], "/", name,
                                                endings[e], NULL);

            if (!access(path, R_OK)) {
                return g_steal_pointer(&path);
            }
        }
    }
    return NULL;
}

/* Where the sections of a module are, as the kernel tells by sysfs. */
static GHashTable *module_sections(Dwarf_Die *type, uint64_t module)
{
    GHashTable *sections = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                 g_free, g_free);
    Dwarf_Die pointer, attrs, table, each;
    int64_t at, count, first, name, addr;
    uint64_t sect, size;
    uint32_t n;

    if (!type_has(type, "sect_attrs", &at, &pointer) ||
        !type_pointee(&pointer, &attrs) ||
        !type_has(&attrs, "nsections", &count, NULL) ||
        !type_has(&attrs, "attrs", &first, &table) ||
        !type_strip(&table, &table) || !type_of(&table, &each) ||
        !type_has(&each, "battr.attr.name", &name, NULL) ||
        !type_has(&each, "address", &addr, NULL) ||
        !memory_u64(module + at, &sect) || !sect ||
        !memory_u32(sect + count, &n)) {
        return sections;
    }
    size = type_size(&each);
    for (unsigned i = 0; i < MIN(n, 4096); i++) {
        uint64_t text, value, entry = sect + first + i * size;
        char section[128];

        if (memory_u64(entry + name, &text) &&
            memory_string(text, section, sizeof(section)) &&
            memory_u64(entry + addr, &value)) {
            g_hash_table_insert(sections, g_strdup(section),
                                g_memdup2(&value, sizeof(value)));
        }
    }
    return sections;
}

static bool module_percpu_area(Dwarf_Die *type, uint64_t module,
                               ModulePercpu *p)
{
    int64_t base, size;
    uint32_t bytes;

    if (!type_has(type, "percpu", &base, NULL) ||
        !type_has(type, "percpu_size", &size, NULL) ||
        !memory_u64(module + base, &p->base) || !p->base ||
        !memory_u32(module + size, &bytes)) {
        return false;
    }
    p->size = bytes;
    return bytes;
}

static void read_modules(File *kernel, const char *const *dirs)
{
    uint64_t head = variable(kernel, "modules"), node = head;
    int64_t list, name;
    Dwarf_Die type;

    module_percpu = g_array_new(false, false, sizeof(ModulePercpu));
    if (!head || !type_named(kernel, "module", &type) ||
        !type_has(&type, "list", &list, NULL) ||
        !type_has(&type, "name", &name, NULL)) {
        return;
    }
    for (unsigned i = 0; i < MAX_MODULES && memory_u64(node, &node) && node &&
         node != head; i++) {
        uint64_t module = node - list;
        char text[64];
        g_autofree char *path = NULL;
        g_autoptr(GHashTable) sections = NULL;
        ModulePercpu percpu;
        bool has_percpu;

        if (!memory_string(module + name, text, sizeof(text))) {
            return;
        }
        path = module_file(dirs, text);
        if (!path) {
            warn("module %s: no %s.ko in the directories given with "
                 "--modules: its addresses are unknown", text, text);
            continue;
        }
        sections = module_sections(&type, module);
        has_percpu = module_percpu_area(&type, module, &percpu);
        if (has_percpu) {
            /* What the CPU's offset is added to */
            g_hash_table_insert(sections, g_strdup(".data..percpu"),
                                g_memdup2(&percpu.base, sizeof(percpu.base)));
        }
        percpu.file = module_open(text, path, sections);
        if (percpu.file && has_percpu) {
            g_array_append_val(module_percpu, percpu);
        }
    }
}

void guest_read(File *kernel, const char *const *module_dirs)
{
    areas = g_array_new(false, false, sizeof(Area));
    if (!memory_present()) {
        return;
    }
    find_slide(kernel);
    if (!kernel->dwarf) {
        return;
    }
    find_page_tables(kernel);
    read_percpu(kernel);
    read_tasks(kernel);
    read_cpu_areas(kernel);
    read_event_queues(kernel);
    read_modules(kernel, module_dirs);
    g_array_sort(areas, by_start);
}
