# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a pattern for xs-replay of a recorded storm (docs/replay.md)."""

import collections
import struct

from .errors import UserError

MAGIC = b"XSRECORD"
VERSION = 1
_HEADER = struct.Struct("<8sIIQ")
_PLACE = struct.Struct("<4H")
_ENTRY = struct.Struct("<qqQQHBBHH")

LOAD, STORE, CONDITIONAL, PAUSE, MMIO, TRIGGER, DMA = range(7)
_MASKED = 1
_TIMA_LOAD, _ESB_STORE = 0, 3
_NO_CPU = 0xffff
_FAR = 99

# A line is part of a round trip if it is met in at least half of them.
_REGULAR = 0.5
# Variants of each part that are kept, the most frequent first.
_VARIANTS = 24

Entry = collections.namedtuple("Entry", "time insn line pc cpu type flags a b")


class Record:
    """What is in a record file."""

    def __init__(self, path):
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as err:
            raise UserError(f"{path}: {err.strerror}") from None
        if len(data) < _HEADER.size or data[:8] != MAGIC:
            raise UserError(f"{path}: no record of a storm; make one with "
                            "record-file= of -device contention")
        _, version, cpus, self.instruction_ps = _HEADER.unpack_from(data)
        if version != VERSION:
            raise UserError(f"{path}: version {version}, this program reads "
                            f"{VERSION}; record it again")
        start = _HEADER.size + cpus * _PLACE.size
        if len(data) < start or (len(data) - start) % _ENTRY.size:
            raise UserError(f"{path}: truncated; record it again")
        self.chips = [_PLACE.unpack_from(data, _HEADER.size
                                         + i * _PLACE.size)[0]
                      for i in range(cpus)]
        self.entries = list(map(Entry._make,
                                _ENTRY.iter_unpack(data[start:])))


class Ring:
    """Who sends to whom."""

    def __init__(self, entries):
        seen = collections.defaultdict(collections.Counter)
        for e in entries:
            if e.type == TRIGGER and e.b not in (_NO_CPU, e.cpu):
                seen[e.cpu][e.b] += 1
        self.target = {cpu: count.most_common(1)[0][0]
                       for cpu, count in seen.items()}
        self.source = {to: cpu for cpu, to in self.target.items()}

    def step(self, cpu, owner):
        """From cpu to owner: 0 itself, 1 its target, ...; None if far."""
        at = {0: cpu}
        for way, follow in ((1, self.target), (-1, self.source)):
            here = cpu
            for step in range(1, 4):
                here = follow.get(here)
                if here is None:
                    break
                at.setdefault(way * step, here)
        for step in sorted(at, key=abs):
            if at[step] == owner:
                return step
        return None


def _with_triggers(stream):
    """What was stored to an ESB page triggers, also where that was queued.

    The controller tells of a trigger only if it makes an event; if the
    target has not ended the interrupt before, it makes none.
    """
    for i, e in enumerate(stream):
        yield e
        if (e.type == MMIO and e.b == _ESB_STORE
                and not (i + 1 < len(stream)
                         and stream[i + 1].type == TRIGGER)):
            yield e._replace(type=TRIGGER, b=_NO_CPU)


def _parts(stream):
    """Splits a thread's entries into sends (between triggers) and handles.

    A handle is a run with interrupts off which acknowledges one; it is cut
    out of the send that it interrupts, with its instructions. What a thread
    triggers there, or on itself, is an interrupt that was queued before: the
    controller's doing, and left out.
    """
    stream = list(_with_triggers([e for e in stream if e.type != TRIGGER
                                  or e.b != e.cpu]))
    sends, handles, current = [], [], None
    shift = 0
    i = 0
    while i < len(stream):
        if stream[i].flags & _MASKED:
            j = i
            while j < len(stream) and stream[j].flags & _MASKED:
                j += 1
            run = [e for e in stream[i:j] if e.type != TRIGGER]
            if any(e.type == MMIO and e.b == _TIMA_LOAD for e in run):
                if 0 < i and j < len(stream):
                    handles.append((run, stream[i - 1], stream[j]))
                    shift += (run[-1].insn - run[0].insn)
                i = j
                continue
        else:
            j = i + 1
        for e in stream[i:j]:
            moved = e._replace(insn=e.insn - shift)
            if e.type == TRIGGER:
                if current is not None:
                    sends.append(current)
                current = []
            if current is not None:
                current.append(moved)
        i = j
    return sends, handles


