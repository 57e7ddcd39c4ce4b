# SPDX-License-Identifier: GPL-2.0-or-later
"""What the script tests share: a directory with a fake QEMU and kernels."""

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCRIPTS = ROOT / "scripts"
MACHINE = ROOT / "machines" / "power9-2s.json"

sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))


def elf(kind=2, machine=21, bits=2, order=1, extra=b"kernel", segments=1,
        stored=None):
    """A tiny ELF file: header, program headers, contents."""
    start = 64 + 56 * segments
    head = b"\x7fELF" + bytes([bits, order, 1]) + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 64, 0, 2, 64,
                        56, segments, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, start, 0, 0,
                       len(extra) if stored is None else stored, len(extra),
                       65536)
    return head + load * segments + extra


class ScriptTest(unittest.TestCase):
    """A fresh directory a test, with bin/qemu and kernels to boot."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="xs-test-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.qemu = self.dir / "bin" / "qemu-system-ppc64"
        (self.dir / "bin" / "pc-bios").mkdir(parents=True)
        (self.dir / "bin" / "pc-bios" / "skiboot.lid").write_bytes(b"lid")
        shutil.copy(HERE / "fake-qemu", self.qemu)
        self.log = self.dir / "starts.log"
        for name in ("one", "two"):
            (self.dir / name).mkdir()
            (self.dir / name / "vmlinux").write_bytes(
                elf(extra=name.encode()))
            (self.dir / name / "initrd.cpio").write_bytes(b"initrd")
        self.out = self.dir / "out"

    def kernel(self, name="one", options=""):
        """A --kernel argument."""
        return ["--kernel", f"{name}={self.dir / name / 'vmlinux'}{options}"]

    def command(self, script, *arguments):
        return [sys.executable, str(SCRIPTS / script),
                *[str(item) for item in arguments]]

    def environment(self, **extra):
        return {**os.environ, "XS_FAKE_LOG": str(self.log), **extra}

    def run_script(self, script, *arguments, status=0, env=None, stdin=None):
        """Run a script to its end; a traceback is always a failure."""
        run = subprocess.run(
            self.command(script, *arguments), text=True,
            input=stdin or "", capture_output=True, timeout=120, check=False,
            env=self.environment(**(env or {})))
        self.assertNotIn("Traceback", run.stderr)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def compare(self, *arguments, **options):
        return self.run_script(
            "compare", "--machine", MACHINE, "--qemu", self.qemu, "--out",
            self.out, *arguments, **options)

    def refused(self, *arguments, machine=MACHINE, lines=1):
        """A request refused with status 2, one line, before any guest."""
        run = self.run_script("compare", "--machine", machine, "--qemu",
                              self.qemu, "--out", self.out, *arguments,
                              status=2)
        self.assertEqual(len(run.stderr.splitlines()), lines, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(self.starts(), [])
        return run.stderr

    def result(self):
        return json.loads((self.out / "result.json").read_text())

    def starts(self):
        """The processes that were started as QEMU: (pid, command line)."""
        if not self.log.exists():
            return []
        return [(int(line.split()[0]), line.split(" ", 1)[1])
                for line in self.log.read_text().splitlines()]

    def machine_file(self, change):
        """A copy of the machine file after change(data)."""
        data = json.loads(MACHINE.read_text())
        change(data)
        path = self.dir / "machine.json"
        path.write_text(json.dumps(data))
        return path
