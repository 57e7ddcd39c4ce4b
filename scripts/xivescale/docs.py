# SPDX-License-Identifier: GPL-2.0-or-later
"""The parts of the documents that are made from sources and results.

A document keeps such a part between a pair of comments,

    <!-- NAME:begin -->
    <!-- NAME:end -->

and only what stands between them is ever written.
"""

import re
from collections import namedtuple

from . import table
from .errors import UserError
from .files import ROOT

PARAMS = ROOT / "hw/intc/contention/params.c"
OPTIONS = ROOT / "accel/tcg/simtime-options.c"

NO_RESULT = ("No result has been put here yet: run `make compare`, then "
             "`scripts/docs-results`.")

# Parameters that no machine file has, and what decides them instead.
RUN_OPTIONS = {
    "seed": "the run's, `--seeds`",
    "filter-entries": "changes no result",
    "limit-ms": "the run's, `--sim-timeout`",
}

Parameter = namedtuple("Parameter", "name unit default range meaning")


# Documents

def replace(text, name, body, where):
    """The document with another body between the markers of a part."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    if text.count(begin) != 1 or text.count(end) != 1 or \
            text.index(begin) > text.index(end):
        raise UserError(f"{where}: needs one pair of markers '{begin}' and "
                        f"'{end}'")
    head, _, rest = text.partition(begin)
    tail = rest.partition(end)[2]
    return f"{head}{begin}\n{body.strip()}\n{end}{tail}"


def part(text, name, where="document"):
    """What stands between the markers of a part."""
    found = re.search(f"<!-- {name}:begin -->\n(.*)\n?<!-- {name}:end -->",
                      text, re.S)
    if not found:
        raise UserError(f"{where}: has no part '{name}'")
    return found[1].strip()


def rows(markdown):
    """The rows of a table, head and ruler left out, as lists of cells."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")]
            for line in lines[2:]]


def grid(head, body, left=1):
    """A table; the first columns to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join("---" if i < left else "---:"
                            for i in range(len(head))) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in body]
    return "\n".join(lines)


# Parameters, out of the sources

def _strings(text):
    """Adjacent C strings as one."""
    return "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', text))


def _number(text):
    shift = re.fullmatch(r"(\d+) << (\d+)", text)
    if shift:
        return str(int(shift[1]) << int(shift[2]))
    return {"UINT32_MAX": str((1 << 32) - 1),
            "CONTENTION_LINE_BYTES": "128"}.get(text, text)


def contention_parameters():
    """The table of params.c, in its order."""
    text = PARAMS.read_text(encoding="utf-8")
    words = {name: re.findall(r'"([a-z-]+)"', body) for name, body in
             re.findall(r"char \*const (\w+)\[\] = \{([^}]*)\}", text)}
    body = text[text.index("table[] = {"):]
    body = body[:body.index("\n};")]
    found = []
    for entry in re.split(r"\n    (?=(?:TIME|SLOPE|INTEGER|RULE)\()", body)[1:]:
        kind, name, rest = re.match(
            r'(TIME|SLOPE|INTEGER|RULE)\("([a-z-]+)",(.*)\)', entry, re.S).groups()
        fields, doc = re.match(r'((?:\s*(?:"[^"]*"|[^",]+),)+)\s*(".*)',
                               rest, re.S).groups()
        fields = [field.strip() for field in fields.rstrip(",").split(",")]
        meaning = _strings(doc).rstrip(".")
        if kind == "TIME":
            found.append(Parameter(name, "ns", fields[1], "0 to 1000000",
                                   meaning))
        elif kind == "SLOPE":
            found.append(Parameter(name, "%", "0", "0 to 1000", meaning))
        elif kind == "RULE":
            choices = words[fields[1]]
            found.append(Parameter(name, "rule", choices[0],
                                   ", ".join(choices), meaning))
        else:
            low, high = _number(fields[3]), _number(fields[4])
            found.append(Parameter(
                name, fields[0].strip('"') or "number", _number(fields[2]),
                low if low == high else f"{low} to {high}", meaning))
    return found


def clock_parameters():
    """The properties of simtime-options.c, without "simtime-"."""
    text = OPTIONS.read_text(encoding="utf-8")
    defaults = {name.replace("_", "-"): value for name, value in re.findall(
        r"^    \.(\w+) = ([^,]+),$",
        text[text.index("simtime_options = {"):], re.M)}
    found = []
    for name, low, high, doc in re.findall(
            r'\{ "simtime-([a-z-]+)", &[\w.]+,\s+(\d+), (\d+),\s+'
            r'((?:"[^"]*"\s*)+)\}', text):
        default = 1
        for factor in defaults.get(name, "0").split("*"):
            default *= int(factor)
        unit = re.search(r"-(ps|ns|ms)$", name)
        found.append(Parameter(
            name, unit[1] if unit else "instructions", str(default),
            f"{low} to {high}",
            re.sub(r" \((?:ps|ns|ms)(?:, ([^)]*))?\)$",
                   lambda match: f" ({match[1]})" if match[1] else "",
                   _strings(doc))))
    return found


def _parameter_table(parameters, items, prefix=""):
    body = []
    for p in parameters:
        item = items.get(p.name)
        if item:
            value, label = str(item["value"]), item["source"]
        else:
            value, label = "", RUN_OPTIONS.get(p.name, "")
        body.append([f"`{prefix}{p.name}`", p.unit, p.default, p.range,
                     value, label, p.meaning])
    head = ["parameter", "unit", "default", "range", "here", "label",
            "meaning"]
    return grid(head, body, left=len(head))


# What the design took: value, title, text.
DESIGN = {
    "cores-per-domain": (2, "Coherence domain", "a pair of POWER9 cores, "
                         "which share L2 and L3"),
    "holder-rule": ("load", "Holders of a line that leaves",
                    "they may load it, but not store to it"),
    "load-rule": ("shared", "Load of a written line", "it makes a copy"),
    "merge-rule": ("all", "Threads of the domain that waits",
                   "loads and stores join its request"),
}


def _departures(machine):
    """An item for each choice that is not the design's."""
    lines = []
    for name, (value, title, text) in DESIGN.items():
        item = machine.contention[name]
        if value == item["value"]:
            continue
        lines.append(f"- **{title}.** The design: {text} (`{name}` = "
                     f"{value}). `{machine.path.name}`: {item['value']} "
                     f"({item['source']}: {_basis(item)}).")
    return "\n".join(lines) or "- No rule of the machine file departs."


