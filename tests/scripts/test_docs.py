# SPDX-License-Identifier: GPL-2.0-or-later
"""The documents say what the sources, the machine file and results say."""

import fnmatch
import json
import re
import shutil
import unittest

import support
from support import MACHINE, ROOT, ScriptTest
from test_repository import files
from xivescale import docs, machine, refdata
from xivescale.errors import UserError

DOCUMENTS = ["README.md", "reference/README.md",
             *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def is_filled(name, part):
    """Whether a result was put there yet."""
    return docs.part(text(name), part, name) != docs.NO_RESULT


class Parameters(unittest.TestCase):
    def setUp(self):
        self.rows = {}
        for part in ("clock-parameters", "contention-parameters"):
            for row in docs.rows(docs.part(text("docs/model.md"), part)):
                self.rows[row[0].strip("`")] = row
        self.data = json.loads(MACHINE.read_text())

    def test_up_to_date(self):
        whole = text("docs/model.md")
        for name, body in docs.model_parts(machine.Machine(MACHINE)).items():
            with self.subTest(name):
                self.assertEqual(docs.part(whole, name), body,
                                 "run scripts/docs-results --parameters")

    def test_every_parameter(self):
        """By another way than the one that made the tables."""
        source = text("hw/intc/contention/params.c")
        names = re.findall(r'^    (?:TIME|SLOPE|INTEGER|RULE)\("([^"]+)"', source,
                           re.M)
        self.assertGreater(len(names), 20)
        options = re.findall(r'"(simtime-[a-z-]+)",',
                             text("accel/tcg/simtime-options.c"))
        self.assertIn("simtime-instruction-ps", options)
        self.assertEqual(sorted(self.rows), sorted(names + options))
        for name, row in self.rows.items():
            with self.subTest(name):
                self.assertEqual(len(row), 7)
                _, unit, default, reach, _, label, meaning = row
                for cell in (unit, default, reach, label, meaning):
                    self.assertTrue(cell)
                unit_of = re.search(r"-(ns|ps|ms|pct)$", name)
                if unit_of:
                    self.assertEqual(unit,
                                     unit_of[1].replace("pct", "%"))

    def test_defaults(self):
        source = text("hw/intc/contention/params.c")
        for name, default in re.findall(r'TIME\("([^"]+)", \w+, (\d+)',
                                        source):
            self.assertEqual(self.rows[name][2], default, name)
        for name, default, low, high in re.findall(
                r'INTEGER\("([^"]+)", "[^"]*", \w+, (\d+), (\d+), (\d+),',
                source):
            self.assertEqual(self.rows[name][2:4],
                             [default, f"{low} to {high}"], name)
        self.assertEqual(self.rows["simtime-quantum-ns"][2], "100000")

    def test_labels(self):
        for group, prefix in (("clock", "simtime-"), ("contention", "")):
            for name, item in self.data[group].items():
                row = self.rows[prefix + name]
                with self.subTest(name):
                    self.assertEqual(row[4:6],
                                     [str(item["value"]), item["source"]])
        others = {name.removeprefix("simtime-") for name in self.rows} \
            - set(self.data["clock"]) - set(self.data["contention"])
        self.assertEqual(others, set(docs.RUN_OPTIONS))


class Results(unittest.TestCase):
    """The committed figures agree with reference/ and machines/."""

    def setUp(self):
        for name, part in (("README.md", "table"),
                           ("docs/validation.md", "figures")):
            if not is_filled(name, part):
                self.skipTest("no result was put into the documents yet")
        self.data = json.loads(MACHINE.read_text())
        self.reference = refdata.Reference(self.data["reference"])
        self.figures = docs.rows(docs.part(text("docs/validation.md"),
                                           "figures"))

    def test_all_figures(self):
        wanted = {(kernel["column"], str(cpus))
                  for kernel in self.data["kernels"] if "column" in kernel
                  for cpus in self.data["cpus"]}
        self.assertEqual({(row[1], row[2]) for row in self.figures}, wanted)
        fitted = {(item["column"], str(item["cpus"]))
                  for item in machine.Machine(MACHINE).fitted()}
        for row in self.figures:
            _, column, cpus, _, rate, published, error, used = row
            with self.subTest(f"{column} {cpus}"):
                value = self.reference.value(column, int(cpus))
                self.assertEqual(published, f"{value:.3f}")
                # The rate is rounded, and with it the error.
                self.assertAlmostEqual(float(error.rstrip(" %")),
                                       (float(rate) / value - 1) * 100,
                                       delta=0.0006 / value * 100 + 0.06)
                self.assertEqual(used == "yes", (column, cpus) in fitted)

    def test_readme_says_the_same(self):
        table = docs.part(text("README.md"), "table")
        for row in self.figures:
            value = self.reference.value(row[1], int(row[2]))
            self.assertIn(f" / {value:.2f} ({row[6]}", table)
        self.assertIn(docs.part(text("docs/validation.md"), "summary"), table)

    def test_other_machines(self):
        """Published figures and errors, from the CSV and by hand."""
        for path in sorted((ROOT / "machines").glob("*.json")):
            model = machine.Machine(path)
            if f"<!-- {model.name}:begin" not in text("docs/validation.md"):
                continue
            reference = refdata.Reference(model.reference)
            columns = [kernel.get("column") for kernel in model.kernels]
            found = 0
            for row in docs.rows(docs.part(text("docs/validation.md"),
                                           model.name)):
                for column, cell in zip(columns, row[2:]):
                    match = re.fullmatch(
                        r"([\d.]+) / ([\d.]+) \(([-+][\d.]+) %(\\\*)?\)",
                        cell)
                    if not match:
                        continue
                    value = reference.value(column, int(row[0]))
                    self.assertEqual(match[2], f"{value:.2f}")
                    self.assertAlmostEqual(
                        float(match[3]), (float(match[1]) / value - 1) * 100,
                        delta=0.5 / value + 0.06)
                    found += 1
            self.assertGreater(found, 0, model.name)

    def test_parameters_are_the_machines(self):
        rows = {row[0].strip("`"): row[1:3] for row in docs.rows(docs.part(
            text("docs/validation.md"), "parameters"))}
        for group, prefix in (("clock", "simtime-"), ("contention", "")):
            for name, item in self.data[group].items():
                self.assertEqual(rows[prefix + name],
                                 [str(item["value"]), item["source"]],
                                 "make compare, then scripts/docs-results")


class Script(ScriptTest):
    def test_no_result(self):
        run = self.run_script("docs-results", "--check", "--results",
                              self.dir / "none", status=2)
        self.assertIn("make compare", run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1)

    def test_parameters_alone(self):
        self.run_script("docs-results", "--check", "--parameters")

    @unittest.skipUnless(shutil.which("gnuplot"), "needs gnuplot")
    def test_other_result(self):
        """Invented figures: --check tells, and writes nothing."""
        self.compare(*self.kernel("one", ",column=ipi_sys"),
                     *self.kernel("two"), "--cpus", "16,64,128")
        before = {name: text(name) for name in DOCUMENTS}
        run = self.run_script("docs-results", "--check", "--results",
                              self.out, status=1)
        self.assertIn("README.md is not up to date", run.stderr)
        self.assertIn("docs/validation.md is not up to date", run.stderr)
        self.assertEqual(before, {name: text(name) for name in DOCUMENTS})

        result = self.result()
        parts = docs.validation_parts(result)
        self.assertEqual([row[:3] for row in docs.rows(parts["figures"])],
                         [["one", "ipi_sys", cpus]
                          for cpus in ("16", "64", "128")])
        self.assertEqual(len(docs.rows(parts["unpublished"])), 3)
        table = docs.rows(docs.readme_parts(result, "plot")["table"])
        self.assertEqual([row[:2] for row in table],
                         [["16", "1"], ["64", "1"], ["128", "2"]])
        whole = text("docs/validation.md")
        for name, body in parts.items():
            whole = docs.replace(whole, name, body, "validation")
            self.assertEqual(docs.part(whole, name), body)
        (self.out / "result.json").write_text("{}")
        run = self.run_script("docs-results", "--check", "--results",
                              self.out, status=2)
        self.assertIn("not a result of scripts/compare", run.stderr)

    def test_markers(self):
        for bad in ("", "<!-- a:begin -->", "<!-- a:end --><!-- a:begin -->"):
            with self.assertRaisesRegex(UserError, "one pair of markers"):
                docs.replace(bad, "a", "x", "file")


def anchors(markdown):
    """The names by which headings can be linked to."""
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-")
            for head in re.findall(r"^#+ (.*)$", markdown, re.M)}


