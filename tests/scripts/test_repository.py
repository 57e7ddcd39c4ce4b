# SPDX-License-Identifier: GPL-2.0-or-later
"""What holds for every file of the repository."""

import os
import re
import subprocess
import unittest

from support import ROOT

# Data, and what has no comments.
PLAIN = (".csv", ".json", ".md", ".patch", ".png", ".svg", ".txt")
NAMES = ("LICENSE", "VERSION", "README")


def files():
    """Files of the checkout, tracked or to be: without build/."""
    for directory, subdirs, names in os.walk(ROOT):
        subdirs[:] = sorted(
            name for name in subdirs
            if name not in (".git", "__pycache__")
            and os.path.join(directory, name) != str(ROOT / "build"))
        for name in sorted(names):
            if not name.endswith((".pyc", "~", ".orig", ".rej")):
                path = os.path.join(directory, name)
                if not os.path.islink(path):
                    yield os.path.relpath(path, ROOT), path


def text(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return stream.read()
    except UnicodeDecodeError:
        return None


class Repository(unittest.TestCase):
    def test_licence_line(self):
        for name, path in files():
            base = os.path.basename(name)
            if name.endswith(PLAIN) or base.startswith(NAMES):
                continue
            content = text(path)
            if content is None or not content.strip():
                continue
            with self.subTest(name):
                head = "\n".join(content.splitlines()[:40])
                self.assertTrue("SPDX-License-Identifier: GPL-2.0" in head,
                                "no licence line")

    def test_nothing_left_to_do(self):
        words = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b")
        for name, path in files():
            content = text(path)
            if content is None or name == "LICENSE":
                continue
            with self.subTest(name):
                found = words.search(content)
                self.assertFalse(found and found[0])

    def test_shell_scripts_parse(self):
        for name, path in files():
            content = text(path) or ""
            if not content.startswith("#!/bin/sh"):
                continue
            with self.subTest(name):
                done = subprocess.run(["sh", "-n", path], check=False,
                                      capture_output=True, encoding="utf-8")
                self.assertEqual(done.stderr, "")

    def test_scripts_can_be_run(self):
        for name, path in files():
            if (text(path) or "").startswith("#!"):
                with self.subTest(name):
                    self.assertTrue(os.access(path, os.X_OK))

    def test_core_is_listed_twice_alike(self):
        """The stand-alone build has each file that QEMU builds as core."""
        ours = text(ROOT / "meson.build")
        listed = set(re.findall(r"'hw/intc/contention/([\w-]+\.c)'", ours))
        for name in listed:
            content = text(ROOT / "hw/intc/contention" / name)
            with self.subTest(name):
                self.assertIn("contention/port.h",
                              content + text(ROOT / "hw/intc/contention"
                                             / "internal.h"))
        for name in os.listdir(ROOT / "hw/intc/contention"):
            if not name.endswith(".c") or name in listed:
                continue
            content = text(ROOT / "hw/intc/contention" / name)
            with self.subTest(name):
                # Not of the core: it takes QEMU's own headers.
                self.assertIn('"qemu/osdep.h"', content)

    def test_every_unit_test_is_built(self):
        ours = text(ROOT / "meson.build")
        block = re.search(r"^tests = \[\n(.*?)^\]", ours, re.M | re.S)[1]
        names = re.findall(r"'([\w-]+)'", block)
        there = [name[len("test-contention-"):-2]
                 for name in os.listdir(ROOT / "tests/unit")
                 if re.fullmatch(r"test-contention-[\w-]+\.c", name)]
        self.assertEqual(sorted(names), sorted(there))


if __name__ == "__main__":
    unittest.main()
