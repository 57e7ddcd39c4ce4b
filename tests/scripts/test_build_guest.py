# SPDX-License-Identifier: GPL-2.0-or-later
"""Which Linux source scripts/build-guest takes, without building one."""

import importlib.machinery
import importlib.util
import json
import os
import tempfile
import unittest
from unittest import mock

from support import SCRIPTS


def script():
    """scripts/build-guest as a module."""
    loader = importlib.machinery.SourceFileLoader(
        "build_guest", str(SCRIPTS / "build-guest"))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("build_guest", loader))
    loader.exec_module(module)
    return module


class SourceTest(unittest.TestCase):
    """A build directory's own source comes first, then that of make, named or
    unpacked, then what the system has."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        self.mine = os.path.join(self.root, "build", "mine")
        self.script = script()
        patch = mock.patch.object(self.script, "ROOT", self.root)
        patch.start()
        self.addCleanup(patch.stop)

    def found(self, system=()):
        with mock.patch.object(self.script.glob, "glob",
                               return_value=list(system)):
            return self.script.default_source(self.mine)

    def unpack(self, *where):
        path = os.path.join(self.root, "build", *where, "src", "linux")
        os.makedirs(path)
        return path

    def test_order(self):
        with self.assertRaisesRegex(self.script.Failure,
                                    "run make, install linux-source-6.1"):
            self.found()
        tarball = os.path.join(self.root, "linux-source-6.1.tar.xz")
        with open(tarball, "w", encoding="ascii"):
            pass
        self.assertEqual(self.found([tarball]), tarball)
        os.makedirs(os.path.join(self.root, "build"))
        with open(os.path.join(self.root, "build", "config.json"), "w",
                  encoding="ascii") as file:
            json.dump({"linux_src": "/named"}, file)
        self.assertEqual(self.found([tarball]), "/named")
        make = self.unpack()
        self.assertEqual(self.found([tarball]), make)
        own = self.unpack("mine")
        self.assertEqual(self.found([tarball]), own)


if __name__ == "__main__":
    unittest.main()