class Documents(unittest.TestCase):
    def test_links(self):
        for name in DOCUMENTS:
            for target in re.findall(r"\]\(([^)\s]+)\)", text(name)):
                path, _, anchor = target.partition("#")
                with self.subTest(f"{name}: {target}"):
                    if "://" in path:
                        continue
                    full = (ROOT / name).parent / path if path else ROOT / name
                    if path.endswith(".svg") and not is_filled("README.md",
                                                               "table"):
                        continue
                    self.assertTrue(full.exists())
                    if anchor:
                        self.assertIn(anchor, anchors(full.read_text()))

    def test_paths(self):
        """What is set as a path of the checkout is one."""
        tops = ("accel", "docs", "guest", "hw", "include", "machines",
                "patches", "reference", "scripts", "target")
        for name in DOCUMENTS:
            for path in re.findall(r"`((?:%s)/[\w./-]+)`" % "|".join(tops),
                                   text(name)):
                if path.endswith("NAME.patch"):
                    continue
                with self.subTest(f"{name}: {path}"):
                    self.assertTrue((ROOT / path).exists())

    def test_make_targets(self):
        targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.M))
        for name in DOCUMENTS:
            for words in re.findall(r"(?:`|^    )make((?: [a-z-]+)+)",
                                    text(name), re.M):
                for word in words.split():
                    if word.startswith("-"):
                        break
                    with self.subTest(f"{name}: make {word}"):
                        self.assertIn(word, targets)

    def test_options_of_compare(self):
        guide = text("docs/user-guide.md")
        known = set(re.findall(r'add_argument\("(--[a-z-]+)"',
                               text("scripts/compare")))
        table = guide[:guide.index("## Kernels of your own")]
        told = set(re.findall(r"`(--[a-z-]+)", table))
        self.assertEqual(told, known)


