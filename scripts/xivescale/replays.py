# SPDX-License-Identifier: GPL-2.0-or-later
"""Recorded storms of a machine's kernels, and xs-replay on them."""

import os
import select
import subprocess
import tempfile
from pathlib import Path

from . import kernels, pattern, qemu
from .campaign import storm_words
from .errors import UserError
from .files import ROOT, write_atomic
from .guestrun import GuestRun

TOOL = ROOT / "build" / "unit" / "xs-replay"
PATTERNS = ROOT / "build" / "patterns"

# Microseconds into the region and of the record: after the storm's warm-up,
# some twenty round trips of each CPU.
_START = 350
_LENGTH = 150
_WALL_LIMIT = 1200


def label(item):
    """A kernel of the machine file as it is called in tables."""
    return " ".join(f"{item['name']} {item['append']}".split())


def path(model, item):
    """Where the pattern of a kernel is kept."""
    name = label(item).replace(" ", "+").replace("/", "_")
    return PATTERNS / model.name / f"{name}.pattern"


def select_kernels(model, names):
    """The kernels with these labels; by default all that have a column, or
    all of a machine that has no published figures."""
    known = {label(item): item for item in model.kernels}
    if not names:
        return ([item for item in model.kernels if "column" in item]
                or list(model.kernels))
    for name in names:
        if name not in known:
            raise UserError(f"--kernel {name}: the machine file has "
                            f"{', '.join(known)}")
    return [known[name] for name in names]


def record(model, item, binary=None, guests=None, cpus=None):
    """Boot the kernel once, with all CPUs in the storm or the first @cpus;
    keep its pattern."""
    simulator = qemu.Qemu(binary)
    image = (guests or kernels.GUESTS) / item["variant"] / "vmlinux"
    kernel = kernels.Kernel(item["name"], image, None, item["append"],
                            built=True)
    kernel.check(model.cpus)
    storm = dict(model.storm, warmup_us=200, duration_us=300)
    words = storm_words(storm, range(cpus or model.cpus))
    with tempfile.TemporaryDirectory(dir=_made(PATTERNS)) as directory:
        raw = os.path.join(directory, "record")
        argv = qemu.command(simulator, model, kernel.image, kernel.initrd,
                            qemu.full_append(
                                f"{model.append} {kernel.append}", words))
        argv[argv.index("-device") + 1] += (
            f",record-file={raw.replace(',', ',,')},"
            f"record-start-us={_START},record-us={_LENGTH}")
        guest = GuestRun(argv, _WALL_LIMIT)
        try:
            while not guest.done:
                ready, _, _ = select.select(guest.fds(), [], [], 0.1)
                for fd in ready:
                    guest.read(fd)
                guest.check()
        finally:
            if not guest.done:
                guest.kill()
        if guest.failure:
            raise UserError(f"{label(item)}: {guest.failure}")
        sends, handles = pattern.Distiller(pattern.Record(raw)).distil()
    where = path(model, item)
    write_atomic(where, pattern.write(label(item).replace(" ", "+"), sends,
                                      handles))
    return where


def _made(directory):
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def arguments(model, items, chips=None, threads=None, hops=None):
    """What xs-replay must know of a machine and its kernels."""
    chips = chips or model.chip_cores
    threads = threads or model.smp["threads"]
    if model.big_core:
        # As in QEMU: to the model, half of a big core is a core.
        if threads % 2:
            raise UserError(f"--threads {threads}: {model.path} has big "
                            "cores, of two halves; give an even number")
        chips = [cores * 2 for cores in chips]
        threads //= 2
    argv = []
    for item in items:
        where = path(model, item)
        if not Path(where).exists():
            raise UserError(f"{where}: no pattern of '{label(item)}'; run "
                            f"scripts/record {model.path} first")
        argv += ["--pattern", str(where)]
    argv += ["--chips", ",".join(map(str, chips)),
             "--threads", str(threads),
             "--offset", str(model.storm["offset"]),
             "--warmup-us", str(model.storm["warmup_us"]),
             "--duration-us", str(model.storm["duration_us"])]
    if hops:
        argv += ["--hops", ",".join(map(str, hops))]
    clock = model.values("clock")
    for name in ("instruction-ps", "pause-ns"):
        argv += ["--param", f"{name}={clock[name]}"]
    for name, value in model.values("contention").items():
        argv += ["--param", f"{name}={value}"]
    return argv


def run(argv):
    """xs-replay's lines, each as words."""
    if not TOOL.exists():
        raise UserError(f"{TOOL}: not built; run make check-unit")
    done = subprocess.run([str(TOOL), *argv], check=False, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        text = done.stderr.strip().splitlines()
        raise UserError(text[-1] if text else
                        f"xs-replay ended with status {done.returncode}")
    return [line.split() for line in done.stdout.splitlines()]
