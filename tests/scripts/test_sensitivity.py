# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/sensitivity, with a stand-in for QEMU: which runs it makes of a
machine file, that its table says what those runs gave, that finished points
are not run again, and that a bad request is one line."""

import json
import re
import unittest

from support import MACHINE, ScriptTest

from xivescale import docs, machine, variation


class Variants(unittest.TestCase):
    def test_default(self):
        model = machine.Machine(MACHINE)
        found = variation.default(model)
        self.assertEqual(len(set(found)), len(found))
        names = {text.partition("=")[0] for text in found}
        for text in found:
            # Each is a legal value, and another one.
            other = machine.Machine(MACHINE)
            name = text.partition("=")[0]
            group = ("clock" if name in model.values("clock")
                     else "contention")
            other.override(text)
            self.assertNotEqual(other.values(group)[name],
                                model.values(group)[name], text)
        # All choices, and every number that is not 0 and has other values
        # a tenth away: 1 core has none.
        for group in ("clock", "contention"):
            for name, value in model.values(group).items():
                if isinstance(value, str):
                    self.assertIn(name, names)
        self.assertIn("arbitration=arrival", found)
        self.assertIn("arbitration=nearest", found)
        self.assertNotIn("hop-ns", names)
        self.assertNotIn("line-bytes", names)
        self.assertNotIn("cores-per-domain", names)
        # 104 ns: 93.6 and 114.4; 540 ps: 486 and 594. They are set here, so
        # that another fit of the machine changes nothing.
        model.override("cross-chip-ns=104")
        model.override("instruction-ps=540")
        found = variation.default(model)
        self.assertIn("cross-chip-ns=93.6", found)
        self.assertIn("cross-chip-ns=114.4", found)
        self.assertIn("instruction-ps=594", found)

    def test_table(self):
        text = variation.table({"a 16": 4.0, "a 32": 10.0},
                               [("x=1", {"a 16": 5.0, "a 32": 9.0}),
                                ("x=2", {"a 16": None, "a 32": 10.0})])
        self.assertEqual(docs.rows(text),
                         [["as in the machine file", "4.00", "10.00"],
                          ["`x=1`", "+25.0 %", "-10.0 %"],
                          ["`x=2`", "failed", "+0.0 %"]])


class Script(ScriptTest):
    def sensitivity(self, *arguments, **options):
        return self.run_script(
            "sensitivity", MACHINE, "--qemu", self.qemu, "--out", self.out,
            *self.kernel("one"), "--cpus", "16,64", *arguments, **options)

    def starts(self):
        return (len(self.log.read_text().splitlines())
                if self.log.exists() else 0)

    def test_runs_and_table(self):
        run = self.sensitivity("--only", "--vary",
                               "cross-chip-ns=90,120", "--vary",
                               "arbitration=arrival")
        rows = docs.rows(run.stdout)
        self.assertEqual([row[0] for row in rows],
                         ["as in the machine file", "another seed",
                          "`cross-chip-ns=90`", "`cross-chip-ns=120`",
                          "`arbitration=arrival`"])
        self.assertRegex(run.stdout, r"\| +one 16 +\| +one 64 +\|")
        # The last run's result is the last row.
        result = json.loads((self.out / "result.json").read_text())
        for column, point in enumerate(result["points"]):
            base = float(rows[0][column + 1])
            change = float(rows[-1][column + 1].split()[0])
            self.assertAlmostEqual(point["rate"],
                                   base * (1 + change / 100), delta=0.02)
        first = self.starts()
        self.assertEqual(first, 10)
        again = self.sensitivity("--only", "--vary",
                                 "cross-chip-ns=90,120", "--vary",
                                 "arbitration=arrival")
        self.assertEqual(again.stdout, run.stdout)
        self.assertEqual(self.starts(), first)

    def refused(self, words, *arguments):
        run = self.sensitivity(*arguments, status=2)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertTrue(re.search(words, run.stderr), run.stderr)
        self.assertEqual(self.starts(), 0)

    def test_bad_requests(self):
        self.refused("there is no --vary", "--only")
        self.refused("no parameter 'speed'", "--vary", "speed=1")
        self.refused("arbitration.*not one of", "--vary",
                     "arbitration=arrival,fair")
        self.refused("give NAME=VALUE", "--vary", "arbitration")
        self.refused("give NAME=VALUE", "--vary", "arbitration=arrival,")


if __name__ == "__main__":
    unittest.main()