class Map(unittest.TestCase):
    """MAINTAINERS covers each file, and nothing that is not there."""

    def setUp(self):
        self.names = [name for name, _ in files()]
        self.sections = []
        for block in re.split(r"\n\s*\n", text("MAINTAINERS")):
            fields = re.findall(r"^([A-Z]): +(\S.*)$", block, re.M)
            if any(key == "F" for key, _ in fields):
                self.sections.append((block.splitlines()[0], fields))

    @staticmethod
    def covers(pattern, name):
        if pattern.endswith("/"):
            return name.startswith(pattern)
        return (pattern.count("/") == name.count("/")
                and fnmatch.fnmatchcase(name, pattern))

    def test_every_pattern(self):
        self.assertGreater(len(self.sections), 5)
        for title, fields in self.sections:
            self.assertIn("S", dict(fields), title)
            for key, pattern in fields:
                if key in "FX":
                    with self.subTest(f"{title}: {pattern}"):
                        self.assertTrue(any(self.covers(pattern, name)
                                            for name in self.names))

    def test_every_file(self):
        for name in self.names:
            with self.subTest(name):
                self.assertTrue(any(
                    any(key == "F" and self.covers(pattern, name)
                        for key, pattern in fields)
                    and not any(key == "X" and self.covers(pattern, name)
                                for key, pattern in fields)
                    for _, fields in self.sections))


if __name__ == "__main__":
    support.unittest.main()
