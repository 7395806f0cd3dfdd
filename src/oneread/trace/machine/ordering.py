"""What orders two threads: barriers, `__syncwarp`, and fences with atomics.

Knows no value. A fence publishes what its lanes did before. The next atomic of those lanes hangs
it at a cell; an atomic whose result is used takes it from there, for its lanes and whoever they
meet afterwards. That the taker has a fence of its own is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from oneread.trace.machine.access import Access
from oneread.trace.machine.sites import BarrierSite
from oneread.trace.machine.values import BITS


class Moment(NamedTuple):
    """When some lanes of a warp did something that orders."""

    warp: Any
    bits: int
    epoch: int
    sub: int
    step: int
    wide: bool = True
    """Whether other blocks see it: `__threadfence_block` is for its own block only."""


def now(warp: Any, bits: int, step: int, wide: bool = True) -> Moment:
    """Return the present moment of some lanes."""
    return Moment(warp, bits, warp.block.epoch, len(warp.syncs), step, wide)


def fence(warp: Any, step: int, wide: bool) -> None:
    """Note a fence of the active lanes of a warp; older ones of theirs say nothing more."""
    warp.fences = [one for one in warp.fences if one.bits & ~warp.mask or one.wide > wide]
    warp.fences.append(now(warp, warp.mask, step, wide))


class _Board:
    """Fences published at one cell, by the number of their block, each with its place in time."""

    def __init__(self) -> None:
        self.count = 0
        self.fences: dict[int, list[tuple[int, Moment]]] = {}

    def put(self, fence: Moment) -> None:
        """Hang a fence there."""
        self.fences.setdefault(fence.warp.block.index, []).append((self.count, fence))
        self.count += 1


class _Taken(NamedTuple):
    """What some lanes have seen of a board: all that was there by then."""

    board: _Board
    seen: int
    when: Moment

    def of(self, block: int) -> Iterator[Moment]:
        """Yield the fences of a block that were there."""
        for count, fence in self.board.fences.get(block, ()):
            if count < self.seen:
                yield fence


class Ordering:
    """Decides whether what one thread did comes before what another did."""

    def __init__(self) -> None:
        self._boards: dict[tuple[int, int, int], _Board] = {}
        self._one_of: dict[frozenset[BarrierSite], None] = {}
        """Barriers of which at least one is needed."""

    def atomic(self, access: Access) -> None:
        """Publish what the lanes of an atomic have fenced, and take what others published."""
        warp, looks = access.warp, access.site.observed
        if not (warp.fences or (looks and self._boards)):
            return
        owner = warp.block.index if access.buffer.space == "shared" else -1
        for cell in dict.fromkeys(access.cells):
            key = (access.buffer.base, cell, owner)
            for lane in access.lanes_at(cell):  # one after another: each sees those before it
                bit = BITS[lane]
                if looks and key in self._boards:
                    _take(self._boards[key], now(warp, bit, access.step))
                for fence in warp.fences:
                    if fence.bits & bit:
                        self._publish(key, fence._replace(bits=bit))

    def _publish(self, key: tuple[int, int, int], fence: Moment) -> None:
        """Hang a fence at a cell, with all that its lanes had taken before."""
        board = self._boards.setdefault(key, _Board())
        for one in _all_taken(fence.warp.block):
            if one.board is not board and _leads(one.when, one.when.bits, fence, fence.bits):
                for block in list(one.board.fences):
                    for other in one.of(block):
                        board.put(other)
        board.put(fence)

    def ordered(self, before: Access, earlier: int, after: Access, later: int) -> bool:
        """Say whether an access of one lane comes before that of another; note what it needs."""
        source, block = before.warp.block, after.warp.block
        one, other = BITS[earlier], BITS[later]
        if source is block and _leads(before, one, after, other):
            self._need(before, one, after, other)
            return True
        for taken in _all_taken(block):
            if not _leads(taken.when, taken.when.bits, after, other):
                continue
            for fence in taken.of(source.index):
                if (fence.wide or source is block) and _leads(before, one, fence, fence.bits):
                    self._need(before, one, fence, fence.bits)
                    self._need(taken.when, taken.when.bits, after, other)
                    return True
        return False

    # ---- which barriers are needed

    def open(self, block: Any, since: int, until: int) -> bool:
        """Say whether none of the barriers between two epochs is known to be needed."""
        barriers = block.barriers
        for site in (barriers[until - 1], barriers[since]):
            if site is None or site.used:
                return False
        sites = barriers[since:until]
        if any(site is None or site.used for site in sites):
            return False
        return frozenset(sites) not in self._one_of

    def _need(self, one: Any, bits: int, later: Any, wanted: int) -> None:
        """Note that a barrier lies between, unless the lanes met without one."""
        block = one.warp.block
        if one.epoch == later.epoch or not self.open(block, one.epoch, later.epoch):
            return
        if one.warp is later.warp and one.warp.told(bits, one.sub, later.sub) & wanted:
            return
        sites = frozenset(block.barriers[one.epoch : later.epoch])
        if len(sites) == 1:
            block.barriers[one.epoch].used = True
        else:
            self._one_of[sites] = None

    def settle(self) -> None:
        """End a run: of barriers of which one is needed, let the first be it."""
        for sites in self._one_of:
            if not any(site.used for site in sites):
                min(sites, key=lambda site: (site.line, site.column)).used = True


def _leads(one: Any, bits: int, later: Any, wanted: int) -> bool:
    """Say whether lanes of a block tell others of it, by barriers and `__syncwarp` alone."""
    if one.step > later.step:
        return False
    if one.epoch != later.epoch:
        return bool(one.epoch < later.epoch)
    return one.warp is later.warp and bool(one.warp.told(bits, one.sub, later.sub) & wanted)


def _all_taken(block: Any) -> Iterator[_Taken]:
    for ones in block.taken.values():
        yield from ones


def _take(board: _Board, when: Moment) -> None:
    """Keep the last look of these lanes, and the last one before they met others."""
    ones = when.warp.block.taken.setdefault((id(board), when.warp.index, when.bits), [])
    if ones and ones[-1].when[2:4] == when[2:4]:
        ones.pop()
    ones[:-1] = []
    ones.append(_Taken(board, board.count, when))
