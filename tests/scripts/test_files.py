# SPDX-License-Identifier: GPL-2.0-or-later
"""Kernel images, reference tables, seeds and whole-or-nothing writes."""

import argparse
import os
import subprocess

import support
from support import ROOT, ScriptTest, elf
from xivescale import elf as elf_check
from xivescale import files, options, refdata
from xivescale.errors import UserError


class ElfTest(ScriptTest):
    def refused(self, content, reason):
        path = self.dir / "image"
        path.write_bytes(content)
        with self.assertRaisesRegex(UserError, reason):
            elf_check.check_kernel(path)

    def test_good(self):
        for kind in (2, 3):
            path = self.dir / "image"
            path.write_bytes(elf(kind))
            elf_check.check_kernel(path)

    def test_bad(self):
        self.refused(b"", "not an ELF file")
        self.refused(b"\x1f\x8b\x08compressed", "not an ELF file")
        self.refused(elf()[:30], "truncated")
        self.refused(elf()[:90], "truncated")
        self.refused(elf(stored=10 ** 9), "truncated")
        self.refused(elf(bits=1), "32-bit")
        self.refused(elf(order=2), "big-endian.*CONFIG_CPU_LITTLE_ENDIAN")
        self.refused(elf(machine=62), "machine 62")
        self.refused(elf(kind=1), "no executable")
        self.refused(elf(segments=0), "nothing to load")


class ReferenceTest(ScriptTest):
    def refused(self, text, reason):
        path = self.dir / "ref.csv"
        path.write_text(text)
        with self.assertRaisesRegex(UserError, reason):
            refdata.Reference(path)

    def test_published(self):
        table = refdata.Reference("ipistorm_p9.csv")
        self.assertEqual(table.value("ipi_sys", 128), 9.948502)
        self.assertIsNone(table.value("ipi_sys", 17))
        self.assertEqual(len(table.curve("ipi_chip")), 8)

    def test_all_tables_by_cpus(self):
        for path in (ROOT / "reference").glob("*.csv"):
            if "cpus" in path.read_text().splitlines()[0].split(","):
                self.assertTrue(refdata.Reference(path).columns)

    def test_bad(self):
        self.refused("", "must name the columns")
        self.refused("a,b\n1,2\n", "one of them 'cpus'")
        self.refused("cpus,a\n16,x\n", "line 2: a 'x' is not a positive")
        self.refused("cpus,a\n16,nan\n", "not a positive")
        self.refused("cpus,a\n16,-1\n", "not a positive")
        self.refused("cpus,a\n16\n", "line 2: 1 fields")
        self.refused("cpus,a\nx,1\n", "not a number")
        self.refused("cpus,a\n16,1\n16,2\n", "a second row for 16 CPUs")
        with self.assertRaisesRegex(UserError, "cannot be read"):
            refdata.Reference("none.csv")


class SeedsTest(ScriptTest):
    def test_forms(self):
        self.assertEqual(options.seeds("3"), [1, 2, 3])
        self.assertEqual(options.seeds("7,"), [7])
        self.assertEqual(options.seeds("7-7"), [7])
        self.assertEqual(options.seeds("9,1-3"), [9, 1, 2, 3])
        for text in ("", "0", "x", "1,1", "3-1", "-1", "1,2-x", "1-99999999"):
            with self.subTest(text):
                with self.assertRaises(argparse.ArgumentTypeError):
                    options.seeds(text)


class WriteTest(ScriptTest):
    def test_replaces_whole(self):
        path = self.dir / "new" / "file"
        files.write_atomic(path, "one")
        files.write_atomic(path, "two")
        self.assertEqual(path.read_text(), "two")
        self.assertEqual(os.listdir(path.parent), ["file"])

    def test_device_stays(self):
        files.write_atomic("/dev/null", "x")
        with self.assertRaisesRegex(files.DiskFull, "no space left"):
            files.write_atomic("/dev/full", "x")

    def test_no_traces(self):
        path = self.dir / "one"
        with self.assertRaisesRegex(UserError, "cannot be written"):
            files.write_atomic(path, "x" * 10)
        self.assertEqual([name for name in os.listdir(self.dir)
                          if name.endswith(".tmp")], [])


class SourceTest(ScriptTest):
    def test_licence_lines(self):
        for path in [*(ROOT / "scripts" / "xivescale").glob("*.py"),
                     ROOT / "scripts" / "compare", ROOT / "scripts" / "boot",
                     *(ROOT / "tests" / "scripts").glob("*.py")]:
            head = path.read_text().splitlines()[:2]
            self.assertTrue(any("SPDX-License-Identifier" in line
                                for line in head), path)

    def test_help(self):
        for script in ("compare", "boot"):
            run = self.run_script(script, "--help")
            self.assertIn("--qemu", run.stdout)
            self.assertLess(max(map(len, run.stdout.splitlines())), 100)

    def test_from_anywhere(self):
        subprocess.run([ROOT / "scripts" / "compare", "--help"], check=True,
                       cwd="/", stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    support.unittest.main()