def _poll(send):
    """The loop in which a send waits: first and last index, period."""
    pauses = [i for i, e in enumerate(send) if e.type == PAUSE]
    if len(pauses) < 3:
        return None
    periods = collections.Counter(
        send[b].insn - send[a].insn for a, b in zip(pauses, pauses[1:]))
    period = periods.most_common(1)[0][0]
    body = collections.Counter(
        (send[b - 1].line, send[b - 1].pc)
        for a, b in zip(pauses, pauses[1:]) if b - a == 2)
    if not body or period <= 0:
        return None
    (line, pc), _ = body.most_common(1)[0]
    loads = [i for i, e in enumerate(send)
             if e.line == line and e.pc == pc and e.type == LOAD]
    return loads[0], loads[-1], period


class Distiller:
    """From the entries to lines, their owners, and the two parts."""

    def __init__(self, record):
        self.record = record
        self.ring = Ring(record.entries)
        if not self.ring.target:
            raise UserError("the record has no interrupt between CPUs; "
                            "record while the storm runs")
        streams = collections.defaultdict(list)
        self.dma = set()
        for e in record.entries:
            if e.type == DMA:
                self.dma.add(e.line)
            else:
                streams[e.cpu].append(e)
        self.parts = {cpu: _parts(stream)
                      for cpu, stream in sorted(streams.items())
                      if cpu in self.ring.target}
        self.trips = {cpu: max(1, len(p[0])) for cpu, p in self.parts.items()}
        self._classify(streams)
        self.at = self._places()

    def _places(self):
        """Whose chip each kind of register access goes to.

        What holds for most of them decides: between threads of one chip
        all answers are right.
        """
        fits = collections.defaultdict(collections.Counter)
        for e in self.record.entries:
            if e.type not in (TRIGGER, MMIO) or e.cpu not in self.parts:
                continue
            key = (e.type, e.b if e.type == MMIO else 0)
            target = e.b if e.type == TRIGGER else self.ring.target[e.cpu]
            if target in (_NO_CPU, e.cpu):
                continue
            fits[key]["own"] += e.a == self.record.chips[e.cpu]
            fits[key]["target"] += e.a == self.record.chips[target]
            fits[key]["first"] += e.a == 0
        return {key: max(("own", "target", "first"), key=count.__getitem__)
                for key, count in fits.items()}

    def _classify(self, streams):
        users = collections.defaultdict(collections.Counter)
        written = set()
        for cpu in self.parts:
            for e in streams[cpu]:
                if e.type <= CONDITIONAL:
                    users[e.line][cpu] += 1
                    if e.type != LOAD:
                        written.add(e.line)
        # line -> (scope, owner)
        self.role = {}
        for line, count in users.items():
            cpus = sorted(cpu for cpu, n in count.items()
                          if n >= _REGULAR * self.trips[cpu])
            if line in self.dma:
                self.role[line] = ("cpu", max(count, key=count.get))
                continue
            if len(cpus) < 2 or line not in written:
                continue
            owner = self._ring_owner(cpus)
            if owner is not None:
                self.role[line] = ("link", owner)
            elif len({self.record.chips[cpu] for cpu in cpus}) == 1:
                self.role[line] = ("chip", cpus[0])
            else:
                self.role[line] = ("global", cpus[0])

        # The name of a line: the most frequent access to it, as its owner
        # sees it.  Lines of other owners with that name play the same role.
        names = collections.defaultdict(collections.Counter)
        for cpu in self.parts:
            for e in streams[cpu]:
                if e.type <= CONDITIONAL and e.line in self.role:
                    names[e.line][self._name(cpu, e)] += 1
        self.name = {}
        for line, (scope, _) in self.role.items():
            if line in self.dma:
                self.name[line] = ("cpu", 0)
                continue
            top = max(names[line].values())
            self.name[line] = (scope, min(
                key for key, n in names[line].items() if n >= 0.5 * top))

    def _name(self, cpu, e):
        scope, owner = self.role[e.line]
        step = self.ring.step(cpu, owner) if scope == "link" else 0
        return (_FAR if step is None else step, e.pc, e.type)

    def _ring_owner(self, cpus):
        """The first along the ring, if all follow each other there."""
        if len(cpus) > 3:
            return None
        for first in cpus:
            chain = [first]
            while len(chain) < len(cpus):
                chain.append(self.ring.target.get(chain[-1]))
            if sorted(c for c in chain if c is not None) == cpus:
                return first
        return None

    def _op(self, e, cpu):
        """An entry as a word, None if it plays no role."""
        if e.type in (LOAD, STORE, CONDITIONAL):
            if e.line not in self.role:
                return None
            scope, owner = self.role[e.line]
            step = self.ring.step(cpu, owner) if scope == "link" else 0
            if step is None:
                return None
            kind = ("load", "store", "conditional")[e.type]
            return (kind, self.name[e.line], step)
        if e.type == PAUSE:
            return ("pause",)
        if e.type == TRIGGER:
            return ("trigger", self.at[e.type, 0])
        return ("mmio", e.b, self.at[e.type, e.b])

    def send(self, part, cpu, length):
        """A send as a sequence of (instructions, op), None if unusual."""
        poll = _poll(part)
        if poll is None:
            return None
        first, last, period = poll
        line = part[first].line
        if self.role.get(line, ("", 0))[0] != "link":
            return None
        ops, at = [], part[0].insn
        skipped = 0
        for i, e in enumerate(part):
            if first < i <= last:
                if i == last:
                    skipped = e.insn - part[first].insn
                continue
            if i == first:
                op = ("wait", self.name[line],
                      self.ring.step(cpu, self.role[line][1]), period)
            else:
                op = self._op(e, cpu)
            if op is None:
                continue
            ops.append((e.insn - skipped - at, op))
            at = e.insn - skipped
        return (tuple(ops), length - skipped - (at - part[0].insn))

    def handle(self, part, cpu):
        """A handle likewise; the sender's wait ends with its release."""
        run, _, _ = part
        source = self.ring.source.get(cpu)
        ops, at = [], run[0].insn
        for e in run:
            op = self._op(e, cpu)
            if op is None:
                continue
            ops.append((e.insn - at, op))
            at = e.insn
        release = None
        for i, (_, op) in enumerate(ops):
            if op[0] == "store" and op[1] in self.waits and op[2] == -1:
                release = i
        if (release is None or source is None
                or any(op[0] in ("trigger", "pause") for _, op in ops)):
            return None
        ops[release] = (ops[release][0], ("release",) + ops[release][1][1:])
        return (tuple(ops), run[-1].insn - at)

    def distil(self):
        """Counted sends and handles."""
        sends, handles = collections.Counter(), collections.Counter()
        self.waits = set()
        for cpu, (parts, _) in self.parts.items():
            for part, after in zip(parts, parts[1:]):
                found = self.send(part, cpu, after[0].insn - part[0].insn)
                if found:
                    sends[found] += 1
                    self.waits |= {op[1] for _, op in found[0]
                                   if op[0] == "wait"}
        for cpu, (_, parts) in self.parts.items():
            for part in parts:
                found = self.handle(part, cpu)
                if found:
                    handles[found] += 1
        if not sends or not handles:
            raise UserError("the record has no complete round trip; make it "
                            "longer with record-us=")
        return sends, handles


