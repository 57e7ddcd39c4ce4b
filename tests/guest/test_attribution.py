# SPDX-License-Identifier: GPL-2.0-or-later
"""Attribution and trace of instructions that real vCPUs execute.

- two stores and a load by two threads of different chips: each instruction,
  byte, line and stall is where it must be, in attribution file, trace file,
  statistics and the exported trace
- the region by contention-region of QMP, while vCPUs run
- a storm on a real kernel: lines, instructions and trace add up to the
  statistics, the shared descriptor comes first, two runs give the same bytes
"""

import json
import sys
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests/guest"))

from bare import (ENTER, ENTRY, LEAVE, NOP, STOP_HERE, Bare, Qmp,  # noqa: E402
                  branch)
from xivescale import guestrun, machine, qemu, tracefile  # noqa: E402

LI_R3_LINE = 0x38604000         # li r3,0x4000
MFPIR_R5 = 0x7CBFFAA6           # mfspr r5,PIR
CMPWI_R5_0 = 0x2C050000
BNE = 0x40820000                # bne, with the distance in bytes
LI_R0_1000 = 0x380003E8
MTCTR_R0 = 0x7C0903A6
BDNZ_SELF = 0x42000000          # bdnz .
STW_8_R3 = 0x90830008           # stw r4,8(r3)
LWZ_12_R3 = 0x80C3000C          # lwz r6,12(r3)

LINE = 0x4000
CROSS_NS = 140

# The first thread touches the line, waits and loads from it; the other one
# stores to it in between.
PROGRAM = [LI_R3_LINE, MFPIR_R5, CMPWI_R5_0, BNE | 4 * 12,
           ENTER, STW_8_R3,
           LI_R0_1000, MTCTR_R0, BDNZ_SELF, NOP,
           LWZ_12_R3, LEAVE, STOP_HERE, STOP_HERE, STOP_HERE,
           LI_R0_1000 - 500, MTCTR_R0, BDNZ_SELF,
           STW_8_R3, STOP_HERE]
LOAD_PC = ENTRY + 4 * 10
STORE_PC = ENTRY + 4 * 18


def wait_for(path):
    """A file that is there in one piece once it is there."""
    end = time.monotonic() + 30
    while not path.exists():
        if time.monotonic() > end:
            raise AssertionError(f"{path} was not written")
        time.sleep(0.02)


