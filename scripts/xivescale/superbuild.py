# SPDX-License-Identifier: GPL-2.0-or-later
"""What the scripts of the super-build share: choices, locks, commands."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from .errors import UserError
from .files import ROOT

BUILD = ROOT / "build"


def say(text):
    """One progress line for whoever watches a long step."""
    print(f"xivescale: {text}", file=sys.stderr, flush=True)


def run_main(main):
    """Run a script's main(); what a user can mend ends with one line."""
    try:
        status = main()
    except UserError as err:
        print(f"xivescale: error: {err}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        print("xivescale: interrupted; the same command continues",
              file=sys.stderr)
        status = 130
    except BrokenPipeError:
        status = 1
    except OSError as err:
        # Names the file; most often a full disk or a read-only checkout.
        where = f"{err.filename}: " if err.filename else ""
        print(f"xivescale: error: {where}{err.strerror}", file=sys.stderr)
        status = 1
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(status)


def load_config():
    """The choices of ./configure."""
    path = BUILD / "config.json"
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise UserError("not configured: run ./configure first") from None
    except ValueError:
        raise UserError(f"{path} is damaged: run ./configure again") from None


@contextmanager
def lock(name):
    """Two runs at once must not unpack or change the same tree."""
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / f".{name}.lock", "w", encoding="ascii") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that holds build/.{name}.lock")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def run(command, error, **kwargs):
    """Run a command; if it fails, its last lines and then one clear line."""
    try:
        done = subprocess.run([str(word) for word in command],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False,
                              encoding="utf-8", errors="replace", **kwargs)
    except FileNotFoundError:
        raise UserError(f"the command '{command[0]}' is missing: run "
                        "scripts/packages all") from None
    if done.returncode:
        for line in done.stdout.splitlines()[-6:]:
            print(f"  {line}", file=sys.stderr)
        raise UserError(error)
    return done.stdout


def need_space(mib, what):
    """A full disk is better met before a download than halfway."""
    free = shutil.disk_usage(BUILD).free >> 20
    if free < mib:
        raise UserError(f"{what} needs {mib} MiB free under {BUILD}, there "
                        f"are {free}: free some and run the same command "
                        "again")
