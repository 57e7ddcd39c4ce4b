/*
 * QTest testcases of the contention model on PowerNV
 *  - a machine whose interrupt controllers are set up by hand
 *
 * Copyright (c) 2026 the xivescale developers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Both controllers are given one block of direct tables per chip. Chip c
 * forwards what concerns the other chip's block to that chip. Thread t of a
 * chip has END t, NVT (XIVE2: NVP) 0x80 + its PIR, which is the one that
 * belongs to a hardware thread, and page t of the chip's queues.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/cutils.h"
#include "xivescale-pnv-common.h"

#define PPC_BIT(bit)            (0x8000000000000000ULL >> (bit))
#define PPC_BIT32(bit)          (0x80000000 >> (bit))
#define PPC_BIT8(bit)           (0x80 >> (bit))
#define PPC_BITMASK(bs, be)     ((PPC_BIT(bs) - PPC_BIT(be)) | PPC_BIT(bs))
#define PPC_BITMASK32(bs, be)   ((PPC_BIT32(bs) - PPC_BIT32(be)) | \
                                 PPC_BIT32(bs))
#include "hw/ppc/xive_regs.h"
#include "hw/ppc/xive2_regs.h"

#define PAGE_64K                0x10000ull
#define PAGE_64K_TSIZE          4       /* 4K << 4 */

#define ESB_SHIFT               17      /* a trigger and an EOI page */
#define ESB_EOI_PAGE            PAGE_64K
#define ESB_LOAD_EOI            0x000
#define ESB_GET                 0x800
#define ESB_SET_PQ_00           0xc00

/* Guest memory of the controller of a chip */
#define CHIP_MEM(chip)          (0x10000000ull + (chip) * 0x1000000ull)
#define ESB_MEM(chip)           (CHIP_MEM(chip) + 0 * PAGE_64K)
#define EAS_MEM(chip)           (CHIP_MEM(chip) + 1 * PAGE_64K)
#define END_MEM(chip)           (CHIP_MEM(chip) + 2 * PAGE_64K)
#define NVT_MEM(chip)           (CHIP_MEM(chip) + 3 * PAGE_64K)
#define QUEUE_MEM(chip)         (CHIP_MEM(chip) + 16 * PAGE_64K)
#define QUEUE_BYTES             4096

#define LINES_MEM               0x20000000ull

/* A hardware thread's own virtual target */
#define THREAD_NVT(pir)         (0x80 | ((pir) & 0x7f))

/* XIVE registers, by their offset in the BAR and in XSCOM space */
#define X1_BASE(chip, base)     ((base) + ((uint64_t)(chip) << 42))
#define X1_XSCOM(chip)          X1_BASE(chip, 0x603fc00000000ull + \
                                              (0x5013000ull << 3))
#define X1_IC(chip)             X1_BASE(chip, 0x6030203100000ull)
#define X1_TM(chip)             X1_BASE(chip, 0x6030203180000ull)
#define X1_VC(chip)             X1_BASE(chip, 0x6010000000000ull)
#define X1_VC_SIZE              0x8000000000ull
#define X1_PC(chip)             X1_BASE(chip, 0x6018000000000ull)
#define X1_PC_SIZE              0x1000000000ull
#define X1_IC_NOTIFY(chip)      (X1_IC(chip) + 1 * PAGE_64K)
#define X1_IC_TM_INDIRECT(chip) (X1_IC(chip) + 4 * PAGE_64K)

