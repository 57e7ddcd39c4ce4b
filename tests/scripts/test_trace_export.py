# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/trace-export, with trace files made here.

- accesses with and without a wait, DMA, interrupts and registers become bars
  of the right row, begin and length
- a window takes what reaches into it, and nothing else
- files that are none, old, cut short, or empty windows: one line, status 2
"""

import json
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import ROOT

START = 5_000_000       # ps


def header(records, version=1, dropped=7):
    return struct.pack("<8sIIQQqqIIII", b"XSTRACE\n", version, 64, records,
                       dropped, START, START + 1_000_000, 4, 2, 2, 0)


def record(time_ns, waited_ns, transfer_ns, kind, who=0, other=-1, gpa=0x80,
           pc=0x100, flags=0, distance=1):
    return struct.pack("<qqqQQQIiBBBBHH", START + time_ns * 1000,
                       waited_ns * 1000, transfer_ns * 1000, gpa, pc,
                       0xc000000000000088, who, other, kind, flags, distance,
                       0, 8, 3)


class TraceExport(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.path = Path(where.name) / "trace"

    def export(self, data, *options):
        self.path.write_bytes(data)
        return subprocess.run(
            [ROOT / "scripts/trace-export", self.path, *options],
            capture_output=True, text=True, check=False)

    def rows(self, *records):
        done = self.export(header(len(records)) + b"".join(records))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{len(records)} of {len(records)} records; 7 came",
                      done.stderr)
        return [row for row in json.loads(done.stdout)["traceEvents"]
                if row["ph"] != "M"]

    def refused(self, data, words, *options):
        done = self.export(data, *options)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Atrace-export: error: [^\n]*"
                         + words + r"[^\n]*\n\Z")

    def test_transfer(self):
        row, = self.rows(record(10, 0, 60, 6, who=3, other=1, flags=1))
        self.assertEqual((row["name"], row["tid"], row["ts"], row["dur"]),
                         ("store", 3, 0.01, 0.06))
        self.assertEqual(row["args"]["gpa"], "0x80")
        self.assertEqual(row["args"]["pc"], "0x100")
        self.assertEqual(row["args"]["distance"], "same-chip")
        self.assertEqual(row["args"]["line_waiters"], 3)

    def test_wait(self):
        wait, row = self.rows(record(10, 40, 60, 4, other=1, distance=3))
        self.assertEqual((wait["name"], wait["ts"], wait["dur"]),
                         ("wait", 0.01, 0.04))
        self.assertEqual((row["name"], row["ts"], row["dur"]),
                         ("transient-load", 0.05, 0.06))
        self.assertEqual(row["args"]["distance"], "cross-chip-2-hops")

    def test_merge_and_given_up(self):
        for kind, name in ((2, "merge"), (16, "given-up")):
            row, = self.rows(record(10, 40, 0, kind))
            self.assertEqual((row["name"], row["ts"], row["dur"]),
                             (name, 0.01, 0.04))

    def test_others(self):
        begin, end = self.rows(record(10, 0, 50, 9, who=1, other=0, flags=9))
        self.assertEqual((begin["ph"], begin["name"], begin["tid"],
                          begin["ts"]), ("b", "dma-write", 1, 0.01))
        self.assertEqual((end["ph"], end["id"], end["ts"]),
                         ("e", begin["id"], 0.06))
        self.assertNotIn("pc", begin["args"])
        begin, end = self.rows(record(10, 30, 50, 17, who=0, other=1, gpa=1))
        self.assertEqual((begin["name"], begin["tid"], begin["ts"]),
                         ("chip 0 to chip 1", 1, 0.01))
        self.assertEqual(end["ts"], 0.09)
        row, = self.rows(record(10, 0, 5, 34, who=2, other=1))
        self.assertEqual((row["name"], row["tid"], row["dur"]),
                         ("esb-load", 2, 0.005))

    def test_window(self):
        data = header(3) + b"".join(record(at, 20, 30, 6, who=at // 100,
                                           other=0)
                                    for at in (100, 200, 300))
        done = self.export(data, "--from", "151", "--to", "300")
        names = [(row["tid"], row["name"])
                 for row in json.loads(done.stdout)["traceEvents"]
                 if row["ph"] == "X"]
        self.assertEqual(names, [(2, "wait"), (2, "store")])
        self.assertIn("1 of 3 records", done.stderr)

    def test_out(self):
        out = self.path.with_name("out.json")
        done = self.export(header(0), "--out", out)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertTrue(json.loads(out.read_text())["traceEvents"])

    def test_refused(self):
        self.refused(b"", "no trace file")
        self.refused(b"{}" * 100, "no trace file")
        self.refused(header(0, version=2), "version 2")
        self.refused(header(2) + record(1, 0, 1, 6), "do not hold")
        self.refused(header(0), "empty window", "--from", "10", "--to", "10")
        self.refused(header(0), "0 to 1000 ns", "--from", "-1")
        done = subprocess.run([ROOT / "scripts/trace-export", "/nonexistent"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent", done.stderr)


if __name__ == "__main__":
    unittest.main()
