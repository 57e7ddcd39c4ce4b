# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of a result, in the layout of the published ones.

Rows are CPU sets, the number of chips printed where it changes, columns are
kernels.  Beside a rate stand the published figure and the error where a
reference has one; a star marks a figure that a parameter was fitted to.
"""


def _rate_text(point):
    if point["rate"] is None:
        return "failed"
    text = f"{point['rate']:.3f}"
    if point.get("rate_stddev") is not None:
        text += f" \u00b1 {point['rate_stddev']:.3f}"
    if point.get("failures"):
        text += " !"
    return text


def _percent(error):
    return "" if error is None else f"{error * 100:+.1f}%"


def _pick(result, kernel, append):
    return [point for point in result["points"]
            if (point["kernel"], point["append"]) == (kernel, append)]


def kernels_of(result):
    """The (kernel, append) pairs in the order of the table."""
    return list(dict.fromkeys((point["kernel"], point["append"])
                              for point in result["points"]))


def _block(points, fitted):
    """One kernel's cells: a list of rows, each a list of texts."""
    has_reference = any(point["published"] is not None for point in points)
    rows = [["rate", "publ.", "error"] if has_reference else ["rate"]]
    for point in points:
        row = [_rate_text(point)]
        if has_reference:
            published = point["published"]
            row.append("" if published is None else f"{published:.3f}")
            star = ("*" if (point["column"], point["cpus"]) in fitted
                    else " ")
            row.append(_percent(point["error"]) + star)
        rows.append(row)
    return rows


def _summary_lines(result):
    summary = result["summary"]
    lines = []
    if summary["count"]:
        worst = summary["worst"]
        label = f"{worst['kernel']} {worst['append']}".strip()
        lines.append(f"{summary['count']} published figures: median error "
                     f"{summary['median_abs_error'] * 100:.1f}%, largest "
                     f"{summary['max_abs_error'] * 100:.1f}% ({label}, "
                     f"{worst['cpus']} CPUs)")
        free = summary["not_fitted"]
        if 0 < free["count"] < summary["count"]:
            lines.append(f"{free['count']} of them not fitted to: median "
                         f"error {free['median_abs_error'] * 100:.1f}%, "
                         f"largest {free['max_abs_error'] * 100:.1f}%")
        if any(point["error"] is not None
               and (point["column"], point["cpus"]) in _fitted(result)
               for point in result["points"]):
            lines.append("* a parameter was fitted to this figure")
    for ratio in result["ratios"]:
        label = f"{ratio['kernel']} {ratio['append']}".strip()
        large, small = ratio["cpus"]
        text = f"{large}:{small} CPUs, {label}: {ratio['ratio']:.3f}"
        if ratio["published"] is not None:
            text += (f" (published {ratio['published']:.3f}, "
                     f"{_percent(ratio['error'])})")
        lines.append(text)
    for point in result["points"]:
        label = f"{point['kernel']} {point['append']}".strip()
        for failure in point.get("failures", ()):
            lines.append(f"failed: {label}, CPUs {point['cpulist']}, seed "
                         f"{failure['seed']}: {failure['reason']}")
    return lines


def _fitted(result):
    return {(item["column"], item["cpus"]) for item in result["fitted"]
            if item["reference"] == result["reference"]}


def render(result):
    """The table and its summary as one text."""
    fitted = _fitted(result)
    pairs = kernels_of(result)
    first = _pick(result, *pairs[0])
    left = [["chips", "cpus"]]
    chips = None
    for point in first:
        left.append(["" if point["chips"] == chips else str(point["chips"]),
                     point["cpulist"]])
        chips = point["chips"]
    blocks = [_block(_pick(result, *pair), fitted) for pair in pairs]
    heads = [f"{name} {append}".strip() for name, append in pairs]

    left_widths = [max(len(row[i]) for row in left) for i in range(2)]
    lines = [" " * (sum(left_widths) + 2)]
    for row in left:
        lines.append("  ".join(cell.ljust(width) for cell, width
                               in zip(row, left_widths)))
    for head, block in zip(heads, blocks):
        widths = [max(len(row[i]) for row in block)
                  for i in range(len(block[0]))]
        total = sum(widths) + 2 * (len(widths) - 1)
        widths[0] += max(0, len(head) - total)
        total = max(total, len(head))
        lines[0] += "   " + head.center(total)
        for index, row in enumerate(block):
            lines[index + 1] += "   " + "  ".join(
                cell.rjust(width) for cell, width in zip(row, widths))
    title = (f"{result['description']}: million IPIs a second by CPUs "
             "taking part")
    text = [title, ""] + [line.rstrip() for line in lines]
    summary = _summary_lines(result)
    if summary:
        text += ["", *summary]
    return "\n".join(text) + "\n"
