# SPDX-License-Identifier: GPL-2.0-or-later
"""The report as one HTML page that loads nothing from anywhere."""

import html

from . import hotlines, reporttext

# Colours of the parts of a bar and of curves, told apart by lightness too.
_COLOURS = ("#5b8def", "#9db9f5", "#7a7a7a", "#f2b134", "#e4572e", "#b02e0c",
            "#8e5ea2", "#c9a0dc", "#3c9d7c", "#a3d9c4", "#d0d0d0")

_STYLE = """
:root { --bg: #fff; --fg: #1d2430; --dim: #5d6775; --rule: #d8dde4;
  --soft: #f3f5f8; --hot: 228,87,46; --link: #1f5fbf; }
@media (prefers-color-scheme: dark) { :root { --bg: #14181f; --fg: #e3e7ee;
  --dim: #98a2b3; --rule: #323a47; --soft: #1d232d; --link: #82b1ff; } }
* { box-sizing: border-box; }
body { background: var(--bg); color: var(--fg); margin: 0 auto;
  max-width: 1280px; padding: 1.5rem; font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; }
h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; } .dim { color: var(--dim); }
.cards { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1rem 0; }
.card { background: var(--soft); border: 1px solid var(--rule);
  border-radius: 6px; padding: .5rem .9rem; }
.card b { display: block; font-size: 1.15rem; }
.card span { color: var(--dim); font-size: .85rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { padding: .3rem .55rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule); }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
th[data-sort] { cursor: pointer; } th[data-sort]:hover { color: var(--fg); }
th.up::after { content: " \\25b4"; } th.down::after { content: " \\25be"; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
code, .code { font: .92em/1.4 ui-monospace, monospace; }
tr.line { cursor: pointer; } tr.line:hover { background: var(--soft); }
tr.line td:first-child::before { content: "\\25b8"; display: inline-block;
  width: 1em; color: var(--dim); }
tr.line.open td:first-child::before { content: "\\25be"; }
tr.detail > td { background: var(--soft); padding: .6rem 1rem 1rem; }
tr.detail[hidden] { display: none; }
.src { color: var(--dim); white-space: pre-wrap; overflow-wrap: anywhere; }
.bar { display: flex; height: 26px; border-radius: 4px; overflow: hidden;
  border: 1px solid var(--rule); margin: .6rem 0; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  margin-right: .45em; }
.share { background: linear-gradient(to right, rgba(var(--hot),.35)
  var(--w), transparent var(--w)); }
.cols { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(340px, 1fr)); }
svg text { fill: var(--fg); font: 12px system-ui, sans-serif; }
svg .grid { stroke: var(--rule); } svg .axis { stroke: var(--dim); }
svg { max-width: 100%; height: auto; }
.gone { color: #2e8b57; } .new { color: #d1432f; }
input { font: inherit; padding: .25rem .5rem; background: var(--bg);
  color: var(--fg); border: 1px solid var(--rule); border-radius: 4px;
  width: 20rem; max-width: 100%; }
"""

# Sorting keeps each line together with its detail; everything is readable
# without it.
_SCRIPT = """
'use strict';
for (const row of document.querySelectorAll('tr.line')) {
  const open = () => { const on = row.classList.toggle('open');
    row.setAttribute('aria-expanded', on);
    row.nextElementSibling.hidden = !on; };
  row.addEventListener('click', open);
  row.addEventListener('keydown', e => {
    if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); open(); }
  });
}
for (const head of document.querySelectorAll('th[data-sort]')) {
  head.addEventListener('click', () => {
    const body = head.closest('table').tBodies[0];
    const down = !head.classList.contains('down');
    for (const other of head.parentNode.children)
      other.classList.remove('up', 'down');
    head.classList.add(down ? 'down' : 'up');
    const at = head.cellIndex;
    const key = row => { const cell = row.cells[at];
      return cell.dataset.v === undefined ? cell.textContent
                                          : Number(cell.dataset.v); };
    const rows = [...body.rows].filter(r => !r.classList.contains('detail'))
      .map(r => [key(r), r, r.classList.contains('line')
                            ? r.nextElementSibling : null]);
    rows.sort((x, y) => (x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0)
                        * (down ? -1 : 1));
    for (const [, row, detail] of rows) {
      body.append(row); if (detail) body.append(detail);
    }
  });
}
const filter = document.getElementById('filter');
if (filter) filter.addEventListener('input', () => {
  const word = filter.value.toLowerCase();
  for (const row of document.querySelectorAll('tr.line')) {
    const detail = row.nextElementSibling;
    const on = (row.textContent + detail.textContent).toLowerCase()
      .includes(word);
    row.hidden = !on;
    detail.hidden = !on || !row.classList.contains('open');
  }
});
"""


