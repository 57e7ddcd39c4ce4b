# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that this project did not build, watched by hand.

Debian's kernel for ppc64el boots on powernv10 with 16 threads on two chips, of
which one on each core does nothing but fork. Over QMP the region of interest
is entered, its counters are reset, and it is left again, while they work.

- it is Debian's kernel, and sees the machine's two chips
- the commands do what they say, and after the region nothing changes
- of the lock that every fork, exit and wait takes, all four cores and both
  chips have had the line, by the functions that take it, with instructions
  that are in the kernel's image
- monitor, attribution file and report say the same; the report has the names
  of a kernel without debug information
- the same kernel, told to stay where the firmware has loaded it (as a kernel
  for crash dumps is), has all of its addresses moved: the report finds out by
  how much from the guest's memory, and gives the same names

Symbols and instructions to compare with come from nm and the image.
"""

import bisect
import json
import re
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from decimal import Decimal
from pathlib import Path

from bare import QEMU, Qmp

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from xivescale import qemu  # noqa: E402

INITRD = ROOT / "build/guest/both/initrd.cpio"
CROSS = "powerpc64le-linux-gnu-"

# Wall seconds, many times what is needed.
BOOT_LIMIT = 180
REGION_LIMIT = 60

# The kernel passes at most 32 words to init. Threads 0, 4, 8 and 12 are the
# first of each core: a domain of the model each, two on each chip.
WORK = ("exec cat /proc/version /sys/devices/system/node/node[0-9]*/cpulist; "
        "for cpu in 0 4 8 12; do taskset -c $cpu "
        "sh -c 'while :; do (:); done' & done; echo at-work; wait")
DOMAINS = {0, 1, 2, 3}
CHIPS = [0, 0, 1, 1]

INSTRUCTION_PS = 580
# Enough for each core to fork several times.
WARM_UP_PS = 500 * 10**6
REGION_PS = 2 * 10**9

# skiboot has the file at 512 MiB, and the file has the kernel behind its first
# page of 64 KiB.
LOADED_AT = 0x20010000

# stbcx., sthcx., stwcx. and stdcx. without their registers.
CONDITIONAL = {0x7C00056D, 0x7C0005AD, 0x7C00012D, 0x7C0001AD}
OPCODES = 0xFC0007FF


class Image:
    """A kernel's symbols, as nm has them, and its code."""

    def __init__(self, path):
        self.data = Path(path).read_bytes()
        self.symbols, functions = {}, {}
        done = subprocess.run([CROSS + "nm", "--defined-only", path],
                              capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            address, kind, name = line.split()
            self.symbols[name] = int(address, 16)
            if kind in "tT":
                functions.setdefault(int(address, 16), set()).add(name)
        self.starts = sorted(functions)
        self.functions = functions
        self.segments = []
        start, = struct.unpack_from("<Q", self.data, 32)
        size, count = struct.unpack_from("<HH", self.data, 54)
        for at in range(start, start + size * count, size):
            kind, _, offset, address, _, length = struct.unpack_from(
                "<IIQQQQ", self.data, at)
            if kind == 1:
                self.segments.append((address, length, offset))

    def names(self, pc):
        """All names of the function that an instruction is in."""
        return self.functions[
            self.starts[bisect.bisect_right(self.starts, pc) - 1]]

    def offset(self, address):
        """Where in the file an address of the kernel is."""
        for start, length, offset in self.segments:
            if start <= address < start + length:
                return offset + address - start
        raise AssertionError(f"{address:#x} is no address of the kernel")

    def instruction(self, pc):
        return struct.unpack_from("<I", self.data, self.offset(pc))[0]

    def banner(self):
        """The line that names the kernel."""
        start = self.offset(self.symbols["linux_banner"])
        return self.data[start:self.data.index(b"\n", start)].decode()


class Guest:
    """QEMU with a kernel, and what it has printed."""

    def __init__(self, kernel, where, device=""):
        self.console = Path(where, "console")
        self.qmp_path = f"{where}/qmp"
        self.process = subprocess.Popen(
            [QEMU, "-L", Path(qemu.Qemu(QEMU).firmware).parent,
             "-nodefaults", "-no-reboot", "-display", "none",
             "-serial", f"file:{self.console}",
             "-M", "powernv10", "-smp", "16,sockets=2,cores=2,threads=4",
             "-m", "1G", "-accel",
             f"tcg,simtime=on,simtime-instruction-ps={INSTRUCTION_PS}",
             "-device", f"contention,id=c0,attribution-file={where}/lines"
             + device,
             "-device", "ipmi-bmc-sim,id=bmc0",
             "-device", "isa-ipmi-bt,bmc=bmc0,irq=10",
             "-qmp", f"unix:{self.qmp_path},server=on,wait=off",
             "-seed", "1", "-rtc", "base=2026-01-01T00:00:00,clock=vm",
             "-kernel", kernel, "-initrd", INITRD,
             "-append", "console=hvc0 quiet panic=-1 rdinit=/init -- " + WORK],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.said = None

    def stop(self):
        """End QEMU; what it has said on stderr."""
        if self.said is None:
            self.process.kill()
            self.said = self.process.communicate()[1].strip()
        return self.said

    def text(self):
        try:
            return self.console.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def failure(self, reason):
        """What to raise; it ends QEMU to have its last words."""
        status = self.process.poll()
        said = self.stop()
        if status is not None:
            reason += f"; QEMU had ended with status {status}"
        if said:
            reason += f"; QEMU said: {said}"
        last = [line for line in self.text().splitlines() if line.strip()]
        return AssertionError(
            "\n  ".join([reason + "; the console ends with:", *last[-20:]]
                        if last else [reason + "; the console is empty"]))

    def wait_for_line(self, line, limit):
        end = time.monotonic() + limit
        while line not in self.text().splitlines():
            bad = re.search(r"^XS: error .*|Kernel panic - .*", self.text(),
                            re.M)
            if bad:
                raise self.failure(f"the guest says '{bad[0].strip()}'")
            if self.process.poll() is not None:
                raise self.failure(f"no line '{line}'")
            if time.monotonic() > end:
                raise self.failure(f"no line '{line}' within {limit} s")
            time.sleep(0.1)


def wait_until(qmp, instant):
    """Let the guest work until a moment of simulated time."""
    end = time.monotonic() + REGION_LIMIT
    while qmp.call("query-contention", lines=0, instructions=0)["end"] \
            < instant:
        if time.monotonic() > end:
            raise TimeoutError("simulated time does not reach "
                               f"{instant / 1e12} s within {REGION_LIMIT} s")
        time.sleep(0.05)


class Watched(unittest.TestCase):
    """A boot of Debian's kernel, and what was seen of its region."""

    DEVICE = ""

    @classmethod
    def to_boot(cls):
        """The file that is given to QEMU."""
        return cls.kernel

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([ROOT / "scripts/debian-kernel"],
                              stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if done.returncode:
            # The lines before the last tell of progress.
            raise AssertionError("no kernel of Debian's: "
                                 + done.stderr.strip().split("\n")[-1])
        cls.kernel = done.stdout.strip()
        for path, target in ((QEMU, "qemu"), (INITRD, "guest")):
            if not path.exists():
                raise AssertionError(f"{path} is missing: run make {target}")
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.dir = Path(directory.name)
        cls.image = Image(cls.kernel)

        guest = Guest(cls.to_boot(), cls.dir,
                      cls.DEVICE.format(where=cls.dir))
        try:
            guest.wait_for_line("at-work", BOOT_LIMIT)
            with Qmp(guest.qmp_path) as qmp:
                cls.watch(qmp)
        except (OSError, ValueError, RuntimeError) as err:
            raise guest.failure(f"QMP: {err}") from None
        finally:
            guest.stop()
        cls.console = guest.text().splitlines()
        cls.file = json.loads((cls.dir / "lines").read_text(),
                              parse_float=Decimal)

    @classmethod
    def watch(cls, qmp):
        cls.before = qmp.call("query-contention")
        qmp.call("contention-region", enter=True)
        cls.entered = qmp.call("query-contention")
        # The clocks of threads are not together before; what they wait for
        # each other on account of that is not the kernel's.
        wait_until(qmp, cls.entered["start"] + WARM_UP_PS)
        qmp.call("contention-reset")
        cls.reset = qmp.call("query-contention")
        wait_until(qmp, cls.reset["start"] + REGION_PS)
        qmp.call("contention-region", enter=False)
        cls.info = qmp.call("query-contention", lines=20)
        cls.text = qmp.hmp("info contention 3")
        # The guest goes on forking.
        time.sleep(0.5)
        cls.running = qmp.call("query-status")["running"]
        cls.later = qmp.call("query-contention", lines=20)

    def lock(self, slide=0):
        """The line of tasklist_lock, and where the lock is in it."""
        address = self.image.symbols["tasklist_lock"] + slide
        found = [line for line in self.file["lines"]
                 if "ea" in line
                 and 0 <= address - int(line["ea"], 16) < 128]
        self.assertEqual(len(found), 1)
        return found[0], address

    def report(self, *options):
        """The report as it is in JSON, and what was said about it."""
        done = subprocess.run(
            [ROOT / "scripts/report", self.dir / "lines", "--kernel",
             self.kernel, "--json", self.dir / "report", "--lines", "1000000",
             *options],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads((self.dir / "report").read_text()), done.stderr


class Debian(Watched):
    def test_kernel_is_debians(self):
        banner = self.image.banner()
        release = Path(self.kernel).name.removeprefix("vmlinux-")
        self.assertRegex(banner, rf"^Linux version {re.escape(release)} .*"
                         r" SMP Debian \d")
        self.assertIn(banner, self.console)
        # The threads of each chip.
        at = self.console.index(banner)
        self.assertEqual(self.console[at + 1:at + 3], ["0-7", "8-15"])

    def test_region(self):
        self.assertEqual([info["region"] for info in
                          (self.before, self.entered, self.reset, self.info)],
                         [False, True, True, False])
        self.assertEqual(self.before["nr-lines"], 0)
        self.assertGreaterEqual(self.reset["start"],
                                self.entered["start"] + WARM_UP_PS)
        self.assertEqual(self.info["start"], self.reset["start"])
        length = self.info["end"] - self.info["start"]
        self.assertGreaterEqual(length, REGION_PS)
        # What one thread can execute, four that also stall must; more than
        # all sixteen can is not possible.
        whole = length // INSTRUCTION_PS
        self.assertGreater(self.info["instructions"], whole)
        self.assertLess(self.info["instructions"], 16 * whole)
        self.assertTrue(self.running)
        self.assertEqual(self.later, self.info)

    def test_lock_of_all_tasks(self):
        line, lock = self.lock()
        self.assertEqual(self.file["topology"]["domain_chip"][:4], CHIPS)
        self.assertLessEqual(DOMAINS, {who for who, _ in line["writers"]})
        _, same_chip, cross_chip = line["transfers"]
        self.assertGreater(same_chip, 10)
        self.assertGreater(cross_chip, 10)
        # Fork and exit write-lock it, wait() read-locks it; each does so
        # with a store conditional to its first word.
        takers = set().union(*(
            self.image.names(int(access["pc"], 16))
            for access in line["accesses"]
            if access["operation"] == "conditional"
            and int(access["ea"], 16) == lock))
        self.assertLessEqual({"_raw_read_lock", "_raw_write_lock_irq"},
                             takers)

    def test_instructions_are_of_the_image(self):
        seen = {True: 0, False: 0}
        for line in self.file["lines"]:
            for access in line["accesses"]:
                if access.get("user") or "pc" not in access:
                    continue
                pc = int(access["pc"], 16)
                conditional = access["operation"] == "conditional"
                seen[conditional] += 1
                self.assertEqual(
                    self.image.instruction(pc) & OPCODES in CONDITIONAL,
                    conditional, f"{pc:#x} {access['operation']}")
        self.assertGreater(min(seen.values()), 20)

    def test_monitor_and_file_agree(self):
        lines = self.file["lines"]
        self.assertEqual(len(lines), self.info["nr-lines"])
        self.assertEqual(self.info["instructions"],
                         self.file["region"]["instructions"])
        self.assertEqual(
            [(line["address"], line["cost"]["stall"],
              line["cost"]["transfers"]) for line in self.info["lines"]],
            [(int(line["gpa"], 16), 1000 * line["stall_ns"],
              line["transfers"]) for line in lines[:20]])
        total = self.file["totals"]["all"]
        self.assertEqual(self.info["total"]["stall"],
                         1000 * total["stall_ns"])
        self.assertEqual(
            [sum(column) for column in zip(
                *(line["transfers"] for line in lines),
                self.file["dropped"]["lines"]["transfers"])],
            self.info["total"]["transfers"])

    def test_human_monitor(self):
        self.assertRegex(self.text, r"^region of interest: left, "
                         f"{(self.info['end'] - self.info['start']) // 1000} "
                         f"ns, {self.info['instructions']} instructions\r?\n")
        self.assertEqual(
            re.findall(r"line (0x[0-9a-f]+)", self.text),
            [hex(line["address"]) for line in self.info["lines"][:3]])

    def test_report(self):
        """Symbols name functions and variables; there is nothing else."""
        report, said = self.report()
        said, = said.splitlines()
        self.assertIn("has no debug information", said)
        line, _ = self.lock()
        named, = (one for one in report["lines"] if one["gpa"] == line["gpa"])
        self.assertEqual(named["object"], "tasklist_lock")
        self.assertEqual(named["transfers"], line["transfers"])
        for access in named["accesses"]:
            self.assertIn(access["function"],
                          self.image.names(int(access["pc"], 16)))
            self.assertEqual({"file", "line", "text", "type", "field"}
                             & set(access), set())


class Moved(Watched):
    DEVICE = ",memory-file={where}/memory"

    @classmethod
    def to_boot(cls):
        """A copy that does not move itself down to its link address."""
        data = bytearray(cls.image.data)
        flag = cls.image.offset(cls.image.symbols["__run_at_load"])
        # As kexec does it for a kernel that takes a crash dump.
        struct.pack_into("<I", data, flag, 1)
        path = cls.dir / "vmlinux"
        path.write_bytes(data)
        return path

    def test_instructions_have_moved(self):
        pcs = {int(access["pc"], 16) for line in self.file["lines"]
               for access in line["accesses"]
               if access["operation"] == "conditional"
               and not access.get("user")}
        self.assertGreater(len(pcs), 10)
        for pc in pcs:
            self.assertIn(self.image.instruction(pc - LOADED_AT) & OPCODES,
                          CONDITIONAL, f"{pc:#x}")

    def test_report_finds_where_the_kernel_is(self):
        line, _ = self.lock(LOADED_AT)
        found, _ = self.report("--memory", self.dir / "memory")
        told, _ = self.report("--slide", hex(LOADED_AT))
        for report in (found, told):
            named, = (one for one in report["lines"]
                      if one["gpa"] == line["gpa"])
            self.assertEqual(named["object"], "tasklist_lock")
            self.assertGreater(len(named["accesses"]), 3)
            for access in named["accesses"]:
                self.assertIn(
                    access["function"],
                    self.image.names(int(access["pc"], 16) - LOADED_AT))

    def test_unknown_slide_gives_no_wrong_names(self):
        """Without memory and --slide nothing is known, and that is said."""
        line, _ = self.lock(LOADED_AT)
        report, _ = self.report()
        named, = (one for one in report["lines"] if one["gpa"] == line["gpa"])
        self.assertEqual(named["object"], "unknown")
        for access in named["accesses"]:
            self.assertNotIn("function", access)


if __name__ == "__main__":
    unittest.main()
