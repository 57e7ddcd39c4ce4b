# SPDX-License-Identifier: GPL-2.0-or-later
"""What a person sees: the table, the plot's program, progress."""

import os
import pty
import subprocess
import unittest

import support
from support import MACHINE, ScriptTest
from xivescale import plot, progress, refdata, table


def point(kernel="one", cpus=16, chips=1, rate=5.0, **more):
    return {"kernel": kernel, "append": "", "column": None, "cpus": cpus,
            "cpulist": f"0-{cpus - 1}", "chips": chips, "rate": rate,
            "published": None, "error": None, **more}


def result(points, **more):
    return {"description": "a machine", "points": points, "ratios": [],
            "fitted": [], "reference": "ref.csv",
            "summary": {"count": 0},
            "parameters": {"smp": {"cpus": 128, "sockets": 2}}, **more}


class TableTest(unittest.TestCase):
    def test_layout(self):
        text = table.render(result(
            [point(rate=4.9, column="a", published=5.0, error=-0.02),
             point(cpus=128, chips=2, rate=10.25, column="a", published=10.0,
                   error=0.025),
             point("two"), point("two", cpus=128, chips=2, rate=None)],
            fitted=[{"column": "a", "cpus": 16, "reference": "ref.csv"}],
            summary={"count": 2, "median_abs_error": 0.0225,
                     "max_abs_error": 0.025,
                     "worst": {"kernel": "one", "append": "", "cpus": 128},
                     "not_fitted": {"count": 1, "median_abs_error": 0.025,
                                    "max_abs_error": 0.025}}))
        self.assertEqual(text, """\
a machine: million IPIs a second by CPUs taking part

                        one              two
chips  cpus      rate   publ.   error     rate
1      0-15     4.900   5.000  -2.0%*    5.000
2      0-127   10.250  10.000  +2.5%    failed

2 published figures: median error 2.2%, largest 2.5% (one, 128 CPUs)
1 of them not fitted to: median error 2.5%, largest 2.5%
* a parameter was fitted to this figure
""")

    def test_seeds_and_failures(self):
        text = table.render(result([point(
            rate=5.0, rate_stddev=0.0123,
            failures=[{"seed": 3, "reason": "QEMU died"}])]))
        self.assertIn("5.000 \u00b1 0.012 !", text)
        self.assertIn("failed: one, CPUs 0-15, seed 3: QEMU died", text)


class PlotTest(unittest.TestCase):
    def test_program(self):
        reference = refdata.Reference("ipistorm_p9.csv")
        text = plot.script(
            result([point("it's", column="ipi_sys"),
                    point("it's", 128, 2, 10.0, column="ipi_sys")]),
            reference, [64, 64], ".svg")
        self.assertIn("title 'it''s'", text)
        self.assertIn("title 'it''s, published'", text)
        self.assertIn("dashtype 2", text)
        self.assertIn("set arrow from 64,graph 0", text)
        self.assertIn("chip 2 joins", text)
        self.assertIn("17.064907", text)

    def test_unequal_chips(self):
        text = plot.script(result([point(cpus=352)]), None,
                           [96, 80, 80, 96], ".svg")
        for chip, edge in ((2, 96), (3, 176), (4, 256)):
            self.assertIn(f"set arrow from {edge},graph 0", text)
            self.assertIn(f"chip {chip} joins' at {edge},", text)
        self.assertNotIn("chip 5", text)

    def test_one_chip_has_no_boundary(self):
        text = plot.script(result([point()]), None, [64], ".png")
        self.assertNotIn("joins", text)

    def test_nothing_to_draw(self):
        self.assertIsNone(plot.script(result([point(rate=None)]), None,
                                      [64, 64], ".svg"))


class ProgressTest(ScriptTest):
    def test_duration(self):
        self.assertEqual([progress.duration(s) for s in (0, 65, 3725)],
                         ["0:00", "1:05", "1:02:05"])

    def test_plain(self):
        run = self.compare(*self.kernel(), "--cpus", "16,32", "--jobs", "1")
        lines = run.stderr.splitlines()
        self.assertRegex(lines[0], r"^compare: \[1/2\] one, CPUs 0-31, seed "
                                   r"1: .* M IPI/s, .* s, about \d:\d\d left$")
        self.assertNotIn("left", lines[1])
        self.assertNotIn("\r", run.stderr)

    def test_terminal(self):
        leader, follower = pty.openpty()
        run = subprocess.Popen(
            self.command("compare", "--machine", MACHINE, "--qemu", self.qemu,
                         "--out", self.out, *self.kernel(), "--cpus",
                         "16,32,64", "--jobs", "1"),
            stdout=subprocess.DEVNULL, stderr=follower,
            env=self.environment(XS_FAKE_DELAY="0.6"))
        os.close(follower)
        text = b""
        try:
            while data := os.read(leader, 4096):
                text += data
        except OSError:
            pass
        os.close(leader)
        self.assertEqual(run.wait(), 0)
        self.assertIn(b"\rcompare: 0/3 points, 1 running", text)
        self.assertRegex(text, rb"2/3 points, 1 running.* elapsed, about "
                               rb"\d:\d\d left")
        # The line is wiped in the end.
        self.assertRegex(text, rb" +\r$")


if __name__ == "__main__":
    support.unittest.main()