def _e(text):
    return html.escape(str(text))


def _number(value, text=None, extra=""):
    text = f"{value:,}" if text is None else text
    return f'<td class="n" data-v="{value}"{extra}>{_e(text)}</td>'


def _share(value):
    return (f'<td class="n share" data-v="{value}" style="--w:'
            f'{value * 100:.1f}%">{value * 100:.2f} %</td>')


def _head(*columns):
    """Columns are (title, numeric, sortable)."""
    cells = "".join(
        f'<th{" class=n" if numeric else ""}'
        f'{" data-sort" if sortable else ""}>{_e(title)}</th>'
        for title, numeric, sortable in columns)
    return f"<thead><tr>{cells}</tr></thead>"


def _page(title, body):
    return ("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
            "<meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-"
            "src 'none'; style-src 'unsafe-inline'; "
            "script-src 'unsafe-inline'\">\n"
            f"<title>{_e(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
            f"<body>\n{body}\n<script>{_SCRIPT}</script>\n</body>\n</html>\n")


def _cards(report):
    totals, region = report["totals"], report["region"]
    first = report["lines"][0] if report["lines"] else None
    cards = [(reporttext.time(region["end_ns"] - region["start_ns"]),
              "of simulated time"),
             (f"{report['topology']['cpus']} CPUs, "
              f"{report['topology']['chips']} chips", "machine"),
             (f"{sum(totals['transfers']):,}", "line transfers"),
             (reporttext.time(totals["stall_ns"]), "stall of all threads")]
    if report.get("ipis"):
        cards.append((f"{report['ipis']:,}", "IPIs handled"))
    if first:
        cards.append((f"{first['share'] * 100:.1f} %",
                      "of the stall is on the first line"))
    return ('<div class="cards">' + "".join(
        f'<div class="card"><b>{_e(value)}</b><span>{_e(label)}</span></div>'
        for value, label in cards) + "</div>")


def _breakdown(report):
    rows = [(label, value, _COLOURS[i % len(_COLOURS)]) for i, (label, value)
            in enumerate(hotlines.breakdown(report))]
    total = hotlines.to_ps(report["breakdown"]["total_ns"])
    ipis = report.get("ipis")
    bar = "".join(
        f'<div title="{_e(label)}: {value / total:.1%}" style="width:'
        f'{100 * value / total:.3f}%;background:{colour}"></div>'
        for label, value, colour in rows if total and value > 0)
    head = [("part", False, False), ("share", True, False),
            ("time", True, False)]
    if ipis:
        head.append(("ns an IPI", True, False))
    body = ""
    for label, value, colour in rows:
        body += (f'<tr><td><span class="key" style="background:{colour}">'
                 f'</span>{_e(label)}</td>'
                 + _number(value, f"{value / total:.2%}" if total else "")
                 + _number(value, reporttext.time(value / 1000)))
        if ipis:
            body += _number(value, f"{value / 1000 / ipis:,.1f}")
        body += "</tr>"
    what = ("A round trip: " if ipis else "") + "where the time of all " \
        "threads went"
    return (f'<section><h2>{_e(what)}</h2><div class="bar">{bar}</div>'
            f'<table id="breakdown">{_head(*head)}<tbody>{body}</tbody>'
            "</table></section>")


