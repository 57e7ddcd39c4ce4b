# SPDX-License-Identifier: GPL-2.0-or-later
"""Machine files: what they hold, and their validation.

A machine file (machines/*.json) is one JSON object.  Every key is needed
unless marked optional, and no other key is taken: a misspelt parameter
must not silently leave a default in force.

    name         short name; results go to build/results/<name>/
    description  one line for people
    machine      QEMU machine type, with options: "powernv9",
                 "powernv10,big-core=on"
    smp          {"cpus", "sockets", "cores", "threads"}: sockets are chips,
                 cores are per chip, threads per core, and
                 cpus = sockets x cores x threads.  Where chips differ, cores
                 is a list of one number a chip, and cpus = sum x threads
    memory       "4G", "512M"
    append       optional: what the command line of every kernel needs on this
                 machine
    clock        parameters of simulated time (CLOCK below)
    contention   parameters of the contention model (CONTENTION below)
    storm        {"offset", "warmup_us", "duration_us"} and, optional,
                 "single" (true or false), "usleep" (microseconds) and
                 "per_boot", how many CPU sets a guest runs one after the
                 other (1)
    kernels      list of {"name", "variant", "append"} and, optional,
                 "column": the kernel build/guest/<variant>/, what is added
                 to its command line, and the reference column it is to
                 reproduce.  Name and append together are unique.
    cpus         list of CPU counts and CPU sets, as --cpus takes them
    reference    optional: CSV file of reference/ with the published figures
    base         optional: the name of another machine file of the same
                 directory, which has no base itself.  Its keys hold where
                 this file has none; of "clock" and "contention" each
                 parameter by itself.  "name" and "description" are needed
                 all the same.  With another reference, or null for none,
                 the base's fitted values are "chosen".
    times        optional, with a base: "in-instructions".  Each time of the
                 machine that this file does not give takes as many
                 instructions as in the base, whatever one takes here, as if
                 all ran by another clock.

A parameter is {"value", "source"} and what its source asks for:

    "published"  "where":  where the figure is published
    "fitted"     "rows":   [["column", cpus], ...] of the reference that the
                           value was fitted to; these are not predictions
    "chosen"     "note":   why this value
    "override"             given with --param (never in a machine file)

"note" is allowed with every source.  No parameter may depend on the kernel,
the column or the number of CPUs taking part; the form leaves no room for it.
"""

import copy
import re
from collections import namedtuple
from pathlib import Path

from . import cpulist
from .errors import UserError
from .files import ROOT, load_json

Number = namedtuple("Number", "low high unit")      # a whole number
Time = namedtuple("Time", "low high unit")          # ns, down to 0.001
Word = namedtuple("Word", "choices unit", defaults=("",))

_NS = Time(0, 1_000_000, "ns")
_PCT = Number(0, 1000, "%")

# Names and ranges are those of the accelerator's options, less "simtime-".
CLOCK = {
    "instruction-ps": Number(1, 1_000_000, "ps"),
    "lookahead-ns": Number(0, 1_000_000, "ns"),
    "quantum-ns": Number(1000, 100_000_000, "ns"),
    "pause-ns": Number(1, 1_000_000, "ns"),
    "pause-instructions": Number(1, 1_000_000, "instructions"),
}

