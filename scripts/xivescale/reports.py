# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports of finished points, for compare --report.

A point is run once more, with the files that a report needs: its result must
be what it was, since attribution takes no simulated time.
"""

import tempfile
from pathlib import Path

from . import cpulist, hotlines, qemu, reportdiff, reporthtml, reporttext
from .errors import UserError
from .files import to_json, write_atomic
from .guestrun import GuestRun
from .names import Names


def check(cpu_sets, size):
    """Before anything runs: the size must be that of a CPU set (0: any)."""
    Names("vmlinux")
    if not size:
        return
    sizes = sorted({len(cpus) for cpus in cpu_sets})
    if size not in sizes:
        raise UserError(f"--report {size}: no CPU set has {size} CPUs (there "
                        f"are {', '.join(map(str, sizes))})")


def choose(points, size):
    """One finished point a kernel: of this size (0: the largest)."""
    chosen = {}
    for point in points:
        if point.data is None or (size and len(point.cpus) != size):
            continue
        known = chosen.get(point.kernel.label)
        if known is None or len(point.cpus) > len(known.cpus):
            chosen[point.kernel.label] = point
    return list(chosen.values())


def _run(point, model, binary, where, timeout, limit_ms):
    """Attribution and memory of a point, as paths in where."""
    attribution, memory = where / "attribution.json", where / "memory"
    guest = GuestRun(qemu.command(
        binary, model, point.kernel.image, point.kernel.initrd, point.append,
        point.seed, limit_ms=limit_ms * len(point.together),
        attribution=attribution, memory=memory), timeout=timeout)
    guest.wait(storms=point.turn + 1)
    if guest.failure:
        raise UserError(f"report of {point.title}: {guest.failure}")
    if guest.storms[point.turn:] != [point.data["storm"]]:
        raise UserError(f"report of {point.title}: the storm ended otherwise "
                        "than before; was the simulator or an image changed "
                        "meanwhile?")
    found = []
    for path in (attribution, memory):
        if point.turn:
            path = path.with_name(f"{path.name}.{point.turn + 1}")
        if not path.exists():
            raise UserError(f"report of {point.title}: "
                            + (guest.stderr_line or f"no {path.name} file"))
        found.append(path)
    return found


def name_of(point):
    """Of the point's files: kernel, append and number of CPUs."""
    label = "-".join(point.kernel.label.split())
    return f"{label.replace('/', '_')}-{len(point.cpus)}"


def write(out, model, binary, chosen, result, timeout, limit_ms, say):
    """The reports in out, and each against the first."""
    first = None
    for point in chosen:
        title = (f"{point.kernel.label}, CPUs {cpulist.ranges(point.cpus)}, "
                 f"{model.name}")
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".") as where:
            attribution, memory = _run(point, model, binary, Path(where),
                                       timeout, limit_ms)
            report = hotlines.make(
                hotlines.load(attribution), title,
                Names(point.kernel.image, memory, [point.kernel.image.parent],
                      warn=say),
                hotlines.Sources(
                    hotlines.source_directories(point.kernel.image)),
                point.data["storm"]["total_handled"])
        base = out / name_of(point)
        write_atomic(f"{base}.json", to_json(report))
        write_atomic(f"{base}.txt", reporttext.render(report))
        write_atomic(f"{base}.html", reporthtml.render(report, result))
        say(f"report of {point.title}: {base}.txt, .html and .json")
        if first is None:
            first = report
            continue
        difference = reportdiff.make(first, report)
        write_atomic(f"{base}.diff.txt", reportdiff.render(difference))
        write_atomic(f"{base}.diff.html", reporthtml.render_diff(difference))
