# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernels to compare: from the machine file or from --kernel."""

import json
import re
from pathlib import Path

from . import elf, qemu
from .errors import UserError
from .files import ROOT, sha256

GUESTS = ROOT / "build" / "guest"

_OPTION = re.compile(r",(?=(?:initrd|append|column)=)")


class Kernel:
    """A kernel image, its initrd, and what is added to its command line."""

    def __init__(self, name, image, initrd=None, append="", column=None,
                 built=False):
        self.name = name
        self.append = " ".join(append.split())
        self.column = column
        self.image = Path(image)
        self.initrd = Path(initrd or self.image.with_name("initrd.cpio"))
        self.built = built
        self.hashes = {}
        self.manifest = None

    @property
    def label(self):
        """Name and append, as a heading."""
        return f"{self.name} {self.append}".strip()

    def check(self, cpus=None):
        """Read the files once; every fault is one UserError.

        cpus: how many the machine has, which the kernel must be able to use.
        """
        if not self.image.is_file():
            hint = ("run make first" if self.built else
                    "give the path of a vmlinux")
            raise UserError(f"kernel {self.name}: {self.image}: no such "
                            f"file; {hint}")
        try:
            elf.check_kernel(self.image)
            if not self.initrd.is_file():
                raise UserError(f"{self.initrd}: no such file; the initrd "
                                "lies beside the image as initrd.cpio or is "
                                "given with ',initrd=FILE'")
            qemu.full_append(self.append)
            self.hashes = {"image": sha256(self.image),
                           "initrd": sha256(self.initrd)}
        except UserError as err:
            raise UserError(f"kernel {self.name}: {err}") from None
        self._read_manifest()
        limit = self._nr_cpus()
        if limit and cpus and cpus > limit:
            raise UserError(f"kernel {self.name}: {self.image} is built for "
                            f"{limit} CPUs, the machine has {cpus}; build "
                            "one with scripts/build-guest --nr-cpus "
                            f"{cpus}")

    def _nr_cpus(self):
        """CONFIG_NR_CPUS, if the guest build left the configuration."""
        try:
            text = self.image.with_name("config").read_text()
        except (OSError, ValueError):
            return None
        found = re.search(r"^CONFIG_NR_CPUS=(\d+)$", text, re.M)
        return int(found[1]) if found else None

    def _read_manifest(self):
        """What the guest build wrote about the image, if it did."""
        try:
            text = self.image.with_name("manifest.json").read_text()
            self.manifest = json.loads(text)
        except (OSError, ValueError):
            self.manifest = None


def _of_machine(machine, item):
    return Kernel(item["name"], GUESTS / item["variant"] / "vmlinux",
                  append=item["append"], column=item.get("column"),
                  built=True)


def _parse(machine, text):
    """The kernels that one --kernel argument means."""
    head, *options = _OPTION.split(text)
    given = {}
    for option in options:
        key, _, value = option.partition("=")
        if key in given:
            raise UserError(f"--kernel {text}: '{key}' is given twice")
        given[key] = value
    name, equals, image = head.partition("=")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise UserError(f"--kernel {text}: give NAME=IMAGE[,initrd=FILE]"
                        "[,append=TEXT][,column=COLUMN], NAME a plain name")
    if equals:
        unknown = re.search(r",([a-z]+)=", image)
        if unknown and not Path(image).exists():
            raise UserError(f"--kernel {text}: unknown option "
                            f"'{unknown[1]}' (known: initrd, append, column)")
        if not image:
            raise UserError(f"--kernel {text}: the image is missing after "
                            "'='")
        return [Kernel(name, image, given.get("initrd"),
                       given.get("append", ""), given.get("column"))]
    found = [_of_machine(machine, item) for item in machine.kernels
             if item["name"] == name]
    if not found:
        names = ", ".join(dict.fromkeys(item["name"]
                                        for item in machine.kernels))
        raise UserError(f"--kernel {text}: the machine file has no kernel "
                        f"'{name}' (it has {names}); give NAME=IMAGE for "
                        "another")
    if not given:
        return found
    append = " ".join(given.get("append", "").split())
    same = [kernel for kernel in found if kernel.append == append]
    chosen = Kernel(name, found[0].image, given.get("initrd"), append,
                    same[0].column if same else None, built=True)
    if "column" in given:
        chosen.column = given["column"]
    return [chosen]


def select(machine, arguments):
    """All kernels of a run, checked."""
    if arguments:
        kernels = [kernel for text in arguments
                   for kernel in _parse(machine, text)]
    else:
        kernels = [_of_machine(machine, item) for item in machine.kernels]
    seen = set()
    for kernel in kernels:
        if kernel.label in seen:
            raise UserError(f"--kernel: '{kernel.label}' is given twice; "
                            "name and append together tell kernels apart")
        seen.add(kernel.label)
    problems = []
    for kernel in kernels:
        try:
            kernel.check(machine.cpus)
        except UserError as err:
            if str(err) not in problems:
                problems.append(str(err))
    if problems:
        raise UserError("\n".join(problems))
    return kernels
