"""Races: two threads, one cell, at least one store, and nothing that orders them.

Knows no lane's arithmetic, nor what orders threads. Each cell of shared and global memory
remembers its last plain store, and the loads and atomics since. Atomics do not race with each
other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oneread.trace.machine.access import Access, same_lanes
from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.ordering import Ordering
from oneread.trace.machine.values import look

#: Loads and atomics that a cell keeps of each warp since the last barrier, of the block before it,
#: and of other blocks: the newest of each kind.
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that nothing orders."""

    scope: str
    """``blocks``, ``warps``, ``warp`` (two instructions of one) or ``lanes`` (one instruction)."""
    hazard: str
    """RAW, WAR or WAW."""
    before: Access
    after: Access
    lanes: tuple[int, int]
    cell: int
    same_value: bool
    """Whether both stores write the same number."""


class Hazards:
    """The check of every access against what its cells remember."""

    def __init__(self) -> None:
        self.ordering = Ordering()

    def load(self, access: Access) -> list[Race]:
        """Check a load against stores and atomics, and remember it."""
        return self._beside("RAW", access, "RAW", "atomic")

    def atomic(self, access: Access) -> list[Race]:
        """Check an atomic against stores and loads, and remember it beside them."""
        self.ordering.atomic(access)
        since = access.buffer.since
        for one in _each(_distinct(since, access.cells, _part(access.cells)), "atomic"):
            if not _commute(one, access):
                self._meet("WAW", since, one, access, None)  # no race, but a barrier is needed
        return self._beside("WAW", access, "WAR", "load")

    def _beside(self, hazard: str, access: Access, second: str, kind: str) -> list[Race]:
        """Check against the last stores, and against accesses of one kind since."""
        since, cells = access.buffer.since, access.cells
        part = _part(cells)
        races = self._after_store(hazard, access, part, None)
        entries = _distinct(since, cells, part)
        if part is not None and entries == [None]:
            since[part] = [access] * len(cells)
            return races
        for one in _each(entries, kind):
            races += self._meet(second, since, one, access, None)
        self._remember(access, part, entries)
        return races

    def store(self, access: Access, values: Sequence[Any]) -> list[Race]:
        """Check a store; from now on its cells remember it alone.

        Parameters
        ----------
        access : Access
            The request; its buffer is still as it was before.
        values : sequence
            What is written to each cell of `access.cells`.
        """
        buffer, part = access.buffer, _part(access.cells)
        races = self._after_store("WAW", access, part, values)
        for one in _each(_distinct(buffer.since, access.cells, part)):
            hazard = "WAR" if one.kind == "load" else "WAW"
            races += self._meet(hazard, buffer.since, one, access, None)
        races += _twins(access, values)
        count = len(access.cells)
        if part is not None:
            buffer.writers[part] = [access] * count
            buffer.since[part] = [None] * count
        else:
            for cell in access.cells:
                buffer.writers[cell] = access
                buffer.since[cell] = None
        return races

    def _after_store(
        self, hazard: str, access: Access, part: slice | None, values: Sequence[Any] | None
    ) -> list[Race]:
        writers = access.buffer.writers
        races: list[Race] = []
        for writer in _distinct(writers, access.cells, part):
            if writer is not None:
                races += self._meet(hazard, writers, writer, access, values)
        return races

    def _meet(
        self,
        hazard: str,
        entries: list[Any],
        before: Access,
        after: Access,
        values: Sequence[Any] | None,
    ) -> Iterable[Race]:
        """Compare two accesses that share a cell; a pair of them is at most one race."""
        mine, theirs = after.warp, before.warp
        block = mine.block
        scope = "blocks"
        if theirs.block is block:
            if before.epoch != after.epoch:
                if not self.ordering.open(block, before.epoch, after.epoch):
                    return ()
            elif theirs is mine and theirs.all_told(before.bits | after.bits, before.sub):
                return ()
            if theirs is mine and same_lanes(before, after):
                return ()
            scope = "warp" if theirs is mine else "warps"
        found: Race | None = None
        for place, cell in enumerate(after.cells):
            entry = entries[cell]
            if entry is not before and not (type(entry) is tuple and before in entry):
                continue
            same = values is not None and _same(values[place], after.buffer.cells[cell])
            if found is None or (found.same_value and not same):
                pair = self._unordered(before, after, cell)
                if pair is not None:
                    found = Race(scope, hazard, before, after, pair, cell, same)
        return () if found is None else (found,)

    def _unordered(self, before: Access, after: Access, cell: int) -> tuple[int, int] | None:
        """Return two lanes that meet at a cell with nothing between."""
        same_warp = before.warp is after.warp
        for earlier in before.lanes_at(cell):
            for lane in after.lanes_at(cell):
                if same_warp and earlier == lane:
                    continue
                if not self.ordering.ordered(before, earlier, after, lane):
                    return earlier, lane
        return None

    # ---- what cells remember

    def _remember(self, access: Access, part: slice | None, entries: list[Any]) -> None:
        since = access.buffer.since
        if part is not None and all(old is None or self._replaces(access, old) for old in entries):
            since[part] = [access] * len(access.cells)
            return
        made: dict[int, tuple[Any, Any]] = {}
        for cell in access.cells:
            old = since[cell]
            known = made.get(id(old))
            if known is None:
                kept, anywhere = self._kept(access, old, cell)
                new = (*kept, access) if kept else access
                if anywhere:
                    made[id(old)] = (old, new)  # `old` too, so that no other takes its id
            else:
                new = known[1]
            since[cell] = new

    def _replaces(self, new: Access, old: Any) -> bool:
        """Say whether whoever conflicts with `old` from now on conflicts with `new` too."""
        if type(old) is tuple or old.kind != new.kind:
            return False
        theirs, mine = old.warp, new.warp
        if theirs is mine and (
            same_lanes(old, new)
            or (old.bits == new.bits and old.per == new.per and old.cells == new.cells)
        ):
            return True
        if theirs.block is not mine.block:
            return False
        if old.epoch != new.epoch:
            return not self.ordering.open(mine.block, old.epoch, new.epoch)
        return theirs is mine and bool(mine.all_told(old.bits | new.bits, old.sub))

    def _kept(self, new: Access, old: Any, cell: int) -> tuple[list[Access], bool]:
        """Return which accesses stay beside a new one, and whether they do at any cell."""
        kept: list[Access] = []
        anywhere = True
        counts: dict[Any, int] = {}
        for one in reversed(old if type(old) is tuple else () if old is None else (old,)):
            if self._replaces(new, one) or _looked_at(new, one):
                continue
            key: Any = one.kind, "other blocks"
            if one.warp.block is new.warp.block:
                key = one.kind, "earlier" if one.epoch != new.epoch else one.warp
            if key == (new.kind, new.warp):
                anywhere = False
                if set(one.lanes_at(cell)) <= set(new.lanes_at(cell)):
                    continue
            counts[key] = counts.get(key, 0) + 1
            if counts[key] <= _KEPT:
                kept.append(one)
        return kept[::-1], anywhere


