# SPDX-License-Identifier: GPL-2.0-or-later
"""Command-line parsing whose faults are one line, and number forms."""

import argparse
import re

from .errors import UserError


class Parser(argparse.ArgumentParser):
    """Faults become UserError: the scripts print one line, not the usage."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message):
        raise UserError(f"{message} (see --help)")


def whole(low, high, unit):
    """A type for argparse: a whole number of a range."""
    def convert(text):
        if not re.fullmatch(r"-?[0-9]{1,12}", text):
            raise argparse.ArgumentTypeError(
                f"'{text}' is not a whole number")
        value = int(text)
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(
                f"{text} is out of range ({low} to {high} {unit})")
        return value
    return convert


def seeds(text):
    """3 means 1, 2, 3; a list or range (7,9 or 7-7) means itself."""
    match = re.fullmatch(r"[0-9]{1,4}", text)
    if match:
        if not 1 <= int(text) <= 1000:
            raise argparse.ArgumentTypeError(
                f"'{text}': give 1 to 1000 seeds")
        return list(range(1, int(text) + 1))
    found = []
    for part in text.rstrip(",").split(","):
        match = re.fullmatch(r"([0-9]{1,9})(?:-([0-9]{1,9}))?", part)
        if not match:
            raise argparse.ArgumentTypeError(
                f"'{text}' is neither a number of seeds nor a list such as "
                "1,5,9-12")
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first or last - first >= 1000:
            raise argparse.ArgumentTypeError(
                f"'{part}' is not a range of up to 1000 seeds")
        found += range(first, last + 1)
    if len(set(found)) != len(found):
        raise argparse.ArgumentTypeError(f"'{text}' has a seed twice")
    return found