# Names, ranges and order are those of hw/intc/contention/params.c (a test
# compares them); without filter-entries, which changes no result, and seed,
# which is that of the run.
CONTENTION = {
    "same-domain-ns": _NS,
    "same-chip-ns": _NS,
    "cross-chip-ns": _NS,
    "hop-ns": _NS,
    "waiter-slope-pct": Time(0, 1000, "%"),
    "waiter-scope": Word(("all", "chip")),
    "load-occupancy-pct": _PCT,
    "departure-pct": Number(0, 100, "%"),
    "holder-rule": Word(("load", "load-store", "none")),
    "load-rule": Word(("shared", "migratory")),
    "load-queue": Word(("parallel", "serialised")),
    "merge-rule": Word(("all", "loads")),
    "upgrade-rule": Word(("nearest", "furthest")),
    "arbitration": Word(("random", "arrival", "nearest")),
    "cores-per-domain": Number(1, 1024, "cores"),
    "line-bytes": Number(128, 128, "bytes"),
    "trigger-ns": _NS,
    "fabric-hop-ns": _NS,
    "service-ns": _NS,
    "route-ns": _NS,
    "queue-write-ns": _NS,
    "notify-ns": _NS,
    "notify-spread-ns": _NS,
    "match-ns": _NS,
    "esb-load-ns": _NS,
    "esb-store-ns": _NS,
    "tima-load-ns": _NS,
    "tima-store-ns": _NS,
}

_STORM = {
    "offset": Number(1, 100_000, "places"),
    "warmup_us": Number(0, 1_000_000, "us"),
    "duration_us": Number(1, 5_000_000, "us"),
}
_STORM_OPTIONAL = {
    "usleep": Number(0, 1_000_000, "us"),
    "per_boot": Number(1, 1000, "CPU sets"),
}

# Of the clock, what is a time of the machine and not of the simulator's
_CLOCK_TIMES = ("pause-ns",)

_SMP_LIMITS = {"cpus": 2048, "sockets": 16, "cores": 64, "threads": 8}


def resolve(name):
    """A machine as given: a path, or the name of a file of machines/."""
    path = Path(name)
    if not path.exists() and re.fullmatch(r"[A-Za-z0-9._-]+", str(name)):
        known = ROOT / "machines" / f"{name}.json"
        if known.exists():
            return known
        names = sorted(item.stem
                       for item in (ROOT / "machines").glob("*.json"))
        raise UserError(f"{name}: no such machine file; machines/ has "
                        f"{', '.join(names) or 'none'}")
    return path


