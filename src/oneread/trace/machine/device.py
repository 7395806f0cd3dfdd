"""The device's memory in use: every request of a warp passes here once.

Knows neither the source nor the schedule. Addresses become cells of buffers; bounds, races and
unset cells are checked; requests are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneread.trace.faults import Faults
from oneread.trace.machine import counting
from oneread.trace.machine.access import Access
from oneread.trace.machine.addressing import find, resolve
from oneread.trace.machine.hazards import Hazards
from oneread.trace.machine.memory import Buffer, Finer, Shape, Space
from oneread.trace.machine.reporting import Reporter
from oneread.trace.machine.sites import Site
from oneread.trace.machine.values import (
    FULL,
    active,
    bits_of,
    choose,
    choose_bits,
    look,
    scatter,
)
from oneread.trace.machine.warp import Warp

Watcher = Callable[[Access, Sequence[Any], Sequence[Any] | None], None]


class Device:
    """Global and shared memory, and what is noted of every access.

    Parameters
    ----------
    faults : Faults
        Where faults go.
    finer : dict
        As for `Space`.
    """

    def __init__(self, faults: Faults, finer: Finer) -> None:
        self.finer = finer
        self.spaces = {kind: Space(kind, finer) for kind in ("global", "shared")}
        self.hazards = Hazards()
        self.report = Reporter(faults)
        self.step = 0
        self.accesses = 0
        self.watcher: Watcher | None = None
        """Called with every access, what its cells hold and what they held before."""

    def load(self, warp: Warp, site: Site, address: Any, shape: Shape) -> list[Any]:
        """Return the scalars at an address, one value of 32 lanes for each part."""
        pieces = resolve(self, warp, site, address, shape, "load")
        if len(pieces) == 1 and pieces[0].bits == warp.mask:
            return self._fetch(pieces[0], shape)
        values: list[Any] = [0.0 if code in "fd" else 0 for _, code in shape.parts]
        for access in pieces:
            got = self._fetch(access, shape)
            values = [
                (choose_bits if code == "?" else choose)(access.bits, new, old)
                for (_, code), new, old in zip(shape.parts, got, values, strict=True)
            ]
        return values

    def store(
        self, warp: Warp, site: Site, address: Any, shape: Shape, values: Sequence[Any]
    ) -> None:
        """Store one value of 32 lanes for each part at an address."""
        for access in resolve(self, warp, site, address, shape, "store"):
            self._put(access, shape, values)

    def atomic(
        self,
        warp: Warp,
        site: Site,
        address: Any,
        shape: Shape,
        update: Callable[[Any, int], Any],
    ) -> Any:
        """Replace what is at an address, lane by lane; return what was there before.

        Parameters
        ----------
        warp, site, address, shape
            As for a load; one scalar.
        update : callable
            Takes the old number and the lane, returns the new one.
        """
        code = shape.parts[0][1]
        values: Any = 0.0 if code in "fd" else 0
        for access in resolve(self, warp, site, address, shape, "atomic"):
            if not site.blind:
                self._check_set(access)
            if access.buffer.space != "local":
                self.report.races(self.hazards.atomic(access))
            olds, news = [], []
            for place, lane in enumerate(look(access.bits).lanes):
                spot = (access.offsets[place if access.per else 0],)
                old = access.buffer.read(spot, code)[0]
                new = update(old, lane)
                access.buffer.write(spot, code, (new,))
                olds.append(old)
                news.append(new)
            _set(access)
            self._count(access, shape)
            if self.watcher is not None:
                self.watcher(access, news, olds)
            values = choose(access.bits, scatter(olds, access.bits, olds[0]), values)
        return values

    def find(self, warp: Warp, address: int) -> Buffer | None:
        """Return the buffer at or near an address, as a warp sees it."""
        return find(self, warp, address)

    def _fetch(self, access: Access, shape: Shape) -> list[Any]:
        self._check_set(access)
        if access.buffer.space != "local":
            races = self.hazards.load(access)
            if races:
                self.report.races(races)
        self._count(access, shape)
        values = []
        for at, code in shape.parts:
            got = access.buffer.read(_moved(access.offsets, at), code)
            value = scatter(got, access.bits, got[0]) if access.per else got[0]
            if code == "?":
                value = bits_of(value) if access.per else FULL if value else 0
            values.append(value)
        if self.watcher is not None:
            self.watcher(access, _held(access), None)
        return values

    def _put(self, access: Access, shape: Shape, values: Sequence[Any]) -> None:
        values = [
            look(value).flags if code == "?" else value
            for (_, code), value in zip(shape.parts, values, strict=True)
        ]
        if access.per == 0 and any(type(value) in (tuple, range) for value in values):
            # One address, many values: lane by lane, so that the last one stays.
            access.touch(list(access.offsets) * look(access.bits).size, shape.size, False)
        rows = [active(value, access.bits) if access.per else (value,) for value in values]
        buffer = access.buffer
        if buffer.space != "local":
            races = self.hazards.store(access, _cell_by_cell(rows, len(access.cells)))
            if races:
                self.report.races(races)
        olds = _held(access) if self.watcher is not None else None
        for (at, code), row in zip(shape.parts, rows, strict=True):
            buffer.write(_moved(access.offsets, at), code, row)
        _set(access)
        self._count(access, shape)
        if self.watcher is not None:
            self.watcher(access, _held(access), olds)

    def _check_set(self, access: Access) -> None:
        valid, cells = access.buffer.valid, access.cells
        if type(cells) is range and cells.step > 0:
            if 0 not in valid[cells.start : cells[-1] + 1 : cells.step]:
                return
        elif all(map(valid.__getitem__, cells)):
            return
        self.report.unset(access, [cell for cell in cells if not valid[cell]])
        _set(access)  # reported; what is computed from it is not again

    def _count(self, access: Access, shape: Shape) -> None:
        site, buffer = access.site, access.buffer
        self.accesses += 1
        access.warp.order.setdefault(site, self.step)
        if buffer is not site.buffer:
            site.enter(buffer)
        tally = site.tally
        lanes = look(access.bits).size
        per = max(1, access.per or len(access.cells))
        first = not tally.requests
        asked = shape.shared_requests if buffer.space == "shared" else shape.requests
        tally.requests += len(asked)
        tally.lanes += lanes
        tally.elements += lanes * per
        tally.size_bytes += lanes * access.size
        tally.last_step = self.step
        if first:
            tally.first_step = self.step
        if buffer.space == "global":
            for at, size in asked:
                _count_sectors(access, _moved(access.offsets, at), size)
            _count_cells(access, lanes)
            self._note_reuse(access, tally, lanes * per)
        elif buffer.space == "shared":
            numbers = look(access.bits).lanes[: len(access.offsets)]
            for at, size in asked:
                offsets = _moved(access.offsets, at)
                tally.wavefronts += counting.wavefronts(offsets, numbers, size)
                tally.ideal_wavefronts += counting.ideal_wavefronts(numbers, size)
            if access.kind != "load":
                access.warp.recent.clear()

    def _note_reuse(self, access: Access, tally: Any, elements: int) -> None:
        recent = access.warp.recent
        if access.kind != "load":
            recent.clear()
        if access.kind != "load" or access.site.volatile:
            return
        offsets = access.offsets
        key = (
            access.buffer.base,
            offsets if type(offsets) is range else tuple(offsets),
            access.per,
        )
        known = recent.get(key, 0)
        if known & access.bits == access.bits:
            tally.reused += elements
        recent[key] = known | access.bits


def _set(access: Access) -> None:
    """Note that the cells of an access hold something."""
    cells, valid = access.cells, access.buffer.valid
    if type(cells) is range and cells.step > 0:
        valid[cells.start : cells[-1] + 1 : cells.step] = b"\x01" * len(cells)
    else:
        for cell in cells:
            valid[cell] = 1


def _held(access: Access) -> Sequence[Any]:
    """Return what the cells of an access hold."""
    cells, held = access.cells, access.buffer.cells
    if type(cells) is range and cells.step > 0:
        return held[cells.start : cells[-1] + 1 : cells.step]
    return [held[cell] for cell in cells]


def _moved(offsets: Sequence[int], by: int) -> Sequence[int]:
    if not by:
        return offsets
    if type(offsets) is range:
        return range(offsets.start + by, offsets.stop + by, offsets.step)
    return [offset + by for offset in offsets]


def _cell_by_cell(rows: Sequence[Sequence[Any]], cells: int) -> Sequence[Any]:
    """Return what is stored to each cell; where types differ, things that equal nothing."""
    if len(rows) == 1 and len(rows[0]) == cells:
        return rows[0]
    if len(rows) * len(rows[0]) == cells:
        return [value for lane in zip(*rows, strict=True) for value in lane]
    return [object() for _ in range(cells)]


def _count_sectors(access: Access, offsets: Sequence[int], size: int) -> None:
    """Count the sectors of one request; an atomic reads what it changes."""
    tally, block, base = access.site.tally, access.warp.block, access.buffer.base
    sectors = counting.sectors(offsets, size)
    tally.sectors += len(sectors)
    tally.ideal_sectors += counting.ideal_sectors(offsets, size)
    if access.kind != "store":
        block.ask(base, sectors, False, tally)
    if access.kind != "load":
        block.ask(base, sectors, True, tally)


def _count_cells(access: Access, lanes: int) -> None:
    buffer, cells = access.buffer, access.cells
    if access.kind == "load":
        tables: tuple[list[int], ...] = (buffer.loads,)
    elif access.kind == "store":
        tables = (buffer.stores,)
    else:
        tables = (buffer.loads, buffer.stores)
    for table in tables:
        if access.per == 0:
            for cell in cells:
                table[cell] += lanes
        elif type(cells) is range and cells.step > 0:
            part = slice(cells.start, cells[-1] + 1, cells.step)
            table[part] = [times + 1 for times in table[part]]
        else:
            for cell in cells:
                table[cell] += 1
