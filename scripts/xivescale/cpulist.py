# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU sets of the command line, and the guest's notation for them.

--cpus takes sets separated by commas.  A set is
    16           the first 16 CPUs, 0-15, as the published tables count
    0-15         these CPUs
    0-15/64-79   CPUs of several ranges
    0/4/8        with a slash every part is a CPU or a range, not a count
The storm's offset goes along the set in rising order of CPU numbers.
"""

import bisect
import itertools
import re

from .errors import UserError

_PART = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def _expand(text, total):
    cpus = []
    for part in text.split("/"):
        match = _PART.fullmatch(part)
        if not match:
            raise UserError(f"--cpus: '{text}': '{part}' is not a CPU or a "
                            "range FIRST-LAST")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first:
            raise UserError(f"--cpus: '{text}': the range {part} runs "
                            "backwards")
        if last >= total:
            raise UserError(f"--cpus: '{text}': CPU {last} is out of range, "
                            f"the machine has CPUs 0-{total - 1}")
        cpus.extend(range(first, last + 1))
    seen = set()
    for cpu in cpus:
        if cpu in seen:
            raise UserError(f"--cpus: '{text}': CPU {cpu} is in the set "
                            "twice (overlapping ranges)")
        seen.add(cpu)
    return tuple(sorted(cpus))


def parse_set(text, total):
    """One CPU set as a tuple of CPU numbers, for a machine of total CPUs."""
    text = text.strip()
    if not text:
        raise UserError("--cpus: empty CPU set; give counts such as 16,32 or "
                        "ranges such as 0-15/64-79")
    if re.fullmatch(r"[0-9]{1,6}", text):
        count = int(text)
        if count == 0:
            raise UserError("--cpus: '0' is an empty CPU set")
        if count > total:
            raise UserError(f"--cpus: '{text}' is out of range, the machine "
                            f"has {total} CPUs")
        return tuple(range(count))
    return _expand(text, total)


def parse_sets(text, total):
    """The list of CPU sets of a --cpus argument."""
    sets = []
    for item in text.split(","):
        cpus = parse_set(item, total)
        if cpus in sets:
            raise UserError(f"--cpus: '{item.strip()}' names a CPU set that "
                            "is in the list already")
        sets.append(cpus)
    return sets


def ranges(cpus):
    """The kernel's notation, '0-15,64-79'."""
    parts = []
    first = last = cpus[0]
    for cpu in list(cpus[1:]) + [None]:
        if cpu is not None and cpu == last + 1:
            last = cpu
            continue
        parts.append(str(first) if first == last else f"{first}-{last}")
        first = last = cpu
    return ",".join(parts)


def is_prefix(cpus):
    """Whether the set is what the published tables mean by its size."""
    return tuple(cpus) == tuple(range(len(cpus)))


def chips(cpus, chip_threads):
    """How many chips the set touches, of chips with so many threads each."""
    ends = list(itertools.accumulate(chip_threads))
    return len({bisect.bisect(ends, cpu) for cpu in cpus})
