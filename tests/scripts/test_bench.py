# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/bench from outside: the stand-in costs nothing, so only its form."""

import json

import support
from support import ScriptTest


class BenchTest(ScriptTest):
    def bench(self, *arguments, status=0):
        return self.run_script(
            "bench", "--qemu", self.qemu, "--stock", self.qemu, "--runs", "1",
            *self.kernel(), *arguments, status=status)

    def test_boot(self):
        path = self.dir / "bench.json"
        run = self.bench("boot", "--json", path)
        self.assertRegex(run.stdout, r"^to init, 128 threads +0\.\d+ s +"
                                     r"<= 8  ok\n$")
        row, = json.loads(path.read_text())["rows"]
        self.assertTrue(row["reached"])

    def test_limits_are_of_the_machine(self):
        """8 s are what 128 threads may take, 30 s 352."""
        run = self.run_script("bench", "--qemu", self.qemu, "--runs", "1",
                              "--machine", "power10-4s", *self.kernel(),
                              "boot")
        self.assertRegex(run.stdout, r"^to init, 352 threads .*<= 30  ok\n$")
        run = self.run_script("bench", "--qemu", self.qemu, "--runs", "1",
                              "--machine", "power10-8s", *self.kernel(),
                              "boot")
        self.assertRegex(run.stdout, r"^to init, 1024 threads +\d\S+ s\n$")

    def test_unreported(self):
        """The stand-in leaves no attribution, as a broken simulator would."""
        run = self.run_script("bench", "--qemu", self.qemu, "--runs", "1",
                              *self.kernel(), "report", status=2)
        self.assertIn("scripts/report failed", run.stderr)
        self.assertIn("attribution.json", run.stderr)

    def test_unmodelled(self):
        """A storm that was not modelled is no measurement."""
        run = self.run_script("bench", "--qemu", self.qemu, "--runs", "1",
                              *self.kernel("one", ",append=fake=noregion"),
                              "storms", status=2)
        self.assertIn("no model statistics", run.stderr)

    def test_replay_needs_a_pattern(self):
        """There are patterns only of the machine file's own kernels."""
        run = self.bench("replay", status=2)
        self.assertIn("--kernel must be one of the machine file", run.stderr)

    def test_refused(self):
        for arguments, reason in ((("speed",), "no such measure"),
                                  (("--runs", "0"), "out of range"),
                                  (("--machine", "none"), "no such machine"),
                                  (("--stock", "/none", "off"),
                                   "no such program")):
            with self.subTest(arguments):
                run = self.bench(*arguments, status=2)
                self.assertIn(reason, run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1)

    def test_failing_guest(self):
        run = self.run_script("bench", "--qemu", self.qemu, "boot",
                              *self.kernel("one", ",append=fake=killed"),
                              status=2)
        self.assertIn("QEMU was killed by SIGKILL", run.stderr)


if __name__ == "__main__":
    support.unittest.main()