def _matrix(report):
    counts, waits = report["matrix"]["count"], report["matrix"]["wait_ns"]
    chips = range(len(counts))
    most = max((count for row in counts for count in row), default=0)
    head = "".join(f'<th class="n">to chip {chip}</th>' for chip in chips)
    body = ""
    for source in chips:
        cells = ""
        for target in chips:
            count = counts[source][target]
            depth = count / most if most else 0
            cells += (f'<td class="n" style="background:rgba(var(--hot),'
                      f'{depth * .55:.2f})" title="waited '
                      f'{_e(reporttext.time(waits[source][target]))}">'
                      f"{count:,}</td>")
        body += f"<tr><th>from chip {source}</th>{cells}</tr>"
    return ('<section><h2>Transfers from chip to chip</h2>'
            f'<table id="matrix"><thead><tr><th></th>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table></section>")


def _accesses(report, line):
    chips = range(report["topology"]["chips"])
    head = _head(("stall", True, False), ("offset", True, False),
                 ("access", False, False),
                 *((f"chip {chip}", True, False) for chip in chips),
                 ("field", False, False), ("code", False, False))
    body = ""
    for access in line["accesses"]:
        source = (f'<div class="src code">{_e(access["text"])}</div>'
                  if "text" in access else "")
        offset = access.get("offset")
        body += ("<tr>" + _share(access["share"])
                 + (f'<td class="n code">{offset:#x}</td>'
                    if offset is not None else "<td></td>")
                 + f"<td>{_e(access['operation'])}</td>"
                 + "".join(_number(count) for count in access["chip_count"])
                 + f'<td class="code">{_e(reporttext.member(access))}</td>'
                 + f'<td><span class="code">{_e(reporttext.where(access))}'
                   f"</span>{source}</td></tr>")
    others = line["others"]
    more = (f'<p class="dim">and {others["count"]:,} more accesses, '
            f'{_e(reporttext.time(others["stall_ns"]))}</p>'
            if others["count"] else "")
    return (f'<p class="dim">loads from domains '
            f'{_e(line["readers"]["domains"] or "none")}; stores from '
            f'{_e(line["writers"]["domains"] or "none")}</p>'
            f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table>'
            f"</div>{more}")


def _lines(report):
    names = report["topology"]["distances"]
    columns = [("#", True, True), ("address", False, True),
               ("what", False, True), ("stall", True, True),
               ("time", True, True),
               *((name, True, True) for name in names),
               ("waits", True, True), ("queue", True, True)]
    body = ""
    for line in report["lines"]:
        opened = line["rank"] == 1
        body += (f'<tr class="line{" open" if opened else ""}" tabindex="0" '
                 f'role="button" aria-expanded="{str(opened).lower()}">'
                 + _number(line["rank"])
                 + f'<td class="code">{_e(line.get("ea", line["gpa"]))}</td>'
                 + f'<td>{_e(line["object"])}</td>' + _share(line["share"])
                 + _number(line["stall_ns"],
                           reporttext.time(line["stall_ns"]))
                 + "".join(_number(count) for count in line["transfers"])
                 + _number(line["waits"]) + _number(line["longest_queue"])
                 + f'</tr><tr class="detail"{"" if opened else " hidden"}>'
                   f'<td colspan="{len(columns)}">'
                 + _accesses(report, line) + "</td></tr>")
    dropped = "".join(
        f'<p class="dim">{item["count"]:,} {_e(name)} found the table full '
        f'and are not listed: {_e(reporttext.time(item["stall_ns"]))}</p>'
        for name, item in report["dropped"].items() if item["count"])
    return ('<section><h2>Lines, most stall first</h2>'
            f'<p class="dim">{len(report["lines"]):,} of '
            f'{report["lines_total"]:,} lines that were transferred. A click '
            "opens a line, a click on a heading sorts.</p>"
            '<p><input id="filter" type="search" placeholder="function, '
            'field or object" aria-label="Filter lines"></p>'
            f'<div class="scroll"><table id="lines">{_head(*columns)}'
            f"<tbody>{body}</tbody></table></div>{dropped}</section>")


def _instructions(report):
    columns = [("#", True, True), ("stall", True, True), ("time", True, True),
               ("transfers", True, True), ("lines", True, True),
               ("access", False, True), ("code", False, True)]
    body = ""
    for item in report["instructions"]:
        source = (f'<div class="src code">{_e(item["text"])}</div>'
                  if "text" in item else "")
        body += ("<tr>" + _number(item["rank"]) + _share(item["share"])
                 + _number(item["stall_ns"],
                           reporttext.time(item["stall_ns"]))
                 + _number(sum(item["transfers"]) + item["dma"])
                 + _number(item["lines"]) + f"<td>{_e(item['operation'])}"
                 f'</td><td><span class="code">{_e(reporttext.where(item))}'
                 f"</span>{source}</td></tr>")
    return ('<section><h2>Instructions, most stall first</h2>'
            f'<div class="scroll"><table id="instructions">{_head(*columns)}'
            f"<tbody>{body}</tbody></table></div></section>")


def _series(curves):
    """Points of each kernel and of what was published for it."""
    series = {}
    for point in curves.get("points", []):
        name = f"{point['kernel']} {point['append']}".strip()
        rate = point.get("rate")
        if rate is not None:
            series.setdefault(name, {}).setdefault("model", []).append(
                (point["cpus"], rate))
        if point.get("published") is not None:
            series.setdefault(name, {}).setdefault("published", []).append(
                (point["cpus"], point["published"]))
    return series


def _curve(curves):
    """Rate by CPUs; a line is modelled, a ring is published."""
    series = _series(curves)
    values = [point for parts in series.values()
              for points in parts.values() for point in points]
    if not values:
        return ""
    width, height, left, bottom = 760, 360, 50, 40
    most_x = max(x for x, _ in values)
    most_y = max(y for _, y in values) * 1.05
    step = next(size for size in (1, 2, 5, 10, 20, 50, 100, 1000, 10 ** 9)
                if most_y / size <= 8)

    def at(x, y):
        return (left + x / most_x * (width - left - 20),
                height - bottom - y / most_y * (height - bottom - 15))

    out = [f'<svg id="curve" viewBox="0 0 {width} {height}" width="{width}" '
           'role="img" aria-label="IPI rate by CPUs">']
    y = 0
    while y <= most_y:
        _, top = at(0, y)
        out.append(f'<line class="grid" x1="{left}" x2="{width - 20}" '
                   f'y1="{top:.1f}" y2="{top:.1f}"/><text x="{left - 8}" '
                   f'y="{top + 4:.1f}" text-anchor="end">{y}</text>')
        y += step
    for x in sorted({x for x, _ in values}):
        along, _ = at(x, 0)
        out.append(f'<text x="{along:.1f}" y="{height - bottom + 18}" '
                   f'text-anchor="middle">{x}</text>')
    out.append(f'<text x="{(width + left) / 2}" y="{height - 4}" '
               'text-anchor="middle">CPUs</text>'
               f'<text x="{left}" y="11">million IPIs a second</text>')
    key = ""
    for i, (name, parts) in enumerate(series.items()):
        colour = _COLOURS[(0, 4, 8, 6, 3, 2, 5, 7)[i % 8]]
        points = sorted(parts.get("model", []))
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in
                        (at(*point) for point in points))
        out.append(f'<polyline points="{path}" fill="none" '
                   f'stroke="{colour}" stroke-width="2.5"/>')
        for point in points:
            a, b = at(*point)
            out.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" '
                       f'fill="{colour}"><title>{_e(name)}, {point[0]} CPUs: '
                       f"{point[1]:.2f}</title></circle>")
        for point in parts.get("published", []):
            a, b = at(*point)
            out.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="6" fill="none" '
                       f'stroke="{colour}" stroke-width="1.5"><title>'
                       f"{_e(name)}, published: {point[1]:.2f}</title>"
                       "</circle>")
        key += (f'<span style="margin-right:1.2rem"><span class="key" '
                f'style="background:{colour}"></span>{_e(name)}</span>')
    out.append("</svg>")
    return ('<section><h2>Rate by CPUs</h2>' + "".join(out)
            + f'<p>{key}</p><p class="dim">Lines are modelled, rings '
              "published.</p></section>")


