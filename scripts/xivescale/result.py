# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes result.json: the points joined with the published figures.

Nothing in it may differ between two runs of the same inputs: no wall time,
no date, no path.
"""

import statistics

from . import cpulist, qemu

FORMAT = 1


def _rounded(value, digits=6):
    return None if value is None else round(value, digits)


def _per_ipi(stats, handled):
    """The model's counts, an IPI: what people compare between kernels."""
    region = stats.get("region")
    groups = {"region": {"instructions": region.get("instructions")}
              if isinstance(region, dict) else None,
              "transfers": stats.get("transfers"),
              "stall_ns": stats.get("stall_ns")}
    return {group: {name: _rounded(value / handled)
                    for name, value in counts.items()
                    if type(value) in (int, float)}
            for group, counts in groups.items() if isinstance(counts, dict)}


def _point(machine, kernel, cpus, members, reference):
    """One row and column of the table: all seeds of a kernel and CPU set."""
    good = [point for point in members if point.data]
    rates = [point.rate for point in good]
    rate = statistics.fmean(rates) if rates else None
    published = None
    if reference and kernel.column and cpulist.is_prefix(cpus):
        published = reference.value(kernel.column, len(cpus))
    result = {
        "kernel": kernel.name,
        "append": kernel.append,
        "column": kernel.column,
        "cpus": len(cpus),
        "cpulist": cpulist.ranges(cpus),
        "chips": cpulist.chips(cpus, machine.chip_threads),
        "seeds": [point.seed for point in good],
        "rate": _rounded(rate),
    }
    if len(members) > 1:
        result["rates"] = [_rounded(value) for value in rates]
        result["rate_stddev"] = (_rounded(statistics.stdev(rates))
                                 if len(rates) > 1 else None)
    result["published"] = published
    result["error"] = (_rounded(rate / published - 1)
                       if rate and published else None)
    for name, source in (("handled", "handled"), ("window_ns", "duration_ns"),
                         ("elapsed_ns", "elapsed_ns")):
        values = [p.data["storm"][source] for p in good]
        result[name] = (values if len(members) > 1 else
                        values[0] if values else None)
    result["per_ipi"] = [_per_ipi(p.data["stats"], p.data["storm"]
                                  ["total_handled"]) for p in good]
    result["stats"] = [p.data["stats"] for p in good]
    result["points"] = [p.key for p in good]
    failures = [{"seed": p.seed, "reason": p.failure, "console": p.console}
                for p in members if p.failure]
    if failures:
        result["failures"] = failures
    return result


def _summary(points, fitted, reference):
    """Errors over all figures, and over those that nothing was fitted to."""
    used = {(item["column"], item["cpus"]) for item in fitted
            if reference and item["reference"] == reference.name}
    judged = [point for point in points if point["error"] is not None]
    free = [point for point in judged
            if (point["column"], point["cpus"]) not in used]

    def median(items):
        errors = [abs(item["error"]) for item in items]
        return _rounded(statistics.median(errors)) if errors else None

    def largest(items):
        return max(items, key=lambda item: abs(item["error"]), default=None)

    worst = largest(judged)
    worst_free = largest(free)
    return {
        "count": len(judged),
        "median_abs_error": median(judged),
        "max_abs_error": _rounded(abs(worst["error"])) if worst else None,
        "worst": {name: worst[name] for name in
                  ("kernel", "append", "column", "cpus", "error")}
                 if worst else None,
        "not_fitted": {
            "count": len(free),
            "median_abs_error": median(free),
            "max_abs_error": (_rounded(abs(worst_free["error"]))
                              if worst_free else None)},
        "failed": sum(len(point.get("failures", ())) for point in points),
    }


def _ratios(machine, kernels, points, reference):
    """All CPUs against the first chip: do the other chips help?"""
    small, large = machine.chip_threads[0], machine.cpus
    found = []
    if small == large:
        return found
    for kernel in kernels:
        rates = {point["cpus"]: point["rate"] for point in points
                 if (point["kernel"], point["append"]) ==
                 (kernel.name, kernel.append)
                 and point["cpulist"] == f"0-{point['cpus'] - 1}"}
        if not (rates.get(small) and rates.get(large)):
            continue
        ratio = rates[large] / rates[small]
        published = None
        if reference and kernel.column:
            low = reference.value(kernel.column, small)
            high = reference.value(kernel.column, large)
            published = high / low if low and high else None
        found.append({"kernel": kernel.name, "append": kernel.append,
                      "column": kernel.column, "cpus": [large, small],
                      "ratio": _rounded(ratio),
                      "published": _rounded(published),
                      "error": (_rounded(ratio / published - 1)
                                if published else None)})
    return found


def build(machine, binary, host, kernels, cpu_sets, seeds, points, reference):
    """The whole result as one JSON object; points is the flat list of runs."""
    groups = {}
    for point in points:
        groups.setdefault((point.kernel.label, point.cpus), []).append(point)
    joined = [_point(machine, kernel, cpus, groups[kernel.label, cpus],
                     reference)
              for kernel in kernels for cpus in cpu_sets]
    fitted = [{"reference": machine.reference, **item}
              for item in machine.fitted()]
    return {
        "format": FORMAT,
        "machine": machine.name,
        "description": machine.data["description"],
        "reference": reference.name if reference else None,
        "unit": "million IPIs handled a simulated second",
        "summary": _summary(joined, fitted, reference),
        "ratios": _ratios(machine, kernels, joined, reference),
        "fitted": fitted,
        "points": joined,
        "parameters": {
            "machine": machine.data["machine"],
            "smp": machine.smp,
            "memory": machine.data["memory"],
            "clock": machine.clock,
            "contention": machine.contention,
            "storm": machine.storm,
            "seeds": seeds,
            "append": qemu.full_append(machine.append),
            "qemu": {"accel": qemu.accel(machine),
                     "device": qemu.device(machine)},
        },
        "hashes": {
            "qemu": {"version": binary.version, "sha256": host["qemu"]},
            "skiboot": host["skiboot"],
            "kernels": [{"kernel": kernel.name, "append": kernel.append,
                         **kernel.hashes, "manifest": kernel.manifest}
                        for kernel in kernels],
        },
    }