#define X1_CQ_IC_BAR            0x080
#define X1_CQ_TM1_BAR           0x090
#define X1_CQ_PC_BAR            0x0b0
#define X1_CQ_PC_BARM           0x0b8
#define X1_CQ_VC_BAR            0x0c0
#define X1_CQ_VC_BARM           0x0c8
#define X1_CQ_TAR               0x0f0
#define   X1_CQ_TAR_AUTOINC     PPC_BIT(0)
#define   X1_CQ_TAR_EDT         PPC_BIT(15)
#define X1_CQ_TDR               0x0f8
#define   X1_CQ_TDR_IPI         (1ull << 62)
#define   X1_CQ_TDR_END         (2ull << 62)
#define X1_CQ_PBI_CTL           0x100
#define   X1_CQ_PBI_PC_64K      PPC_BIT(5)
#define   X1_CQ_PBI_VC_64K      PPC_BIT(6)
#define X1_PC_TCTXT_INDIR0      0x420
#define   X1_PC_INDIR_VALID     PPC_BIT(0)
#define   X1_PC_INDIR_SHIFT     48
#define X1_PC_THREAD_EN0        0x440
#define X1_PC_THREAD_EN0_SET    0x448
#define X1_VC_VSD_TABLE_ADDR    0x808
#define X1_VC_VSD_TABLE_DATA    0x810

#define X1_VST_EAS              0
#define X1_VST_ESB              1
#define X1_VST_END              2
#define X1_VST_NVT              3

#define X1_EDT_ENTRIES          64
#define X1_EDT_IPI_ENTRIES      48

/* XIVE2 registers, by their number in XSCOM space */
#define X2_BASE(chip, base)     ((base) + ((uint64_t)(chip) << 44))
#define X2_XSCOM(chip)          X2_BASE(chip, 0x603fc00000000ull + \
                                              (0x2010800ull << 3))
#define X2_IC(chip)             X2_BASE(chip, 0x6030200000000ull)
#define X2_TM                   0x6030203180000ull
#define X2_NVC(chip)            X2_BASE(chip, 0x6030208000000ull)
#define X2_NVPG(chip)           X2_BASE(chip, 0x6040000000000ull)
#define X2_ESB(chip)            X2_BASE(chip, 0x6050000000000ull)
#define X2_END(chip)            X2_BASE(chip, 0x6060000000000ull)
#define X2_IC_TM_INDIRECT(chip) (X2_IC(chip) + 256 * PAGE_64K)

#define X2_CQ_IC_BAR            0x08
#define X2_CQ_TM_BAR            0x09
#define X2_CQ_ESB_BAR           0x0a
#define X2_CQ_END_BAR           0x0b
#define X2_CQ_NVPG_BAR          0x0c
#define X2_CQ_NVC_BAR           0x0d
#define X2_VC_VSD_TABLE_ADDR    0x100
#define X2_VC_VSD_TABLE_DATA    0x101
#define X2_PC_VSD_TABLE_ADDR    0x200
#define X2_PC_VSD_TABLE_DATA    0x201
#define X2_TCTXT_EN0            0x300

#define X2_VST_ESB              0
#define X2_VST_EAS              1
#define X2_VST_END              2
#define X2_VST_NVP              3

#define X2_BAR_RANGE_64M        2       /* 16M << 2 */

/* Common to both */
#define BAR_VALID               PPC_BIT(0)
#define BAR_64K                 PPC_BIT(1)
#define VSD_EXCLUSIVE           (2ull << 62)
#define VSD_FORWARD             (3ull << 62)
#define VST_TYPE_SHIFT          48
#define VST_BLOCK_SHIFT         32

static unsigned chip_threads(const XsMachine *m)
{
    return m->cores * m->threads;
}

static unsigned cpu_chip(const XsMachine *m, unsigned cpu)
{
    return cpu / chip_threads(m);
}

/* Number of the thread in its chip */
static unsigned cpu_local(const XsMachine *m, unsigned cpu)
{
    return cpu % chip_threads(m);
}

/* The part of the PIR that tells the threads of a chip apart */
static unsigned cpu_pir(const XsMachine *m, unsigned cpu)
{
    unsigned local = cpu_local(m, cpu);

    return local / m->threads << 2 | local % m->threads;
}

unsigned xs_cpu(const XsMachine *m, unsigned chip, unsigned core,
                unsigned thread)
{
    g_assert(chip < XS_CHIPS && core < m->cores && thread < m->threads);
    return (chip * m->cores + core) * m->threads + thread;
}

