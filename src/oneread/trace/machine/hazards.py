"""Races: two threads, one cell, at least one store, and nothing that orders them.

Knows no lane's arithmetic. Each cell of shared and global memory remembers the last access that
stored to it and those that read it since. Accesses of one block are ordered by a barrier, those of
one warp by `__syncwarp` too, those of different blocks only by a fence and an atomic that the
other block has met.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.values import look

#: Readers of a cell that are kept of other blocks, and of each warp of the same block. Two
#: suffice for a store by any thread to meet one that is not itself.
_KEPT = 2


class Access:
    """One request of a warp: which lanes touched which cells of a buffer, and when."""

    __slots__ = (
        "bits",
        "buffer",
        "cells",
        "epoch",
        "kind",
        "offsets",
        "origin",
        "per",
        "site",
        "size",
        "step",
        "sub",
        "warp",
    )

    def __init__(
        self, warp: Any, site: Any, kind: str, step: int, buffer: Buffer, bits: int
    ) -> None:
        self.warp, self.site, self.kind, self.step = warp, site, kind, step
        self.buffer, self.bits = buffer, bits
        self.epoch: int = warp.block.epoch
        self.sub: int = warp.sub

    def touch(self, offsets: Sequence[int], size: int, together: bool) -> None:
        """Say which bytes are touched.

        Parameters
        ----------
        offsets : sequence of int
            Of each active lane in order, or the one that they share.
        size : int
            Bytes of each lane.
        together : bool
            Whether all lanes touch the same bytes.
        """
        self.offsets, self.size = offsets, size
        self.cells: Sequence[int] = self.buffer.indices(offsets, size)
        #: Cells of each lane; 0 when all lanes touch the same ones.
        self.per = 0 if together else max(1, len(self.cells) // len(offsets))
        #: Byte of lane 0, step to the next lane's and size, where every lane has its own.
        self.origin: tuple[int, int, int] | None = None
        if not together and type(offsets) is range and abs(offsets.step) >= size:
            mask = look(self.bits)
            if mask.solid:
                self.origin = (offsets.start - mask.first * offsets.step, offsets.step, size)

    def lanes_at(self, cell: int) -> Sequence[int]:
        """Return the lanes that touch this cell."""
        lanes = look(self.bits).lanes
        if self.per == 0:
            return lanes if cell in self.cells else ()
        return [lanes[i // self.per] for i, at in enumerate(self.cells) if at == cell]

    def thread(self, lane: int) -> int:
        """Return the number of a lane's thread in its block."""
        return int(self.warp.first_thread) + lane


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


@dataclass(frozen=True, slots=True)
class _Release:
    """What a fence before an atomic has published of a block."""

    warp: Any
    epoch: int
    step: int


def _same_lanes(before: Access, after: Access) -> bool:
    """Return whether each cell of both is of the same lane, for accesses of one warp."""
    return before.origin is not None and before.origin == after.origin


