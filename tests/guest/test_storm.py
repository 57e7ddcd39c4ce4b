# SPDX-License-Identifier: GPL-2.0-or-later
"""Real kernels on two chips, through scripts/compare and scripts/boot.

- the kernels before and after boot with 128 threads and run a storm
- every IPI sent is handled, and the kernel's own count of XIVE interrupts
  has all of them and few others
- one descriptor falls at the second chip, a descriptor a node grows
- a second run gives the same bytes, and so does one on a busy host
- a marker in user space changes nothing and is told once
- CPU sets that share a boot have a region and statistics each, and a second
  run of that boot gives the same bytes
- without xive_ipi=on IPIs go by doorbell, as Linux does it by itself
"""

import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from xivescale import machine, qemu  # noqa: E402

KERNELS = ("before", "node-ipi", "both")
BOTH = ROOT / "build/guest/both/vmlinux"
DURATION_US = 300


def compare(out, *options):
    done = subprocess.run(
        [ROOT / "scripts/compare", "--machine", "power9-2s", "--duration",
         str(DURATION_US), "--out", out, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads((Path(out) / "result.json").read_text())


class Storm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.out = Path(cls.dir.name) / "first"
        names = [word for name in ("before", "node-ipi")
                 for word in ("--kernel", name)]
        cls.result = compare(cls.out, *names, "--kernel",
                             f"both={BOTH}",
                             "--cpus", "64,128")
        cls.points = [json.loads(path.read_text()) for path in
                      sorted((cls.out / "points").glob("*.json"))]

    def rate(self, kernel, cpus):
        return next(p["rate"] for p in self.result["points"]
                    if p["kernel"] == kernel and p["append"] == "" and
                    p["cpus"] == cpus)

    def test_all_kernels_ran_on_both_chips(self):
        for kernel in KERNELS:
            self.assertGreater(self.rate(kernel, 128), 1)
        self.assertTrue(all(p["boot"]["cpus"] == 128 for p in self.points))

    def test_every_ipi_is_handled_and_counted(self):
        for point in self.points:
            storm = point["storm"]
            self.assertEqual(sum(storm["handled_cpu"]), storm["handled"])
            self.assertEqual(sum(storm["sent_cpu"]), storm["sent"])
            self.assertEqual(storm["total_sent"], storm["total_handled"])
            counted = storm["interrupts_after"] - storm["interrupts_before"]
            self.assertGreaterEqual(counted, storm["total_handled"])
            # What else the kernel sends: a few wake-ups a CPU.
            self.assertLess(counted - storm["total_handled"],
                            30 * storm["cpus"])

    def test_the_second_chip(self):
        # A store crosses chips half of the time with both of them: whatever
        # the parameters, one line gets slower, a line a chip does not.
        self.assertLess(self.rate("before", 128), self.rate("before", 64))
        for kernel in ("node-ipi", "both"):
            self.assertGreater(self.rate(kernel, 128),
                               1.5 * self.rate(kernel, 64))

    def test_same_bytes_again_and_under_load(self):
        loads = []
        try:
            loads = [subprocess.Popen([sys.executable, "-c",
                                       "while True: pass"])
                     for _ in range((os.cpu_count() or 1) + 1)]
            busy = Path(self.dir.name) / "busy"
            compare(busy, "--kernel", "before", "--cpus", "128",
                    "--jobs", "1")
        finally:
            for load in loads:
                load.kill()
                load.wait()
        again = Path(self.dir.name) / "again"
        compare(again, "--kernel", "before", "--cpus", "128", "--jobs", "1")
        self.assertEqual((busy / "result.json").read_bytes(),
                         (again / "result.json").read_bytes())
        # ... and the same point as between others, two at a time.
        mine = next(again.glob("points/*.json"))
        self.assertEqual(mine.read_bytes(),
                         (self.out / "points" / mine.name).read_bytes())


class SharedBoot(unittest.TestCase):
    """Three CPU sets in one guest, the last as large as the first."""

    SETS = ("--kernel", "before", "--cpus", "16,48,0-7/64-71", "--per-boot",
            "3")

    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.dir.cleanup)
        cls.out = Path(cls.dir.name) / "first"
        compare(cls.out, *cls.SETS)
        cls.points = [json.loads(path.read_text()) for path in
                      sorted((cls.out / "points").glob("*.json"))]

    def test_each_has_its_own_region(self):
        self.assertEqual(len(self.points), 6)
        for append in ("noirqdebug", ""):
            mine = sorted((p for p in self.points
                           if ("noirqdebug" in p["inputs"]["append"]) ==
                           bool(append)), key=lambda p: p["inputs"]["storm"])
            self.assertEqual([p["storm"]["cpus"] for p in mine], [16, 48, 16])
            ends = 0
            for point in mine:
                region = point["stats"]["region"]
                # They follow each other, window and warm-up inside each.
                self.assertGreater(region["start_ns"], ends)
                ends = region["end_ns"]
                self.assertGreater(ends - region["start_ns"],
                                   (DURATION_US + 200) * 1000)

    def test_statistics_are_of_that_storm(self):
        for point in self.points:
            storm = point["storm"]
            triggers = point["stats"]["fabric"]["triggers"]
            crossing = point["stats"]["fabric"]["cross-chip-triggers"]
            counted = storm["interrupts_after"] - storm["interrupts_before"]
            # Those of the storm are in the region; most of what starts and
            # stops its threads is not.
            self.assertGreaterEqual(triggers, storm["total_handled"])
            self.assertLessEqual(triggers, counted)
            if storm["cpulist"] == "0-7,64-71":
                # With an offset of 8 each CPU's target is on the other chip.
                self.assertGreater(crossing, storm["total_handled"] * 0.9)
            else:
                self.assertLess(crossing, storm["total_handled"] / 10)

    def test_same_bytes_again(self):
        again = Path(self.dir.name) / "again"
        compare(again, *self.SETS, "--jobs", "1")
        self.assertEqual((self.out / "result.json").read_bytes(),
                         (again / "result.json").read_bytes())


def program(instructions):
    """A static little-endian ppc64 ELF that is nothing but these words."""
    base = 0x10000000
    code = b"".join(i.to_bytes(4, "little") for i in instructions)
    start = 64 + 56

    def word(value, size):
        return value.to_bytes(size, "little")

    header = (b"\x7fELF\x02\x01\x01" + bytes(9) + word(2, 2) + word(21, 2) +
              word(1, 4) + word(base + start, 8) + word(64, 8) + word(0, 8) +
              word(2, 4) + word(64, 2) + word(56, 2) + word(1, 2) +
              word(0, 2) + word(0, 2) + word(0, 2))
    segment = (word(1, 4) + word(5, 4) + word(0, 8) + word(base, 8) +
               word(base, 8) + word(start + len(code), 8) * 2 +
               word(0x10000, 8))
    return header + segment + code


def cpio(name, data, mode):
    """An archive of one file, in the format of an initial RAM disk."""
    out = b""
    for entry, content, bits in ((name, data, mode), ("TRAILER!!!", b"", 0)):
        fields = [1, bits, 0, 0, 1, 0, len(content), 0, 0, 0, 0,
                  len(entry) + 1, 0]
        head = b"070701" + b"".join(b"%08x" % f for f in fields)
        head += entry.encode() + b"\0"
        out += head + bytes(-len(head) % 4)
        out += content + bytes(-len(content) % 4)
    return out


class UserSpace(unittest.TestCase):
    def test_marker_is_ignored_and_told_once(self):
        marks = [0x6D6B0000, 0x6D6B0000, 0x6D8C0000]
        exit_7 = [0x38000001, 0x38600007, 0x44000002]
        with tempfile.TemporaryDirectory() as where:
            initrd = Path(where) / "initrd.cpio"
            ours = (ROOT / "build/guest/both/initrd.cpio").read_bytes()
            ours += bytes(-len(ours) % 512)
            initrd.write_bytes(ours + cpio("mark", program(marks + exit_7),
                                           stat.S_IFREG | 0o755))
            argv = qemu.command(qemu.Qemu(), machine.Machine(
                ROOT / "machines/power9-2s.json"), BOTH, initrd,
                qemu.full_append("", "exec /mark"))
            done = subprocess.run(argv, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True,
                                  check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("XS: exec status=7", done.stdout)
        told = re.findall(r"marker of the region of interest in user space",
                          done.stderr)
        self.assertEqual(len(told), 1, done.stderr)


class Doorbells(unittest.TestCase):
    def test_ipis_by_doorbell(self):
        done = subprocess.run(
            [ROOT / "scripts/boot", "power9-2s", "--kernel", BOTH,
             "--append", "xive_ipi=off", "--exec",
             "grep DBL: /proc/interrupts"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        counts = re.search(r"DBL:((?: +[0-9]+)+)", done.stdout)
        self.assertGreater(sum(map(int, counts[1].split())), 100)


if __name__ == "__main__":
    unittest.main()
