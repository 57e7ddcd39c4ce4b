# SPDX-License-Identifier: GPL-2.0-or-later
"""The QEMU command line of a machine, and the host files it depends on."""

import os
import shutil
import subprocess
from pathlib import Path

from .errors import UserError
from .files import ROOT, sha256

DEFAULT = ROOT / "build" / "qemu" / "qemu-system-ppc64"

# Where packages and source trees put the boot firmware of powernv.
_FIRMWARE = ("/usr/share/qemu/skiboot.lid", "/usr/share/skiboot/skiboot.lid",
             "/usr/local/share/qemu/skiboot.lid")

# Every guest: the interrupt controller carries the IPIs, and only messages
# that matter go through the (slow) firmware console.  A panic ends the run
# at once: with -no-reboot the restart is QEMU's exit.
APPEND = "console=hvc0 xive_ipi=on quiet panic=-1 rdinit=/init"

# Limits of the ppc64 kernel: COMMAND_LINE_SIZE, and arguments of init.
_APPEND_BYTES = 2047
_INIT_WORDS = 30


class Qemu:
    """One QEMU binary with its firmware."""

    def __init__(self, binary=None):
        self.binary = str(binary or DEFAULT)
        found = shutil.which(self.binary)
        if not found:
            hint = ("run make first, or give --qemu BIN" if not binary
                    else "give the path of a qemu-system-ppc64")
            raise UserError(f"{self.binary}: no such program; {hint}")
        self.binary = os.path.abspath(found)
        beside = Path(self.binary).parent / "pc-bios" / "skiboot.lid"
        for name in (*_FIRMWARE, beside):
            if os.path.exists(name):
                self.firmware = str(name)
                break
        else:
            raise UserError("skiboot.lid not found; install the package "
                            "qemu-system-data")
        try:
            run = subprocess.run([self.binary, "--version"],
                                 stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=60,
                                 check=False)
            lines = run.stdout.decode(errors="replace").splitlines()
        except OSError as err:
            raise UserError(f"{self.binary}: cannot be run: "
                            f"{err.strerror}") from None
        except subprocess.TimeoutExpired:
            raise UserError(f"{self.binary}: --version does not "
                            "answer") from None
        if run.returncode or not lines or "QEMU" not in lines[0]:
            raise UserError(f"{self.binary}: no QEMU: --version ends with "
                            f"status {run.returncode} and does not say so")
        self.version = lines[0].strip()

    def hashes(self):
        """What of the host decides the result."""
        return {"qemu": sha256(self.binary), "skiboot": sha256(self.firmware)}


def _escape(path):
    """A comma in a path would end the option's value."""
    return str(path).replace(",", ",,")


def accel(machine):
    """The -accel argument for simulated time."""
    options = [f"simtime-{name}={value}"
               for name, value in machine.values("clock").items()]
    return ",".join(["tcg", "simtime=on", *options])


def device(machine):
    """The -device argument of the contention model."""
    options = [f"{name}={value}"
               for name, value in machine.values("contention").items()]
    return ",".join(["contention", *options])


def machine_type(machine):
    """The -M argument; it names the cores of each chip where they differ."""
    if not isinstance(machine.smp["cores"], list):
        return machine.data["machine"]
    cores = ":".join(str(number) for number in machine.chip_cores)
    return f"{machine.data['machine']},chip-cores={cores}"


def smp_option(machine):
    """The -smp argument; QEMU wants maxcpus to be the product of the rest."""
    smp = machine.smp
    cores = max(machine.chip_cores)
    text = (f"{smp['cpus']},sockets={smp['sockets']},cores={cores},"
            f"threads={smp['threads']}")
    if isinstance(smp["cores"], list):
        text += f",maxcpus={smp['sockets'] * cores * smp['threads']}"
    return text


def full_append(extra="", init=""):
    """The whole kernel command line; init is what follows the '--'."""
    for character in '"\n\r\0':
        if character in extra + init:
            raise UserError(f"kernel command line: {character!r} cannot be "
                            "passed on; leave it out")
    if "--" in extra.split():
        raise UserError("append: '--' begins the arguments of init and is "
                        "added by the scripts; leave it out")
    text = " ".join(f"{APPEND} {extra}".split())
    if init:
        if len(init.split()) > _INIT_WORDS:
            raise UserError(f"the kernel passes at most {_INIT_WORDS} words "
                            f"to init, these are {len(init.split())}")
        text = f"{text} -- {init}"
    if len(text.encode()) > _APPEND_BYTES:
        raise UserError(f"kernel command line: {len(text.encode())} bytes, "
                        f"the kernel takes {_APPEND_BYTES}")
    return text


def command(qemu, machine, kernel, initrd, append, seed=1, simtime=True,
            model=True, stats=None, limit_ms=None, serial="stdio",
            attribution=None, memory=None):
    """The argument list of one run.

    stats, attribution and memory are files that the model writes when the
    region of interest is left.
    """
    if simtime:
        accelerator = accel(machine)
        if limit_ms:
            accelerator += f",simtime-limit-ms={limit_ms}"
    else:
        accelerator = "tcg"
    argv = [qemu.binary,
            "-L", os.path.dirname(qemu.firmware),
            "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-monitor", "none",
            "-serial", serial,
            "-M", machine_type(machine),
            "-smp", smp_option(machine),
            "-m", machine.data["memory"],
            "-accel", accelerator]
    if model and simtime:
        contention = f"{device(machine)},seed={seed}"
        for name, path in (("stats", stats), ("attribution", attribution),
                           ("memory", memory)):
            if path:
                contention += f",{name}-file={_escape(path)}"
        argv += ["-device", contention]
    argv += ["-device", "ipmi-bmc-sim,id=bmc0",
             "-device", "isa-ipmi-bt,bmc=bmc0,irq=10",
             "-seed", str(seed),
             "-rtc", "base=2026-01-01T00:00:00,clock=vm",
             "-kernel", str(kernel), "-initrd", str(initrd),
             "-append", append]
    return argv
