# SPDX-License-Identifier: GPL-2.0-or-later
"""Draws a result with gnuplot: rate by CPUs, a curve a kernel."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import table
from .errors import UserError
from .files import write_atomic

# Colours that stay apart for colour-blind readers (Okabe and Ito).
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
            "#000000")
_MARKS = (7, 5, 9, 11, 13, 15)         # filled; the hollow one is one less

_TERMINALS = {
    ".svg": "svg size 900,600 dynamic noenhanced "
            "font 'DejaVu Sans,13' background '#ffffff'",
    ".png": "pngcairo size 1350,900 noenhanced font 'DejaVu Sans,16' "
            "linewidth 1.5 background '#ffffff'",
}


def check_name(path):
    """Refuse a plot file we cannot make before hours are spent."""
    if Path(path).suffix not in _TERMINALS:
        raise UserError(f"--plot {path}: the name must end in .svg or .png")
    if not available():
        raise UserError("--plot: gnuplot not found; install the package "
                        "gnuplot-nox")


def available():
    """Whether gnuplot is there."""
    return shutil.which("gnuplot") is not None


def _quote(text):
    return "'" + text.replace("'", "''") + "'"


def _series(result, reference):
    """(title, colour, mark, model rows, published rows) of each kernel."""
    for index, (name, append) in enumerate(table.kernels_of(result)):
        points = [point for point in result["points"]
                  if (point["kernel"], point["append"]) == (name, append)]
        column = points[0]["column"]
        rows = sorted((point["cpus"], point["rate"],
                       point.get("rate_stddev") or 0.0)
                      for point in points if point["rate"] is not None)
        published = reference.curve(column) if reference and column else []
        yield (f"{name} {append}".strip(), _COLOURS[index % len(_COLOURS)],
               _MARKS[index % len(_MARKS)], rows, published)


def script(result, reference, chip_threads, suffix):
    """The gnuplot program, data included; output goes to stdout."""
    total = result["parameters"]["smp"]["cpus"]
    largest = max(point["cpus"] for point in result["points"])
    top = largest + max(largest // 20, 1)
    series = list(_series(result, reference))
    step = next(size for size in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
                if total / size <= 12)
    out = [f"set terminal {_TERMINALS[suffix]}",
           f"set title {_quote(result['description'])}",
           "set xlabel 'CPUs taking part'",
           "set ylabel 'million IPIs a second'",
           f"set xrange [0:{top}]", "set yrange [0:*]",
           f"set xtics {step}", "set mxtics 2",
           "set grid xtics ytics linecolor '#d8d8d8' linewidth 1",
           "set border 3", "set tics nomirror out",
           # First column the models, second what was published.
           "set key outside bottom center vertical Left reverse samplen 4 "
           f"spacing 1.15 width 2 maxrows {len(series)}",
           ]
    for chip in range(1, len(chip_threads)):
        edge = sum(chip_threads[:chip])
        if edge >= top:
            break
        out.append(f"set arrow from {edge},graph 0 to {edge},graph 1 nohead "
                   "linecolor '#808080' dashtype 3 linewidth 1.5")
        out.append(f"set label {_quote(f'chip {chip + 1} joins')} at {edge},"
                   "graph 0.97 offset 0.7,0 textcolor '#606060'")
    parts, dashed = [], []
    for index, (title, colour, mark, rows, published) in enumerate(series):
        if rows:
            out.append(f"$model{index} << EOD")
            out += [f"{cpus} {rate:.6f} {dev:.6f}"
                    for cpus, rate, dev in rows]
            out.append("EOD")
            parts.append(f"$model{index} using 1:2 with linespoints "
                         f"linecolor '{colour}' pointtype {mark} "
                         f"pointsize 0.8 linewidth 2 title {_quote(title)}")
            if any(dev for _, _, dev in rows):
                parts.append(f"$model{index} using 1:2:3 with yerrorbars "
                             f"linecolor '{colour}' pointtype 0 notitle")
        if published:
            out.append(f"$published{index} << EOD")
            out += [f"{cpus} {value:.6f}" for cpus, value in published
                    if cpus <= top]
            out.append("EOD")
            dashed.append(f"$published{index} using 1:2 with linespoints "
                         f"linecolor '{colour}' dashtype 2 pointtype "
                          f"{mark - 1} pointsize 1 linewidth 1.2 title "
                          + _quote(f"{title}, published"))
    if not parts:
        return None
    out.append("plot " + ", \\\n     ".join(parts + dashed))
    return "\n".join(out) + "\n"


def draw(path, result, reference, chip_threads):
    """Write the plot; False if there is no point to draw."""
    program = script(result, reference, chip_threads, Path(path).suffix)
    if program is None:
        return False
    with tempfile.TemporaryDirectory(prefix="xivescale-") as directory:
        # The user's own gnuplot start-up file must not change the picture.
        run = subprocess.run(["gnuplot", "-d", "-"], cwd=directory,
                             input=program.encode(), capture_output=True,
                             check=False,
                             env={**os.environ, "LC_ALL": "C.UTF-8"})
    if run.returncode or not run.stdout:
        lines = run.stderr.decode(errors="replace").strip().splitlines()
        raise UserError(f"{path}: gnuplot failed: "
                        f"{lines[-1] if lines else 'no output'}")
    write_atomic(path, run.stdout)
    return True
