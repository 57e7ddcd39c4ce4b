# SPDX-License-Identifier: GPL-2.0-or-later
"""./configure: its options, what it writes, what it refuses."""

import subprocess
import unittest

from buildtree import BuildTest, write


class Configure(BuildTest):
    def test_defaults_in_three_languages(self):
        self.good("./configure")
        config = self.config()
        self.assertEqual(config["guests"],
                         ["before", "node-ipi", "irqdebug", "both"])
        self.assertEqual(config["qemu_src"], "")
        self.assertIs(config["packages"], True)
        self.assertIs(config["debug"], False)
        self.assertGreater(config["jobs"], 0)
        mak = (self.build / "config.mak").read_text()
        self.assertIn(f"CONFIG_JOBS := {config['jobs']}\n", mak)
        shell = subprocess.run(
            ["sh", "-c", f". {self.build}/config.sh; echo $CONFIG_GUESTS"],
            capture_output=True, encoding="utf-8", check=True).stdout
        self.assertEqual(shell.split(), config["guests"])

    def test_every_option_is_in_the_help(self):
        said = self.good("./configure", "--help")
        for option in ("--qemu-src=", "--linux-src=", "--cross-prefix=",
                       "--cc=", "--python=", "--disable-ccache", "--jobs=",
                       "--enable-debug", "--build-guests="):
            self.assertIn(option, said)
        self.assertFalse(self.build.exists())

    def test_options_are_kept(self):
        self.configure("--cc=cc -m64", "--jobs=7", "--enable-debug",
                       "--build-guests=both,before", "--disable-ccache")
        first = self.config()
        self.assertEqual(first["cc"], "cc -m64")
        self.assertEqual(first["jobs"], 7)
        self.assertIs(first["debug"], True)
        self.assertEqual(first["guests"], ["both", "before"])
        self.good("./configure", "--recheck")
        self.assertEqual(self.config(), first)

    def test_relative_source_survives_recheck(self):
        self.good(self.root / "configure", "--qemu-src=given", cwd=self.dir)
        self.assertEqual(self.config()["qemu_src"], str(self.qemu))
        self.good("./configure", "--recheck")
        self.assertEqual(self.config()["qemu_src"], str(self.qemu))

    def test_bad_options(self):
        for option, words in (
                ("--frobnicate", "unknown option '--frobnicate'"),
                ("--jobs", "--jobs needs a value"),
                ("--jobs=", "--jobs needs a value"),
                ("--jobs=0", "'0' is not a number"),
                ("--jobs=-2", "'-2' is not a number"),
                ("--jobs=two", "'two' is not a number"),
                ("--build-guests=after", "no variant 'after'"),
                ("--cc=no-such-cc", "'no-such-cc' is not a command"),
                ("--python=/no/python", "'/no/python' is not a command"),
                ("--cross-prefix=no-such-", "'no-such-gcc' is not"),
                ("--cc=gcc;reboot", "has a character"),
                ("--qemu-src=/no/such", "'/no/such' does not exist"),
                ("--linux-src=/no/such", "'/no/such' does not exist")):
            with self.subTest(option):
                self.assertIn(words, self.bad("./configure", option))

    def test_qemu_source(self):
        self.configure(f"--qemu-src={self.qemu}")
        archive = self.dir / "q.tar.gz"
        self.good("tar", "-C", self.dir, "-czf", archive, "given")
        self.configure(f"--qemu-src={archive}")
        self.assertEqual(self.config()["qemu_src"], str(archive))

    def test_wrong_qemu_source(self):
        write(self.qemu / "VERSION", "9.2.1\n")
        self.assertIn("is QEMU 9.2.1",
                      self.bad("./configure", f"--qemu-src={self.qemu}"))
        write(self.qemu / "meson.build", "project('bochs')\n")
        self.assertIn("not a QEMU source tree",
                      self.bad("./configure", f"--qemu-src={self.qemu}"))
        write(self.dir / "text", "no archive\n")
        self.assertIn("neither a directory nor a tar archive", self.bad(
            "./configure", f"--qemu-src={self.dir}/text"))

    def test_linux_source(self):
        linux = self.dir / "linux"
        write(linux / "Makefile", "VERSION = 6\nPATCHLEVEL = 1\n"
              "SUBLEVEL = 9\n")
        self.configure(f"--linux-src={linux}")
        write(linux / "Makefile", "VERSION = 6\nPATCHLEVEL = 12\n")
        self.assertIn("is Linux 6.12",
                      self.bad("./configure", f"--linux-src={linux}"))
        write(linux / "Makefile", "all:\n")
        self.assertIn("not a Linux source tree",
                      self.bad("./configure", f"--linux-src={linux}"))

    def test_checkout_with_a_space(self):
        moved = self.dir / "a checkout"
        self.root.rename(moved)
        self.assertIn("holds a space", self.bad(moved / "configure",
                                                cwd=moved))

    def test_scripts_before_configure(self):
        for command in (["scripts/sources", "qemu"], ["scripts/build-qemu"],
                        ["scripts/check", "unit"]):
            self.assertIn("run ./configure", self.bad(*command))

    def test_make_help_needs_no_configure(self):
        said = self.good("make", "help")
        for target in ("all", "qemu", "guests", "unit", "check", "compare",
                       "bench", "refresh-check", "clean", "distclean"):
            self.assertRegex(said, rf"(?m)^  {target} ")
        self.assertFalse(self.build.exists())


if __name__ == "__main__":
    unittest.main()