void xs_clock(XsMachine *m, int64_t ns)
{
    g_assert_cmpint(ns, >=, m->now);
    if (ns > m->now) {
        m->now = ns;
        g_assert_cmpint(qtest_clock_set(m->qts, ns), ==, ns);
    }
}

/*
 * Sources
 */

static uint64_t esb_addr(const XsMachine *m, unsigned chip, unsigned irq)
{
    return (m->xive2 ? X2_ESB(chip) : X1_VC(chip)) +
           ((uint64_t)irq << ESB_SHIFT);
}

void xs_trigger(XsMachine *m, unsigned chip, unsigned irq)
{
    qtest_writeq(m->qts, esb_addr(m, chip, irq), 0);
}

static uint64_t esb_load(XsMachine *m, unsigned chip, unsigned irq,
                         unsigned offset)
{
    return qtest_readq(m->qts,
                       esb_addr(m, chip, irq) + ESB_EOI_PAGE + offset);
}

void xs_eoi(XsMachine *m, unsigned chip, unsigned irq)
{
    esb_load(m, chip, irq, ESB_LOAD_EOI);
}

uint8_t xs_esb(XsMachine *m, unsigned chip, unsigned irq)
{
    return esb_load(m, chip, irq, ESB_GET);
}

/* EAS have the same layout in XIVE and XIVE2. */
QEMU_BUILD_BUG_ON(EAS_VALID != EAS2_VALID ||
                  EAS_END_BLOCK != EAS2_END_BLOCK ||
                  EAS_END_INDEX != EAS2_END_INDEX ||
                  EAS_END_DATA != EAS2_END_DATA);

void xs_route(XsMachine *m, unsigned chip, unsigned irq, unsigned cpu,
              uint32_t data)
{
    uint64_t w;

    w = xive_set_field64(EAS_VALID, 0, 1);
    w = xive_set_field64(EAS_END_BLOCK, w, cpu_chip(m, cpu));
    w = xive_set_field64(EAS_END_INDEX, w, cpu_local(m, cpu));
    w = xive_set_field64(EAS_END_DATA, w, data);
    qtest_memwrite(m->qts, EAS_MEM(chip) + irq * sizeof(w), &w, sizeof(w));
    esb_load(m, chip, irq, ESB_SET_PQ_00);
}

/*
 * Threads
 */

uint64_t xs_queue_addr(const XsMachine *m, unsigned cpu, unsigned n)
{
    return QUEUE_MEM(cpu_chip(m, cpu)) + cpu_local(m, cpu) * QUEUE_BYTES +
           n * sizeof(uint32_t) % QUEUE_BYTES;
}

uint32_t xs_queue_entry(XsMachine *m, unsigned cpu, unsigned n)
{
    return qtest_readl(m->qts, xs_queue_addr(m, cpu, n));
}

uint32_t xs_queue_full_entry(uint32_t data)
{
    return 0x80000000 | data;
}

static void x1_write(XsMachine *m, unsigned chip, unsigned reg, uint64_t val)
{
    qtest_writeq(m->qts, X1_XSCOM(chip) + reg, val);
}

static void x2_write(XsMachine *m, unsigned chip, unsigned reg, uint64_t val)
{
    qtest_writeq(m->qts, X2_XSCOM(chip) + ((uint64_t)reg << 3), val);
}

/* Address of the TIMA of @cpu, which XIVE must be told first. */
static uint64_t tima_addr(XsMachine *m, unsigned cpu)
{
    unsigned chip = cpu_chip(m, cpu);
    unsigned pir = cpu_pir(m, cpu);

    if (m->xive2) {
        return X2_IC_TM_INDIRECT(chip) + pir * PAGE_64K;
    }
    if (m->indirect[chip] != pir + 1) {
        x1_write(m, chip, X1_PC_TCTXT_INDIR0,
                 X1_PC_INDIR_VALID | (uint64_t)pir << X1_PC_INDIR_SHIFT);
        m->indirect[chip] = pir + 1;
    }
    return X1_IC_TM_INDIRECT(chip);
}

