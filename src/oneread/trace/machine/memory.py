"""Bytes of the device: buffers with typed cells, a valid bit a cell, red zones between them.

Knows no warp, no fault and no schedule. A buffer keeps Python numbers, one for each scalar of its
elements' layout. An access of the same type reads or writes them as they are; one of another type
goes by way of bytes.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

#: Bytes of a scalar of each type, named by the letter that the module `struct` has for it.
SIZES = {code: struct.calcsize("<" + code) for code in "?bBhHiIqQfd"}

#: Bytes between two buffers of a space that belong to none: reads beyond an end are seen. Half of
#: them are what 1,024 threads reach that go one tile of float too far.
RED_ZONE = 8192

#: First address of each space. Half of it is the lowest that is taken for one of that space, so
#: that what lies before the first buffer is told as its.
ORIGINS = {"global": 1 << 40, "shared": 0x1000_0000, "local": 0x3000_0000}

#: Bytes from one global buffer to the next: an index that is off by 32 bits stays nearest to its
#: own buffer, and one that is off by thousands does not silently reach another.
_APART = 1 << 40

#: Where the scalars of an element lie: (byte offset, type), in order.
Layout = tuple[tuple[int, str], ...]

#: Types of cells by space and name of their buffer.
Finer = Mapping[tuple[str, str], str]


class Shape(NamedTuple):
    """How a value lies in memory."""

    size: int
    align: int
    parts: Layout
    """Byte offset and type of each scalar."""
    grain: int
    """Bytes of its smallest scalar."""
    requests: tuple[tuple[int, int], ...]
    """Byte offset and size of each access that it takes, none larger than its alignment."""
    shared_requests: tuple[tuple[int, int], ...]
    """The same in shared memory, whose arrays compilers align as they like: (m, d) is one."""


class CellError(Exception):
    """An access touches a part of a cell. The run begins anew with smaller cells.

    Parameters
    ----------
    buffer : Buffer
        Whose cells they are.
    code : str
        Of which type they have to be.
    """

    def __init__(self, buffer: Buffer, code: str) -> None:
        super().__init__(f"{buffer.name} needs cells of type {code}")
        self.key, self.code = (buffer.space, buffer.name), code


#: Unsigned integers by their size, for cells that are used as several types.
_PLAIN = {1: "B", 2: "H", 4: "I", 8: "Q"}


def words(layout: Layout, period: int) -> str | None:
    """Return the type of all scalars if they are the same and lie side by side, else None."""
    codes = {code for _, code in layout}
    if len(codes) == 1:
        code = codes.pop()
        if len(layout) * SIZES[code] == period:
            return code
    return None


class Buffer:
    """An allocation: elements of one layout, side by side.

    Parameters
    ----------
    name : str
        As in the source.
    space : str
        ``global``, ``shared`` or ``local``.
    base : int
        Address of the first byte.
    count : int
        Elements.
    layout : tuple
        Scalars of an element.
    period : int
        Bytes of an element.
    values : sequence, optional
        What it holds. Without, every cell is unset.
    """

    def __init__(
        self,
        name: str,
        space: str,
        base: int,
        count: int,
        layout: Layout,
        period: int,
        values: Sequence[Any] | None = None,
    ) -> None:
        self.name, self.space, self.base = name, space, base
        self.count, self.layout, self.period = count, layout, period
        self.size = count * period
        self.code = words(layout, period)
        self.unit = SIZES[self.code] if self.code else 0
        self._place = {offset: place for place, (offset, _) in enumerate(layout)}
        self.declared = layout
        """The same for the type that it was declared with, where cells are smaller."""
        self._fitting: dict[tuple[int, Shape], bool] = {}
        cells = count * len(layout)
        filler = [0.0 if code in "fd" else 0 for _, code in layout] * count
        self.cells: list[Any] = filler if values is None else list(values)
        self.valid = bytearray(cells) if values is None else bytearray(b"\x01") * cells
        self._patterns: dict[int, tuple[float, bytes]] = {}
        """Bits of NaN that were stored as integers or bytes, which a number would not keep."""
        self.writers: list[Any] = [None] * cells
        self.since: list[Any] = [None] * cells
        """Loads and atomics since the last plain store: None, one access or several."""
        self.loads: list[int] = [0] * cells if space == "global" else []
        self.stores: list[int] = [0] * cells if space == "global" else []
        self.width = 0
        """Cells of a row, where the buffer has rows."""
        self.untyped = False
        """Whether the first access may say of which type the cells are."""
        self.lane_bytes = 0
        """Bytes of each lane's part, in local memory."""

    def retype(self, code: str) -> None:
        """Make untouched bytes cells of one type; what is asked of them as another goes by bytes.

        An array of bytes in dynamic shared memory is hardly ever used as bytes.
        """
        self.untyped = False
        code = "B" if code == "?" else code  # a bool does not keep what other types store
        if not self.size % SIZES[code]:
            self.code, self.unit = code, SIZES[code]
            self.count, self.layout, self.period = self.size // self.unit, ((0, code),), self.unit
            self._place, self.declared = {0: 0}, self.layout
            self.cells = [0.0 if code in "fd" else 0] * self.count
            self.forget()

    def admit(self, offsets: Sequence[int], shape: Shape) -> None:
        """Check that lanes touch whole cells, so that no cell is of two of them by halves.

        Raises
        ------
        CellError
            When they touch parts of cells, or bytes between them.
        """
        if self.untyped:
            self.retype(shape.parts[0][1])
        if self.unit and shape.grain >= self.unit:
            return
        if not self.unit and all(self._fits(rest, shape) for rest in self._rests(offsets)):
            return
        grain = min(shape.grain, *(SIZES[code] for _, code in self.layout))
        codes = {code for _, code in shape.parts if SIZES[code] == grain}
        whole = len(codes) == 1 and shape.size % grain == 0 and codes != {"?"}
        raise CellError(self, codes.pop() if whole else _PLAIN[grain])

    def _rests(self, offsets: Sequence[int]) -> set[int]:
        if type(offsets) is range and not offsets.step % self.period:
            return {offsets.start % self.period}
        return {offset % self.period for offset in offsets}

    def _fits(self, rest: int, shape: Shape) -> bool:
        """Return whether each scalar that begins behind this byte of an element is one cell."""
        known = self._fitting.get((rest, shape))
        if known is None:
            cells = [(at - rest, SIZES[code]) for at, code in self.layout]
            touched = [one for one in cells if sum(one) > 0 and one[0] < shape.size]
            known = touched == [(at, SIZES[code]) for at, code in shape.parts]
            self._fitting[rest, shape] = known
        return known

    def first_cell(self, number: int) -> int:
        """Return the cell that the scalar of this number, of those declared, begins in."""
        block, place = divmod(number, len(self.declared))
        return self.covered(block * self.period + self.declared[place][0], 1)[0]

    def numbers(self) -> list[Any]:
        """Return what it holds, as it was declared."""
        if self.declared == self.layout:
            return list(self.cells)
        return [
            self._read_one(start + at, code)
            for start in range(0, self.size, self.period)
            for at, code in self.declared
        ]

    def fill(self, values: Sequence[Any]) -> None:
        """Put numbers of the declared types into smaller cells."""
        places = [
            (start + at, code)
            for start in range(0, self.size, self.period)
            for at, code in self.declared
        ]
        for (at, code), value in zip(places, values, strict=True):
            self._write_one(at, code, value)
        self.valid = bytearray(b"\x01") * len(self.cells)

    def forget(self) -> None:
        """Make every cell unset and untouched, for another block."""
        count = len(self.cells)
        self.valid = bytearray(count)
        self.writers, self.since = [None] * count, [None] * count

    def cell(self, offset: int, code: str) -> int:
        """Return the cell of that type which begins at this byte, or -1."""
        if self.code:
            return offset // self.unit if code == self.code and not offset % self.unit else -1
        block, rest = divmod(offset, self.period)
        place = self._place.get(rest, -1)
        if place < 0 or self.layout[place][1] != code:
            return -1
        return block * len(self.layout) + place

    def covered(self, offset: int, size: int) -> range:
        """Return the cells that these bytes touch."""
        if self.code:
            return range(offset // self.unit, -(-(offset + size) // self.unit))
        first, stop = offset // self.period, -(-(offset + size) // self.period)
        per = len(self.layout)
        touched = [
            block * per + place
            for block in range(first, stop)
            for place, (at, code) in enumerate(self.layout)
            if block * self.period + at < offset + size
            and block * self.period + at + SIZES[code] > offset
        ]
        return range(touched[0], touched[-1] + 1) if touched else range(0)

    def indices(self, offsets: Sequence[int], size: int) -> Sequence[int]:
        """Return the cells that an access of `size` bytes at these offsets touches, lane by lane.

        An access of n cells a lane gives n times as many, those of one lane side by side.
        """
        unit = self.unit
        if unit and not size % unit:
            if type(offsets) is range and not offsets.start % unit:
                step = offsets.step
                if step == size or len(offsets) == 1:
                    first = offsets.start // unit
                    return range(first, first + len(offsets) * (size // unit))
                if size == unit and not step % unit:
                    first = offsets.start // unit
                    return range(first, first + len(offsets) * (step // unit), step // unit)
            elif size == unit:
                return [offset // unit for offset in offsets]
        return [cell for offset in offsets for cell in self.covered(offset, size)]

    def read(self, offsets: Sequence[int], code: str) -> Sequence[Any]:
        """Return the scalars of this type at these offsets, which lie inside and are aligned."""
        if code == self.code:
            unit, cells = self.unit, self.cells
            if len(offsets) == 1:
                return (cells[offsets[0] // unit],)
            if type(offsets) is range and offsets.step >= unit:
                first = offsets.start // unit
                step = offsets.step // unit
                return cells[first : first + len(offsets) * step : step]
            return [cells[offset // unit] for offset in offsets]
        return [self._read_one(offset, code) for offset in offsets]

    def write(self, offsets: Sequence[int], code: str, values: Sequence[Any]) -> None:
        """Store the scalars at these offsets; where two are the same, the later one stays."""
        if code == self.code:
            unit, cells = self.unit, self.cells
            if type(offsets) is range and offsets.step >= unit:
                first = offsets.start // unit
                step = offsets.step // unit
                cells[first : first + len(offsets) * step : step] = values
                return
            for offset, value in zip(offsets, values, strict=True):
                cells[offset // unit] = value
            return
        for offset, value in zip(offsets, values, strict=True):
            self._write_one(offset, code, value)

    def _read_one(self, offset: int, code: str) -> Any:
        cell = self.cell(offset, code)
        if cell >= 0:
            return self.cells[cell]
        start, raw = self._bytes(offset, SIZES[code])
        return struct.unpack_from("<" + code, raw, offset - start)[0]

    def _write_one(self, offset: int, code: str, value: Any) -> None:
        cell = self.cell(offset, code)
        if cell >= 0:
            self.cells[cell] = value
            return
        start, raw = self._bytes(offset, SIZES[code])
        struct.pack_into("<" + code, raw, offset - start, value)
        for cell in self.covered(offset, SIZES[code]):
            at, kind = self._where(cell)
            value = struct.unpack_from("<" + kind, raw, at - start)[0]
            if value != value:
                piece = bytes(raw[at - start : at - start + SIZES[kind]])
                self._patterns[cell] = (value, piece)
            self.cells[cell] = value

    def _bytes(self, offset: int, size: int) -> tuple[int, bytearray]:
        """Return the bytes of the cells touched, and the offset of the first."""
        cells = self.covered(offset, size)
        start = min(self._where(cells[0])[0], offset)
        at, kind = self._where(cells[-1])
        raw = bytearray(max(at + SIZES[kind], offset + size) - start)
        for cell in cells:
            at, kind = self._where(cell)
            value = self.cells[cell]
            if value != value and self._patterns.get(cell, (0.0, b""))[0] is value:
                raw[at - start : at - start + SIZES[kind]] = self._patterns[cell][1]
            else:
                struct.pack_into("<" + kind, raw, at - start, value)
        return start, raw

    def _where(self, cell: int) -> tuple[int, str]:
        block, place = divmod(cell, len(self.layout))
        at, code = self.layout[place]
        return block * self.period + at, code

    def element(self, offset: int) -> int:
        """Return the number of the element that holds this byte; negative ones lie before it."""
        return offset // self.period


class Space:
    """The buffers of one space, found by address.

    Parameters
    ----------
    kind : str
        ``global``, ``shared`` or ``local``.
    finer : dict
        Types of the cells of buffers, by space and name, that are used in smaller parts than
        their declarations say.
    """

    def __init__(self, kind: str, finer: Finer) -> None:
        self.kind, self._finer = kind, finer
        self.buffers: list[Buffer] = []
        self._bases: list[int] = []
        self.used = 0

    def allocate(
        self,
        name: str,
        count: int,
        layout: Layout,
        period: int,
        values: Sequence[Any] | None = None,
    ) -> Buffer:
        """Return a new buffer behind those that are there, aligned to 256 bytes."""
        base = ORIGINS[self.kind]
        if self.buffers:
            last = self.buffers[-1]
            size = -(-(last.size + RED_ZONE) // 256) * 256
            base = last.base + (_APART if self.kind == "global" else size)
        code = self._finer.get((self.kind, name))
        if code is None or any(SIZES[one] < SIZES[code] for _, one in layout):
            buffer = Buffer(name, self.kind, base, count, layout, period, values)
        else:
            cells = tuple((at, code) for at in range(0, period, SIZES[code]))
            buffer = Buffer(name, self.kind, base, count, cells, period)
            buffer.declared = layout
            if values is not None:
                buffer.fill(values)
        self.buffers.append(buffer)
        self._bases.append(base)
        self.used += buffer.size
        return buffer

    def find(self, address: int) -> Buffer | None:
        """Return the buffer whose bytes or red zones hold this address, or the nearest one."""
        place = bisect_right(self._bases, address) - 1
        if place < 0:
            return self.buffers[0] if self.buffers else None
        buffer = self.buffers[place]
        if address >= buffer.base + buffer.size + RED_ZONE // 2 and place + 1 < len(self.buffers):
            after = self.buffers[place + 1]
            if after.base - address < address - buffer.base - buffer.size:
                return after
        return buffer
