/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a recorded storm looks like: a header, a place for each thread, and
 * entries in the order of simulated time.  Little endian, as the host is.
 * docs/replay.md says what is made of it.
 */

#ifndef HW_INTC_CONTENTION_RECORD_H
#define HW_INTC_CONTENTION_RECORD_H

#define CONTENTION_RECORD_MAGIC     "XSRECORD"
#define CONTENTION_RECORD_VERSION   1

/* @instruction_ps: time of an instruction in the recorded run */
typedef struct ContentionRecordHeader {
    char magic[8];
    uint32_t version;
    uint32_t nr_cpus;
    uint64_t instruction_ps;
} ContentionRecordHeader;

/* Where a thread is */
typedef struct ContentionRecordPlace {
    uint16_t chip;
    uint16_t core;
    uint16_t thread;
    uint16_t unused;
} ContentionRecordPlace;

typedef enum ContentionRecordType {
    CONTENTION_RECORD_LOAD,
    CONTENTION_RECORD_STORE,
    CONTENTION_RECORD_CONDITIONAL,
    CONTENTION_RECORD_PAUSE,    /* gave way at a hint */
    CONTENTION_RECORD_MMIO,     /* to chip @a; @b is a ContentionMmio */
    CONTENTION_RECORD_TRIGGER,  /* source of chip @a notifies cpu @b */
    CONTENTION_RECORD_DMA,      /* chip @a writes a line; no thread does */
} ContentionRecordType;

#define CONTENTION_RECORD_MASKED 1  /* flag: interrupts are off */

/*
 * @time: when the access completes, ps
 * @instructions: that the thread has executed before it
 * @line: host address / 128
 * @pc: guest address of the instruction, 0 when unknown
 */
typedef struct ContentionRecordEntry {
    int64_t time;
    int64_t instructions;
    uint64_t line;
    uint64_t pc;
    uint16_t cpu;
    uint8_t type;
    uint8_t flags;
    uint16_t a;
    uint16_t b;
} ContentionRecordEntry;

#endif /* HW_INTC_CONTENTION_RECORD_H */