uint8_t xs_nsr(XsMachine *m, unsigned cpu)
{
    return qtest_readl(m->qts, tima_addr(m, cpu) + TM_QW3_HV_PHYS +
                               TM_WORD0) >> 24;
}

uint16_t xs_ack(XsMachine *m, unsigned cpu)
{
    return qtest_readw(m->qts, tima_addr(m, cpu) + TM_SPC_ACK_HV_REG);
}

void xs_set_cppr(XsMachine *m, unsigned cpu, uint8_t cppr)
{
    qtest_writeb(m->qts, tima_addr(m, cpu) + TM_QW3_HV_PHYS + TM_CPPR, cppr);
}

static void write_end(XsMachine *m, unsigned cpu)
{
    unsigned chip = cpu_chip(m, cpu);
    uint64_t queue = xs_queue_addr(m, cpu, 0);
    uint32_t nvt = THREAD_NVT(cpu_pir(m, cpu));
    uint32_t w[8] = {};

    if (m->xive2) {
        w[0] = END2_W0_VALID | END2_W0_ENQUEUE | END2_W0_UCOND_NOTIFY;
        w[1] = END2_W1_GENERATION;
        w[6] = chip << ctz32(END2_W6_VP_BLOCK) | nvt;
    } else {
        w[0] = END_W0_VALID | END_W0_ENQUEUE | END_W0_UCOND_NOTIFY;
        w[1] = END_W1_GENERATION;
        w[6] = chip << ctz32(END_W6_NVT_BLOCK) | nvt;
    }
    /* Neither has more than the address here, for a queue of 4K. */
    w[2] = queue >> 32;
    w[3] = queue;
    w[7] = XS_PRIORITY << ctz32(END_W7_F0_PRIORITY);
    for (unsigned i = 0; i < ARRAY_SIZE(w); i++) {
        w[i] = cpu_to_be32(w[i]);
    }
    qtest_memwrite(m->qts, END_MEM(chip) + cpu_local(m, cpu) * sizeof(w), w,
                   sizeof(w));
}

static void write_nvt(XsMachine *m, unsigned cpu)
{
    size_t size = m->xive2 ? sizeof(Xive2Nvp) : sizeof(XiveNVT);
    uint32_t w0 = cpu_to_be32(NVT_W0_VALID);

    QEMU_BUILD_BUG_ON(NVT_W0_VALID != NVP2_W0_VALID);
    qtest_memwrite(m->qts, NVT_MEM(cpu_chip(m, cpu)) +
                           THREAD_NVT(cpu_pir(m, cpu)) * size,
                   &w0, sizeof(w0));
}

static void set_up_thread(XsMachine *m, unsigned cpu)
{
    write_end(m, cpu);
    write_nvt(m, cpu);
    xs_set_cppr(m, cpu, 0xff);
    qtest_writeb(m->qts, tima_addr(m, cpu) + TM_QW3_HV_PHYS + TM_WORD2,
                 TM_QW3B8_VT);
}

/*
 * Controllers
 */

static void x1_set_table(XsMachine *m, unsigned chip, uint64_t type,
                         unsigned block, uint64_t vsd)
{
    x1_write(m, chip, X1_VC_VSD_TABLE_ADDR,
             type << VST_TYPE_SHIFT | (uint64_t)block << VST_BLOCK_SHIFT);
    x1_write(m, chip, X1_VC_VSD_TABLE_DATA, vsd);
}

