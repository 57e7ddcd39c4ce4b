# SPDX-License-Identifier: GPL-2.0-or-later
"""Published measurements: CSV files with a row for each number of CPUs."""

import csv
import math
from pathlib import Path

from .errors import UserError
from .files import ROOT


def resolve(name):
    """A reference as given: a path, or a file of reference/."""
    path = Path(name)
    if not path.exists() and path.parent == Path("."):
        path = ROOT / "reference" / name
    return path


class Reference:
    """One table: value(column, cpus) in million IPIs a second."""

    def __init__(self, path):
        self.path = resolve(path)
        self.name = self.path.name
        try:
            with open(self.path, newline="", encoding="utf-8") as stream:
                rows = list(csv.reader(stream))
        except OSError as err:
            raise UserError(f"{path}: cannot be read: "
                            f"{err.strerror}") from None
        except (UnicodeDecodeError, csv.Error):
            raise UserError(f"{path}: not a CSV file") from None
        if not rows or "cpus" not in rows[0]:
            raise UserError(f"{path}: no reference table: the first line must "
                            "name the columns, one of them 'cpus'")
        header = rows[0]
        self.columns = [name for name in header
                        if name not in ("cpus", "chips")]
        self._values = {}
        for number, row in enumerate(rows[1:], start=2):
            if not row:
                continue
            if len(row) != len(header):
                raise UserError(f"{path}: line {number}: {len(row)} fields, "
                                f"the header has {len(header)}")
            record = dict(zip(header, row))
            if not record["cpus"].isdigit():
                raise UserError(f"{path}: line {number}: cpus "
                                f"'{record['cpus']}' is not a number")
            cpus = int(record["cpus"])
            for column in self.columns:
                self._add(path, number, column, cpus, record[column])

    def _add(self, path, number, column, cpus, text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise UserError(f"{path}: line {number}: {column} '{text}' is not "
                            "a positive number")
        if (column, cpus) in self._values:
            raise UserError(f"{path}: line {number}: a second row for "
                            f"{cpus} CPUs")
        self._values[column, cpus] = value

    def check_column(self, column, what):
        """Refuse a column that the table does not have."""
        if column not in self.columns:
            raise UserError(f"{what}: {self.path} has no column '{column}' "
                            f"(it has {', '.join(self.columns)})")

    def value(self, column, cpus):
        """The published figure, or None where there is none."""
        return self._values.get((column, cpus))

    def curve(self, column):
        """All (cpus, value) of a column, by CPUs."""
        return sorted((cpus, value)
                      for (name, cpus), value in self._values.items()
                      if name == column)