class Hazards:
    """The state of all cells, and the check of every access against it."""

    def __init__(self) -> None:
        self._released: dict[tuple[int, int], dict[int, _Release]] = {}

    def load(self, access: Access) -> list[Race]:
        """Check a load against the last stores and remember it."""
        buffer, part = access.buffer, _part(access.cells)
        races: list[Race] = []
        for writer in _distinct(buffer.writers, access.cells, part):
            if writer is not None:
                races += self._meet("RAW", buffer.writers, writer, access, None)
        self._remember(buffer.readers, access, part)
        return races

    def store(self, access: Access, values: Sequence[Any] | None) -> list[Race]:
        """Check a store, or an atomic, against the last accesses and remember it.

        Parameters
        ----------
        access : Access
            The request; its buffer is still as it was before.
        values : sequence or None
            What is written to each cell of `access.cells`; None for an atomic.
        """
        buffer, part = access.buffer, _part(access.cells)
        races: list[Race] = []
        for writer in _distinct(buffer.writers, access.cells, part):
            if writer is not None:
                races += self._meet("WAW", buffer.writers, writer, access, values)
        for entry in _distinct(buffer.readers, access.cells, part):
            for reader in entry if type(entry) is tuple else (entry,):
                if reader is not None:
                    races += self._meet("WAR", buffer.readers, reader, access, None)
        if values is not None:
            races += self._twins(access, values)
        count = len(access.cells)
        if part is not None:
            buffer.writers[part] = [access] * count
            buffer.readers[part] = [None] * count
        else:
            for cell in access.cells:
                buffer.writers[cell] = access
                buffer.readers[cell] = None
        return races

    def order(self, access: Access) -> None:
        """Let an atomic publish what its warp has fenced, and see what others published there.

        What one warp has seen counts for its whole block at once, though the others need a barrier
        to see it: whether they had one is not checked.
        """
        block = access.warp.block
        for cell in access.cells:
            known = self._released.setdefault((access.buffer.base, cell), {})
            block.acquired.update(known)
            fence = access.warp.fence
            if fence is not None:
                known.update(block.acquired)
                known[block.index] = _Release(access.warp, *fence)

    def _unordered(self, before: Access, after: Access) -> bool:
        if before.kind == "atomic" and after.kind == "atomic":
            return False
        mine, theirs = after.warp, before.warp
        if theirs.block is not mine.block:
            release = mine.block.acquired.get(theirs.block.index)
            return release is None or not (
                before.epoch < release.epoch
                or (release.warp is theirs and before.step <= release.step)
            )
        if before.epoch != after.epoch:
            return False
        return theirs is not mine or (before.sub == after.sub and not _same_lanes(before, after))

    def _needs_barrier(self, before: Access, after: Access) -> bool:
        """Return whether just one barrier, of which that is not known, orders these two."""
        block = after.warp.block
        return (
            before.warp.block is block
            and before.epoch == after.epoch - 1
            and block.barrier_idle(before.epoch)
            and not (before.warp is after.warp and _same_lanes(before, after))
        )

    def _meet(
        self,
        hazard: str,
        entries: list[Any],
        before: Access,
        after: Access,
        values: Sequence[Any] | None,
    ) -> Iterable[Race]:
        if self._unordered(before, after):
            return self._pairs(hazard, entries, before, after, values)
        if self._needs_barrier(before, after) and self._pairs(hazard, entries, before, after, None):
            after.warp.block.barrier_used(before.epoch)
        return ()

    def _pairs(
        self,
        hazard: str,
        entries: list[Any],
        before: Access,
        after: Access,
        values: Sequence[Any] | None,
    ) -> Sequence[Race]:
        """Find one cell that two threads share; a pair of accesses is one race."""
        scope = "blocks"
        if before.warp.block is after.warp.block:
            scope = "warp" if before.warp is after.warp else "warps"
        found: Race | None = None
        for place, cell in enumerate(after.cells):
            entry = entries[cell]
            if entry is not before and not (type(entry) is tuple and before in entry):
                continue
            same = values is not None and _same(values[place], after.buffer.cells[cell])
            if found is not None and (same or not found.same_value):
                continue
            for earlier in before.lanes_at(cell):
                for lane in after.lanes_at(cell):
                    if scope != "warp" or earlier != lane:
                        found = Race(scope, hazard, before, after, (earlier, lane), cell, same)
                        break
                else:
                    continue
                break
        return () if found is None else (found,)

    def _twins(self, access: Access, values: Sequence[Any]) -> Iterable[Race]:
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

    def _remember(self, readers: list[Any], access: Access, part: slice | None) -> None:
        if part is not None:
            olds = _distinct(readers, access.cells, part)
            if all(old is None or _replaces(access, old) for old in olds):
                readers[part] = [access] * len(access.cells)
                return
        for cell in access.cells:
            old = readers[cell]
            if old is None or _replaces(access, old):
                readers[cell] = access
            else:
                readers[cell] = _joined(old if type(old) is tuple else (old,), access)


def _part(cells: Sequence[int]) -> slice | None:
    """Return the cells as a slice, where they are one."""
    if type(cells) is range and cells.step > 0:
        return slice(cells.start, cells[-1] + 1, cells.step)
    return None


def _distinct(entries: list[Any], cells: Sequence[int], part: slice | None) -> list[Any]:
    """Return what these cells remember, each once, in order of cells."""
    return list(dict.fromkeys(entries[part] if part else [entries[cell] for cell in cells]))


def _replaces(new: Access, old: Any) -> bool:
    """Return whether whoever conflicts with `old` from now on conflicts with `new` too.

    One of the epoch before is kept beside a new one of another thread: that pair may be what the
    barrier between them is for.
    """
    if type(old) is tuple:
        return False
    theirs, mine = old.warp, new.warp
    if theirs.block is not mine.block:
        return False
    if old.epoch < new.epoch - 1:
        return True
    return theirs is mine and (
        (old.sub != new.sub and old.epoch == new.epoch)
        or (old.bits == new.bits and old.per == new.per and old.cells == new.cells)
    )


def _joined(olds: tuple[Access, ...], access: Access) -> tuple[Access, ...]:
    kept: list[Access] = []
    counts: dict[Any, int] = {}
    for old in olds:
        block = old.warp.block
        key = old.warp if block is access.warp.block else None
        if not _replaces(access, old) and counts.get(key, 0) < _KEPT:
            counts[key] = counts.get(key, 0) + 1
            kept.append(old)
    return (*kept, access)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))
