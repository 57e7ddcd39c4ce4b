# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as text: ranked lines, then for each who accesses it."""

from . import hotlines

WIDTH = 110


def percent(share):
    """A share of all stall time, as wide as 100.00%."""
    return f"{share * 100:6.2f}%"


def time(nanoseconds):
    """A time with three digits or so, and its unit."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2f} {unit}"
    return f"{nanoseconds:.0f} ns"


def where(item):
    """Function, file and line of an instruction."""
    if "device" in item:
        return item["device"]
    text = item.get("function", "unknown")
    if item.get("inlined_into"):
        text += f" in {item['inlined_into'][-1]}"
    if "file" in item:
        text += f" {item['file']}:{item['line']}"
    elif "symbol" in item and item.get("symbol") != item.get("function"):
        text += f" {item['symbol']}"
    return text


def member(access):
    """struct irq_desc.irq_count, as far as it is known."""
    if "type" not in access:
        return "unknown"
    name = access.get("variable") or access["type"]
    field = access["field"]
    if not field:
        return name
    return f"{name}{'' if field.startswith('[') else '.'}{field}"


def heading(text):
    """A line of = with a title in it, as perf has them."""
    return f"\n{f' {text} '.center(WIDTH, '=')}\n"


def _totals(report, out):
    totals, region = report["totals"], report["region"]
    topology = report["topology"]
    length = region["end_ns"] - region["start_ns"]
    out.append(heading("Region"))
    rows = [("what", report["title"]),
            ("length", time(length)),
            ("machine", f"{topology['cpus']} CPUs, {topology['domains']} "
                        f"domains, {topology['chips']} chips"),
            ("instructions", f"{region['instructions']:,}"),
            ("lines transferred", f"{report['lines_total']:,}")]
    rows += [(f"transfers, {name}", f"{count:,}") for name, count in
             zip(topology["distances"], totals["transfers"])]
    rows += [("transfers by controllers", f"{totals['dma']:,}"),
             ("stall of all threads", time(totals["stall_ns"])),
             ("  of it waiting", time(totals["wait_ns"]))]
    for name, item in report["dropped"].items():
        if item["count"]:
            rows.append((f"{name} not kept", f"{item['count']:,}, stall "
                         f"{time(item['stall_ns'])}"))
    out += [f"  {name:<28}{value}" for name, value in rows]


def _breakdown(report, out):
    rows = hotlines.breakdown(report)
    total = hotlines.to_ps(report["breakdown"]["total_ns"])
    ipis = report.get("ipis")
    out.append(heading("Where the time of all threads went"))
    out.append(f"  {'':<32}{'share':>8}{'time':>14}"
               + (f"{'ns an IPI':>14}" if ipis else ""))
    for label, value in rows + [("altogether", total)]:
        line = (f"  {label:<32}{value / total if total else 0:>8.2%}"
                f"{time(value / 1000):>14}")
        if ipis:
            line += f"{value / 1000 / ipis:>14.1f}"
        out.append(line)


def _matrix(report, out):
    matrix = report["matrix"]
    chips = range(report["topology"]["chips"])
    out.append(heading("Transfers between chips"))
    out.append("  from \\ to " + "".join(f"{f'chip {chip}':>14}"
                                         for chip in chips))
    for chip in chips:
        out.append(f"  chip {chip:<5}" + "".join(
            f"{count:>14,}" for count in matrix["count"][chip]))


def _line_table(report, out, top):
    out.append(heading("Lines, most stall first"))
    names = report["topology"]["distances"]
    out.append(f"  {'#':>3} {'address':<18} {'stall':>7} {'sum':>7} "
               f"{'time':>10} "
               + " ".join(f"{name.replace('cross-chip', 'cross'):>11}"
                          for name in names)
               + f" {'waits':>8} {'queue':>5}  what")
    share = 0
    for line in report["lines"][:top]:
        share += line["share"]
        out.append(
            f"  {line['rank']:>3} {line.get('ea', line['gpa']):<18} "
            f"{percent(line['share'])} {percent(share)[:7]} "
            f"{time(line['stall_ns']):>10} "
            + " ".join(f"{count:>11,}" for count in line["transfers"])
            + f" {line['waits']:>8,} {line['longest_queue']:>5}  "
            + line["object"])


def _line_detail(report, line, out):
    chips = report["topology"]["chips"]
    out.append("")
    out.append(f"  #{line['rank']}  {line.get('ea', line['gpa'])}  "
               f"{line['object']}")
    out.append(f"      {line['share']:.2%} of all stall, "
               f"{sum(line['transfers']):,} transfers; "
               f"loads by chip {line['readers']['by_chip']}, "
               f"stores by chip {line['writers']['by_chip']}")
    out.append(f"      {'stall':>7} {'offset':>6} {'access':<11} "
               + " ".join(f"{f'chip {chip}':>9}" for chip in range(chips))
               + f"  {'field':<40} code")
    for access in line["accesses"]:
        offset = (f"{access['offset']:#x}" if "offset" in access else "")
        out.append(f"      {percent(access['share'])} {offset:>6} "
                   f"{access['operation']:<11} "
                   + " ".join(f"{count:>9,}"
                              for count in access["chip_count"])
                   + f"  {member(access):<40} {where(access)}")
        if "text" in access:
            out.append(" " * (33 + 10 * chips) + f"{'':<40} > "
                       + access["text"])
    if line["others"]["count"]:
        out.append(f"      and {line['others']['count']} more accesses, "
                   f"{time(line['others']['stall_ns'])}")


def _instructions(report, out, top):
    out.append(heading("Instructions, most stall first"))
    out.append(f"  {'#':>3} {'stall':>7} {'time':>10} {'transfers':>10} "
               f"{'lines':>6} {'access':<11} code")
    for item in report["instructions"][:top]:
        out.append(f"  {item['rank']:>3} {percent(item['share'])} "
                   f"{time(item['stall_ns']):>10} "
                   f"{sum(item['transfers']) + item['dma']:>10,} "
                   f"{item['lines']:>6} {item['operation']:<11} "
                   f"{where(item)}")


def render(report, top=20, detail=10):
    """The whole text."""
    out = []
    _totals(report, out)
    _breakdown(report, out)
    _matrix(report, out)
    _line_table(report, out, top)
    out.append(heading("Who accesses these lines"))
    for line in report["lines"][:detail]:
        _line_detail(report, line, out)
    _instructions(report, out, top)
    return "\n".join(out).lstrip("\n") + "\n"