static void x1_set_up(XsMachine *m, unsigned chip)
{
    unsigned other = !chip;

    x1_write(m, chip, X1_CQ_PBI_CTL, X1_CQ_PBI_PC_64K | X1_CQ_PBI_VC_64K);
    x1_write(m, chip, X1_CQ_IC_BAR, BAR_VALID | BAR_64K | X1_IC(chip));
    x1_write(m, chip, X1_CQ_TM1_BAR, BAR_VALID | BAR_64K | X1_TM(0));
    x1_write(m, chip, X1_CQ_VC_BARM, -X1_VC_SIZE);
    x1_write(m, chip, X1_CQ_VC_BAR, BAR_VALID | X1_VC(chip));
    x1_write(m, chip, X1_CQ_PC_BARM, -X1_PC_SIZE);
    x1_write(m, chip, X1_CQ_PC_BAR, BAR_VALID | X1_PC(chip));

    x1_write(m, chip, X1_CQ_TAR, X1_CQ_TAR_AUTOINC | X1_CQ_TAR_EDT);
    for (unsigned i = 0; i < X1_EDT_ENTRIES; i++) {
        x1_write(m, chip, X1_CQ_TDR, i < X1_EDT_IPI_ENTRIES ? X1_CQ_TDR_IPI
                                                            : X1_CQ_TDR_END);
    }

    x1_set_table(m, chip, X1_VST_ESB, chip,
                 VSD_EXCLUSIVE | ESB_MEM(chip) | PAGE_64K_TSIZE);
    x1_set_table(m, chip, X1_VST_EAS, chip,
                 VSD_EXCLUSIVE | EAS_MEM(chip) | PAGE_64K_TSIZE);
    x1_set_table(m, chip, X1_VST_END, chip,
                 VSD_EXCLUSIVE | END_MEM(chip) | PAGE_64K_TSIZE);
    x1_set_table(m, chip, X1_VST_NVT, chip,
                 VSD_EXCLUSIVE | NVT_MEM(chip) | PAGE_64K_TSIZE);
    x1_set_table(m, chip, X1_VST_END, other,
                 VSD_FORWARD | X1_IC_NOTIFY(other));
    x1_set_table(m, chip, X1_VST_NVT, other, VSD_FORWARD | X1_PC(other));

    x1_write(m, chip, X1_PC_THREAD_EN0_SET, -1ull);
    g_assert_cmphex(qtest_readq(m->qts, X1_XSCOM(chip) + X1_PC_THREAD_EN0),
                    ==, -1ull);
}

static void x2_set_table(XsMachine *m, unsigned chip, uint64_t type,
                         unsigned block, uint64_t vsd)
{
    uint64_t addr = type << VST_TYPE_SHIFT |
                    (uint64_t)block << VST_BLOCK_SHIFT;

    x2_write(m, chip, X2_VC_VSD_TABLE_ADDR, addr);
    x2_write(m, chip, X2_VC_VSD_TABLE_DATA, vsd);
    if (type != X2_VST_EAS) {
        x2_write(m, chip, X2_PC_VSD_TABLE_ADDR, addr);
        x2_write(m, chip, X2_PC_VSD_TABLE_DATA, vsd);
    }
}

