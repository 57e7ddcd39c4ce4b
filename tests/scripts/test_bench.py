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

    def test_unmodelled(self):
        """A storm that was not modelled is no measurement."""
        run = self.run_script("bench", "--qemu", self.qemu, "--runs", "1",
                              *self.kernel("one", ",append=fake=noregion"),
                              "storms", status=2)
        self.assertIn("no model statistics", run.stderr)

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
