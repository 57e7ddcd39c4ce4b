# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the report: the attribution of a region, with names.

Times of the attribution file are decimal nanoseconds; they are added here as
whole picoseconds, so that sums are exact.
"""

from pathlib import Path

from .errors import UserError
from .files import ROOT, load_json

FORMAT = 1
_LINEAR = 0xC000000000000000

_KINDS = {"irq-stack": "interrupt stack", "softirq-stack":
          "soft interrupt stack", "paca": "paca",
          "event-queue": "XIVE event queue"}


def to_ps(value):
    """Picoseconds of a decimal time."""
    return round(value * 1000)


def to_ns(picoseconds):
    """Nanoseconds, a whole number where it is one."""
    return picoseconds // 1000 if picoseconds % 1000 == 0 \
        else picoseconds / 1000


def load(path):
    """An attribution file, checked as far as we rely on it."""
    data = load_json(path)
    if not isinstance(data, dict) or "lines" not in data:
        raise UserError(f"{path}: no attribution file; give what -device "
                        "contention,attribution-file= has written")
    if data.get("format") != 1:
        raise UserError(f"{path}: format {data.get('format')} is not known "
                        "here; use the scripts that belong to the simulator")
    return data


class Sources:
    """Text of the kernel's source lines."""

    def __init__(self, directories):
        self._directories = [Path(name) for name in directories]
        self._files = {}

    def line(self, name, number):
        """A source line without its indentation, or None."""
        if name not in self._files:
            self._files[name] = self._read(name)
        lines = self._files[name]
        if lines is None or not 0 < number <= len(lines):
            return None
        return " ".join(lines[number - 1].split())

    def _read(self, name):
        for directory in self._directories:
            path = directory / name
            if path.is_file():
                return path.read_text(errors="replace").split("\n")
        return None


def source_directories(kernel):
    """Where the sources of one of our kernels are: its patched files first."""
    return [Path(kernel).parent / "source", ROOT / "build/src/linux", ROOT]


def ranges(numbers):
    """0-3,8 of a sorted list."""
    parts = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def _symbol(answer):
    text = answer["symbol"]
    if answer.get("symbol_offset"):
        text += f"+{answer['symbol_offset']:#x}"
    if answer.get("module", "vmlinux") != "vmlinux":
        text += f" [{answer['module']}]"
    return text


def object_text(answer, types=()):
    """One phrase for what a line belongs to."""
    kind = answer.get("kind", "unknown")
    by_type = " and ".join(types)
    if kind == "static":
        text = _symbol(answer)
        if answer.get("type"):
            text += f" ({answer['type']})"
        return text
    if kind == "per-cpu":
        text = _symbol(answer) if "symbol" in answer else (
            f"{by_type or 'unknown'} in per-CPU memory")
        return f"{text} of CPU {answer['cpu']}"
    if kind == "stack":
        text = f"stack of {answer['task']} (pid {answer['pid']})"
        return f"{by_type} on the {text}" if by_type else text
    if kind == "slab":
        return (f"{by_type or 'unknown'} in a {answer['cache']} object at "
                f"+{answer['object_offset']:#x}")
    if kind in _KINDS:
        return f"{_KINDS[kind]} of CPU {answer['cpu']}"
    return by_type or "unknown"


def _code(answer, pc, sources):
    """Where an instruction is, for the report."""
    where = {"pc": pc}
    if "symbol" in answer:
        where["symbol"] = _symbol({**answer, "symbol_offset":
                                   answer.get("symbol_offset", 0)})
    functions = answer.get("functions") or []
    if functions:
        where["function"] = functions[0]["name"]
        where["inlined_into"] = [item["name"] for item in functions[1:]]
    elif "symbol" in answer:
        where["function"] = answer["symbol"]
        where["inlined_into"] = []
    for key in ("file", "line", "instruction", "module"):
        if key in answer:
            where[key] = answer[key]
    if "file" in answer and sources:
        text = sources.line(answer["file"], answer["line"])
        if text:
            where["text"] = text
    return where


def _effective(line):
    """Of a line that only devices used: where the kernel maps it."""
    if "ea" in line:
        return int(line["ea"], 16)
    return _LINEAR + int(line["gpa"], 16)


