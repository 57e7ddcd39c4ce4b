# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the points of a comparison: several guests at a time, each kept.

A point is a storm: a kernel, a CPU set, a seed.  A boot runs one, or several
one after the other.  Nothing passes from one boot to another, so neither the
order nor the number of jobs shows in a result; what a boot has run before is
among the inputs of a point.
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


def storm_words(storm, *sets):
    """The arguments of init for a storm over each of these CPU sets."""
    lists = ";".join(cpulist.ranges(cpus) for cpus in sets)
    words = ["storm", f"cpulist{'s' if len(sets) > 1 else ''}={lists}",
             f"offset={storm['offset']}"]
    if storm["single"]:
        words.append("single=1")
    words += [f"warmup_us={storm['warmup_us']}",
              f"duration_us={storm['duration_us']}"]
    if storm["usleep"] is not None:
        words.append(f"usleep={storm['usleep']}")
    return " ".join(words)


class Point:
    """One storm to run, and then what came of it."""

    def __init__(self, machine, host, kernel, cpus, seed, together=None):
        """together: the CPU sets of its boot, in order (default: its own)."""
        self.kernel = kernel
        self.cpus = cpus
        self.seed = seed
        self._machine = machine
        self._host = host
        self.data = None
        self.failure = None
        self.console = []
        self.boot_with(together or [cpus])

    def boot_alone(self):
        """In place of the boot with others, which has failed."""
        given_up = self.append
        self.boot_with([self.cpus])
        # Not the same point as one that was asked for alone: a result must
        # not depend on what else the cache has.
        self.inputs["given_up"] = given_up
        self.key = points.key(self.inputs)

    def boot_with(self, together):
        """Give it a place in a boot with these CPU sets."""
        machine = self._machine
        self.together = together
        self.append = qemu.full_append(
            f"{machine.append} {self.kernel.append}",
            storm_words(machine.storm, *together))
        self.inputs = {
            **self._host,
            "kernel": self.kernel.hashes["image"],
            "initrd": self.kernel.hashes["initrd"],
            "machine": machine.data["machine"],
            "smp": machine.smp,
            "memory": machine.data["memory"],
            "clock": machine.values("clock"),
            "contention": machine.values("contention"),
            "append": self.append,
            "seed": self.seed,
        }
        if len(together) > 1:
            self.inputs["storm"] = self.turn
        self.key = points.key(self.inputs)
        # Cost on the host: its part of a boot, and a share for each busy CPU.
        self.weight = 64 / len(together) + len(self.cpus)

    @property
    def turn(self):
        """Which storm of its boot it is, from 0."""
        return self.together.index(self.cpus)

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


class Boot:
    """Points that run in one guest, one after the other."""

    def __init__(self, members):
        self.points = members
        self.taken = 0
        self.mark = time.monotonic()

    @property
    def weight(self):
        """Cost on the host."""
        return sum(point.weight for point in self.points)

    @property
    def key(self):
        """A name of its own."""
        return self.points[0].key


