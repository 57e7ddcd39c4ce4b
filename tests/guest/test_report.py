# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of real guests, against the debug information of their kernels.

- the transfers of lines used in a fixed order are those counted by hand from
  the rules of docs/model.md, exactly, by instruction, field and distance
- a counter that all CPUs increment at every tick is the first line
- the kernel before: first line is the shared irq_desc, first instruction the
  store of note_interrupt()'s increment, field irq_count, with most of all
  stall; with both changes it is not among the first ten
- lines and instructions sum up to the model's totals
- a second run gives the same report, byte by byte
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from xivescale import hotlines, machine, qemu  # noqa: E402
from xivescale.files import to_json  # noqa: E402
from xivescale.guestrun import GuestRun  # noqa: E402
from xivescale.names import Names  # noqa: E402

BEFORE = ROOT / "build/guest/before/vmlinux"
BOTH = ROOT / "build/guest/both/vmlinux"
NAMES = ROOT / "build/unit/xs-names"
MACHINE = ROOT / "machines/power9-2s.json"


class Run:
    """A guest's report, attribution and what its module said."""

    def __init__(self, words, kernel=BEFORE):
        model = machine.Machine(MACHINE)
        with tempfile.TemporaryDirectory() as where:
            attribution, memory = Path(where) / "a.json", Path(where) / "m"
            guest = GuestRun(qemu.command(
                qemu.Qemu(), model, kernel, kernel.parent / "initrd.cpio",
                qemu.full_append("", words), attribution=attribution,
                memory=memory), timeout=300)
            guest.wait()
            if guest.failure:
                raise AssertionError(f"{guest.failure}\n"
                                     + "\n".join(guest.lines))
            self.loads = guest.loads
            self.data = hotlines.load(attribution)
            self.report = hotlines.make(
                self.data, "test", Names(kernel, memory, [kernel.parent]),
                hotlines.Sources(hotlines.source_directories(kernel)),
                max_lines=len(self.data["lines"]))

    def line(self, symbol):
        """The line of a variable, or None if it was never transferred."""
        found = [line for line in self.report["lines"]
                 if line["place"].get("symbol") == symbol]
        assert len(found) <= 1, symbol
        return found[0] if found else None


class ByHand(unittest.TestCase):
    """Four threads on cores of their own: 0, 1 on chip 0, 2, 3 on chip 1.

    The first touch of a line is free. Distances below are from the holder
    before, in the order of the steps (guest/modules/xs_lines.c), which each
    find the line at rest.
    """

    ROUNDS = 25
    # Distances, as in a report: same domain, same chip, other chip.

    @classmethod
    def setUpClass(cls):
        cls.run_ = Run(f"load xs_lines cpulist=0,4,64,68 "
                       f"rounds={cls.ROUNDS}")

    def transfers(self, symbol):
        """Transfers by (operation, field), and all that the line had."""
        line = self.run_.line(symbol)
        by_access = {}
        for access in line["accesses"]:
            key = (access["function"], access["operation"], access["field"])
            self.assertNotIn(key, by_access)
            by_access[key] = access["transfers"]
        self.assertEqual(line["others"]["count"], 0)
        self.assertEqual(line["waits"], 0)
        return by_access, line["transfers"]

    def test_module_ran_in_order(self):
        said, = self.run_.loads["xs_lines"]
        self.assertEqual(said["late"], 0)
        self.assertEqual(said["counter"], 100)
        self.assertEqual(said["padded"], 100)
        self.assertEqual(said["tickets"], 100)
        self.assertEqual(said["served"], 100)
        # Three readers see 1 in each round, and three tickets come up.
        self.assertEqual(said["seen"], 3 * 25 + 3 * 25)

    def test_counter(self):
        # The load takes the dirty line, the store then finds it. A round
        # goes 0 -> 1 same chip, 1 -> 2 across, 2 -> 3 same, 3 -> 0 across;
        # the first of all touches is free.
        by_access, every = self.transfers("lines_counter")
        self.assertEqual(by_access, {
            ("arch_atomic_add", "load", "value.counter"): [0, 50, 49]})
        self.assertEqual(every, [0, 50, 49])

    def test_padded(self):
        # Each thread keeps its line, which was never transferred.
        for line in self.run_.report["lines"]:
            self.assertNotEqual(line["place"].get("symbol"), "lines_padded")

    def test_fields(self):
        # Stores 0 -> 1 and 2 -> 3 to "odd" come from the same chip, 1 -> 2
        # and 3 -> 0 to "even" from the other, but for the first.
        by_access, every = self.transfers("lines_fields")
        self.assertEqual(by_access, {
            ("lines_step_odd", "store", "odd"): [0, 50, 0],
            ("lines_step_even", "store", "even"): [0, 0, 49]})
        self.assertEqual(every, [0, 50, 49])

    def test_mostly(self):
        # 1 takes the dirty line from 0 (same chip); it is clean then, and 2
        # gets a copy from 1 (across), 3 one from 2 (same). 0 takes it back
        # from its owner, 1, in all rounds but the first.
        by_access, every = self.transfers("lines_mostly")
        self.assertEqual(by_access, {
            ("lines_step_read", "load", "value"): [0, 50, 25],
            ("lines_step_write", "store", "value"): [0, 24, 0]})
        self.assertEqual(every, [0, 74, 25])

    def test_ticket(self):
        # Tickets are the counter again: the line is dirty at 3 when 0 comes.
        # h = 0: 0 stores (from 3, across); 1 takes it (same), 2 copies from 1
        # (across), 3 from 2 (same). h = 1: 1, its owner, needs the copies
        # back, the nearest being on the other chip; 2 takes it (across), 3
        # copies from 2 (same). h = 2: 2 takes 3's copy (same), 3 takes the
        # line (same). h = 3: 3 is alone.
        by_access, every = self.transfers("lines_ticket")
        self.assertEqual(by_access, {
            ("arch_atomic_fetch_add_relaxed", "load", "next.counter"):
                [0, 50, 49],
            ("lines_step_release", "store", "served"): [0, 25, 50],
            ("lines_step_look", "load", "served"): [0, 100, 50]})
        self.assertEqual(every, [0, 175, 149])