def write(name, sends, handles):
    """The pattern's text."""
    names, scopes = {}, []

    def number(key):
        if key not in names:
            names[key] = len(scopes)
            scopes.append(key[0])
        return names[key]

    def words(op):
        if op[0] in ("load", "store", "conditional", "release"):
            return f"{op[0]} {number(op[1])} {op[2]}"
        if op[0] == "wait":
            return f"wait {number(op[1])} {op[2]} {op[3]}"
        if op[0] == "trigger":
            return f"trigger {op[1]}"
        if op[0] == "mmio":
            return f"mmio {op[1]} {op[2]}"
        return op[0]

    body = []
    for part, counted in (("send", sends), ("handle", handles)):
        merged = collections.Counter()
        for (ops, rest), weight in counted.items():
            text = [f"{n} {words(op)}" for n, op in ops] + [f"{rest} end"]
            merged["\n".join(text)] += weight
        for text, weight in sorted(merged.items(),
                                   key=lambda item: (-item[1], item[0])
                                   )[:_VARIANTS]:
            body += [f"{part} {weight}", text]
    head = [f"xivescale-pattern 1 {name}"]
    head += [f"line {scope}" for scope in scopes]
    if ("cpu", 0) in names:
        head.append(f"queue {names['cpu', 0]}")
    return "\n".join(head + body) + "\n"
