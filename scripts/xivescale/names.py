# SPDX-License-Identifier: GPL-2.0-or-later
"""Asks xs-names what is at the addresses of a guest."""

import json
import subprocess
from pathlib import Path

from .errors import UserError
from .files import ROOT

TOOL = ROOT / "build" / "unit" / "xs-names"


class Names:
    """One kernel, its modules and, if there is one, its memory."""

    def __init__(self, kernel, memory=None, modules=(), slide=None,
                 tool=None, warn=None):
        self._tool = Path(tool or TOOL)
        if not self._tool.exists():
            raise UserError(f"{self._tool}: no such program; run make unit")
        self._argv = [str(self._tool), "--kernel", str(kernel)]
        if memory:
            self._argv += ["--memory", str(memory)]
        for directory in modules:
            self._argv += ["--modules", str(directory)]
        if slide is not None:
            self._argv += ["--slide", str(slide)]
        self._warn = warn

    def ask(self, requests):
        """The answers, by request; what is not known is not in them."""
        requests = list(dict.fromkeys(requests))
        try:
            done = subprocess.run(
                self._argv, input="".join(f"{line}\n" for line in requests),
                capture_output=True, check=False, text=True)
        except OSError as err:
            raise UserError(f"{self._tool}: cannot be run: "
                            f"{err.strerror}") from None
        said = [line.removeprefix("xs-names: ")
                for line in done.stderr.splitlines()]
        if done.returncode:
            raise UserError(said[-1] if said else f"{self._tool} ended with "
                            f"status {done.returncode}")
        if self._warn:
            for line in said:
                self._warn(line)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        if len(answers) != len(requests):
            raise UserError(f"{self._tool}: {len(answers)} answers to "
                            f"{len(requests)} requests")
        return dict(zip(requests, answers))
