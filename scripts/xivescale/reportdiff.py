# SPDX-License-Identifier: GPL-2.0-or-later
"""Two reports side by side: what went away, what appeared.

Addresses differ between kernels and runs, so that what is compared are
places in the source: a function and the member that it accesses there.
"""

from . import hotlines, reporttext
from .errors import UserError
from .files import load_json

# Below this share of all stall in both, a place is not worth a row.
_SMALL = 0.001


def check(report, path):
    if report.get("format") != hotlines.FORMAT:
        raise UserError(f"{path}: a report of format {report.get('format')}, "
                        f"not {hotlines.FORMAT}; make it again")


def load(path):
    """A report in JSON."""
    data = load_json(path)
    if not isinstance(data, dict) or "title" not in data \
            or "breakdown" not in data:
        raise UserError(f"{path}: no report in JSON; make one with "
                        "scripts/report --json")
    check(data, path)
    return data


def _places(report):
    """Stall and transfers by (function, member) over the lines kept."""
    places = {}
    for line in report["lines"]:
        for access in line["accesses"]:
            # Of a stack or per-CPU object each CPU has its own: one place.
            key = (access.get("device") and "interrupt controller"
                   or _function(access), access["operation"],
                   reporttext.member(access))
            place = places.setdefault(key, [0, 0])
            place[0] += hotlines.to_ps(access["stall_ns"])
            place[1] += sum(access["transfers"]) + access["dma"]
    return places


def _function(access):
    name = access.get("function", access.get("pc", "unknown"))
    outer = access.get("inlined_into") or []
    return f"{name} in {outer[-1]}" if outer else name


def _work(report):
    """Picoseconds of all threads by part, for one IPI if these are known."""
    ipis = report.get("ipis")
    return [(label, value / ipis if ipis else value)
            for label, value in hotlines.breakdown(report)]


def make(before, after):
    """The difference, as written to JSON."""
    one, two = _places(before), _places(after)
    totals = [hotlines.to_ps(report["totals"]["stall_ns"])
              for report in (before, after)]
    rows = []
    for key in sorted(set(one) | set(two)):
        stall = [places.get(key, [0, 0])[0] for places in (one, two)]
        share = [value / total if total else 0
                 for value, total in zip(stall, totals)]
        if max(share) < _SMALL:
            continue
        rows.append({
            "function": key[0], "operation": key[1], "member": key[2],
            "stall_ns": [hotlines.to_ns(value) for value in stall],
            "share": [round(value, 6) for value in share],
            "transfers": [places.get(key, [0, 0])[1]
                          for places in (one, two)]})
    # By what changed most in time per IPI, else in time.
    ipis = [report.get("ipis") for report in (before, after)]
    scale = ipis if all(ipis) else [1, 1]

    def change(row):
        return row["stall_ns"][1] / scale[1] - row["stall_ns"][0] / scale[0]

    rows.sort(key=lambda row: (-abs(change(row)), row["function"],
                               row["operation"], row["member"]))
    for row in rows:
        row["change"] = ("gone" if not row["stall_ns"][1] else "new"
                         if not row["stall_ns"][0] else "less"
                         if change(row) < 0 else "more")
    work = [dict(_work(report)) for report in (before, after)]
    return {
        "format": hotlines.FORMAT,
        "titles": [before["title"], after["title"]],
        "per_ipi": all(ipis),
        "ipis": ipis,
        "totals": [{"stall_ns": report["totals"]["stall_ns"],
                    "transfers": sum(report["totals"]["transfers"])}
                   for report in (before, after)],
        "breakdown": [{"part": label,
                       "ns": [round(part.get(label, 0) / 1000, 3)
                              for part in work]}
                      for label in dict.fromkeys([*work[0], *work[1]])],
        "first_lines": [[line["object"] for line in report["lines"][:10]]
                        for report in (before, after)],
        "places": rows}


def render(difference, top=20):
    """The text."""
    a, b = difference["titles"]
    out = [reporttext.heading("Two kernels").lstrip("\n"),
           f"  A  {a}", f"  B  {b}"]
    unit = "ns an IPI" if difference["per_ipi"] else "ns"
    out.append(reporttext.heading(f"Time of all threads, {unit}"))
    out.append(f"  {'':<32}{'A':>16}{'B':>16}{'change':>16}")
    for row in difference["breakdown"]:
        one, two = row["ns"]
        out.append(f"  {row['part']:<32}{one:>16,.1f}{two:>16,.1f}"
                   f"{two - one:>+16,.1f}")
    for title, kinds in (("Went away, or costs less", ("gone", "less")),
                         ("Appeared, or costs more", ("new", "more"))):
        out.append(reporttext.heading(title))
        out.append(f"  {'':<5}{'stall A':>10}{'stall B':>10}{'share A':>9}"
                   f"{'share B':>9}{'transfers A':>13}{'B':>10}  place")
        rows = [row for row in difference["places"]
                if row["change"] in kinds]
        for row in rows[:top]:
            out.append(
                f"  {row['change']:<5}"
                + "".join(f"{reporttext.time(value):>10}"
                          for value in row["stall_ns"])
                + "".join(f"{value:>9.2%}" for value in row["share"])
                + f"{row['transfers'][0]:>13,}{row['transfers'][1]:>10,}"
                + f"  {row['member']}, {row['operation']} in "
                  f"{row['function']}")
        if not rows:
            out.append("  nothing")
    return "\n".join(out) + "\n"