class Tick(unittest.TestCase):
    """Nothing tells the report which counter it is."""

    def test_counter_of_all_ticks_comes_first(self):
        run = Run("load xs_tick")
        said, = run.loads["xs_tick"]
        self.assertEqual(said["taken"], 128 * 20)
        first = run.report["lines"][0]
        self.assertEqual(first["place"]["symbol"], "tick_stats")
        self.assertEqual(first["place"]["module"], "xs_tick")
        self.assertGreater(first["share"], 0.5)
        access = first["accesses"][0]
        self.assertEqual((access["function"], access["field"]),
                         ("tick_handler", "interrupts"))
        self.assertIn("tick_stats.interrupts", access["text"])
        self.assertEqual(run.report["instructions"][0]["function"],
                         "tick_handler")


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.out = Path(cls.dir.name)
        done = subprocess.run(
            [ROOT / "scripts/compare", "--machine", "power9-2s", "--duration",
             "300", "--out", cls.out, "--kernel", "before", "--kernel",
             f"both={BOTH}", "--cpus", "128", "--report"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.before, cls.both = (
            json.loads((cls.out / f"report/{name}-128.json").read_text())
            for name in ("before", "both"))

    @staticmethod
    def increment():
        """Where the debug information has the store of irq_count++."""
        source = (BEFORE.parent / "source/kernel/irq/spurious.c").read_text()
        lines = [number for number, text in
                 enumerate(source.split("\n"), 1)
                 if re.fullmatch(r"\s*desc->irq_count\+\+;", text)]
        assert len(lines) == 1, lines
        return lines[0]

    def test_before_names_the_counter(self):
        first = self.before["lines"][0]
        self.assertEqual(first["place"]["kind"], "slab")
        self.assertTrue(first["object"].startswith("struct irq_desc "),
                        first["object"])
        self.assertGreater(first["share"], 0.5)
        access = first["accesses"][0]
        self.assertEqual(access["operation"], "store")
        self.assertEqual((access["type"], access["field"]),
                         ("struct irq_desc", "irq_count"))
        self.assertEqual(access["file"], "kernel/irq/spurious.c")
        self.assertEqual(access["line"], self.increment())
        self.assertEqual(access["text"], "desc->irq_count++;")
        outermost = [access["function"], *access["inlined_into"]][-1]
        self.assertEqual(outermost, "note_interrupt")
        # The share told is its part of all stall.
        self.assertAlmostEqual(access["share"], access["stall_ns"]
                               / self.before["totals"]["stall_ns"], 5)
        self.assertGreater(access["share"], 0.1)
        self.assertEqual(self.before["instructions"][0]["pc"], access["pc"])

    def test_both_has_it_no_more(self):
        for line in self.both["lines"][:10]:
            self.assertNotIn("irq_desc", line["object"])
            for access in line["accesses"]:
                self.assertNotEqual(access.get("field"), "irq_count")
        self.assertLess(self.both["lines"][0]["share"], 0.2)

    def test_the_difference_says_it_went_away(self):
        text = (self.out / "report/both-128.diff.txt").read_text()
        rows = [line.split() for line in text.splitlines()
                if "struct irq_desc.irq_count, store" in line]
        self.assertEqual(len(rows), 1, text)
        self.assertEqual(rows[0][0], "gone")

    def test_text_and_page_name_it(self):
        for ending in ("txt", "html"):
            text = (self.out / f"report/before-128.{ending}").read_text()
            self.assertIn("struct irq_desc.irq_count", text)
            self.assertIn("note_interrupt kernel/irq/spurious.c:", text)

    def test_again_the_same(self):
        storm = ("storm cpulist=0-127 offset=8 warmup_us=200 "
                 "duration_us=300")
        first = Run(storm)
        data = first.data
        for part in ("lines", "instructions"):
            kind = "lines" if part == "lines" else "accesses"
            self.assertEqual(
                sum(hotlines.to_ps(item["stall_ns"]) for item in data[part])
                + hotlines.to_ps(data["dropped"][kind]["stall_ns"]),
                hotlines.to_ps(data["totals"]["all"]["stall_ns"]))
            self.assertEqual(
                [sum(column) for column in zip(
                    *(item["transfers"] for item in data[part]),
                    data["dropped"][kind]["transfers"])],
                data["totals"]["all"]["transfers"])
        self.assertEqual(
            list(data["totals"]["transfers"].values()),
            data["totals"]["all"]["transfers"])
        # compare has made the same report of the same point, apart from its
        # title, the number of IPIs and how many lines are named.
        report = first.report
        report["lines"] = report["lines"][:100]
        report["instructions"] = report["instructions"][:100]
        report["title"] = self.before["title"]
        with_ipis = {}
        for key, value in report.items():
            if key == "lines":
                with_ipis["ipis"] = self.before["ipis"]
            with_ipis[key] = value
        self.assertEqual(to_json(with_ipis), to_json(self.before))


if __name__ == "__main__":
    unittest.main()
