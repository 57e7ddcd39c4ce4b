# SPDX-License-Identifier: GPL-2.0-or-later
"""A small checkout with a small QEMU, for tests of the super-build."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

MESON = "project('qemu', ['c'])\n"
FILES = {
    "VERSION": "10.0.99\n",
    "meson.build": MESON,
    "pythondeps.toml": "[meson]\npycotap = { accepted = \">=1.1.0\" }\n",
    "hw/intc/xive.c": "".join(f"line {n}\n" for n in range(1, 31)),
    "hw/ppc/pnv.c": "".join(f"row {n}\n" for n in range(1, 31)),
    "subprojects/keycodemapdb/meson.build": "",
    "subprojects/berkeley-softfloat-3/meson.build": "",
    "subprojects/berkeley-testfloat-3/meson.build": "",
    "roms/big": "firmware\n",
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


class BuildTest(unittest.TestCase):
    """Runs the real scripts in a checkout of their own."""

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp(prefix="xs-build-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.root = self.dir / "checkout"
        self.build = self.root / "build"
        self.tree = self.build / "src/qemu"
        self.qemu = self.dir / "given"
        shutil.copytree(ROOT / "scripts", self.root / "scripts",
                        ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("configure", "VERSION", "Makefile"):
            shutil.copy(ROOT / name, self.root)
        for name, text in FILES.items():
            write(self.qemu / name, text)

    def run_script(self, *command, cwd=None, env=None):
        command = [str(word) for word in command]
        script = self.root / command[0]
        if script.is_file() and "python3" in script.read_text()[:40]:
            # With the Python of the tests, as make does.
            command[:1] = [sys.executable, str(script)]
        return subprocess.run(
            command, cwd=cwd or self.root,
            capture_output=True, encoding="utf-8", check=False,
            stdin=subprocess.DEVNULL, env=dict(os.environ, **(env or {})))

    def good(self, *command, **kwargs):
        """Run what must succeed; all that it said."""
        done = self.run_script(*command, **kwargs)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout + done.stderr

    def bad(self, *command, lines=1, **kwargs):
        """Run what must fail with one clear line, and return that."""
        done = self.run_script(*command, **kwargs)
        self.assertNotEqual(done.returncode, 0)
        said = [line for line in done.stderr.splitlines()
                if "error: " in line]
        self.assertEqual(len(said), lines, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return said[-1]

    def configure(self, *options):
        return self.good("./configure", "--disable-packages",
                         f"--python={sys.executable}", *options)

    def sources(self):
        """The small QEMU, unpacked and ready to be edited."""
        self.configure(f"--qemu-src={self.qemu}")
        self.good("scripts/sources", "qemu")

    def config(self):
        return json.loads((self.build / "config.json").read_text())