def model_parts(machine):
    """The parts of docs/model.md: what the sources say of parameters."""
    return {
        "clock-parameters": _parameter_table(clock_parameters(),
                                             machine.clock, "simtime-"),
        "contention-parameters": _parameter_table(contention_parameters(),
                                                  machine.contention),
        "departures": _departures(machine),
    }


# Results

def percent(error):
    return f"{error * 100:+.1f} %"


def _label(kernel, append):
    return f"{kernel} {append}".strip()


def _fitted(result):
    return {(item["column"], item["cpus"]) for item in result["fitted"]
            if item["reference"] == result["reference"]}


def _cell(point, fitted):
    if point["rate"] is None:
        return "failed"
    text = f"{point['rate']:.2f}"
    if point["published"] is not None:
        star = "\\*" if (point["column"], point["cpus"]) in fitted else ""
        text += (f" / {point['published']:.2f} "
                 f"({percent(point['error'])}{star})")
    return text


def result_table(result):
    """The table of the README: rate / published (error)."""
    fitted = _fitted(result)
    pairs = table.kernels_of(result)
    body = {}
    for point in result["points"]:
        row = body.setdefault(point["cpulist"],
                              [str(point["cpus"]), str(point["chips"])])
        row.append(_cell(point, fitted))
    head = ["CPUs", "chips", *(_label(*pair) for pair in pairs)]
    return grid(head, body.values(), left=0)


def summary(result):
    """Errors and ratios in two or three sentences."""
    s = result["summary"]
    lines = []
    if s["count"]:
        worst, free = s["worst"], s["not_fitted"]
        lines.append(
            f"{s['count']} published figures: median absolute error "
            f"{s['median_abs_error'] * 100:.1f} %, largest "
            f"{s['max_abs_error'] * 100:.1f} % "
            f"({_label(worst['kernel'], worst['append'])}, {worst['cpus']} "
            f"CPUs).")
        if 0 < free["count"] < s["count"]:
            lines.append(
                f"The {free['count']} that nothing was fitted to: median "
                f"{free['median_abs_error'] * 100:.1f} %, largest "
                f"{free['max_abs_error'] * 100:.1f} %.")
    if s["failed"]:
        lines.append(f"{s['failed']} points failed.")
    return "\n".join(lines)


