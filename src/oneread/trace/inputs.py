"""Inputs by pattern, the same on every machine and in every version of Python.

Knows no kernel. Standard library only, so the random numbers come from a small generator of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from oneread.trace.machine.floats import FLOAT_MAX, round32

#: Columns that hold -inf in `inf-first-tile` where the tile is not known.
DEFAULT_TILE = 32

#: Times the sum of 4 uniforms, whose variance is 4 / 12, gives a deviation of 2.
_SCALE = 2 * 3**0.5


def uniforms(seed: int) -> Iterator[float]:
    """Yield numbers in (0, 1): a 64-bit Weyl sequence, mixed (splitmix64)."""
    state = seed & 0xFFFF_FFFF_FFFF_FFFF
    while True:
        state = (state + 0x9E37_79B9_7F4A_7C15) & 0xFFFF_FFFF_FFFF_FFFF
        mixed = (state ^ (state >> 30)) * 0xBF58_476D_1CE4_E5B9 & 0xFFFF_FFFF_FFFF_FFFF
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0_49BB_1331_11EB & 0xFFFF_FFFF_FFFF_FFFF
        yield ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53 + 2.0**-54


class Shape(NamedTuple):
    """What a pattern is to fill."""

    rows: int
    columns: int
    tile: int
    """Columns that the kernel takes at a time."""
    number: int
    """Inputs before this one."""


def _normal(shape: Shape) -> list[float]:
    # The sum of 4 uniforms has the shape of a normal, and the same bits on every machine.
    draw = uniforms(shape.rows * 1_000_003 + shape.columns + (shape.number << 40))
    return [
        _SCALE * (next(draw) + next(draw) + next(draw) + next(draw) - 2)
        for _ in range(shape.rows * shape.columns)
    ]


def _inf_first_tile(shape: Shape) -> list[float]:
    values, columns = _normal(shape), shape.columns
    masked = max(0, min(shape.tile, columns - 1))
    for row in range(shape.rows):
        values[row * columns : row * columns + masked] = [-math.inf] * masked
    return values


def _with(value: float) -> Callable[[Shape], list[float]]:
    def make(shape: Shape) -> list[float]:
        values, columns = _normal(shape), shape.columns
        for row in range(shape.rows):
            if columns:
                values[row * columns + (7 * row + columns // 2) % columns] = value
        return values

    return make


def _peak_last(shape: Shape) -> list[float]:
    # A maximum that misses the last column makes its exponential overflow.
    values = _normal(shape)
    if shape.columns:
        values[shape.columns - 1 :: shape.columns] = [1000.0] * shape.rows
    return values


def _large(shape: Shape) -> list[float]:
    return [value * 30 + 1000 for value in _normal(shape)]


def _one_lane(shape: Shape) -> list[float]:
    # Growing peaks a tile apart: one lane meets all of them.
    values, columns = _normal(shape), shape.columns
    for start in range(0, len(values), max(1, columns)):
        for place in range(min(3, columns - 1), columns, max(1, shape.tile)):
            values[start + place] = 20.0 + place / 64
    return values


def _lowest(shape: Shape) -> list[float]:
    return [max(value - FLOAT_MAX, -FLOAT_MAX) for value in _normal(shape)]


def _by_column(value: Callable[[int], float]) -> Callable[[Shape], list[float]]:
    return lambda shape: [value(i) for _ in range(shape.rows) for i in range(shape.columns)]


#: What each pattern puts into rows and columns.
PATTERNS: dict[str, Callable[[Shape], list[float]]] = {
    "normal": _normal,
    "inf-first-tile": _inf_first_tile,
    "all-inf": _by_column(lambda _: -math.inf),
    "plus-inf": _with(math.inf),
    "nan": _with(math.nan),
    "large": _large,
    "peak-last": _peak_last,
    "one-lane": _one_lane,
    "lowest": _lowest,
    "ramp": _by_column(lambda i: i / 8),
    "down": _by_column(lambda i: -i / 8),
    "constant": _by_column(lambda _: 1.0),
    "zeros": _by_column(lambda _: 0.0),
}


def integers(pattern: str, count: int, columns: int) -> list[int]:
    """Return integers: the number of their column, so that they may be indices.

    Downwards for ``down``; 1 for ``constant`` and 0 for ``zeros``.
    """
    if pattern in ("constant", "zeros"):
        return [int(pattern == "constant")] * count
    last = columns - 1
    return [last - i % columns if pattern == "down" else i % columns for i in range(count)]


def make(
    pattern: str, rows: int, columns: int, tile: int = DEFAULT_TILE, number: int = 0
) -> list[float]:
    """Return float32 numbers, row by row.

    Parameters
    ----------
    pattern : str
        A key of `PATTERNS`.
    rows, columns : int
        How many.
    tile : int
        Columns that a kernel takes at a time; `inf-first-tile` masks so many.
    number : int
        Inputs before this one: the random numbers of each are its own.
    """
    return [round32(value) for value in PATTERNS[pattern](Shape(rows, columns, tile, number))]
