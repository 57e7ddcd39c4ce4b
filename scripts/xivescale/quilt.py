# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of patches on a source tree that is never changed itself."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from .errors import UserError
from .files import ROOT, write_atomic

HEADER = """SPDX-License-Identifier: GPL-2.0-or-later
Subject: {name}: say in one line what the hooks are for

Say here why QEMU's own files must be touched, and what calls the hooks.

"""


class Patch:
    """One file of a series: a header for readers, then the diffs."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.name
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise UserError(f"{path} is named in the series but does not "
                            "exist") from None
        match = re.search(r"^(?:diff |--- )", text, re.M)
        cut = match.start() if match else len(text)
        self.header, self.body = text[:cut], text[cut:]

    @property
    def files(self):
        """Paths in the tree that this patch changes, in its order."""
        found = []
        for old, new in re.findall(r"^--- (\S+).*\n\+\+\+ (\S+)",
                                   self.body, re.M):
            if "/dev/null" in (old, new):
                raise UserError(f"{self.path} adds or removes {new}: a patch "
                                "only changes files, new ones are overlay")
            found.append(new.split("/", 1)[1])
        return list(dict.fromkeys(found))

    def counts(self):
        """Lines added and removed."""
        body = re.sub(r"^(---|\+\+\+) \S.*\n", "", self.body, flags=re.M)
        return (len(re.findall(r"^\+", body, re.M)),
                len(re.findall(r"^-", body, re.M)))

    def text(self, body):
        """The patch with this body under its own header, kept as it is."""
        header = self.header
        if header and not header.endswith("\n"):
            header += "\n"
        return header + body


class Series:
    """The patches of a directory in the order of its file 'series'."""

    def __init__(self, name):
        self.name = name
        self.directory = ROOT / "patches" / name
        self.list = self.directory / "series"

    def names(self):
        if not self.list.exists():
            return []
        lines = self.list.read_text(encoding="utf-8").splitlines()
        names = [line.split("#", 1)[0].split() for line in lines]
        return [words[0] for words in names if words]

    def patches(self):
        return [Patch(self.directory / name) for name in self.names()]

    def stray(self):
        """Patch files that the series does not name."""
        return sorted(path.name for path in self.directory.glob("*.patch")
                      if path.name not in self.names())


def diff(name, old, new):
    """Unified diff of one file: one line of context, no dates."""
    done = subprocess.run(
        ["diff", "-U1", "-p", "--label", f"a/{name}", "--label", f"b/{name}",
         old, new], capture_output=True, check=False,
        env=dict(os.environ, LC_ALL="C.UTF-8"))
    if done.returncode > 1:
        raise UserError(f"{name} cannot be compared: "
                        + done.stderr.decode(errors="replace").strip())
    return done.stdout.decode("utf-8")


class Work:
    """Copies of just those files of a tree that patches touch."""

    def __init__(self, pristine):
        self.pristine = Path(pristine)
        self.directory = tempfile.TemporaryDirectory(prefix="xivescale-")
        self.root = Path(self.directory.name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.directory.cleanup()

    def path(self, name):
        """The copy of a file, made on first use."""
        copy = self.root / "now" / name
        if not copy.exists():
            original = self.pristine / name
            if not original.is_file():
                raise UserError(f"{name} does not exist in "
                                f"{self.pristine}")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original, copy)
        return copy

    def before(self, name):
        """The file as it was before the patch at hand."""
        copy = self.root / "before" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.path(name), copy)
        return copy

    def apply(self, patch):
        """Apply a patch to the copies; offsets are fine, fuzz is not."""
        for name in patch.files:
            self.path(name)
        if not patch.files:
            return
        done = subprocess.run(
            ["patch", "-p1", "-F0", "-N", "-t", "-r", "-",
             "--no-backup-if-mismatch", "-d", self.root / "now",
             "-i", patch.path], capture_output=True, check=False,
            encoding="utf-8", errors="replace",
            env=dict(os.environ, LC_ALL="C"))
        if done.returncode:
            said = (done.stdout + done.stderr).splitlines()
            failed = [line for line in said if "FAILED" in line
                      or "malformed" in line or "Ignoring" in line]
            where = [line for line in said if line.startswith("patching")]
            raise UserError(
                f"{patch.path.relative_to(ROOT)} does not apply to "
                f"{self.pristine}: "
                + "; ".join((where[-1:] + failed[:1]) or said[-1:]))

    def regenerate(self, patch):
        """The body of a patch as applying it to the copies now gives it."""
        names = patch.files
        before = {name: self.before(name) for name in names}
        self.apply(patch)
        return "".join(diff(name, before[name], self.path(name))
                       for name in names)


def without_positions(text):
    """A patch text in which only the changes count, not the line numbers."""
    return re.sub(r"^@@ -\S+ \+\S+ @@", "@@", text, flags=re.M)


def save(patch, body):
    """Write a patch again if it differs; says whether it did."""
    text = patch.text(body)
    if text == patch.path.read_text(encoding="utf-8"):
        return False
    write_atomic(patch.path, text)
    return True