def last_store(buffer: Buffer, cell: int) -> Access | None:
    """Return the store or atomic that a cell has its number from."""
    atomics = list(_each([buffer.since[cell]], "atomic"))
    return atomics[-1] if atomics else buffer.writers[cell]


def _looked_at(new: Access, old: Access) -> bool:
    """Say whether an atomic has seen what an older one left: it comes behind it at this cell."""
    return new.kind == old.kind == "atomic" and bool(new.site.observed)


def _commute(old: Access, new: Access) -> bool:
    """Say whether two atomics leave the same in either order, and nobody looks at what was."""
    one, other = old.site, new.site
    looked = one.observed or other.observed or one.blind
    return bool(one.operation == other.operation and not looked)


def _part(cells: Sequence[int]) -> slice | None:
    """Return the cells as a slice, where they are one."""
    if type(cells) is range and cells.step > 0:
        return slice(cells.start, cells[-1] + 1, cells.step)
    return None


def _distinct(entries: list[Any], cells: Sequence[int], part: slice | None) -> list[Any]:
    """Return what these cells remember, each once, in order of cells."""
    return list(dict.fromkeys(entries[part] if part else [entries[cell] for cell in cells]))


def _each(entries: Sequence[Any], kind: str = "") -> Iterable[Access]:
    """Return the accesses that entries hold, each once; those of one kind, if one is given."""
    found = [
        one
        for entry in entries
        if entry is not None
        for one in (entry if type(entry) is tuple else (entry,))
        if not kind or one.kind == kind
    ]
    return dict.fromkeys(found) if len(found) > 1 else found


def _twins(access: Access, values: Sequence[Any]) -> Iterable[Race]:
    """Find two lanes of one store that share a cell."""
    lanes = look(access.bits).lanes
    if access.per == 0:
        if len(lanes) > 1 and access.cells:
            pair = (lanes[0], lanes[1])
            yield Race("lanes", "WAW", access, access, pair, access.cells[0], True)
        return
    if type(access.cells) is range or len(set(access.cells)) == len(access.cells):
        return
    seen: dict[int, int] = {}
    found: Race | None = None
    for place, cell in enumerate(access.cells):
        other = seen.setdefault(cell, place)
        if other == place or lanes[other // access.per] == lanes[place // access.per]:
            continue
        same = _same(values[other], values[place])
        if found is None or (found.same_value and not same):
            pair = (lanes[other // access.per], lanes[place // access.per])
            found = Race("lanes", "WAW", access, access, pair, cell, same)
    if found is not None:
        yield found


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))