def render(report, curves=None):
    """The page of one report."""
    body = (f"<h1>{_e(report['title'])}</h1>"
            '<p class="dim">Cache lines that hardware threads waited for, '
            "and the instructions that asked for them.</p>"
            + _cards(report)
            + (_curve(curves) if curves else "")
            + '<div class="cols">' + _breakdown(report) + _matrix(report)
            + "</div>" + _lines(report) + _instructions(report))
    return _page(report["title"], body)


def render_diff(difference):
    """The page of two reports side by side."""
    a, b = difference["titles"]
    unit = "ns an IPI" if difference["per_ipi"] else "ns"
    parts = "".join(
        f"<tr><td>{_e(row['part'])}</td>"
        + _number(row["ns"][0], f"{row['ns'][0]:,.1f}")
        + _number(row["ns"][1], f"{row['ns'][1]:,.1f}")
        + _number(row["ns"][1] - row["ns"][0],
                  f"{row['ns'][1] - row['ns'][0]:+,.1f}") + "</tr>"
        for row in difference["breakdown"])
    rows = ""
    for row in difference["places"]:
        kind = "gone" if row["change"] in ("gone", "less") else "new"
        rows += (f'<tr><td class="{kind}">{_e(row["change"])}</td>'
                 + f'<td class="code">{_e(row["member"])}</td>'
                 + f'<td>{_e(row["operation"])}</td>'
                 + f'<td class="code">{_e(row["function"])}</td>'
                 + "".join(_number(value, reporttext.time(value))
                           for value in row["stall_ns"])
                 + "".join(_share(value) for value in row["share"])
                 + "".join(_number(value) for value in row["transfers"])
                 + "</tr>")
    columns = [("change", False, True), ("member", False, True),
               ("access", False, True), ("function", False, True),
               ("stall A", True, True), ("stall B", True, True),
               ("share A", True, True), ("share B", True, True),
               ("transfers A", True, True), ("transfers B", True, True)]
    body = (f"<h1>{_e(a)} against {_e(b)}</h1>"
            f'<p class="dim">A is {_e(a)}, B is {_e(b)}.</p>'
            f"<section><h2>Time of all threads, {unit}</h2>"
            f'<table id="breakdown">'
            + _head(("part", False, False), ("A", True, False),
                    ("B", True, False), ("change", True, False))
            + f"<tbody>{parts}</tbody></table></section>"
            "<section><h2>What went away, what appeared</h2>"
            f'<div class="scroll"><table id="places">{_head(*columns)}'
            f"<tbody>{rows}</tbody></table></div></section>")
    return _page(f"{a} against {b}", body)