def ratios(result):
    body = []
    for item in result["ratios"]:
        large, small = item["cpus"]
        known = item["published"] is not None
        body.append([_label(item["kernel"], item["append"]),
                     f"{large}:{small}", f"{item['ratio']:.3f}",
                     f"{item['published']:.3f}" if known else "",
                     percent(item["error"]) if known else ""])
    return grid(["kernel", "CPUs", "ratio", "published", "error"], body)


def figures(result):
    """Every figure that has a published one, a row each."""
    fitted = _fitted(result)
    body = []
    for p in result["points"]:
        if p["published"] is None:
            continue
        used = (p["column"], p["cpus"]) in fitted
        body.append([_label(p["kernel"], p["append"]), p["column"],
                     str(p["cpus"]), str(p["chips"]),
                     "failed" if p["rate"] is None else f"{p['rate']:.3f}",
                     f"{p['published']:.3f}",
                     "" if p["error"] is None else percent(p["error"]),
                     "yes" if used else ""])
    return grid(["kernel", "column", "CPUs", "chips", "model", "published",
                  "error", "fitted to"], body, left=2)


def unpublished(result):
    """The figures for which nobody published one."""
    body = [[_label(p["kernel"], p["append"]), str(p["cpus"]),
             str(p["chips"]),
             "failed" if p["rate"] is None else f"{p['rate']:.3f}"]
            for p in result["points"] if p["published"] is None]
    return grid(["kernel", "CPUs", "chips", "model"], body)


def fitted_figures(result):
    body = [[item["column"], str(item["cpus"]),
             ", ".join(f"`{name}`" for name in item["parameters"])]
            for item in result["fitted"]]
    return (f"{len(body)} figures of `{result['reference']}`:\n\n"
            + grid(["column", "CPUs", "parameters"], body, left=3))


def _basis(item):
    texts = []
    if "rows" in item:
        texts.append("rows " + ", ".join(f"{column} {cpus}"
                                         for column, cpus in item["rows"]))
    texts += [item[key] for key in ("where", "note") if key in item]
    return "; ".join(texts).replace("|", "\\|")


def parameters(result):
    """What the run used, and on what ground."""
    p = result["parameters"]
    body = [[f"`{prefix}{name}`", str(item["value"]), item["source"],
             _basis(item)]
            for group, prefix in (("clock", "simtime-"), ("contention", ""))
            for name, item in p[group].items()]
    storm = p["storm"]
    sleep = ("none" if storm["usleep"] is None
             else f"{storm['usleep']} us after each IPI")
    smp = p["smp"]
    cores = (smp["cores"] if not isinstance(smp["cores"], list)
             else "/".join(str(number) for number in smp["cores"]))
    return (f"Machine `{p['machine']}`, {smp['sockets']} chips x "
            f"{cores} cores x {smp['threads']} threads, "
            f"{p['memory']}; storm with offset {storm['offset']}, warm-up "
            f"{storm['warmup_us']} us, window {storm['duration_us']} us, "
            f"sleep {sleep}, "
            f"{'first CPU only' if storm['single'] else 'all CPUs'} sending; "
            f"seeds {', '.join(str(seed) for seed in p['seeds'])}; kernel "
            f"command line `{p['append']}`.\n\n"
            + grid(["parameter", "value", "label", "basis"], body, left=4))


def readme_parts(result, plot):
    """The part of README.md."""
    return {"table": "\n\n".join([
        result_table(result), summary(result),
        f"![{result['description']}: rate by CPUs]({plot})"])}


def machine_parts(result, plot):
    """The part of docs/validation.md for a machine besides the first."""
    return {result["machine"]: "\n\n".join([
        result_table(result), summary(result), fitted_figures(result),
        f"![{result['description']}: rate by CPUs]({plot})"])}


def validation_parts(result):
    """The parts of docs/validation.md."""
    return {"summary": summary(result), "ratios": ratios(result),
            "figures": figures(result), "unpublished": unpublished(result),
            "fitted": fitted_figures(result),
            "parameters": parameters(result),
            "qemu": f"`{result['hashes']['qemu']['version']}`"}
