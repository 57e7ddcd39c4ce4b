# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages on stderr: progress with remaining time, warnings, failures."""

import sys
import time


def duration(seconds):
    """1:05 or 1:02:03."""
    seconds = int(seconds + 0.5)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds:02}"
    return f"{minutes}:{seconds:02}"


class Progress:
    """One updating line on a terminal, a line a point elsewhere.

    The remaining time goes by weights, since a point of 128 CPUs takes
    longer than one of 16.
    """

    def __init__(self, program, stream=None):
        self._program = program
        self._stream = stream or sys.stderr
        self._tty = self._stream.isatty()
        self._shown = 0
        self._started = time.monotonic()
        self._total = self._finished = self._failed = 0
        self._weight_total = self._weight_done = 0

    def start(self, weights):
        """Begin with the weights of all points to run."""
        self._started = time.monotonic()
        self._total = len(weights)
        self._weight_total = sum(weights)

    def say(self, text):
        """A line of its own."""
        self._clear()
        for line in text.splitlines():
            self._write(f"{self._program}: {line}\n")

    def finished(self, text, weight, failed=False):
        """A point has ended."""
        self._finished += 1
        self._failed += failed
        self._weight_done += weight
        if not self._tty:
            left = self._left()
            left = f", about {duration(left)} left" if left else ""
            self.say(f"[{self._finished}/{self._total}] {text}{left}")

    def _left(self):
        remaining = self._weight_total - self._weight_done
        if not self._weight_done or not remaining:
            return None
        spent = time.monotonic() - self._started
        return spent * remaining / self._weight_done

    def update(self, running):
        """Redraw the line of a terminal."""
        if not self._tty:
            return
        left = self._left()
        text = (f"{self._program}: {self._finished}/{self._total} points, "
                f"{running} running")
        if self._failed:
            text += f", {self._failed} failed"
        text += f", {duration(time.monotonic() - self._started)} elapsed"
        if left:
            text += f", about {duration(left)} left"
        self._write("\r" + text.ljust(self._shown))
        self._shown = len(text)

    def close(self):
        """Leave a clean line."""
        self._clear()

    def _clear(self):
        if self._tty and self._shown:
            self._write("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _write(self, text):
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            pass
