# SPDX-License-Identifier: GPL-2.0-or-later
"""Shows what record, predict and calibrate make of a hand-made record, and
that each bad input is told in one line which names it."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import ROOT

import sys
sys.path.insert(0, str(ROOT / "scripts"))

from xivescale import docs, machine, pattern, replays
from xivescale.errors import UserError

KERNEL, HANDLER = 0xc000000000000000, 0xc000000000100000


def header(cpus, version=1):
    return (struct.pack("<8sIIQ", b"XSRECORD", version, cpus, 1000)
            + struct.pack("<4H", 0, 0, 0, 0) * cpus)


class Storm:
    """Three CPUs in a ring, each calling the next, one after the other.

    A call: store to line 10 + target 5 instructions after the trigger of the
    call before, then polls of line 20 + caller, 6 instructions each. The
    handler loads 10 + itself, adds to line 99, which is everybody's, and
    stores to 20 + caller.
    """

    def __init__(self):
        self.entries = []
        self.insn = [0, 0, 0]
        self.time = 0

    def entry(self, cpu, after, kind, line=0, pc=0, masked=0, a=0, b=0):
        self.insn[cpu] += after
        self.time += 1
        self.entries.append(struct.pack("<qqQQHBBHH", self.time,
                                        self.insn[cpu], line, pc, cpu, kind,
                                        masked, a, b))

    def call(self, cpu, queued=False, loads=0):
        to, p = (cpu + 1) % 3, pattern
        self.entry(cpu, 5, p.STORE, 10 + to, KERNEL)
        if queued:
            self.entry(cpu, 7, p.MMIO, b=p._ESB_STORE)
        else:
            self.entry(cpu, 7, p.TRIGGER, b=to)
        for _ in range(4):
            self.entry(cpu, 4, p.LOAD, 20 + cpu, KERNEL + 8)
            self.entry(cpu, 2, p.PAUSE)
        self.entry(to, 3, p.LOAD, 5, KERNEL)
        self.entry(to, 9, p.MMIO, masked=1, b=0)
        self.entry(to, 2, p.LOAD, 10 + to, HANDLER, 1)
        for _ in range(loads):
            self.entry(to, 2, p.LOAD, 99, HANDLER + 2, 1)
        self.entry(to, 3, p.STORE, 99, HANDLER + 4, 1)
        self.entry(to, 4, p.STORE, 20 + cpu, HANDLER + 8, 1)
        if queued:
            self.entry(to, 2, p.MMIO, masked=1, b=p._ESB_STORE)
            self.entry(to, 0, p.TRIGGER, masked=1, b=to)
        self.entry(to, 8, p.LOAD, 5, KERNEL)
        self.entry(cpu, 4, p.LOAD, 20 + cpu, KERNEL + 8)

    def bytes(self):
        for _ in range(6):
            for cpu in range(3):
                self.call(cpu)
        return header(3) + b"".join(self.entries)


class Pattern(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.path = os.path.join(self.dir.name, "record")

    def record(self, data):
        with open(self.path, "wb") as file:
            file.write(data)
        return pattern.Record(self.path)

    def test_roles(self):
        d = pattern.Distiller(self.record(Storm().bytes()))
        self.assertEqual(d.ring.target, {0: 1, 1: 2, 2: 0})
        # All three use line 99; the queue is the caller's and its target's.
        self.assertEqual({d.role[20][0], d.role[10][0]}, {"link"})
        self.assertEqual(d.role[20][1], 0)
        self.assertEqual(d.role[11][1], 0)
        self.assertNotIn(5, d.role)
        self.assertEqual(d.name[20], d.name[21])
        self.assertNotEqual(d.name[20], d.name[10])

    def test_text(self):
        d = pattern.Distiller(self.record(Storm().bytes()))
        text = pattern.write("hand", *d.distil())
        self.assertTrue(text.startswith("xivescale-pattern 1 hand\n"))
        self.assertRegex(text, r"(?m)^4 wait \d+ 0 6$")
        self.assertRegex(text, r"(?m)^4 release \d+ -1$")
        self.assertEqual(text, pattern.write("hand", *d.distil()))

    def test_queued(self):
        """A call whose interrupt was queued makes no event of its own: the
        store to the target's ESB page says so, and the target triggers
        itself when it ends the interrupt before."""
        storm = Storm()
        for turn in range(6):
            for cpu in range(3):
                storm.call(cpu, queued=turn % 2)
        d = pattern.Distiller(self.record(header(3)
                                          + b"".join(storm.entries)))
        self.assertEqual(d.ring.target, {0: 1, 1: 2, 2: 0})
        plain = pattern.Distiller(self.record(Storm().bytes()))
        self.assertEqual([len(sends) for sends, _ in d.parts.values()],
                         [len(sends) for sends, _ in plain.parts.values()])
        text = pattern.write("hand", *d.distil())
        send, handle = text.split("\nhandle", 1)
        self.assertIn("trigger", send)
        self.assertNotIn("trigger", handle)
        self.assertIn("mmio 3", handle)

    def test_repeated_loads(self):
        """The line may be gone between two loads of the same handler."""
        storm = Storm()
        for _ in range(6):
            for cpu in range(3):
                storm.call(cpu, loads=3)
        d = pattern.Distiller(self.record(header(3)
                                          + b"".join(storm.entries)))
        handle = pattern.write("hand", *d.distil()).split("handle")[1]
        self.assertEqual(handle.count("load"), 1 + 3)

    def refused(self, data, words):
        with self.assertRaises(UserError) as caught:
            self.record(data)
        self.assertIn(words, str(caught.exception))

    def test_bad_files(self):
        whole = Storm().bytes()
        self.refused(b"no record at all", "no record of a storm")
        self.refused(header(3, 2), "version 2")
        self.refused(whole[:-1], "truncated")
        self.refused(header(3)[:-3], "truncated")
        with self.assertRaises(UserError) as caught:
            pattern.Record("/nonexistent")
        self.assertIn("/nonexistent", str(caught.exception))

    def test_without_storm(self):
        with self.assertRaises(UserError) as caught:
            pattern.Distiller(self.record(header(3)))
        self.assertIn("no interrupt", str(caught.exception))


class Scripts(unittest.TestCase):
    def refused(self, words, *argv):
        done = subprocess.run([ROOT / "scripts" / argv[0], *argv[1:]],
                              check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
        self.assertIn(words, done.stderr)

    def test_calibrate(self):
        base = ("calibrate", "power9-2s", "--free", "same-chip-ns")
        self.refused("no column 'nothing'", *base, "--fit-rows", "nothing:16")
        self.refused("no row for 17", *base, "--fit-rows", "ipi_sys:17")
        self.refused("give COLUMN:CPUS", *base, "--fit-rows", "ipi_sys")
        self.refused("no parameter 'speed'", "calibrate", "power9-2s",
                     "--free", "speed", "--fit-rows", "ipi_sys:16")
        self.refused("give a range", "calibrate", "power9-2s", "--free",
                     "hop-ns", "--fit-rows", "ipi_sys:16")

    def test_predict(self):
        self.refused("one a chip", "predict", "power9-2s", "--chips", "3",
                     "--cores", "4,5")
        self.refused("the machine file has", "predict", "power9-2s",
                     "--kernel", "none")

    def test_unequal_chips(self):
        self.refused("give --cores", "predict", "power10-4s", "--chips", "3")
        self.refused("--threads 5", "predict", "power10-4s", "--threads", "5")

    def test_record(self):
        self.refused("the machine file has", "record", "power9-2s",
                     "--kernel", "none")
        self.refused("allows 9 to 128", "record", "power9-2s", "--cpus", "8")
        self.refused("allows 9 to 128", "record", "power9-2s", "--cpus",
                     "129")


class Points(unittest.TestCase):
    """Points side by side have the rates that each has alone."""

    PATTERN = ("xivescale-pattern 1 counted\n"
               "line link\nline global\n"
               "send 1\n0 trigger own\n0 wait 0 0 5\n10 end\n"
               "handle 1\n10 store 1 0\n10 release 0 -1\n0 end\n")

    def rates(self, path, *points):
        argv = ["--pattern", path, "--chips", "16,16", "--threads", "1",
                "--offset", "1", "--seeds", "3", "--interrupts", "2000"]
        for point in points:
            argv += ["--point", f"0:{point}"]
        return replays.run(argv)

    def test_side_by_side(self):
        with tempfile.NamedTemporaryFile("w", suffix=".pattern") as file:
            file.write(self.PATTERN)
            file.flush()
            together = self.rates(file.name, *range(2, 33))
            self.assertEqual([int(words[1]) for words in together],
                             list(range(2, 33)))
            for words in together[::6]:
                self.assertEqual(self.rates(file.name, words[1]), [words])
            # The first at fault is told, whichever was run first.
            with self.assertRaisesRegex(UserError, "33 cpus"):
                self.rates(file.name, 32, 33, 34, 35)


def script(name):
    """A program of scripts/, as a module."""
    loader = importlib.machinery.SourceFileLoader(
        name, str(ROOT / "scripts" / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Found(unittest.TestCase):
    """The machine file that calibrate writes."""

    def test_values(self):
        """It holds what was found: every parameter with the decimals that
        its kind has, none of which may be lost or added."""
        model = machine.Machine("power10-4s")
        kinds = {**machine.CLOCK, **machine.CONTENTION}
        numbers = {name: kind for name, kind in kinds.items()
                   if isinstance(kind, (machine.Number, machine.Time))
                   and kind.unit in ("ps", "ns", "%")}
        found = {name: kind.low + 2.3456 for name, kind in numbers.items()}
        with tempfile.TemporaryDirectory() as where, \
                contextlib.redirect_stdout(io.StringIO()):
            path = os.path.join(where, "found.json")
            script("calibrate").write(model, found, [("ipi_sys", 80)], path)
            written = machine.Machine(path)
        values = {**written.values("clock"), **written.values("contention")}
        self.assertEqual(values["waiter-slope-pct"], 2.346)
        self.assertEqual(values["tima-load-ns"], 2.346)
        self.assertEqual(values["pause-ns"], 3)
        self.assertEqual(values["departure-pct"], 2)
        for name, kind in numbers.items():
            places = 0 if isinstance(kind, machine.Number) else 3
            self.assertEqual(values[name], round(found[name], places), name)


class Against(unittest.TestCase):
    """predict --against, on a result made here."""

    def setUp(self):
        self.predict = script("predict")
        self.model = machine.Machine("power9-2s")
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        self.addCleanup(self.file.close)

    def result(self, **changes):
        point = {"kernel": "before", "append": "", "cpus": 16,
                 "cpulist": "0-15", "rate": 5.0}
        data = {"machine": "power9-2s", "points": [
            point, {**point, "cpus": 32, "cpulist": "0-31", "rate": 8.0},
            {**point, "cpulist": "0-7,64-71", "rate": 1.0},
            {**point, "append": "noirqdebug", "rate": None}]}
        data.update(changes)
        self.file.seek(0)
        self.file.truncate()
        json.dump(data, self.file)
        self.file.flush()
        return self.predict.measured(self.file.name, self.model)

    def test_table(self):
        guests = self.result()
        # Sets that are not the first CPUs, and points that failed, are none.
        self.assertEqual(guests, {("before", 16): 5.0, ("before", 32): 8.0})
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.predict.compare(["before", "node-ipi"], [16, 32],
                                 [5.1, 7.6, 3.0, 4.0], guests)
        rows = docs.rows(out.getvalue())
        self.assertEqual(rows[0], ["16", "5.10", "5.00", "+2.0 %", "3.00", "",
                                   ""])
        self.assertEqual(rows[1][3], "-5.0 %")
        self.assertIn("1 of 2 agree within 3 per cent; median difference "
                      "3.5, largest 5.0 per cent", out.getvalue())

    def test_bad_result(self):
        with self.assertRaisesRegex(UserError, "of the machine 'other'"):
            self.result(machine="other")
        with self.assertRaisesRegex(UserError, "not a result"):
            self.result(points=[{}])
        with self.assertRaisesRegex(UserError, "none of these points"):
            self.predict.compare(["before"], [48], [1.0], self.result())


class Machines(unittest.TestCase):
    """What is made of a machine file, without a guest or a pattern."""

    @staticmethod
    def option(argv, name):
        return argv[argv.index(name) + 1]

    def test_topology(self):
        p9 = replays.arguments(machine.Machine("power9-2s"), [])
        self.assertEqual(self.option(p9, "--chips"), "16,16")
        self.assertEqual(self.option(p9, "--threads"), "4")
        # 12, 10, 10 and 12 big cores of 8 threads: twice as many of 4.
        p10 = replays.arguments(machine.Machine("power10-4s"), [])
        self.assertEqual(self.option(p10, "--chips"), "24,20,20,24")
        self.assertEqual(self.option(p10, "--threads"), "4")

    def test_kernels(self):
        """Those with a published column; of a machine without any, all."""
        for name, labels in (
                ("power9-2s", ["before", "node-ipi", "node-ipi noirqdebug",
                               "before noirqdebug"]),
                ("power10-8s", ["before", "node-ipi", "both"])):
            found = replays.select_kernels(machine.Machine(name), None)
            self.assertEqual([replays.label(item) for item in found], labels)

    def test_recorded_guest(self):
        """It boots as the guests of a comparison do."""
        for name in ("power9-2s", "power10-4s"):
            model = machine.Machine(name)
            item = dict(model.kernels[0], append="noirqdebug")
            with mock.patch.multiple(
                    replays.qemu, Qemu=mock.DEFAULT, command=mock.DEFAULT
                    ) as qemu, \
                    mock.patch.object(replays.kernels, "Kernel") as kernel, \
                    mock.patch.object(replays, "GuestRun") as guest:
                kernel.return_value.append = "noirqdebug"
                qemu["command"].return_value = ["-device", "contention"]
                guest.side_effect = UserError("not now")
                with self.assertRaisesRegex(UserError, "not now"):
                    replays.record(model, item, guests=Path("/else"),
                                   cpus=24)
            self.assertEqual(kernel.call_args.args[1],
                             Path("/else") / item["variant"] / "vmlinux")
            self.assertIn("cpulist=0-23", qemu["command"].call_args.args[4])
            words = qemu["command"].call_args.args[4].split(" -- ")[0].split()
            self.assertIn("noirqdebug", words)
            for word in model.append.split():
                self.assertIn(word, words)
        self.assertTrue(model.append)


if __name__ == "__main__":
    unittest.main()