def make_points(machine, host, chosen, cpu_sets, seeds, per_boot):
    """The points in the order of the table; per_boot of them share a boot."""
    groups = [cpu_sets[at:at + per_boot]
              for at in range(0, len(cpu_sets), per_boot)]
    found = {}
    for kernel in chosen:
        for seed in seeds:
            for group in groups:
                for cpus in group:
                    found[id(kernel), cpus, seed] = Point(
                        machine, host, kernel, cpus, seed, group)
    return [found[id(kernel), cpus, seed] for kernel in chosen
            for cpus in cpu_sets for seed in seeds]


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

    def _boots(self, wanted):
        """What has to run, after a look into the cache."""
        groups = {}
        for point in wanted:
            point.data = self._cache.load(point.inputs)
            groups.setdefault((id(point.kernel), point.seed,
                               tuple(point.together)), []).append(point)
        boots = []
        for members in groups.values():
            members.sort(key=lambda point: point.turn)
            if all(point.data for point in members):
                continue
            if len(members) > 1 and self._split_before(members):
                boots += [Boot([point]) for point in members
                          if not point.data]
            else:
                boots.append(Boot(members))
        return boots

    def _split_before(self, members):
        """Whether an earlier run had to give this boot up; takes what each
        CPU set then gave in a boot of its own."""
        alone = False
        for point in members:
            if point.data:
                continue
            together = point.together
            point.boot_alone()
            point.data = self._cache.load(point.inputs)
            if point.data:
                alone = True
            else:
                point.boot_with(together)
        if alone:
            for point in members:
                if not point.data:
                    point.boot_alone()
        return alone

    def run(self, wanted, jobs):
        """Fill in data or failure of every point."""
        todo = self._boots(wanted)
        missing = [point for boot in todo for point in boot.points
                   if not point.data]
        if len(missing) < len(wanted):
            self._progress.say(f"{len(wanted) - len(missing)} of "
                               f"{len(wanted)} points are in "
                               f"{self._cache.directory}")
        # The longest first, so that none is left alone at the end.
        todo.sort(key=lambda boot: -boot.weight)
        self._progress.start([point.weight for point in missing])
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
            for boot in running.values():
                self._cache.remove_stats(boot.key)
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
                boot = todo.pop(0)
                running[self._start(boot)] = boot
            if self._signal:
                return
            self._wait(running)
            for guest in list(running):
                boot = running[guest]
                self._take(boot, guest)
                if guest.done:
                    todo += self._end(boot, guest)
                    del running[guest]
            if time.monotonic() - drawn >= 0.5:
                self._progress.update(len(running))
                drawn = time.monotonic()

    def _start(self, boot):
        self._cache.check_room()
        point = boot.points[0]
        boot.mark = time.monotonic()
        argv = qemu.command(self._binary, self._machine, point.kernel.image,
                            point.kernel.initrd, point.append, point.seed,
                            stats=self._cache.stats_path(boot.key),
                            limit_ms=self._limit_ms * len(boot.points))
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

    def _take(self, boot, guest):
        """Keep what the guest has reported since the last look.

        The last storm waits for the end of the guest, which may yet fail.
        """
        ready, whole = len(guest.storms), len(boot.points)
        while boot.taken < min(ready, whole):
            if boot.taken == whole - 1 and (not guest.done or guest.failure
                                            or ready > whole):
                return
            point = boot.points[boot.taken]
            boot.taken += 1
            guest.extend()
            wall = time.monotonic() - boot.mark
            boot.mark += wall
            self._finish(boot, point, guest, wall)

    def _finish(self, boot, point, guest, wall):
        """The result of a point, whose storm the guest has reported."""
        if point.data:
            return
        turn = boot.points.index(point)
        failure = check_storm(guest.storms[turn], point.cpus)
        stats = None
        if not failure:
            # Without them the storm ran unmodelled: a rate without meaning.
            stats, failure = self._take_stats(boot, turn, guest)
        if failure:
            self._failed(point, failure, guest)
            return
        point.data = self._cache.store(point.inputs, {
            "storm": guest.storms[turn],
            "boot": {"ns": guest.boot["ns"], "cpus": guest.boot["cpus"]}
                    if guest.boot else None,
            "stats": stats})
        self.walls[point.key] = round(wall, 2)
        self._progress.finished(f"{point.title}: {point.rate:.3f} M IPI/s, "
                                f"{wall:.1f} s", point.weight)

    def _failed(self, point, failure, guest):
        point.failure = failure
        point.console = list(guest.lines)
        self._progress.finished(f"{point.title}: failed", point.weight,
                                failed=True)
        self._progress.say(f"{point.title}: {failure}\n"
                           + self._console(point.console))

    def _end(self, boot, guest):
        """The guest is done; returns boots to make in its stead."""
        self._cache.remove_stats(boot.key)
        failure = guest.failure
        if not failure and len(guest.storms) < len(boot.points):
            failure = ("the guest reports no storm result" if not guest.storms
                       else "the guest reports too few storms, "
                       f"{len(guest.storms)} of {len(boot.points)}")
        if not failure and len(guest.storms) > len(boot.points):
            failure = f"the guest reports {len(guest.storms)} storms"
        left = [point for point in boot.points
                if not point.data and not point.failure]
        if not failure or not left:
            return []
        if len(boot.points) == 1:
            self._failed(left[0], failure, guest)
            return []
        self._progress.say(
            f"{left[0].title}, in a boot with others: {failure}\n"
            + self._console(list(guest.lines))
            + f"\n{len(left)} CPU sets are run in boots of their own")
        for point in left:
            point.boot_alone()
        return [Boot([point]) for point in left]

    @staticmethod
    def _console(lines):
        if not lines:
            return "    (no console output)"
        return "\n".join(f"    {line}" for line in lines)

    def _take_stats(self, boot, turn, guest):
        """(statistics, None) or (None, failure)."""
        path = self._cache.stats_path(boot.key, turn)
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
