# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/check: the counts read from what test programs print."""

import importlib.machinery
import importlib.util
import json
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from support import SCRIPTS


def load():
    """scripts/check as a module, its main() left alone."""
    loader = importlib.machinery.SourceFileLoader(
        "check", str(SCRIPTS / "check"))
    spec = importlib.util.spec_from_loader("check", loader)
    module = importlib.util.module_from_spec(spec)
    with mock.patch("xivescale.superbuild.run_main"):
        loader.exec_module(module)
    return module


check = load()


class Tap(unittest.TestCase):
    def counts(self, text, status=0):
        counts = check.parse_tap(text, status)
        return counts.passed, counts.failed, counts.skipped

    def test_plain(self):
        self.assertEqual(self.counts("TAP version 13\n1..3\nok 1 /a\n"
                                     "ok 2 /b # SKIP no\nnot ok 3 /c\n", 1),
                         (1, 1, 1))

    def test_subtests_count_not_their_group(self):
        self.assertEqual(self.counts(
            "TAP version 14\n# Subtest: x\n    ok 1 /x/a\n    not ok 2 /x/b\n"
            "    1..2\nnot ok 1 x\n# Subtest: y\n    # Subtest: z\n"
            "        ok 1 /y/z/c\n        1..1\n    ok 1 z\n    1..1\n"
            "ok 2 y\nok 3 /d\n1..3\n", 1), (3, 1, 0))

    def test_died(self):
        self.assertEqual(self.counts("1..2\nok 1 /a\n", -6), (1, 1, 0))
        self.assertEqual(self.counts("1..2\nok 1 /a\n"), (1, 1, 0))
        self.assertEqual(self.counts("", 127), (0, 1, 0))
        self.assertEqual(self.counts(""), (0, 1, 0))

    def test_bail_out_after_a_failure_counts_once(self):
        self.assertEqual(self.counts("1..2\nnot ok 1 /a\nBail out!\n", -6),
                         (0, 1, 0))

    def test_words_that_look_like_points(self):
        self.assertEqual(self.counts("okay\nok 1 /a\n# not ok\n1..1\n"),
                         (1, 0, 0))


class Unittest(unittest.TestCase):
    def counts(self, text, status=0):
        counts = check.parse_unittest(text, status)
        return counts.passed, counts.failed, counts.skipped

    def test_good(self):
        self.assertEqual(self.counts("Ran 5 tests in 1s\n\nOK\n"), (5, 0, 0))
        self.assertEqual(self.counts(
            "Ran 5 tests in 1s\n\nOK (skipped=2)\n"), (3, 0, 2))

    def test_bad(self):
        self.assertEqual(self.counts(
            "Ran 5 tests in 1s\n\nFAILED (failures=1, errors=2, "
            "skipped=1)\n", 1), (1, 3, 1))
        self.assertEqual(self.counts("Ran 1 test in 1s\n\nFAILED "
                                     "(unexpected successes=1)\n", 1),
                         (0, 1, 0))

    def test_none(self):
        self.assertEqual(self.counts("Ran 0 tests in 0s\n\nOK\n"), (0, 1, 0))
        self.assertEqual(self.counts("Ran 0 tests in 0s\n\n"
                                     "NO TESTS RAN\n", 5), (0, 1, 0))
        self.assertEqual(self.counts("Traceback\n", 1), (0, 1, 0))


class MesonLog(unittest.TestCase):
    def test_log(self):
        with tempfile.TemporaryDirectory() as where:
            path = Path(where) / "testlog.json"
            path.write_text("".join(json.dumps(entry) + "\n" for entry in (
                {"name": "p:s / one", "result": "OK",
                 "stdout": "ok 1 a\nok 2 b\n1..2\n"},
                {"name": "p:s / two", "result": "TIMEOUT",
                 "stdout": "1..2\nok 1 a\n"})))
            counts = check.parse_mesonlog(path, ["one", "two", "three"])
            self.assertEqual((counts.passed, counts.failed), (3, 2))

    def test_no_log(self):
        counts = check.parse_mesonlog(Path("/nonexistent"), ["one"])
        self.assertEqual((counts.passed, counts.failed), (0, 1))


if __name__ == "__main__":
    unittest.main()