def _plain(value):
    """57.0 is 57: equal values must give equal command lines."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, 3)
    return value


class _Checker:
    """Checks values and names the offender by its place in the file."""

    def __init__(self, path):
        self.path = path

    def fail(self, where, what):
        raise UserError(f"{self.path}: {where}: {what}")

    def object(self, value, where, needed, optional=()):
        if not isinstance(value, dict):
            self.fail(where, "must be a JSON object {...}")
        for key in needed:
            if key not in value:
                self.fail(where, f"key '{key}' is missing")
        allowed = list(needed) + list(optional)
        for key in value:
            if key not in allowed:
                self.fail(where, f"unknown key '{key}' (known: "
                                 f"{', '.join(allowed)})")

    def string(self, value, where, pattern=None, hint=""):
        if not isinstance(value, str) or not value.isprintable():
            self.fail(where, "must be a string of one line")
        if pattern and not re.fullmatch(pattern, value):
            self.fail(where, f"'{value}' is not {hint}")

    def list(self, value, where):
        if not isinstance(value, list) or not value:
            self.fail(where, "must be a JSON list with at least one item")

    def number(self, value, where, form):
        whole = isinstance(form, Number)
        kind = "whole number" if whole else "number"
        if isinstance(value, bool) or not isinstance(
                value, int if whole else (int, float)):
            self.fail(where, f"{value!r} is not a {kind}"
                             f" ({form.low} to {form.high} {form.unit})")
        if not form.low <= value <= form.high:
            self.fail(where, f"{value} is out of range ({form.low} to "
                             f"{form.high} {form.unit})")
        if abs(value * 1000 - round(value * 1000)) > 1e-6:
            self.fail(where, f"{value} has more than three decimals")

    def value(self, value, where, form):
        if not isinstance(form, Word):
            self.number(value, where, form)
        elif value not in form.choices:
            self.fail(where, f"{value!r} is not one of "
                             f"{', '.join(form.choices)}")

    def parameter(self, item, where, form):
        self.object(item, where, ("value", "source"),
                    ("where", "rows", "note"))
        self.value(item["value"], f"{where}.value", form)
        item["value"] = _plain(item["value"])
        asks = {"published": "where", "fitted": "rows", "chosen": "note"}
        source = item["source"]
        if source not in asks:
            self.fail(f"{where}.source", f"{source!r} is not one of "
                                         f"{', '.join(asks)}")
        if asks[source] not in item:
            self.fail(where, f"source '{source}' needs the key "
                             f"'{asks[source]}'")
        for key in ("where", "rows"):
            if key in item and asks[source] != key:
                self.fail(where, f"key '{key}' does not go with source "
                                 f"'{source}'")
        for key in ("where", "note"):
            if key in item:
                self.string(item[key], f"{where}.{key}", r".*\S.*",
                            "a text")
        if "rows" in item:
            self.list(item["rows"], f"{where}.rows")
            for row in item["rows"]:
                if not (isinstance(row, list) and len(row) == 2
                        and isinstance(row[0], str)
                        and type(row[1]) is int):
                    self.fail(f"{where}.rows",
                              "each row must be [\"column\", cpus]")

    def parameters(self, value, where, table):
        self.object(value, where, tuple(table))
        for name, form in table.items():
            self.parameter(value[name], f"{where}.{name}", form)


def _forget_rows(data, base):
    """What was fitted to figures of one table is given for another."""
    for group in ("clock", "contention"):
        items = data.get(group)
        for item in items.values() if isinstance(items, dict) else ():
            if isinstance(item, dict) and item.pop("rows", None):
                item["source"] = "chosen"
                item["note"] = f"as in {base}, where it was fitted"


def _scale(merged, data, base, check):
    """Times of the base, given as instructions of this machine."""
    check.value(data["times"], "times", Word(("in-instructions",), "rule"))
    try:
        own = data["clock"]["instruction-ps"]["value"]
    except (KeyError, TypeError):
        check.fail("times", "needs clock.instruction-ps in this file, for "
                            "the base's times to follow")
    check.number(own, "clock.instruction-ps.value", CLOCK["instruction-ps"])
    theirs = merged["clock"]["instruction-ps"]["value"]
    for group, table, names in (
            ("clock", CLOCK, _CLOCK_TIMES),
            ("contention", CONTENTION,
             [name for name, form in CONTENTION.items() if form is _NS])):
        for name in names:
            value = merged[group][name]["value"] * own / theirs
            if value:
                whole = isinstance(table[name], Number)
                merged[group][name] = {
                    "value": _plain(round(value, 0 if whole else 3)),
                    "source": "chosen",
                    "note": f"as many instructions as in {base}"}


def _load(path, check):
    """The JSON object of a machine file, completed from its base."""
    data = load_json(path)
    if isinstance(data, dict) and "times" in data and "base" not in data:
        check.fail("times", "needs a base whose times are meant")
    if not isinstance(data, dict) or "base" not in data:
        return data
    check.string(data["base"], "base", r"[A-Za-z0-9][A-Za-z0-9._-]*",
                 "the name of a machine file beside this one, without .json")
    for key in ("name", "description"):
        if key not in data:
            check.fail("machine file", f"key '{key}' is missing")
    base_path = Path(path).parent / f"{data.pop('base')}.json"
    if not base_path.exists():
        check.fail("base", f"{base_path.name}: no such machine file")
    merged = load_json(base_path)
    if not isinstance(merged, dict) or "base" in merged:
        check.fail("base", f"{base_path.name} is no machine file, or has a "
                           "base itself")
    if data.get("reference", merged.get("reference")) != merged.get(
            "reference"):
        _forget_rows(merged, base_path.stem)
    if "times" in data:
        # Of a base that is valid: its times are there.
        Machine(base_path)
        _scale(merged, data, base_path.stem, check)
        del data["times"]
    for key, value in data.items():
        if (key in ("clock", "contention") and isinstance(value, dict)
                and isinstance(merged.get(key), dict)):
            merged[key].update(value)
        else:
            merged[key] = value
    if merged.get("reference", "") is None:
        del merged["reference"]
    return merged


class Machine:
    """A valid machine file, with any overrides applied."""

    def __init__(self, path):
        self.path = resolve(path)
        check = _Checker(self.path)
        data = _load(self.path, check)
        check.object(data, "machine file",
                     ("name", "description", "machine", "smp", "memory",
                      "clock", "contention", "storm", "kernels", "cpus"),
                     ("append", "reference"))
        check.string(data["name"], "name", r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
                     "a name of letters, digits, '.', '_' and '-'")
        check.string(data["description"], "description")
        check.string(data["machine"], "machine",
                     r"powernv[0-9]*(,[a-z0-9-]+=[a-z0-9]+)*",
                     "a powernv machine type of QEMU")
        check.string(data["memory"], "memory", r"[1-9][0-9]{0,5}[MG]",
                     "a size such as 4G or 512M")
        if "append" in data:
            check.string(data["append"], "append", r".*\S.*", "a text")
        self._check_smp(check, data["smp"])
        check.parameters(data["clock"], "clock", CLOCK)
        check.parameters(data["contention"], "contention", CONTENTION)
        self.smp = data["smp"]
        self._check_domains(data["contention"]["cores-per-domain"]["value"],
                            self.path)
        check.object(data["storm"], "storm", tuple(_STORM),
                     ("single", *_STORM_OPTIONAL))
        for key, form in _STORM.items():
            check.number(data["storm"][key], f"storm.{key}", form)
        for key, form in _STORM_OPTIONAL.items():
            if key in data["storm"]:
                check.number(data["storm"][key], f"storm.{key}", form)
        if not isinstance(data["storm"].get("single", False), bool):
            check.fail("storm.single", "must be true or false")
        self._check_kernels(check, data["kernels"], "reference" in data)
        check.list(data["cpus"], "cpus")
        for item in data["cpus"]:
            if type(item) not in (int, str):
                check.fail("cpus", f"{item!r} is neither a count nor a CPU "
                                   "set")
        if "reference" in data:
            check.string(data["reference"], "reference", r"[^/\\]+",
                         "the name of a file of reference/")
        self.data = data
        self.name = data["name"]
        self.cpus = self.smp["cpus"]
        self.append = data.get("append", "")
        self.kernels = data["kernels"]
        self.reference = data.get("reference")
        self.storm = {"offset": 0, "single": False, "usleep": None,
                      "per_boot": 1}
        self.storm.update(data["storm"])
        self.clock = copy.deepcopy(data["clock"])
        self.contention = copy.deepcopy(data["contention"])
        try:
            self.cpu_sets = cpulist.parse_sets(
                ",".join(str(item) for item in data["cpus"]), self.cpus)
        except UserError as err:
            text = str(err).removeprefix("--cpus: ")
            raise UserError(f"{self.path}: cpus: {text}") from None

    @property
    def chip_cores(self):
        """Cores of each chip."""
        cores = self.smp["cores"]
        return cores if isinstance(cores, list) else (
            [cores] * self.smp["sockets"])

    @property
    def big_core(self):
        """Whether the cores are pairs of what the model counts as one."""
        return "big-core=on" in self.data["machine"].split(",")

    @property
    def chip_threads(self):
        """Threads of each chip; CPUs are numbered chip by chip."""
        return [cores * self.smp["threads"] for cores in self.chip_cores]

    def _check_domains(self, per_domain, what):
        for cores in self.chip_cores:
            if cores % per_domain:
                raise UserError(
                    f"{what}: contention.cores-per-domain: {cores} cores "
                    f"a chip do not divide into domains of {per_domain}")

    @staticmethod
    def _check_smp(check, smp):
        check.object(smp, "smp", tuple(_SMP_LIMITS))
        for key, limit in _SMP_LIMITS.items():
            form = Number(1, limit, key)
            if key == "cores" and isinstance(smp[key], list):
                if len(smp[key]) != smp["sockets"]:
                    check.fail("smp.cores", f"{len(smp[key])} numbers for "
                                            f"{smp['sockets']} sockets; give "
                                            "one a socket")
                for chip, cores in enumerate(smp[key]):
                    check.number(cores, f"smp.cores[{chip}]", form)
            else:
                check.number(smp[key], f"smp.{key}", form)
        if isinstance(smp["cores"], list):
            total = sum(smp["cores"]) * smp["threads"]
            if total != smp["cpus"]:
                check.fail("smp", f"cores {' + '.join(map(str, smp['cores']))}"
                                  f" x threads {smp['threads']} = {total} "
                                  f"does not match cpus {smp['cpus']}")
            return
        product = smp["sockets"] * smp["cores"] * smp["threads"]
        if product != smp["cpus"]:
            check.fail("smp", f"sockets {smp['sockets']} x cores "
                              f"{smp['cores']} x threads {smp['threads']} = "
                              f"{product} does not match cpus {smp['cpus']}")

    @staticmethod
    def _check_kernels(check, kernels, has_reference):
        check.list(kernels, "kernels")
        seen = set()
        for index, kernel in enumerate(kernels):
            where = f"kernels[{index}]"
            check.object(kernel, where, ("name", "variant", "append"),
                         ("column",))
            for key in ("name", "variant"):
                check.string(kernel[key], f"{where}.{key}",
                             r"[A-Za-z0-9][A-Za-z0-9._+-]*", "a plain name")
            check.string(kernel["append"], f"{where}.append")
            if "column" in kernel:
                check.string(kernel["column"], f"{where}.column")
                if not has_reference:
                    check.fail(f"{where}.column", "there is no key "
                               "'reference' to have this column")
            pair = (kernel["name"], kernel["append"])
            if pair in seen:
                check.fail(where, f"a second kernel '{kernel['name']}' with "
                                  f"append '{kernel['append']}'")
            seen.add(pair)

    def override(self, text):
        """Apply one NAME=VALUE of --param; the label says so ever after."""
        name, equals, value = text.partition("=")
        for key, table in (("clock", CLOCK), ("contention", CONTENTION)):
            if name in table:
                break
        else:
            known = ", ".join(list(CLOCK) + list(CONTENTION))
            raise UserError(f"--param {text}: no parameter '{name}' (known: "
                            f"{known})")
        form = table[name]
        if not equals:
            raise UserError(f"--param {text}: give NAME=VALUE")
        if not isinstance(form, Word):
            kind = "number" if isinstance(form, Time) else "whole number"
            try:
                value = int(value) if kind != "number" else float(value)
            except ValueError:
                raise UserError(f"--param {text}: '{value}' is not a {kind} "
                                f"({form.low} to {form.high} "
                                f"{form.unit})") from None
        _Checker("--param").value(value, name, form)
        getattr(self, key)[name] = {
            "value": _plain(value), "source": "override",
            "note": "given with --param; the machine file has "
                    f"{self.data[key][name]['value']}"}
        self._check_domains(self.contention["cores-per-domain"]["value"],
                            "--param")

    def values(self, group):
        """Plain {name: value} of "clock" or "contention"."""
        table = CLOCK if group == "clock" else CONTENTION
        items = getattr(self, group)
        return {name: items[name]["value"] for name in table}

    def fitted(self):
        """The reference figures used up by fitting, each once."""
        found = {}
        for group in (self.clock, self.contention):
            for name, item in group.items():
                for column, cpus in item.get("rows", ()):
                    found.setdefault((column, cpus), []).append(name)
        return [{"column": column, "cpus": cpus, "parameters": names}
                for (column, cpus), names in sorted(found.items())]
