# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/compare from outside, with a stand-in for QEMU.

What it tests:
 - table and result.json of good points, with published figures and errors
 - the result is the same bytes whatever the jobs, order and resumption
 - a bad request is refused with one line before any guest starts
 - each way a guest fails costs its own point only
 - CPU sets that share a boot: each has the result and statistics of its own
   storm, and a guest that dies on the way costs one of them only
 - Ctrl-C, a killed compare, a full disk: nothing obtained is lost, no guest
   is left behind
 - a part or a variation of the machine file's run does not replace its result
"""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import support
from support import MACHINE, ROOT, SCRIPTS, ScriptTest, elf


def alive(pid):
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stream:
            return stream.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class GoodTest(ScriptTest):
    def test_table_and_result(self):
        run = self.compare(*self.kernel("one", ",column=ipi_sys"),
                           *self.kernel("two", ",append=noirqdebug"),
                           "--cpus", "16,64,128,0-15/64-79")
        result = self.result()
        self.assertEqual(run.stdout, (self.out / "result.txt").read_text())
        points = result["points"]
        self.assertEqual(
            [(p["kernel"], p["append"], p["cpulist"], p["chips"])
             for p in points[:4]],
            [("one", "", "0-15", 1), ("one", "", "0-63", 1),
             ("one", "", "0-127", 2), ("one", "", "0-15,64-79", 2)])
        first = points[0]
        self.assertEqual(first["rate"], round(first["handled"] * 1000
                                              / first["window_ns"], 6))
        self.assertEqual(first["published"], 4.984023)
        self.assertAlmostEqual(first["error"], first["rate"] / 4.984023 - 1,
                               places=5)
        # A set that is no row of the table has no published figure.
        self.assertIsNone(points[3]["published"])
        self.assertIsNone(points[4]["published"])
        self.assertEqual(points[4]["append"], "noirqdebug")
        self.assertEqual(result["summary"]["count"], 3)
        self.assertEqual(result["summary"]["failed"], 0)
        errors = sorted(abs(p["error"]) for p in points if p["error"])
        self.assertEqual(result["summary"]["median_abs_error"], errors[1])
        self.assertEqual(result["summary"]["max_abs_error"], errors[2])
        self.assertEqual(result["ratios"][0]["cpus"], [128, 64])
        self.assertAlmostEqual(result["ratios"][0]["published"], 0.583,
                               places=3)
        self.assertIn("0-127", run.stdout)
        self.assertIn("4.984", run.stdout)
        self.assertIn("* a parameter was fitted", run.stdout)

    def test_parameters_and_hashes(self):
        self.compare(*self.kernel(), "--cpus", "16", "--param",
                     "same-chip-ns=80", "--duration", "3000", "--offset", "5",
                     "--usleep", "0", "--single")
        result = self.result()
        self.assertEqual(result["parameters"]["contention"]["same-chip-ns"]
                         ["source"], "override")
        self.assertIn("same-chip-ns=80",
                      result["parameters"]["qemu"]["device"])
        self.assertEqual(result["parameters"]["storm"],
                         {"offset": 5, "single": True, "usleep": 0,
                          "per_boot": 1, "warmup_us": 200,
                          "duration_us": 3000})
        self.assertEqual(len(result["hashes"]["kernels"][0]["image"]), 64)
        self.assertIn("10.0.13", result["hashes"]["qemu"]["version"])
        self.assertIn("storm cpulist=0-15 offset=5 single=1 warmup_us=200 "
                      "duration_us=3000 usleep=0", self.starts()[0][1])

    def test_machine_files_kernels(self):
        """Without --kernel: the names of the machine file, one by one."""
        run = self.run_script("compare", "--machine", MACHINE, "--qemu",
                              self.qemu, "--kernel", "nonesuch", status=2)
        self.assertIn("it has before, node-ipi, irqdebug", run.stderr)

    def test_seeds(self):
        run = self.compare(*self.kernel("one", ",column=ipi_sys"), "--cpus",
                           "16", "--seeds", "3")
        point = self.result()["points"][0]
        self.assertEqual(point["seeds"], [1, 2, 3])
        self.assertEqual(len(point["rates"]), 3)
        self.assertGreater(point["rate_stddev"], 0)
        self.assertIn(" \u00b1 ", run.stdout)

    def test_same_bytes(self):
        arguments = [*self.kernel("one", ",column=ipi_sys"),
                     *self.kernel("two"), "--cpus", "16,32,128"]
        self.compare(*arguments, "--jobs", "1")
        names = ("result.json", "result.txt", "result.svg", "result.png")
        first = [(self.out / name).read_bytes() for name in names]
        shutil.rmtree(self.out)
        self.compare(*arguments, "--jobs", "4")
        self.assertEqual(first,
                         [(self.out / name).read_bytes() for name in names])
        self.assertEqual(len(self.starts()), 12)
        # From the cache, half of it lost: the same again.
        for path in sorted((self.out / "points").iterdir())[::2]:
            path.unlink()
        run = self.compare(*arguments, "--jobs", "2")
        self.assertIn("3 of 6 points are in", run.stderr)
        self.assertEqual(len(self.starts()), 15)
        self.assertEqual(first,
                         [(self.out / name).read_bytes() for name in names])
        for path in self.out.rglob("*"):
            self.assertNotIn(".tmp", path.name)
            self.assertFalse(path.name.startswith(".stats"))
        self.assertNotIn(str(self.dir), first[0].decode())

    def test_inputs_make_the_point(self):
        """Anything that can change a result makes a new point."""
        base = [*self.kernel(), "--cpus", "16"]
        self.compare(*base)
        self.compare(*base)
        self.assertEqual(len(self.starts()), 1)
        variants = [["--param", "same-chip-ns=58"],
                    ["--param", "quantum-ns=5000"], ["--seeds", "2,"],
                    ["--duration", "2001"], ["--offset", "3"]]
        for count, extra in enumerate(variants, start=2):
            self.compare(*base, *extra)
            self.assertEqual(len(self.starts()), count, extra)
        for name in ("vmlinux", "initrd.cpio"):
            path = self.dir / "one" / name
            path.write_bytes(path.read_bytes() + b" ")
            self.compare(*base)
        self.qemu.write_text(self.qemu.read_text() + "# another build\n")
        self.compare(*base)
        self.assertEqual(len(self.starts()), 9)

    def test_damaged_point(self):
        self.compare(*self.kernel(), "--cpus", "16")
        before = (self.out / "result.json").read_bytes()
        point, = (self.out / "points").glob("*.json")
        point.write_text(point.read_text()[:100])
        run = self.compare(*self.kernel(), "--cpus", "16")
        self.assertIn("damaged point file, run again", run.stderr)
        self.assertEqual(before, (self.out / "result.json").read_bytes())

    def test_part_of_the_machine(self):
        """In the default directory, where the whole has its own name."""
        path = self.machine_file(lambda data: data.update(
            name=f"xs-test-{os.getpid()}"))
        out = ROOT / "build" / "results" / f"xs-test-{os.getpid()}"
        self.addCleanup(shutil.rmtree, out, ignore_errors=True)
        out.mkdir(parents=True)
        (out / "result.json").write_text("the whole")
        run = self.run_script("compare", "--machine", path, "--qemu",
                              self.qemu, *self.kernel(), "--cpus", "16")
        self.assertEqual((out / "result.json").read_text(), "the whole")
        self.assertEqual((out / "selection.txt").read_text(), run.stdout)
        point, = json.loads((out / "selection.json").read_text())["points"]
        self.assertEqual(point["cpus"], 16)
        self.assertTrue((out / "selection.svg").exists())
        self.assertTrue((out / "selection.png").exists())
        self.assertFalse((out / "result.svg").exists())

    def test_whole_machine(self):
        """What is a part or a variation, and what is not."""
        loader = importlib.machinery.SourceFileLoader(
            "compare", str(SCRIPTS / "compare"))
        compare = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("compare", loader))
        loader.exec_module(compare)
        for name, arguments in (
                ("result", ()),
                ("result", ("--jobs", "1", "--report", "--timeout", "9",
                            "--json", "a", "--plot", "b.svg",
                            "--sim-timeout", "9", "--qemu", "c")),
                ("result", ("--out", "d", "--cpus", "16")),
                ("result", ("--seeds", "1-1")),
                ("selection", ("--kernel", "before")),
                ("selection", ("--cpus", "16")),
                ("selection", ("--duration", "9")),
                ("selection", ("--offset", "1")),
                ("selection", ("--single",)),
                ("selection", ("--usleep", "1")),
                ("selection", ("--per-boot", "1")),
                ("selection", ("--seeds", "2-2")),
                ("selection", ("--param", "hop-ns=1")),
                ("selection", ("--reference", "irqdebug_p9.csv"))):
            with self.subTest(arguments):
                args = compare.parse(["--machine", "power9-2s", *arguments])
                self.assertEqual(compare.result_name(args), name)

    def test_json_and_plot(self):
        copy = self.dir / "copy.json"
        for suffix, magic in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
            plot = self.dir / f"plot{suffix}"
            self.compare(*self.kernel(), "--cpus", "16,32", "--json", copy,
                         "--plot", plot)
            self.assertTrue(plot.read_bytes().startswith(magic))
        self.assertEqual(copy.read_bytes(),
                         (self.out / "result.json").read_bytes())
        svg = (self.dir / "plot.svg").read_text()
        self.assertIn("million IPIs a second", svg)
        self.assertIn("CPUs taking part", svg)

    def test_no_gnuplot(self):
        path = self.dir / "path"
        path.mkdir()
        (path / "python3").symlink_to(sys.executable)
        (path / "env").symlink_to("/usr/bin/env")
        run = self.compare(*self.kernel(), "--cpus", "16",
                           env={"PATH": str(path)})
        self.assertIn("gnuplot not found", run.stderr)
        run = self.compare(*self.kernel(), "--cpus", "16", "--plot", "x.svg",
                           env={"PATH": str(path)}, status=2)
        self.assertIn("install the package gnuplot-nox", run.stderr)

    def test_other_reference(self):
        run = self.compare(*self.kernel("one", ",column=upstream"), "--cpus",
                           "16", "--reference", "irqdebug_p9.csv")
        self.assertEqual(self.result()["points"][0]["published"], 4.061)
        # Nothing was fitted to this table.
        self.assertNotIn("fitted", run.stdout)

    def test_output_closed(self):
        run = subprocess.run(
            " ".join(self.command("compare", "--machine", MACHINE, "--qemu",
                                  self.qemu, "--out", self.out,
                                  *self.kernel(), "--cpus", "16"))
            + " | true", shell=True, capture_output=True, text=True,
            env=self.environment(), check=False)
        self.assertNotIn("Traceback", run.stderr)
        self.assertNotIn("Broken", run.stderr)


class RefusedTest(ScriptTest):
    def test_cpus(self):
        for text, reason in (("256", "the machine has 128 CPUs"),
                             ("0-200", "out of range"), ("", "empty"),
                             ("16,,32", "empty"), ("0-15/8-20", "twice"),
                             ("16,16", "already"), ("x", "not a CPU"),
                             ("8", "too few for offset 8")):
            with self.subTest(text):
                self.assertIn(reason, self.refused(*self.kernel(), "--cpus",
                                                   text))

    def test_numbers(self):
        for option, value in (("--duration", "0"), ("--duration", "-5"),
                              ("--duration", "x"), ("--offset", "0"),
                              ("--usleep", "-1"), ("--seeds", "0"),
                              ("--seeds", "1,1"), ("--jobs", "0"),
                              ("--timeout", "0"), ("--sim-timeout", "1e3"),
                              ("--param", "same-chip-ns=-1"),
                              ("--param", "nonsense=1"),
                              ("--param", "cores-per-domain=3")):
            with self.subTest(f"{option} {value}"):
                text = self.refused(*self.kernel(), f"{option}={value}")
                self.assertIn(option, text)

    def test_report(self):
        text = self.refused(*self.kernel(), "--cpus", "16,32",
                            "--report", "17")
        self.assertIn("--report 17: no CPU set has 17 CPUs", text)
        self.assertIn("16, 32", text)

    def test_machine_file(self):
        path = self.dir / "bad.json"
        path.write_text("{")
        self.assertIn("not JSON", self.refused(machine=path))
        path = self.machine_file(lambda data: data["smp"].update(threads=8))
        self.assertIn("does not match cpus", self.refused(machine=path))
        path = self.machine_file(
            lambda data: data["contention"]["notify-ns"].update(rows=[
                ["ipi_sys", 17]]))
        self.assertIn("notify-ns is fitted to 'ipi_sys' at 17 CPUs",
                      self.refused(*self.kernel(), machine=path))

    def test_kernel(self):
        image = self.dir / "one" / "vmlinux"
        image.write_bytes(elf(order=2))
        self.assertIn("big-endian", self.refused(*self.kernel()))
        image.write_text("#!/bin/sh\n")
        self.assertIn("not an ELF file", self.refused(*self.kernel()))
        image.unlink()
        self.assertIn("no such file", self.refused(*self.kernel()))
        (self.dir / "two" / "initrd.cpio").unlink()
        self.assertIn("initrd.cpio: no such file",
                      self.refused(*self.kernel("two")))
        # Each bad kernel is named, in one go.
        self.refused(*self.kernel("one"), *self.kernel("two"), lines=2)

    def test_kernel_for_fewer_cpus(self):
        """The machine has 128, which is what a configuration must allow."""
        config = self.dir / "one" / "config"
        config.write_text("CONFIG_SMP=y\nCONFIG_NR_CPUS=127\n")
        reason = self.refused(*self.kernel())
        self.assertIn("built for 127 CPUs, the machine has 128", reason)
        self.assertIn("--nr-cpus 128", reason)
        config.write_text("CONFIG_SMP=y\nCONFIG_NR_CPUS=128\n")
        self.compare(*self.kernel(), "--cpus", "16")

    def test_kernel_argument(self):
        one = self.dir / "one" / "vmlinux"
        for text, reason in ((f"a b={one}", "a plain name"),
                             ("x=", "image is missing"),
                             (f"x={one},colour=red",
                              "unknown option 'colour'"),
                             (f"x={one},append=a,append=b", "given twice"),
                             (f"x={one},append=a -- b", "'--' begins"),
                             (f"x={one},append=a\"b", "cannot be passed on"),
                             (f"x={one},append={'a' * 2048}", "bytes"),
                             (f"x={one},column=none", "no column 'none'"),
                             (f"x={one},initrd=none", "none: no such file")):
            with self.subTest(text):
                self.assertIn(reason, self.refused("--kernel", text))
        self.assertIn("given twice",
                      self.refused(*self.kernel(), *self.kernel()))

    def test_program(self):
        run = self.run_script("compare", "--machine", MACHINE, "--qemu",
                              self.dir / "none", status=2)
        self.assertIn("no such program", run.stderr)
        run = self.run_script("compare", "--machine", MACHINE, "--qemu",
                              "/bin/true", status=2)
        self.assertIn("no QEMU", run.stderr)

    def test_other(self):
        self.assertIn("--plot", self.refused(*self.kernel(), "--plot",
                                             "x.pdf"))
        self.assertIn("--colour", self.refused("--colour"))
        self.assertIn("cannot be read",
                      self.refused(*self.kernel(), "--reference", "none.csv"))
        self.assertIn("no kernel has a column", self.refused(
            *self.kernel(), "--reference", "irqdebug_p9.csv"))
        self.assertIn("--machine", self.run_script("compare",
                                                   status=2).stderr)
        self.out.write_text("a file")
        self.assertIn("cannot be written", self.refused(*self.kernel()))


class FailureTest(ScriptTest):
    def fails(self, mode, reason, *arguments, console=20):
        """One point of two fails, with its reason and last console lines."""
        run = self.compare(*self.kernel("one"),
                           *self.kernel("two", f",append=fake={mode}"),
                           "--cpus", "16", *arguments, status=1)
        good, bad = self.result()["points"]
        self.assertGreater(good["rate"], 0)
        self.assertIsNone(bad["rate"])
        self.assertIn(reason, bad["failures"][0]["reason"])
        self.assertEqual(len(bad["failures"][0]["console"]), console)
        self.assertIn(reason, run.stderr)
        self.assertIn("1 of 2 points failed", run.stderr)
        self.assertIn("failed", run.stdout)
        self.assertEqual(self.result()["summary"]["failed"], 1)
        self.assertNotIn("\x1b", run.stderr + run.stdout)
        self.assertEqual(len(list((self.out / "points").glob("*"))), 1)
        return run

    def test_panic(self):
        started = time.monotonic()
        self.fails("panic", "the guest died: Kernel panic - not syncing: No "
                            "working init found.")
        self.assertLess(time.monotonic() - started, 30)

    def test_oops(self):
        self.fails("oops", "the guest died: BUG: Unable to handle kernel data")

    def test_silent(self):
        self.fails("silent", "printed nothing within the limit of 2 s",
                   "--timeout", "2", console=0)
        self.assertFalse(any(alive(pid) for pid, _ in self.starts()))

    def test_mute(self):
        self.fails("mute", "the guest had printed nothing", console=0)

    def test_hang(self):
        self.fails("hang", "the guest hangs or is too slow", "--timeout", "2")

    def test_qemu_killed(self):
        self.fails("killed", "QEMU was killed by SIGKILL")

    def test_qemu_refuses(self):
        self.fails("usage", "QEMU ended with status 1: qemu-system-ppc64: "
                            "-device contention", console=1)

    def test_simulated_limit(self):
        self.fails("simlimit", "simulated time limit")

    def test_bad_exit(self):
        self.fails("badexit", "QEMU ended with status 3")

    def test_power_off_without_result(self):
        self.fails("poweroff", "without its last line 'XS: done'")

    def test_no_module(self):
        self.fails("nomodule", "the guest reports: cannot load "
                               "/modules/xs_storm.ko")

    def test_wrong_results(self):
        for mode, reason in (("badjson", "is not JSON"),
                             ("wrongsum", "do not add up"),
                             ("wrongcpus", "ran on 15 CPUs instead of 16"),
                             ("zero", "no IPI was handled"),
                             ("stuck", "threads did not stop"),
                             ("doorbell", "it lacks the patch"),
                             ("noregion", "region of interest"),
                             ("badstats", "statistics are unreadable")):
            with self.subTest(mode):
                self.fails(mode, reason)
                shutil.rmtree(self.out)

    def test_failed_point_is_repeated(self):
        self.fails("mute", "printed nothing", console=0)
        self.assertEqual(len(self.starts()), 2)
        self.fails("mute", "printed nothing", console=0)
        self.assertEqual(len(self.starts()), 3)

    def test_all_fail(self):
        run = self.compare(*self.kernel("one", ",append=fake=mute"), "--cpus",
                           "16,32", status=1)
        self.assertIn("2 of 2 points failed", run.stderr)
        self.assertIn("no point to draw", run.stderr)
        self.assertIsNone(self.result()["summary"]["median_abs_error"])


class SharedBootTest(ScriptTest):
    SETS = ("--cpus", "16,32,64,0-15/64-79,128", "--per-boot", "2")

    def lists(self):
        """The CPU lists of each boot so far."""
        return sorted(line.split("cpulist")[1].split()[0].lstrip("s=")
                      for _, line in self.starts())

    def test_boots(self):
        self.compare(*self.kernel(), *self.SETS)
        self.assertEqual(self.lists(), ["0-127", "0-15;0-31",
                                        "0-63;0-15,64-79"])
        points = self.result()["points"]
        self.assertEqual([p["cpulist"] for p in points],
                         ["0-15", "0-31", "0-63", "0-15,64-79", "0-127"])
        for point in points:
            # The stand-in writes 1800 instructions for each IPI of a storm,
            # of which a tenth fall outside the window.
            self.assertEqual(point["stats"][0]["region"]["instructions"],
                             1800 * (point["handled"] * 11 // 10))
        self.assertEqual(list((self.out / "points").glob(".stats*")), [])

    def test_order_of_jobs(self):
        self.compare(*self.kernel(), *self.SETS, "--jobs", "1")
        first = (self.out / "result.json").read_bytes()
        shutil.rmtree(self.out)
        self.compare(*self.kernel(), *self.SETS, "--jobs", "4")
        self.assertEqual(first, (self.out / "result.json").read_bytes())

    def test_what_ran_before_is_an_input(self):
        self.compare(*self.kernel(), "--cpus", "16,32", "--per-boot", "2")
        self.compare(*self.kernel(), "--cpus", "32", "--per-boot", "2")
        self.compare(*self.kernel(), "--cpus", "32,16", "--per-boot", "2")
        self.assertEqual(self.lists(), ["0-15;0-31", "0-31", "0-31;0-15"])
        self.compare(*self.kernel(), "--cpus", "16,32", "--per-boot", "2")
        self.assertEqual(len(self.starts()), 3)

    def test_machine_file(self):
        def change(data):
            data["storm"]["per_boot"] = 3
        self.run_script("compare", "--machine", self.machine_file(change),
                        "--qemu", self.qemu, "--out", self.out,
                        *self.kernel(), "--cpus", "16,32,64")
        self.assertEqual(self.lists(), ["0-15;0-31;0-63"])

    def test_dies_in_company_only(self):
        arguments = (*self.kernel("one", ",append=fake=second"),
                     "--cpus", "16,32,64,128", "--per-boot", "4")
        run = self.compare(*arguments)
        self.assertIn("CPUs 0-31, seed 1, in a boot with others: the guest "
                      "died: Kernel panic", run.stderr)
        self.assertIn("3 CPU sets are run in boots of their own", run.stderr)
        self.assertEqual(self.lists(), ["0-127", "0-15;0-31;0-63;0-127",
                                        "0-31", "0-63"])
        result = (self.out / "result.json").read_bytes()
        self.compare(*arguments)
        self.assertEqual(len(self.starts()), 4)
        self.assertEqual(result, (self.out / "result.json").read_bytes())

    def test_one_set_fails(self):
        arguments = (*self.kernel("one", ",append=fake=die32"),
                     "--cpus", "16,32,64", "--per-boot", "3")
        run = self.compare(*arguments, status=1)
        self.assertIn("1 of 3 points failed", run.stderr)
        good, bad, last = self.result()["points"]
        self.assertGreater(good["rate"], 0)
        self.assertGreater(last["rate"], 0)
        self.assertIn("at the storm", bad["failures"][0]["reason"])
        self.assertEqual(self.lists(), ["0-15;0-31;0-63", "0-31", "0-63"])
        self.compare(*arguments, status=1)
        # The failed one is repeated, alone.
        self.assertEqual(self.lists(), ["0-15;0-31;0-63", "0-31", "0-31",
                                        "0-63"])

    def test_too_many_for_the_command_line(self):
        sets = ",".join("/".join(str(cpu) for cpu in range(first, 128, 2))
                        for first in range(0, 20))
        self.assertIn("kernel command line", self.refused(
            *self.kernel(), "--cpus", sets, "--per-boot", "20"))

    def test_numbers(self):
        for text in ("0", "-1", "x", "1001"):
            self.assertIn("--per-boot", self.refused(
                *self.kernel(), "--per-boot", text))

    def test_continues_within_a_boot(self):
        arguments = (*self.kernel(), "--cpus", "16,32,64", "--per-boot", "3")
        process = subprocess.Popen(
            self.command("compare", "--machine", MACHINE, "--qemu", self.qemu,
                         "--out", self.out, *arguments),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=self.environment(XS_FAKE_STORM_DELAY="2"))
        limit = time.monotonic() + 30
        while not list((self.out / "points").glob("[0-9a-f]*.json")):
            self.assertLess(time.monotonic(), limit, "no point within 30 s")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 143, errors)
        self.assertIn("1 of 3 points are kept", errors)
        self.compare(*arguments)
        self.assertEqual(len(self.starts()), 2)
        first = (self.out / "result.json").read_bytes()
        shutil.rmtree(self.out)
        self.compare(*arguments)
        self.assertEqual(first, (self.out / "result.json").read_bytes())


class InterruptionTest(ScriptTest):
    ARGUMENTS = ("--cpus", "16,32,48,64,80,96", "--jobs", "2")

    def start(self, delay="0.5"):
        return subprocess.Popen(
            self.command("compare", "--machine", MACHINE, "--qemu", self.qemu,
                         "--out", self.out, *self.kernel(), *self.ARGUMENTS),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment(XS_FAKE_DELAY=delay),
            # Whoever runs the tests in the background has SIGINT ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def wait_for_point(self):
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            if list((self.out / "points").glob("[0-9a-f]*.json")):
                return
            time.sleep(0.05)
        self.fail("no point within 30 s")

    def gone(self):
        """Every stand-in is gone, at once or very soon."""
        limit = time.monotonic() + 5
        while any(alive(pid) for pid, _ in self.starts()):
            self.assertLess(time.monotonic(), limit, "QEMU left behind")
            time.sleep(0.05)

    def continues(self):
        """The rerun repeats no finished point and ends as if never broken."""
        kept = len(list((self.out / "points").glob("[0-9a-f]*.json")))
        self.assertGreater(kept, 0)
        before = len(self.starts())
        self.compare(*self.kernel(), *self.ARGUMENTS)
        self.assertEqual(len(self.starts()) - before, 6 - kept)
        first = (self.out / "result.json").read_bytes()
        shutil.rmtree(self.out)
        self.compare(*self.kernel(), *self.ARGUMENTS)
        self.assertEqual(first, (self.out / "result.json").read_bytes())

    def stopped_by(self, signum, status):
        process = self.start()
        self.wait_for_point()
        process.send_signal(signum)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, status, errors)
        self.assertNotIn("Traceback", errors)
        self.assertIn("run the same command again to continue", errors)
        self.gone()
        self.continues()

    def test_ctrl_c(self):
        self.stopped_by(signal.SIGINT, 130)

    def test_terminated(self):
        self.stopped_by(signal.SIGTERM, 143)

    def test_killed(self):
        process = self.start()
        self.wait_for_point()
        process.kill()
        process.communicate(timeout=30)
        self.gone()
        self.continues()

    def test_two_at_once(self):
        process = self.start()
        self.wait_for_point()
        run = self.compare(*self.kernel(), status=2)
        self.assertIn("another compare is at work there", run.stderr)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)

    def test_output_full(self):
        with open("/dev/full", "w") as full:
            run = subprocess.run(
                self.command("compare", "--machine", MACHINE, "--qemu",
                             self.qemu, "--out", self.out, *self.kernel(),
                             "--cpus", "16"), stdout=full, text=True,
                stderr=subprocess.PIPE, env=self.environment(), check=False)
        self.assertEqual(run.returncode, 1)
        self.assertNotIn("Traceback", run.stderr)
        self.assertIn("it is in", run.stderr)

    def test_json_full(self):
        run = self.compare(*self.kernel(), "--cpus", "16", "--json",
                           "/dev/full", status=1)
        self.assertIn("/dev/full: no space left on the device", run.stderr)
        self.assertEqual(len(self.result()["points"]), 1)

    def test_disk_full(self):
        """On a file system that fills up under the points."""
        self.out.mkdir()
        if os.geteuid() or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=1m",
                 "tmpfs", str(self.out)], check=False,
                stderr=subprocess.DEVNULL).returncode:
            self.skipTest("cannot mount a small file system")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.out)],
                        check=False)
        hog = self.out / "hog"
        with open(hog, "wb") as stream:
            stream.write(bytes(760 * 1024))
        run = self.compare(*self.kernel(), *self.ARGUMENTS, status=1)
        self.assertIn("no space left on the device", run.stderr)
        self.assertIn("run the same command again", run.stderr)
        self.assertFalse(any(alive(pid) for pid, _ in self.starts()))
        kept = list((self.out / "points").glob("[0-9a-f]*.json"))
        self.assertIn(len(kept), range(1, 6))
        for path in kept:
            json.loads(path.read_text())
        hog.unlink()
        os.truncate(self.log, 0)
        subprocess.run(["mount", "-o", "remount,size=4m", str(self.out)],
                       check=True)
        self.compare(*self.kernel(), *self.ARGUMENTS)
        self.assertEqual(len(self.result()["points"]), 6)
        self.assertEqual(len(self.starts()), 6 - len(kept))


if __name__ == "__main__":
    support.unittest.main()
