# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the points of a comparison: several guests at a time, each kept.

A point is one boot: a kernel, a CPU set, a seed.  Nothing passes from one
boot to another, so neither the order nor the number of jobs shows in a
result.
"""

import selectors
import signal
import time

from . import cpulist, points, qemu
from .errors import UserError
from .files import load_json
from .guestrun import GuestRun


class Interrupted(Exception):
    """A signal asked us to stop; the finished points are kept."""

    def __init__(self, signum):
        super().__init__(signum)
        self.signum = signum


def storm_words(storm, cpus):
    """The arguments of init for one storm over these CPUs."""
    words = ["storm", f"cpulist={cpulist.ranges(cpus)}",
             f"offset={storm['offset']}"]
    if storm["single"]:
        words.append("single=1")
    words += [f"warmup_us={storm['warmup_us']}",
              f"duration_us={storm['duration_us']}"]
    if storm["usleep"] is not None:
        words.append(f"usleep={storm['usleep']}")
    return " ".join(words)


class Point:
    """One boot to make, and then what came of it."""

    def __init__(self, machine, host, kernel, cpus, seed):
        self.kernel = kernel
        self.cpus = cpus
        self.seed = seed
        self.append = qemu.full_append(f"{machine.append} {kernel.append}",
                                       storm_words(machine.storm, cpus))
        self.inputs = {
            **host,
            "kernel": kernel.hashes["image"],
            "initrd": kernel.hashes["initrd"],
            "machine": machine.data["machine"],
            "smp": machine.smp,
            "memory": machine.data["memory"],
            "clock": machine.values("clock"),
            "contention": machine.values("contention"),
            "append": self.append,
            "seed": seed,
        }
        self.key = points.key(self.inputs)
        self.data = None
        self.failure = None
        self.console = []
        # Cost on the host: a boot, and a share for each busy CPU.
        self.weight = 64 + len(cpus)

    @property
    def title(self):
        return (f"{self.kernel.label}, CPUs {cpulist.ranges(self.cpus)}, "
                f"seed {self.seed}")

    @property
    def rate(self):
        """Million IPIs handled a simulated second of the window."""
        storm = self.data["storm"]
        return storm["handled"] * 1000 / storm["duration_ns"]


def check_storm(storm, cpus):
    """Refuse a result that cannot be what was asked for; None if good."""
    if "error" in storm:
        return f"the storm reports: {storm['error']}"
    for name in ("cpus", "handled", "duration_ns", "elapsed_ns",
                 "total_handled", "interrupts_before", "interrupts_after"):
        if type(storm.get(name)) is not int:
            return f"the storm's result has no whole number '{name}'"
    if storm["cpus"] != len(cpus):
        return (f"the storm ran on {storm['cpus']} CPUs instead of "
                f"{len(cpus)}")
    if storm.get("cpulist") != cpulist.ranges(cpus):
        return f"the storm ran on the CPUs '{storm.get('cpulist')}'"
    if storm["duration_ns"] <= 0:
        return "the storm's measured window is empty"
    if storm["handled"] <= 0:
        return "no IPI was handled in the measured window"
    per_cpu = storm.get("handled_cpu")
    if per_cpu is not None and (len(per_cpu) != len(cpus)
                                or sum(per_cpu) != storm["handled"]):
        return "the storm's counts of the CPUs do not add up to its total"
    # A message may find an interrupt already on its way, hence not equality.
    interrupts = storm["interrupts_after"] - storm["interrupts_before"]
    if interrupts * 2 < storm["total_handled"]:
        return (f"only {interrupts} interrupts for {storm['total_handled']} "
                "IPIs: the kernel does not send them through the interrupt "
                "controller (it lacks the patch that knows xive_ipi=on)")
    return None


class Campaign:
    """The points of one invocation and the running of those not cached."""

    def __init__(self, machine, binary, cache, progress, timeout, limit_ms):
        self._machine = machine
        self._binary = binary
        self._cache = cache
        self._progress = progress
        self._timeout = timeout
        self._limit_ms = limit_ms
        self._signal = None
        self.walls = {}

    def run(self, wanted, jobs):
        """Fill in data or failure of every point."""
        todo = []
        for point in wanted:
            point.data = self._cache.load(point.inputs)
            if point.data is None:
                todo.append(point)
        if len(todo) < len(wanted):
            self._progress.say(f"{len(wanted) - len(todo)} of {len(wanted)} "
                               f"points are in {self._cache.directory}")
        # The longest first, so that none is left alone at the end.
        todo.sort(key=lambda point: -point.weight)
        self._progress.start([point.weight for point in todo])
        before = {}
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(signum) != signal.SIG_IGN:
                before[signum] = signal.signal(signum, self._on_signal)
        running = {}
        try:
            self._loop(todo, jobs, running)
        finally:
            for guest in running:
                guest.kill()
            for point in running.values():
                self._cache.stats_path(point.key).unlink(missing_ok=True)
            for signum, handler in before.items():
                signal.signal(signum, handler)
            self._progress.close()
        if self._signal:
            raise Interrupted(self._signal)

    def _on_signal(self, signum, _frame):
        self._signal = signum

    def _loop(self, todo, jobs, running):
        drawn = 0
        while todo or running:
            while todo and len(running) < jobs and not self._signal:
                point = todo.pop(0)
                running[self._start(point)] = point
            if self._signal:
                return
            self._wait(running)
            for guest in [guest for guest in running if guest.done]:
                point = running[guest]
                self._end(point, guest)
                del running[guest]
            if time.monotonic() - drawn >= 0.5:
                self._progress.update(len(running))
                drawn = time.monotonic()

    def _start(self, point):
        self._cache.check_room()
        argv = qemu.command(self._binary, self._machine, point.kernel.image,
                            point.kernel.initrd, point.append, point.seed,
                            stats=self._cache.stats_path(point.key),
                            limit_ms=self._limit_ms)
        return GuestRun(argv, timeout=self._timeout)

    @staticmethod
    def _wait(running):
        with selectors.DefaultSelector() as selector:
            for guest in running:
                for fd in guest.fds():
                    selector.register(fd, selectors.EVENT_READ, guest)
            # The end of a process is polled for: hence the short wait.
            if selector.get_map():
                events = selector.select(0.1)
            else:
                time.sleep(0.05)
                events = ()
            for event, _ in events:
                event.data.read(event.fd)
        for guest in running:
            guest.check()

    def _end(self, point, guest):
        failure = guest.failure
        if not failure and len(guest.storms) != 1:
            failure = ("the guest reports no storm result" if not guest.storms
                       else f"the guest reports {len(guest.storms)} storms")
        if not failure:
            failure = check_storm(guest.storms[0], point.cpus)
        stats = None
        if not failure:
            # Without them the storm ran unmodelled: a rate without meaning.
            stats, failure = self._take_stats(point, guest)
        if failure:
            point.failure = failure
            point.console = list(guest.lines)
            self._cache.stats_path(point.key).unlink(missing_ok=True)
            self._progress.finished(f"{point.title}: failed", point.weight,
                                    failed=True)
            self._progress.say(f"{point.title}: {failure}\n"
                               + self._console(point.console))
            return
        point.data = self._cache.store(point.inputs, {
            "storm": guest.storms[0],
            "boot": {"ns": guest.boot["ns"], "cpus": guest.boot["cpus"]}
                    if guest.boot else None,
            "stats": stats})
        self.walls[point.key] = round(guest.wall, 2)
        self._progress.finished(f"{point.title}: {point.rate:.3f} M IPI/s, "
                                f"{guest.wall:.1f} s", point.weight)

    @staticmethod
    def _console(lines):
        if not lines:
            return "    (no console output)"
        return "\n".join(f"    {line}" for line in lines)

    def _take_stats(self, point, guest):
        """(statistics, None) or (None, failure)."""
        path = self._cache.stats_path(point.key)
        if not path.exists():
            return None, ("the model wrote no statistics: "
                          + (guest.stderr_line or "the guest did not enter "
                             "and leave the region of interest"))
        try:
            stats = load_json(path)
        except UserError as err:
            return None, f"the model's statistics are unreadable: {err}"
        finally:
            path.unlink(missing_ok=True)
        if not isinstance(stats, dict):
            return None, "the model's statistics are no JSON object"
        return stats, None
