# SPDX-License-Identifier: GPL-2.0-or-later
"""Files: hashes, whole-or-nothing writes, and where the checkout is."""

import errno
import hashlib
import json
import os
from pathlib import Path

from .errors import UserError

ROOT = Path(__file__).resolve().parent.parent.parent


class DiskFull(UserError):
    """No room for a result; what is on disk already stays good."""


def sha256(path):
    """Hex digest of a file's content."""
    digest = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    except OSError as err:
        raise UserError(f"{path}: cannot be read: {err.strerror}") from None
    return digest.hexdigest()


def write_atomic(path, data):
    """Write data (str or bytes) so that a reader or a crash never sees half.

    The directory is flushed too: a point reported as finished must still
    be there after the host loses power.
    """
    path = Path(path)
    if isinstance(data, str):
        data = data.encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A device or pipe cannot be replaced by a rename, nor should it be.
        if path.exists() and not path.is_file():
            with open(path, "wb") as stream:
                stream.write(data)
            return
        try:
            with open(temporary, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as err:
        if err.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{path}: no space left on the device; free some "
                           "and run the same command again") from None
        raise UserError(f"{path}: cannot be written: "
                        f"{err.strerror}") from None


def to_json(value):
    """The one JSON form of all our files: equal values, equal bytes."""
    return json.dumps(value, indent=1, ensure_ascii=False,
                      allow_nan=False) + "\n"


def load_json(path):
    """Read a JSON file, refusing repeated keys and NaN (both are typos)."""
    def pairs(items):
        result = {}
        for key, value in items:
            if key in result:
                raise UserError(f"{path}: key '{key}' is given twice")
            result[key] = value
        return result

    def constant(name):
        raise UserError(f"{path}: {name} is not a JSON number")

    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as err:
        raise UserError(f"{path}: cannot be read: {err.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not JSON: not UTF-8 text") from None
    try:
        return json.loads(text, object_pairs_hook=pairs,
                          parse_constant=constant)
    except json.JSONDecodeError as err:
        raise UserError(f"{path}: not JSON: {err.msg} at line {err.lineno} "
                        f"column {err.colno}") from None
    except RecursionError:
        raise UserError(f"{path}: not JSON we take: nested too "
                        "deeply") from None
