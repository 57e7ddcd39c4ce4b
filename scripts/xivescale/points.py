# SPDX-License-Identifier: GPL-2.0-or-later
"""The cache of finished points, one file each.

A point is a pure function of its inputs, so its file is named by their hash
and never becomes stale: other inputs, another file.  Failures are not kept.
"""

import hashlib
import json
import os
from pathlib import Path

from .errors import UserError
from .files import DiskFull, load_json, to_json, write_atomic

FORMAT = 1

# Room for the files of the points in flight; less is a full disk.
_ROOM = 256 * 1024


def key(inputs):
    """The name of the point with these inputs."""
    text = json.dumps({"format": FORMAT, **inputs}, sort_keys=True,
                      separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


class PointCache:
    """The points/ directory of a results directory."""

    def __init__(self, directory, warn):
        self.directory = Path(directory)
        self._warn = warn
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise UserError(f"{directory}: cannot be made: "
                            f"{err.strerror}") from None
        # What a killed run was writing; the owner holds the results lock.
        for name in (".*.tmp", ".stats-*"):
            for left in self.directory.glob(name):
                left.unlink(missing_ok=True)

    def path(self, name):
        return self.directory / f"{name}.json"

    def stats_path(self, name, turn=0):
        """Where QEMU writes the model's statistics of a storm of a boot."""
        suffix = f".{turn + 1}" if turn else ""
        return (self.directory / f".stats-{name}.json{suffix}").absolute()

    def remove_stats(self, name):
        """What a boot has left."""
        for left in self.directory.glob(f".stats-{name}.json*"):
            left.unlink(missing_ok=True)

    def check_room(self):
        """Before a guest is booted: could its result be kept?"""
        status = os.statvfs(self.directory)
        if status.f_bavail * status.f_frsize < _ROOM:
            raise DiskFull(f"{self.directory}: no space left on the device; "
                           "free some and run the same command again")

    def load(self, inputs):
        """The finished point, or None if it has to be run."""
        path = self.path(key(inputs))
        if not path.exists():
            return None
        try:
            data = load_json(path)
            if data["inputs"] != inputs or "storm" not in data:
                raise KeyError
        except (UserError, KeyError, TypeError):
            self._warn(f"{path}: damaged point file, run again")
            return None
        return data

    def store(self, inputs, outcome):
        """Keep a finished point, at once and whole."""
        data = {"inputs": inputs, **outcome}
        write_atomic(self.path(key(inputs)), to_json(data))
        return data
