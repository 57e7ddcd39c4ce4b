# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/boot from outside, with a stand-in for QEMU."""

import signal
import subprocess
import time

import support
from support import MACHINE, ScriptTest


class BootTest(ScriptTest):
    def boot(self, *arguments, **options):
        return self.run_script("boot", MACHINE, "--qemu", self.qemu,
                               "--kernel", self.dir / "one" / "vmlinux",
                               *arguments, **options)

    def test_exec(self):
        run = self.boot("--exec", "echo hello")
        self.assertIn("output of echo hello", run.stdout)
        self.assertRegex(run.stderr, r"boot: to init: \d+\.\d\d s of wall "
                                     r"time, 1\.235 s simulated, 128 CPUs")
        self.assertIn(" -- exec echo hello", self.starts()[0][1])

    def test_status(self):
        self.boot("--exec", "exit 7", status=7)

    def test_shell(self):
        run = self.boot(stdin="one\ntwo\n")
        self.assertIn("you typed two", run.stdout)
        self.assertNotIn("--", self.starts()[0][1])

    def test_shell_powers_off(self):
        """Its user's right; for a command it would be a failure."""
        self.boot("--append", "fake=quit")
        run = self.boot("--append", "fake=quit", "--exec", "true", status=1)
        self.assertIn("without its last line", run.stderr)

    def test_append(self):
        self.boot("--exec", "true", "--append", "noirqdebug")
        self.assertIn(" noirqdebug -- exec true", self.starts()[0][1])

    def test_without_model(self):
        script = self.dir / "args"
        script.write_text("#!/bin/sh\nprintf '%s\\n' \"$*\" >>"
                          f"{self.dir}/args.log\nexec {self.qemu} \"$@\"\n")
        script.chmod(0o755)
        for options, wanted, unwanted in (
                ((), "simtime=on", "-accel tcg -"),
                (("--no-model",), "simtime=on", "contention"),
                (("--no-simtime",), "-accel tcg -", "contention")):
            (self.dir / "args.log").write_text("")
            self.run_script("boot", MACHINE, "--qemu", script, "--kernel",
                            self.dir / "one" / "vmlinux", "--exec", "true",
                            *options)
            text = (self.dir / "args.log").read_text()
            self.assertIn(wanted, text)
            self.assertNotIn(unwanted, text)

    def test_failures(self):
        for mode, reason in (("panic", "the guest died: Kernel panic"),
                             ("killed", "QEMU was killed by SIGKILL"),
                             ("mute", "printed nothing"),
                             ("nomodule", "the guest reports: cannot load")):
            with self.subTest(mode):
                run = self.boot("--exec", "true", "--append", f"fake={mode}",
                                status=1)
                self.assertIn(reason, run.stderr)

    def test_limit(self):
        run = self.boot("--exec", "true", "--append", "fake=hang",
                        "--timeout", "2", status=1)
        self.assertIn("no result within 2 s", run.stderr)

    def test_refused(self):
        for arguments, reason in (
                (("--exec", ""), "command is empty"),
                (("--exec", 'echo "a"'), "cannot be passed on"),
                (("--exec", "a " * 40), "at most"),
                (("--kernel", "nonesuch"), "neither a file nor a kernel"),
                (("--append", "a -- b"), "'--' begins"),
                (("--seed", "x"), "not a whole number"),
                (("--param", "x=1"), "no parameter 'x'"),
                (("--initrd", "/nonesuch"), "no such file")):
            with self.subTest(arguments):
                run = self.boot(*arguments, status=2)
                self.assertIn(reason, run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1)
        self.assertEqual(self.starts(), [])

    def test_interrupted(self):
        process = subprocess.Popen(
            self.command("boot", MACHINE, "--qemu", self.qemu, "--kernel",
                         self.dir / "one" / "vmlinux", "--exec", "true",
                         "--append", "fake=hang"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment())
        limit = time.monotonic() + 30
        while not self.starts() and time.monotonic() < limit:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 130)
        self.assertIn("interrupted", errors)
        self.assertNotIn("Traceback", errors)


if __name__ == "__main__":
    support.unittest.main()
