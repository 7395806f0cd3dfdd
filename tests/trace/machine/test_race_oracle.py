"""The race detector against one that forgets nothing: vector clocks and the whole history."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest

from oneread.trace.machine.access import Access
from oneread.trace.machine.hazards import Hazards
from oneread.trace.machine.memory import Buffer, Space
from oneread.trace.machine.ordering import fence
from oneread.trace.machine.sites import BarrierSite, Site
from oneread.trace.machine.warp import Block, Warp

LANES = 3
CELLS = 2

KINDS = ("load", "load", "load", "store", "atomic", "looking atomic")
MASKS = (1, 2, 4, 1, 2, 4, 3, 6, 7)


Clock = dict[Any, int]


def joined(*clocks: Clock) -> Clock:
    return {key: max(one.get(key, 0) for one in clocks) for key in {k for c in clocks for k in c}}


@dataclass
class Past:
    """One access of one thread, with what the thread knew."""

    thread: Any
    kind: str
    cell: int
    time: int
    request: int
    known: Clock


@dataclass
class Oracle:
    """All accesses, and a vector clock for each thread."""

    clocks: dict[Any, Clock] = field(default_factory=dict)
    fenced: dict[Any, tuple[Clock, Clock]] = field(default_factory=dict)
    """For blocks of all, and of the own one."""
    boards: dict[Any, Clock] = field(default_factory=dict)
    past: list[Past] = field(default_factory=list)
    requests: int = 0

    def meet(self, threads: list[Any]) -> None:
        clock = joined(*(self.clocks.get(one, {}) for one in threads))
        self.clocks.update({one: dict(clock) for one in threads})

    def fence(self, threads: list[Any], wide: bool) -> None:
        for one in threads:
            clock = dict(self.clocks.get(one, {}))
            outer = self.fenced.get(one, ({}, {}))[0]
            self.fenced[one] = (clock if wide else outer, clock)

    def access(self, kind: str, threads: list[Any], where: list[int]) -> bool:
        """Note a request; say whether it races with anything before or within itself."""
        self.requests += 1
        if "atomic" in kind:
            for one, cell in zip(threads, where, strict=True):
                self._exchange(one, cell, kind == "looking atomic")
        new = []
        for one, cell in zip(threads, where, strict=True):
            clock = self.clocks.setdefault(one, {})
            clock[one] = clock.get(one, 0) + 1
            new.append(Past(one, kind, cell, clock[one], self.requests, dict(clock)))
        races = any(self._races(old, later) for later in new for old in [*self.past, *new])
        self.past += new
        return races

    def _exchange(self, thread: Any, cell: int, looks: bool) -> None:
        block = thread[0]
        outer, inner = self.fenced.get(thread, ({}, {}))
        if looks:
            boards = [self.boards.get((cell, scope), {}) for scope in ("all", block)]
            self.clocks[thread] = joined(self.clocks.get(thread, {}), *boards)
        for scope, clock in (("all", outer), (block, inner)):
            self.boards[cell, scope] = joined(self.boards.get((cell, scope), {}), clock)

    def _races(self, old: Past, new: Past) -> bool:
        if old.cell != new.cell or old.thread == new.thread:
            return False
        kinds = {old.kind.split()[-1], new.kind.split()[-1]}
        if kinds in ({"load"}, {"atomic"}):
            return False
        if old.request == new.request:
            return True
        if self._knows(new, old):
            return False
        # An atomic that was looked at comes before the one that looked, at this cell.
        looks = [
            one
            for one in self.past
            if one.kind == "looking atomic" and one.cell == old.cell and one.request > old.request
        ]
        return not ("atomic" in old.kind and any(self._knows(new, one) for one in looks))

    def _knows(self, new: Past, old: Past) -> bool:
        return new.known.get(old.thread, 0) >= old.time


class Machine:
    """Two blocks of two warps that run one after another, on one buffer."""

    def __init__(self) -> None:
        self.hazards, self.step = Hazards(), 0
        self.buffer: Buffer = Space("global", {}).allocate("s", CELLS, ((0, "i"),), 4)
        self.begin(0)

    def begin(self, index: int) -> None:
        self.block = Block(index, (index, 0, 0))
        self.warps = [Warp(self.block, one, 64, Space("local", {})) for one in range(2)]

    def access(self, kind: str, warp: int, bits: int, where: list[int]) -> bool:
        self.step += 1
        site = Site(self.step, 1, "read")
        site.observed = kind == "looking atomic"
        access = Access(
            self.warps[warp], site, kind.rsplit(maxsplit=1)[-1], self.step, self.buffer, bits
        )
        together = len(set(where)) == 1
        offsets = [4 * cell for cell in where[: 1 if together else None]]
        if len(offsets) > 1 and offsets[1] != offsets[0]:
            even = range(offsets[0], offsets[0] + len(offsets) * (offsets[1] - offsets[0]),
                         offsets[1] - offsets[0])  # fmt: skip
            offsets = even if list(even) == offsets else offsets
        access.touch(offsets, 4, together)
        check = getattr(self.hazards, access.kind)
        values = ([object() for _ in access.cells],) if kind == "store" else ()
        return bool(check(access, *values))

    def barrier(self) -> None:
        self.block.barriers.append(BarrierSite(1, 1))
        self.block.epoch += 1


def event(draw: random.Random) -> tuple[Any, ...]:
    """Return something that lanes of a warp do: what, which warp, which lanes, and where."""
    warp, bits = draw.randrange(2), draw.choice(MASKS)
    what = draw.choices(("access", "syncwarp", "fence", "barrier"), (10, 3, 2, 1))[0]
    if what == "fence":
        return what, warp, bits, draw.random() < 0.7
    if what != "access":
        return what, warp, bits
    cell = draw.randrange(CELLS)
    alike = draw.random() < 0.5
    where = [cell if alike else draw.randrange(CELLS) for _ in range(LANES)]
    return draw.choice(KINDS), warp, bits, where


def history(draw: random.Random) -> None:
    """Play two blocks; most races are left out, so that what comes before one is long."""
    machine, oracle = Machine(), Oracle()
    for number in range(2):
        machine.begin(number)
        for _ in range(draw.randrange(25)):
            machine.step += 1
            what, warp, bits, *rest = event(draw)
            lanes = [lane for lane in range(LANES) if bits >> lane & 1]
            threads = [(number, warp, lane) for lane in lanes]
            if what == "barrier":
                machine.barrier()
                oracle.meet([(number, w, lane) for w in range(2) for lane in range(LANES)])
            elif what == "syncwarp":
                machine.warps[warp].syncs.append(bits)
                oracle.meet(threads)
            elif what == "fence":
                machine.warps[warp].mask = bits
                fence(machine.warps[warp], machine.step, rest[0])
                oracle.fence(threads, rest[0])
            else:
                where = [rest[0][lane] for lane in lanes]
                after = deepcopy(oracle)
                races = after.access(what, threads, where)
                if races and draw.random() < 0.8:
                    continue
                assert machine.access(what, warp, bits, where) == races
                if races:
                    return
                oracle = after


@pytest.mark.parametrize("seed", range(5))
def test_race_is_found_exactly_where_nothing_orders_two_accesses(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(120):
        history(draw)
