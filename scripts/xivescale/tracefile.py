# SPDX-License-Identifier: GPL-2.0-or-later
"""The binary trace of a region, and its form for Perfetto.

hw/intc/contention/trace-file.c writes the file; docs/report-format.md
describes it.
"""

import json
import os
import struct

from .errors import UserError

MAGIC = b"XSTRACE\n"
HEADER = struct.Struct("<8sIIQQqqIIII")
RECORD = struct.Struct("<qqqQQQIiBBBBHH")

KINDS = ("hit", "first-touch", "merge", "shared-load", "transient-load",
         "exclusive-load", "store", "upgrade", "dma-read", "dma-write")
GIVEN_UP = 16
EVENT = 17
MMIO = 32
MMIO_KINDS = ("tima-load", "tima-store", "esb-load", "esb-store")
DISTANCES = ("same-domain", "same-chip", "cross-chip")
USER, DMA = 4, 8

PS_PER_NS = 1000
PS_PER_US = 1000000

# "Processes" of the picture
THREADS, CONTROLLERS, INTERRUPTS = 1, 2, 3


class TraceFile:
    """The header of a trace file, and its records one after the other."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as stream:
                head = stream.read(HEADER.size)
                size = os.fstat(stream.fileno()).st_size
        except OSError as err:
            raise UserError(f"{path}: {err.strerror}") from None
        if len(head) < HEADER.size or not head.startswith(MAGIC):
            raise UserError(f"{path}: no trace file: it must be what "
                            "-device contention,trace-file=... has written")
        (_, version, record_bytes, self.records, self.dropped, self.start,
         self.end, self.cpus, self.chips, self.domains,
         _) = HEADER.unpack(head)
        if version != 1 or record_bytes != RECORD.size:
            raise UserError(f"{path}: a trace file of version {version}: "
                            "this program knows version 1")
        if size != HEADER.size + self.records * RECORD.size:
            raise UserError(f"{path}: {size} bytes do not hold its "
                            f"{self.records} records: QEMU had not left the "
                            "region, or the disk was full")
        self.length_ns = (self.end - self.start) / PS_PER_NS

    def __iter__(self):
        with open(self.path, "rb") as stream:
            stream.seek(HEADER.size)
            while block := stream.read(RECORD.size * 4096):
                yield from RECORD.iter_unpack(block)


def _distance(number):
    if number < len(DISTANCES):
        return DISTANCES[number]
    return f"cross-chip-{number - 1}-hops"


def _slice(process, thread, name, start, length, **args):
    """A bar of the picture; times in ps, which the format has in us."""
    return {"ph": "X", "pid": process, "tid": thread, "name": name,
            "ts": start / PS_PER_US, "dur": length / PS_PER_US,
            "args": args}


def _overlapping(bar, number):
    """A bar as a pair of marks, for rows whose bars lie over each other."""
    common = {key: bar[key] for key in ("pid", "tid", "name")}
    common |= {"cat": "overlapping", "id": number}
    return [common | {"ph": "b", "ts": bar["ts"], "args": bar["args"]},
            common | {"ph": "e", "ts": round(bar["ts"] + bar["dur"], 6)}]


def _bars(record, origin):
    """The bars of a record; times from origin on."""
    (time, waited, transfer, gpa, pc, ea, who, other, kind, flags, distance,
     _, size, waiters) = record
    start = time - origin
    if kind == EVENT:
        return [_slice(INTERRUPTS, gpa, f"chip {who} to chip {other}", start,
                       waited + transfer, served_ns=waited / PS_PER_NS)]
    if kind >= MMIO:
        return [_slice(THREADS, who, MMIO_KINDS[kind - MMIO], start, transfer,
                       chip=other)]
    args = {"gpa": f"{gpa:#x}", "line_waiters": waiters}
    if flags & DMA:
        process = CONTROLLERS
    else:
        process = THREADS
        args |= {"pc": f"{pc:#x}", "ea": f"{ea:#x}", "size": size}
        if flags & USER:
            args["user"] = True
    if other >= 0:
        args |= {"from_domain": other, "distance": _distance(distance)}
    name = "given-up" if kind == GIVEN_UP else KINDS[kind]
    bars = []
    if waited and (transfer or other >= 0):
        bars.append(_slice(process, who, "wait", start, waited, **args))
        start += waited
    elif waited:
        transfer = waited
    bars.append(_slice(process, who, name, start, transfer, **args))
    return bars


def _names(trace):
    """What the rows of the picture are called."""
    for process, name in ((THREADS, "threads"),
                          (CONTROLLERS, "interrupt controllers, memory"),
                          (INTERRUPTS, "interrupts by source chip")):
        yield {"ph": "M", "pid": process, "name": "process_name",
               "args": {"name": name}}
    for cpu in range(trace.cpus):
        yield {"ph": "M", "pid": THREADS, "tid": cpu, "name": "thread_name",
               "args": {"name": f"cpu {cpu}"}}
    for chip in range(trace.chips):
        for process in (CONTROLLERS, INTERRUPTS):
            yield {"ph": "M", "pid": process, "tid": chip,
                   "name": "thread_name", "args": {"name": f"chip {chip}"}}


def chrome(trace, start_ns, end_ns):
    """The text of a Chrome trace of a window, and how many records it has.

    A record is in the window if any of its time is.
    """
    low = trace.start + round(start_ns * PS_PER_NS)
    high = trace.start + round(end_ns * PS_PER_NS)
    rows = [json.dumps(row) for row in _names(trace)]
    shown = 0
    for record in trace:
        if record[0] < high and sum(record[:3]) >= low:
            shown += 1
            for number, bar in enumerate(_bars(record, trace.start)):
                marks = ([bar] if bar["pid"] == THREADS else
                         _overlapping(bar, 2 * shown + number))
                rows += [json.dumps(mark) for mark in marks]
    return ('{"displayTimeUnit": "ns", "traceEvents": [\n'
            + ",\n".join(rows) + "\n]}\n", shown)
