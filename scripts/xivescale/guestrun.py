# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one QEMU and follows its console.

A GuestRun never blocks: its owner waits on the file descriptors (fds()),
calls read() when one is ready and check() now and then, until done.  So one
thread can follow many guests, and the death signal below, which is tied to
the thread that started the child, means the death of the script.
"""

import collections
import ctypes
import json
import os
import re
import select
import signal
import subprocess
import time

from .errors import UserError

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)

_FATAL = re.compile(r"Kernel panic - not syncing|\bOops: |kernel BUG at |"
                    r"BUG: Unable to handle kernel|"
                    r"BUG: Kernel NULL pointer dereference")

KEEP_LINES = 20
_LINE_BYTES = 1 << 20

# Wall seconds: for the rest of a panic report, and for the power-off.
_FATAL_GRACE = 3.0
_POWEROFF_GRACE = 30.0


def die_with_parent(parent):
    """For preexec_fn: a killed script must leave no QEMU behind."""
    def setup():
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)
    return setup


def printable(line, limit=300):
    """A console line safe for the user's terminal."""
    line = "".join(char if char.isprintable() else " " if char == "\t" else
                   "?" for char in line)
    return line if len(line) <= limit else line[:limit] + "..."


class GuestRun:
    """One guest, from start to its report or its failure."""

    def __init__(self, argv, timeout=None, tee=None, interactive=False):
        """tee(bytes) gets the console as it comes; timeout is wall time.

        An interactive guest has our standard input, and may be powered off
        by its user at any moment.
        """
        self.storms = []
        self.loads = {}
        self.boot = None
        self.exec_status = None
        self.failure = None
        self.done = False
        self.lines = collections.deque(maxlen=KEEP_LINES)
        self._tee = tee
        self._reported = False
        self._heard = False
        self._fatal = None
        self.stderr_line = None
        self._started = time.monotonic()
        self._timeout = timeout
        self._deadline = None if not timeout else self._started + timeout
        self._buffers = {}
        try:
            # Only the foreground process group may read the terminal.
            self._process = subprocess.Popen(
                argv, stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
                process_group=None if interactive else 0,
                preexec_fn=die_with_parent(os.getpid()))
        except OSError as err:
            raise UserError(f"{argv[0]}: cannot be run: "
                            f"{err.strerror}") from None
        self._interactive = interactive
        for stream in (self._process.stdout, self._process.stderr):
            os.set_blocking(stream.fileno(), False)
            self._buffers[stream.fileno()] = b""
        self._stdout = self._process.stdout.fileno()
        self.wall = None

    def fds(self):
        """The descriptors still open, to be waited on."""
        return list(self._buffers)

    def read(self, fd):
        """Take what a descriptor has; whether there was anything."""
        if fd not in self._buffers:
            return False
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return False
        if fd == self._stdout and self._tee and data:
            self._tee(data)
        buffer = self._buffers[fd] + data
        *whole, rest = buffer.split(b"\n")
        if len(rest) > _LINE_BYTES:
            whole.append(rest)
            rest = b""
        for line in whole:
            self._line(fd, line)
        if data:
            self._buffers[fd] = rest
            return True
        if rest:
            self._line(fd, rest)
        del self._buffers[fd]
        return False

    def _line(self, fd, data):
        text = data.decode(errors="replace").strip("\r")
        if not text.strip():
            return
        self.lines.append(printable(text))
        if fd != self._stdout:
            self.stderr_line = printable(text)
            return
        self._heard = True
        if self._fatal is None and _FATAL.search(text):
            self._fatal = printable(re.sub(r"^(<\d+>)?\[ *[\d.]+\] *", "",
                                           text))
            self._shorten(_FATAL_GRACE)
        if text.startswith("XS: "):
            self._report(text[4:].strip())

    def _report(self, text):
        word, _, rest = text.partition(" ")
        if word == "boot":
            fields = dict(item.partition("=")[::2] for item in rest.split())
            try:
                self.boot = {"ns": int(fields["ns"]),
                             "cpus": int(fields["cpus"]),
                             "wall": time.monotonic() - self._started}
            except (KeyError, ValueError):
                self._fail(f"unreadable report 'XS: {printable(text, 80)}'")
        elif word == "storm":
            try:
                storm = json.loads(rest)
                if not isinstance(storm, dict):
                    raise ValueError
                self.storms.append(storm)
            except ValueError:
                self._fail("the storm's result is not JSON: "
                           f"{printable(rest, 80)}")
        elif word == "load":
            name, _, said = rest.partition(" ")
            try:
                self.loads.setdefault(name, []).append(json.loads(said))
            except ValueError:
                self._fail(f"the result of {printable(name, 80)} is not "
                           f"JSON: {printable(said, 80)}")
        elif word == "error":
            self._fail(f"the guest reports: {printable(rest)}")
        elif word == "exec":
            match = re.fullmatch(r"status=(\d+)", rest)
            if match:
                self.exec_status = int(match[1])
            else:
                self._fail(f"unreadable report 'XS: {printable(text, 80)}'")
        elif word == "done":
            self._reported = True
            self._shorten(_POWEROFF_GRACE)

    def _fail(self, text):
        """The first thing that went wrong is the reason."""
        if self.failure is None:
            self.failure = text

    def extend(self):
        """It has come a step further: the limit is for the next one."""
        if self._timeout and not self._fatal and not self._reported:
            self._deadline = time.monotonic() + self._timeout

    def _shorten(self, grace):
        limit = time.monotonic() + grace
        if self._deadline is None or limit < self._deadline:
            self._deadline = limit

    def check(self):
        """Notice the end and the limits; sets done, and failure if any."""
        if self.done:
            return
        status = self._process.poll()
        if status is not None:
            self._drain()
            self._finish(status)
        elif self._deadline and time.monotonic() >= self._deadline:
            self._overdue()

    def _drain(self):
        for fd in self.fds():
            while self.read(fd):
                pass

    def _overdue(self):
        self.kill()
        self._drain()
        if self._fatal:
            self._fail(f"the guest died: {self._fatal}")
        elif self._reported:
            self._fail("the guest reported its result but did not power off "
                       f"within {_POWEROFF_GRACE:.0f} s")
        elif not self._heard:
            self._fail("the guest printed nothing within the limit of "
                       f"{self._timeout:g} s of wall time")
        else:
            self._fail("the guest hangs or is too slow: no result within "
                       f"{self._timeout:g} s of wall time")
        self._close()

    def _finish(self, status):
        if self._fatal:
            self._fail(f"the guest died: {self._fatal}")
        elif status < 0:
            try:
                name = signal.Signals(-status).name
            except ValueError:
                name = f"signal {-status}"
            self._fail(f"QEMU was killed by {name}")
        elif status:
            reason = f": {self.stderr_line}" if self.stderr_line else ""
            self._fail(f"QEMU ended with status {status}{reason}")
        elif not self._reported and not self._heard:
            self._fail("QEMU ended and the guest had printed nothing")
        elif not self._reported and not (self._interactive and self.boot):
            self._fail("the guest powered off or restarted without its last "
                       "line 'XS: done'")
        self._close()

    def _close(self):
        self.wall = time.monotonic() - self._started
        self._process.stdout.close()
        self._process.stderr.close()
        self._buffers.clear()
        self.done = True

    def wait(self, storms=None):
        """Follow this guest alone until it is done.

        With storms, until it has reported so many, if it would run more.
        """
        seen = 0
        try:
            while not self.done:
                fds = self.fds()
                ready = select.select(fds, [], [], 0.1)[0] if fds else []
                for fd in ready:
                    self.read(fd)
                if not fds:
                    time.sleep(0.05)
                self.check()
                if len(self.storms) > seen:
                    seen = len(self.storms)
                    if seen == storms:
                        return
                    self.extend()
        finally:
            if not self.done:
                self.kill()

    def kill(self):
        """End QEMU and what it started; it keeps no state worth a grace."""
        if self._process.poll() is None:
            try:
                if not self._interactive:
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
            except ProcessLookupError:
                pass
        self._process.wait()