static void x2_set_up(XsMachine *m, unsigned chip)
{
    unsigned other = !chip;

    x2_write(m, chip, X2_CQ_IC_BAR, BAR_VALID | BAR_64K | X2_IC(chip));
    if (chip == 0) {
        /* One address for all chips, which QEMU maps once. */
        x2_write(m, chip, X2_CQ_TM_BAR, BAR_VALID | BAR_64K | X2_TM);
    }
    x2_write(m, chip, X2_CQ_ESB_BAR,
             BAR_VALID | BAR_64K | X2_ESB(chip) | X2_BAR_RANGE_64M);
    x2_write(m, chip, X2_CQ_END_BAR,
             BAR_VALID | BAR_64K | X2_END(chip) | X2_BAR_RANGE_64M);
    x2_write(m, chip, X2_CQ_NVPG_BAR,
             BAR_VALID | BAR_64K | X2_NVPG(chip) | X2_BAR_RANGE_64M);
    x2_write(m, chip, X2_CQ_NVC_BAR,
             BAR_VALID | BAR_64K | X2_NVC(chip) | X2_BAR_RANGE_64M);

    x2_set_table(m, chip, X2_VST_ESB, chip,
                 VSD_EXCLUSIVE | ESB_MEM(chip) | PAGE_64K_TSIZE);
    x2_set_table(m, chip, X2_VST_EAS, chip,
                 VSD_EXCLUSIVE | EAS_MEM(chip) | PAGE_64K_TSIZE);
    x2_set_table(m, chip, X2_VST_END, chip,
                 VSD_EXCLUSIVE | END_MEM(chip) | PAGE_64K_TSIZE);
    x2_set_table(m, chip, X2_VST_NVP, chip,
                 VSD_EXCLUSIVE | NVT_MEM(chip) | PAGE_64K_TSIZE);
    x2_set_table(m, chip, X2_VST_END, other, VSD_FORWARD | X2_END(other));
    x2_set_table(m, chip, X2_VST_NVP, other, VSD_FORWARD | X2_NVPG(other));

    x2_write(m, chip, X2_TCTXT_EN0, -1ull);
    g_assert_cmphex(qtest_readq(m->qts, X2_XSCOM(chip) + (X2_TCTXT_EN0 << 3)),
                    ==, -1ull);
}

XsMachine *xs_start(const char *machine, unsigned cores, unsigned threads,
                    const char *params)
{
    XsMachine *m = g_new0(XsMachine, 1);

    /* THREAD_EN0 has 16 cores of 4 threads. */
    g_assert(cores <= 16 && threads <= 4);
    m->xive2 = g_str_equal(machine, "powernv10");
    m->cores = cores;
    m->threads = threads;
    /* Nobody runs firmware, so none need be there. */
    m->qts = qtest_initf("-M %s -smp %u,sockets=%u,cores=%u,threads=%u "
                         "-bios /dev/null -nodefaults -nographic "
                         "-device contention,%s",
                         machine, XS_CHIPS * cores * threads, XS_CHIPS, cores,
                         threads, params);
    for (unsigned chip = 0; chip < XS_CHIPS; chip++) {
        if (m->xive2) {
            x2_set_up(m, chip);
        } else {
            x1_set_up(m, chip);
        }
    }
    for (unsigned cpu = 0; cpu < XS_CHIPS * chip_threads(m); cpu++) {
        set_up_thread(m, cpu);
    }
    return m;
}

void xs_stop(XsMachine *m)
{
    qtest_quit(m->qts);
    g_free(m);
}

/*
 * The contention model
 */

uint64_t xs_line(unsigned n)
{
    return LINES_MEM + (uint64_t)n * XS_LINE_BYTES;
}

/* Send a command that is answered by a number. */
static int64_t xs_command(XsMachine *m, const char *command)
{
    g_autofree char *answer = qtest_machine_command(m->qts, command);
    int64_t number;

    if (!g_str_has_prefix(answer, "OK ") ||
        qemu_strtoi64(answer + 3, NULL, 10, &number)) {
        g_error("%s: %s", command, answer);
    }
    return number;
}

static int64_t xs_access(XsMachine *m, const char *kind, unsigned cpu,
                         uint64_t addr, int64_t now)
{
    g_autofree char *command = NULL;

    command = g_strdup_printf("contention %s %u 0x%" PRIx64 " %" PRId64, kind,
                              cpu, addr, now * 1000);
    return xs_command(m, command);
}

int64_t xs_load(XsMachine *m, unsigned cpu, uint64_t addr, int64_t now)
{
    return xs_access(m, "load", cpu, addr, now);
}

int64_t xs_store(XsMachine *m, unsigned cpu, uint64_t addr, int64_t now)
{
    return xs_access(m, "store", cpu, addr, now);
}

int64_t xs_act_as(XsMachine *m, int cpu)
{
    g_autofree char *command = g_strdup_printf("contention cpu %d", cpu);

    return xs_command(m, command);
}