class Instructions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.where = Path(cls.dir.name)
        with Bare(PROGRAM, "-device", "contention,cross-chip-ns=140,"
                  f"stats-file={cls.where}/stats,"
                  f"trace-file={cls.where}/trace,"
                  f"attribution-file={cls.where}/lines",
                  smp="2,sockets=2,cores=1,threads=1"):
            wait_for(cls.where / "lines")
        cls.lines = json.loads((cls.where / "lines").read_text())

    def test_line(self):
        line, = self.lines["lines"]
        self.assertEqual(int(line["gpa"], 16), LINE)
        self.assertEqual(int(line["ea"], 16), LINE)
        self.assertEqual(line["transfers"], [0, 0, 2])
        self.assertEqual(line["transfer_ns"], [0, 0, 2 * CROSS_NS])
        self.assertEqual(line["stall_ns"], 2 * CROSS_NS)
        self.assertEqual(line["readers"], [[0, 1]])
        self.assertEqual(line["writers"], [[1, 1]])
        self.assertNotIn("wait_ns", line)

    def test_accesses(self):
        found = {(int(a["pc"], 16), a["operation"], a["offset"], a["size"])
                 for a in self.lines["lines"][0]["accesses"]}
        self.assertEqual(found, {(LOAD_PC, "load", 12, 4),
                                 (STORE_PC, "store", 8, 4)})
        for access in self.lines["lines"][0]["accesses"]:
            self.assertEqual(access["stall_ns"], CROSS_NS)
            self.assertNotIn("user", access)

    def test_breakdown(self):
        parts = self.lines["breakdown"]
        self.assertEqual(parts["transfer_ns"], [0, 0, 2 * CROSS_NS])
        ps = sum(round(1000 * n) for key, value in parts.items()
                 if key != "total_ns"
                 for n in (value if isinstance(value, list) else [value]))
        self.assertEqual(ps, round(1000 * parts["total_ns"]))

    def test_matrix(self):
        self.assertEqual(self.lines["matrix"]["count"], [[0, 1], [1, 0]])
        self.assertEqual(self.lines["dropped"]["lines"]["count"], 0)

    def test_trace(self):
        trace = tracefile.TraceFile(self.where / "trace")
        self.assertEqual((trace.cpus, trace.chips, trace.domains), (2, 2, 2))
        self.assertEqual(trace.dropped, 0)
        store, load = list(trace)
        self.assertEqual(store[1:7], (0, CROSS_NS * 1000, LINE, STORE_PC,
                                      LINE + 8, 1))
        self.assertEqual(load[1:7], (0, CROSS_NS * 1000, LINE, LOAD_PC,
                                     LINE + 12, 0))
        self.assertEqual(tracefile.KINDS[store[8]], "store")
        self.assertEqual(tracefile.KINDS[load[8]], "shared-load")
        text, shown = tracefile.chrome(trace, 0, trace.length_ns)
        self.assertEqual(shown, 2)
        bars = [row for row in json.loads(text)["traceEvents"]
                if row["ph"] == "X"]
        self.assertEqual([bar["name"] for bar in bars],
                         ["store", "shared-load"])
        self.assertEqual([bar["dur"] for bar in bars], [0.14, 0.14])


class Monitor(unittest.TestCase):
    def test_region(self):
        """Two threads that add to one word for ever, watched by QMP."""
        loop = [LI_R3_LINE, LWZ_12_R3, 0x38C60001, 0x90C3000C, branch(-3)]
        with tempfile.TemporaryDirectory() as where, Bare(
                loop, "-device",
                f"contention,id=c,attribution-file={where}/lines",
                smp="2,sockets=2,cores=1,threads=1") as bare, \
                Qmp(bare.qmp_path) as qmp:
            qmp.call("contention-region", enter=True)
            self.assertTrue(qmp.call("qom-get", path="/machine/peripheral/c",
                                     property="region"))
            with self.assertRaisesRegex(RuntimeError, "twice"):
                qmp.call("contention-region", enter=True)
            end = time.monotonic() + 20
            info = qmp.call("query-contention")
            while not info["nr-lines"] and time.monotonic() < end:
                info = qmp.call("query-contention")
            self.assertTrue(info["region"])
            self.assertEqual(info["lines"][0]["address"], LINE)
            self.assertIn("line 0x4000", qmp.hmp("info contention"))
            qmp.call("contention-region", enter=False)
            with self.assertRaisesRegex(RuntimeError, "left without"):
                qmp.call("contention-region", enter=False)
            told = qmp.call("query-contention")
            lines = json.loads(Path(where, "lines").read_text())
            # Nothing changes any more, and both say the same.
            self.assertFalse(told["region"])
            self.assertEqual(told, qmp.call("query-contention"))
            self.assertEqual(told["total"]["transfers"],
                             lines["totals"]["all"]["transfers"])
            self.assertEqual(told["total"]["stall"],
                             round(1000 * lines["totals"]["all"]["stall_ns"]))
            self.assertEqual(told["instructions"],
                             lines["region"]["instructions"])


