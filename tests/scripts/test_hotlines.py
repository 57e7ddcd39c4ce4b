# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports made from a small attribution file, in all their forms.

- shares, sums and names are put where they belong, unknown stays unknown
- text, JSON, difference; the page in a real browser: content, details that
  open, sorting, filter, curve, and nothing that is loaded from elsewhere
- a region of 352 threads takes at most 10 s and 1 GiB
- mistakes end with one line
"""

import copy
import html
import json
import re
import resource
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import ROOT

from xivescale import hotlines, reportdiff, reporthtml, reporttext

REPORT = ROOT / "scripts/report"


def sums(stall, transfers, wait=0):
    return {"stall_ns": stall, "transfers": transfers,
            "transfer_ns": [0, stall - wait, 0], "waits": 1 if wait else 0,
            "wait_ns": wait, "longest_queue": 1}


def access(pc, offset, stall, transfers, operation="load"):
    return {"pc": pc, "operation": operation, "instruction": 0,
            "offset": offset, "size": 4,
            "ea": f"{0xc000000000001000 + offset:#x}",
            **sums(stall, transfers), "domains": 2, "chip_count": [3, 1],
            "chip_stall_ns": [stall, 0]}


def line(gpa, stall, transfers, accesses, ea=True):
    entry = {"gpa": f"{gpa:#x}"}
    if ea:
        entry["ea"] = f"{0xc000000000000000 + gpa:#x}"
    return {**entry, **sums(stall, transfers), "readers": [[0, 3], [2, 1]],
            "writers": [[1, 2]], "accesses": accesses}


def attribution():
    """Two lines: 75 and 25 of 100 us of stall, in a region of 1 ms."""
    lines = [
        line(0x1000, 75000, [0, 5, 7],
             [access("0xc000000000010000", 8, 50000.5, [0, 3, 7], "store"),
              access("0xc000000000010004", 0, 24999.5, [0, 2, 0])]),
        line(0x2000, 25000, [1, 2, 0],
             [{"device": "interrupt-controller", "chip": 1,
               "operation": "dma-write", "instruction": 1,
               **sums(25000, [1, 2, 0]), "dma": 4, "domains": 1,
               "chip_count": [0, 4], "chip_stall_ns": [0, 25000]}],
             ea=False)]
    return {
        "format": 1, "parameters": {"same-chip-ns": "42"}, "entries": 10,
        "topology": {"cpus": 4, "chips": 2, "domains": 4, "line_bytes": 128,
                     "distances": ["same-domain", "same-chip", "cross-chip"],
                     "cpu_domain": [0, 1, 2, 3],
                     "domain_chip": [0, 0, 1, 1, 0, 1]},
        "region": {"start_ns": 1000, "end_ns": 1001000,
                   "instructions": 1000000},
        "totals": {"all": sums(100000, [1, 7, 7], 60000)},
        "breakdown": {"total_ns": 4000000, "instructions_ns": 2000000,
                      "polls_ns": 400000, "transfer_ns": [0, 30000, 10000],
                      "wait_ns": 60000, "merge_ns": 0, "given_up_ns": 0,
                      "fabric_ns": 0, "paused_ns": 500000,
                      "idle_ns": 1000000},
        "matrix": {"count": [[10, 20], [30, 40]], "ns": [[1, 2], [3, 4]],
                   "wait_ns": [[0, 0], [0, 0]]},
        "fabric": {}, "dropped": {
            "lines": {"count": 0, **sums(0, [0, 0, 0])},
            "accesses": {"count": 0, **sums(0, [0, 0, 0])}},
        "lines": lines,
        "instructions": [
            {"pc": "0xc000000000010000", "operation": "store",
             **sums(75000, [0, 5, 7]), "lines": 1, "chip_count": [3, 1],
             "chip_stall_ns": [75000, 0]},
            {"device": "interrupt-controller", "chip": 1,
             "operation": "dma-write", **sums(25000, [1, 2, 0]), "dma": 4,
             "lines": 1, "chip_count": [0, 4], "chip_stall_ns": [0, 25000]}]}


class FakeNames:
    """Knows one function, and one type where it is accessed."""

    def ask(self, requests):
        known = {
            "code c000000000010000": {
                "module": "vmlinux", "symbol": "count_it", "symbol_offset": 4,
                "file": "kernel/<count>.c", "line": 2,
                "functions": [{"name": "inner"}, {"name": "count_it"}],
                "instruction": "stw"},
            "access c000000000010000 c000000000001008": {
                "type": "struct stats", "type_size": 64, "type_offset": 8,
                "field": "events.{a|b}"},
            "data c000000000001000 0": {
                "kind": "slab", "cache": "kmalloc-64", "object_offset": 0,
                "object_size": 64},
        }
        return {request: known.get(request, {}) for request in requests}


def make(data=None, ipis=None, title="kernel <a>"):
    with tempfile.TemporaryDirectory() as where:
        (Path(where) / "kernel").mkdir()
        (Path(where) / "kernel/<count>.c").write_text(
            "\n\tstats->events.a++;  /* <b> */\n")
        return hotlines.make(data or attribution(), title, FakeNames(),
                             hotlines.Sources([where]), ipis)


class Content(unittest.TestCase):
    def test_names_and_shares(self):
        report = make()
        first, second = report["lines"]
        self.assertEqual(first["share"], 0.75)
        self.assertEqual(first["object"],
                         "struct stats in a kmalloc-64 object at +0x0")
        store, load = first["accesses"]
        self.assertEqual(store["share"], 0.500005)
        self.assertEqual(store["text"], "stats->events.a++; /* <b> */")
        self.assertEqual(reporttext.member(store), "struct stats.events.{a|b}")
        self.assertEqual(reporttext.where(store),
                         "inner in count_it kernel/<count>.c:2")
        self.assertEqual(reporttext.member(load), "unknown")
        self.assertEqual(first["readers"]["by_chip"], [3, 1])
        self.assertEqual(first["writers"], {"by_chip": [2, 0],
                                            "domains": "1"})
        self.assertEqual(second["object"], "unknown")
        self.assertEqual(second["accesses"][0]["device"],
                         "interrupt-controller of chip 1")

    def test_the_rest_is_told(self):
        report = hotlines.make(attribution(), "t", max_accesses=1)
        self.assertEqual(report["lines"][0]["others"],
                         {"count": 1, "stall_ns": 24999.5})

    def test_breakdown_adds_up(self):
        rows = hotlines.breakdown(make())
        self.assertEqual(sum(value for _, value in rows), 4_000_000_000)

    def test_text(self):
        text = reporttext.render(make(ipis=1000))
        self.assertRegex(text, r" 1 0xc000000000001000 +75\.00% +75\.00% .* "
                               r"struct stats in a kmalloc-64 object")
        self.assertRegex(text, r"50\.00% +0x8 store +3 +1 +struct stats"
                               r"\.events")
        # 60 us of waiting among 1000 IPIs
        self.assertRegex(text, r"waiting for lines +1\.50% +60\.00 us +60\.0")
        self.assertRegex(text, r"chip 1 +30 +40")


class Difference(unittest.TestCase):
    def test_gone_and_new(self):
        data = attribution()
        other = copy.deepcopy(data)
        # The kernel's line is gone; the controller's is all there is.
        del other["lines"][0]
        other["totals"]["all"] = sums(25000, [1, 2, 0])
        difference = reportdiff.make(make(data, 100, "a"),
                                     make(other, 200, "b"))
        kinds = {(row["function"], row["operation"]): row["change"]
                 for row in difference["places"]}
        self.assertEqual(kinds, {
            ("inner in count_it", "store"): "gone",
            ("0xc000000000010004", "load"): "gone",
            # As much as before, among twice as many IPIs.
            ("interrupt controller", "dma-write"): "less"})
        backwards = reportdiff.make(make(other, 200, "b"),
                                    make(data, 100, "a"))
        self.assertEqual({row["change"] for row in backwards["places"]},
                         {"new", "more"})
        text = reportdiff.render(difference)
        self.assertRegex(text, r"gone +50\.00 us +0 ns +50\.00% +0\.00% +10 "
                               r"+0  struct stats\.events\.\{a\|b\}, store in "
                               r"inner in count_it")
        self.assertIn("inner in count_it", reporthtml.render_diff(difference))


class Page(unittest.TestCase):
    """In the browser that a reader would use."""

    CURVES = {"points": [
        {"kernel": "a", "append": "", "cpus": cpus, "rate": rate,
         "published": rate + 1} for cpus, rate in ((16, 5.0), (32, 9.5))]}

    def dom(self, page, script=""):
        """The page after its own scripts and ours have run."""
        page = page.replace("</body>", f"<script>{script}</script></body>")
        with tempfile.TemporaryDirectory() as where:
            path = Path(where) / "page.html"
            path.write_text(page)
            done = subprocess.run(
                ["chromium", "--headless", "--no-sandbox", "--disable-gpu",
                 f"--user-data-dir={where}/profile", "--dump-dom",
                 path.as_uri()], capture_output=True, text=True,
                check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return html.unescape(done.stdout)

    def ranks(self, dom):
        return re.findall(r'<tr class="line.*?<td class="n" data-v="(\d+)"',
                          dom, re.S)

    def test_content(self):
        dom = self.dom(reporthtml.render(make(ipis=1000), self.CURVES))
        self.assertIn("<h1>kernel <a></h1>", dom)
        for text in ("struct stats.events.{a|b}", "75.00 %",
                     "stats->events.a++; /* <b> */",
                     "inner in count_it kernel/<count>.c:2",
                     "from chip 1", "ns an IPI"):
            self.assertIn(text, dom)
        self.assertEqual(len(re.findall("<circle", dom)), 4)
        self.assertEqual(self.ranks(dom), ["1", "2"])

    def test_details_open_and_close(self):
        page = reporthtml.render(make())
        shut = r'<tr class="detail" hidden=""'
        self.assertEqual(len(re.findall(shut, self.dom(page))), 1)
        click = "document.querySelectorAll('tr.line')[1].click();"
        self.assertEqual(len(re.findall(shut, self.dom(page, click))), 0)
        self.assertEqual(len(re.findall(shut, self.dom(page, click * 2))), 1)

    def test_sort_keeps_details_with_their_lines(self):
        page = reporthtml.render(make())
        click = ("document.querySelector('#lines th').click();")
        dom = self.dom(page, click)
        self.assertEqual(self.ranks(dom), ["2", "1"])
        self.assertLess(dom.index("interrupt-controller of chip 1"),
                        dom.index("inner in count_it"))
        self.assertEqual(self.ranks(self.dom(page, click * 2)), ["1", "2"])

    def test_filter(self):
        dom = self.dom(reporthtml.render(make()), """
            const box = document.getElementById('filter');
            box.value = 'COUNT_IT';
            box.dispatchEvent(new Event('input'));""")
        self.assertRegex(dom, r'<tr class="line" [^>]*hidden=""')
        self.assertNotRegex(dom, r'<tr class="line open"[^>]*hidden=""')

    def test_difference(self):
        difference = reportdiff.make(make(title="a"), make(title="b"))
        self.assertIn("<h1>a against b</h1>",
                      self.dom(reporthtml.render_diff(difference)))

    def test_loads_nothing(self):
        for page in (reporthtml.render(make(), self.CURVES),
                     reporthtml.render_diff(reportdiff.make(make(), make()))):
            self.assertNotRegex(page, r"https?:|\bsrc=|\bhref=|@import|url\(")


class Script(unittest.TestCase):
    def run_report(self, *argv, **options):
        return subprocess.run([sys.executable, REPORT, *map(str, argv)],
                              capture_output=True, text=True, check=False,
                              **options)

    def test_all_forms(self):
        with tempfile.TemporaryDirectory() as where:
            file, out, page = (Path(where) / name for name in
                               ("a.json", "r.json", "r.html"))
            file.write_text(json.dumps(attribution()))
            done = self.run_report(file, "--json", out, "--html", page)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("without --kernel", done.stderr)
            again = self.run_report(out, "--html", Path(where) / "2.html")
            self.assertEqual(again.stdout, done.stdout)
            self.assertEqual((Path(where) / "2.html").read_bytes(),
                             page.read_bytes())
            both = self.run_report("--diff", out, out)
            self.assertEqual(both.returncode, 0, both.stderr)
            self.assertIn("Two kernels", both.stdout)

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as where:
            file = Path(where) / "a.json"
            data = attribution()
            for words, argv, content in (
                    (["--diff"], [], data),
                    (["/nowhere.json"], ["/nowhere.json"], data),
                    (["no attribution file"], [file], {"points": []}),
                    (["format 99"], [file], {**data, "format": 99}),
                    (["--memory", "--kernel"], [file, "--memory", "m"],
                     data),
                    (["no report in JSON"], ["--diff", file, file], data),
                    (["--top", "out of range"], [file, "--top", "0"], data)):
                file.write_text(json.dumps(content))
                done = self.run_report(*argv)
                self.assertEqual(done.returncode, 2, done)
                self.assertEqual(len(done.stderr.splitlines()), 1,
                                 done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_large_region(self):
        # 352 threads: as measured, 17 accesses a line, 20 lines a thread.
        data = attribution()
        data["lines"] = [line(0x100000 + 128 * number, 1000, [0, 1, 1], [
            access(f"{0xc000000000010000 + 4 * i:#x}", 4 * i, 60, [0, 1, 0])
            for i in range(17)]) for number in range(352 * 20)]
        with tempfile.TemporaryDirectory() as where:
            file = Path(where) / "a.json"
            file.write_text(json.dumps(data))
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = self.run_report(file, "--html", Path(where) / "r.html")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(done.returncode, 0, done.stderr)
        # CPU time: the host may be busy otherwise.
        self.assertLess(after.ru_utime + after.ru_stime - before.ru_utime
                        - before.ru_stime, 10)
        self.assertLess(after.ru_maxrss, 1 << 20)


if __name__ == "__main__":
    unittest.main()