class Report:
    """Collects the requests, then puts the answers in their places."""

    def __init__(self, data, names, sources, max_lines, max_accesses):
        self._data = data
        self._sources = sources
        self._max_accesses = max_accesses
        self._lines = data["lines"][:max_lines]
        self._instructions = data["instructions"][:max_lines]
        requests = []
        for line in self._lines:
            requests.append(self._data_request(_effective(line)))
            for access in self._kernel_accesses(line):
                requests += [f"code {access['pc'][2:]}",
                             self._access_request(access),
                             self._data_request(int(access["ea"], 16),
                                                access["size"])]
        requests += [f"code {item['pc'][2:]}" for item in self._instructions
                     if "pc" in item and not item.get("user")]
        self._answers = names.ask(requests) if names else {}

    @staticmethod
    def _data_request(address, size=0):
        return f"data {address:x} {size:x}"

    @staticmethod
    def _access_request(access):
        return f"access {access['pc'][2:]} {access['ea'][2:]}"

    def _kernel_accesses(self, line):
        return [access for access in line["accesses"][:self._max_accesses]
                if "pc" in access and not access.get("user")]

    def _answer(self, request):
        return self._answers.get(request, {})

    def _share(self, picoseconds):
        total = to_ps(self._data["totals"]["all"]["stall_ns"])
        return round(picoseconds / total, 6) if total else 0

    def _sums(self, item):
        sums = {"stall_ns": item["stall_ns"],
                "share": self._share(to_ps(item["stall_ns"])),
                "transfers": item["transfers"],
                "transfer_ns": to_ns(sum(map(to_ps, item["transfer_ns"])))}
        for key in ("wait_ns", "merge_ns", "given_up_ns", "waits", "merges",
                    "given_up", "dma", "dma_ns", "longest_queue"):
            sums[key] = item.get(key, 0)
        return sums

    def _who(self, item):
        if "device" in item:
            return {"device": f"{item['device']} of chip {item['chip']}"}
        if item.get("user"):
            return {"pc": item["pc"], "function": "(user space)",
                    "inlined_into": []}
        return _code(self._answer(f"code {item['pc'][2:]}"), item["pc"],
                     self._sources)

    def _access(self, access):
        entry = {**self._who(access), "operation": access["operation"],
                 **self._sums(access), "chip_count": access["chip_count"],
                 "chip_stall_ns": access["chip_stall_ns"],
                 "domains": access["domains"]}
        if "offset" in access:
            entry.update(offset=access["offset"], size=access["size"])
        if "pc" not in access or access.get("user"):
            return entry
        typed = self._answer(self._access_request(access))
        place = self._answer(self._data_request(int(access["ea"], 16),
                                                access["size"]))
        if "type" in place:
            entry.update(type=place["type"], field=place["field"],
                         variable=place.get("symbol", ""))
        elif "type" in typed:
            entry.update(type=typed["type"], field=typed["field"],
                         object=f"{int(access['ea'], 16) - typed['type_offset']:#x}")
        return entry

    def _types(self, line):
        """What its instructions say it is, costliest first, two at most."""
        weights = {}
        for access in self._kernel_accesses(line):
            typed = self._answer(self._access_request(access))
            if "type" in typed:
                weights[typed["type"]] = (weights.get(typed["type"], 0)
                                          + to_ps(access["stall_ns"]))
        return sorted(weights, key=lambda name: (-weights[name], name))[:2]

    def _place(self, line):
        """What the line is; of several variables the one that costs most."""
        place = self._answer(self._data_request(_effective(line)))
        if place.get("kind") not in ("static", "per-cpu", "unknown"):
            return place
        for access in self._kernel_accesses(line):
            costly = self._answer(self._data_request(
                int(access["ea"], 16), access["size"]))
            if "symbol" in costly:
                return {**costly, "symbol_offset": 0}
        return place

    def _line(self, rank, line):
        place = self._place(line)
        chips = self._data["topology"]["domain_chip"]
        shown = line["accesses"][:self._max_accesses]
        rest = line["accesses"][self._max_accesses:]
        entry = {"rank": rank, "gpa": line["gpa"]}
        if "ea" in line:
            entry["ea"] = line["ea"]
        entry["object"] = ("(user space)" if line.get("user") else
                           object_text(place, self._types(line)))
        entry["place"] = place
        entry.update(self._sums(line))
        for name in ("readers", "writers"):
            by_chip = [0] * self._data["topology"]["chips"]
            for domain, count in line[name]:
                by_chip[chips[domain]] += count
            entry[name] = {"by_chip": by_chip, "domains": ranges(
                [domain for domain, _ in line[name]])}
        entry["accesses"] = [self._access(access) for access in shown]
        entry["others"] = {"count": len(rest), "stall_ns": to_ns(sum(
            to_ps(access["stall_ns"]) for access in rest))}
        return entry

    def build(self, title, ipis=None):
        """The report, ready to be written as JSON."""
        data = self._data
        report = {"format": FORMAT, "title": title,
                  "region": data["region"], "topology": {
                      key: data["topology"][key] for key in
                      ("cpus", "chips", "domains", "line_bytes",
                       "distances")},
                  "parameters": data["parameters"],
                  "totals": self._sums(data["totals"]["all"]),
                  "breakdown": data["breakdown"],
                  "matrix": data["matrix"],
                  "fabric": data["fabric"],
                  "dropped": {name: {"count": item["count"],
                                     "stall_ns": item["stall_ns"]}
                              for name, item in data["dropped"].items()},
                  "lines_total": len(data["lines"]),
                  "instructions_total": len(data["instructions"])}
        if ipis is not None:
            report["ipis"] = ipis
        report["lines"] = [self._line(rank, line) for rank, line
                           in enumerate(self._lines, 1)]
        report["instructions"] = [
            {"rank": rank, **self._who(item),
             "operation": item["operation"], **self._sums(item),
             "lines": item["lines"], "chip_count": item["chip_count"],
             "chip_stall_ns": item["chip_stall_ns"]}
            for rank, item in enumerate(self._instructions, 1)]
        return report


def make(data, title, names=None, sources=None, ipis=None, max_lines=100,
         max_accesses=12):
    """A report from an attribution file's content."""
    return Report(data, names, sources, max_lines, max_accesses).build(
        title, ipis)


def breakdown(report):
    """(label, picoseconds) of what the time of all threads went into."""
    parts = report["breakdown"]
    names = report["topology"]["distances"]
    labels = {"same-domain": "transfers in a domain",
              "same-chip": "transfers on a chip",
              "cross-chip": "transfers between chips"}
    rows = [("instructions", to_ps(parts["instructions_ns"])),
            ("polling", to_ps(parts["polls_ns"]))]
    for name, value in zip(names, parts["transfer_ns"]):
        rows.append((labels.get(name, name.replace("-", " ")),
                     to_ps(value)))
    rows += [("waiting for lines", to_ps(parts["wait_ns"])),
             ("waiting with the own domain", to_ps(parts["merge_ns"])),
             ("stores given up", to_ps(parts["given_up_ns"])),
             ("interrupt controller registers", to_ps(parts["fabric_ns"])),
             ("low priority", to_ps(parts["paused_ns"])),
             ("idle", to_ps(parts["idle_ns"]))]
    return rows