def storm(where, variant):
    """A storm on 32 threads of two chips; what it wrote, by name."""
    names = ("stats", "lines", "trace")
    image = ROOT / "build/guest" / variant / "vmlinux"
    argv = qemu.command(
        qemu.Qemu(), machine.Machine(ROOT / "machines/power9-2s.json"), image,
        image.parent / "initrd.cpio", qemu.full_append(
            "", "storm cpulist=0-15,64-79 offset=8 warmup_us=50 "
            "duration_us=100"))
    at = next(i for i, word in enumerate(argv)
              if word.startswith("contention"))
    argv[at] = "contention," + ",".join(
        [word for word in argv[at].split(",")[1:]
         if not word.startswith("stats-file")] +
        [f"{name}-file={where}/{name}" for name in ("stats", "trace")] +
        [f"attribution-file={where}/lines"])
    run = guestrun.GuestRun(argv, timeout=300)
    while not run.done:
        run.check()
        for fd in run.fds():
            run.read(fd)
        time.sleep(0.02)
    if run.failure:
        raise AssertionError(run.failure)
    return {name: Path(where, name).read_bytes() for name in names}


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.files = storm(cls.dir.name, "before")
        cls.stats = json.loads(cls.files["stats"])
        cls.lines = json.loads(cls.files["lines"])

    @staticmethod
    def total(rows, key):
        """In ps, or a count."""
        return sum(round(1000 * row.get(key, 0)) for row in rows)

    def test_sums(self):
        everything = self.lines["totals"]["all"]
        dropped = self.lines["dropped"]
        accesses = [a for line in self.lines["lines"]
                    for a in line["accesses"]]
        for rows, rest in ((self.lines["lines"], dropped["lines"]),
                           (self.lines["instructions"], dropped["accesses"]),
                           (accesses, dropped["accesses"])):
            for key in ("stall_ns", "waits", "wait_ns", "merges", "merge_ns",
                        "given_up", "given_up_ns", "dma", "dma_ns"):
                self.assertEqual(self.total([*rows, rest], key),
                                 self.total([everything], key), key)
            for key in ("transfers", "transfer_ns"):
                for i in range(3):
                    self.assertEqual(
                        sum(round(1000 * row[key][i]) for row in rows),
                        round(1000 * everything[key][i]))
        stats = self.stats
        self.assertEqual(everything["transfers"],
                         list(stats["transfers"].values()))
        self.assertEqual(
            round(1000 * (everything["stall_ns"] -
                          everything.get("given_up_ns", 0))),
            round(1000 * stats["stall_ns"]["total"]))
        self.assertEqual(everything["merges"], stats["accesses"]["merge"])
        self.assertEqual(everything["dma_ns"], stats["dma_ns"]["write"])
        self.assertGreater(everything["dma"], 100)

    def test_trace(self):
        trace = tracefile.TraceFile(Path(self.dir.name, "trace"))
        self.assertEqual(trace.dropped, 0)
        counts = {}
        for record in trace:
            counts[record[8]] = counts.get(record[8], 0) + 1
        for number, kind in enumerate(tracefile.KINDS):
            if kind in ("shared-load", "transient-load", "exclusive-load",
                        "store", "upgrade", "merge"):
                self.assertEqual(counts.get(number, 0),
                                 self.stats["accesses"][kind], kind)
        self.assertEqual(counts[tracefile.EVENT],
                         self.stats["fabric"]["triggers"])
        for number, kind in enumerate(tracefile.MMIO_KINDS):
            self.assertEqual(counts.get(tracefile.MMIO + number, 0),
                             self.stats["fabric"]["mmio"][kind], kind)

    def test_descriptor_comes_first(self):
        system_map = ROOT / "build/guest/before/System.map"
        start = next(int(line.split()[0], 16)
                     for line in system_map.read_text().splitlines()
                     if line.endswith(" note_interrupt"))
        pcs = {int(a["pc"], 16) for a in self.lines["lines"][0]["accesses"]
               if a["operation"] == "store"}
        # The function is some 0x300 bytes long.
        self.assertTrue(any(start <= pc < start + 0x300 for pc in pcs))

    def test_again(self):
        with tempfile.TemporaryDirectory() as where:
            self.assertEqual(storm(where, "before"), self.files)


if __name__ == "__main__":
    unittest.main()
