"""Inputs by pattern, the same on every machine and in every version of Python.

Knows no kernel. Standard library only, so the random numbers come from a small generator of its
own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

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


def _normal(rows: int, columns: int, _tile: int) -> list[float]:
    # The sum of 4 uniforms has the shape of a normal, and the same bits on every machine.
    draw = uniforms(rows * 1_000_003 + columns)
    return [
        _SCALE * (next(draw) + next(draw) + next(draw) + next(draw) - 2)
        for _ in range(rows * columns)
    ]


def _inf_first_tile(rows: int, columns: int, tile: int) -> list[float]:
    values = _normal(rows, columns, tile)
    for row in range(rows):
        masked = max(0, min(tile, columns - 1))
        values[row * columns : row * columns + masked] = [-math.inf] * masked
    return values


def _with(value: float) -> Callable[[int, int, int], list[float]]:
    def make(rows: int, columns: int, tile: int) -> list[float]:
        values = _normal(rows, columns, tile)
        for row in range(rows):
            if columns:
                values[row * columns + (7 * row + columns // 2) % columns] = value
        return values

    return make


def _peak_last(rows: int, columns: int, tile: int) -> list[float]:
    # A maximum that misses the last column makes its exponential overflow.
    values = _normal(rows, columns, tile)
    if columns:
        values[columns - 1 :: columns] = [1000.0] * rows
    return values


def _large(rows: int, columns: int, tile: int) -> list[float]:
    return [value * 30 + 1000 for value in _normal(rows, columns, tile)]


def _one_lane(rows: int, columns: int, tile: int) -> list[float]:
    # Growing peaks a tile apart: one lane meets all of them.
    values = _normal(rows, columns, tile)
    for start in range(0, rows * columns, max(1, columns)):
        for place in range(min(3, columns - 1), columns, max(1, tile)):
            values[start + place] = 20.0 + place / 64
    return values


def _lowest(rows: int, columns: int, tile: int) -> list[float]:
    return [max(value - FLOAT_MAX, -FLOAT_MAX) for value in _normal(rows, columns, tile)]


#: What each pattern puts into (rows, columns), given the tile of the kernel.
PATTERNS: dict[str, Callable[[int, int, int], list[float]]] = {
    "normal": _normal,
    "inf-first-tile": _inf_first_tile,
    "all-inf": lambda rows, columns, _: [-math.inf] * (rows * columns),
    "plus-inf": _with(math.inf),
    "nan": _with(math.nan),
    "large": _large,
    "peak-last": _peak_last,
    "one-lane": _one_lane,
    "lowest": _lowest,
    "ramp": lambda rows, columns, _: [i / 8 for _ in range(rows) for i in range(columns)],
    "down": lambda rows, columns, _: [-i / 8 for _ in range(rows) for i in range(columns)],
    "constant": lambda rows, columns, _: [1.0] * (rows * columns),
    "zeros": lambda rows, columns, _: [0.0] * (rows * columns),
}


def make(pattern: str, rows: int, columns: int, tile: int = DEFAULT_TILE) -> list[float]:
    """Return float32 numbers, row by row.

    Parameters
    ----------
    pattern : str
        A key of `PATTERNS`.
    rows, columns : int
        How many.
    tile : int
        Columns that a kernel takes at a time; `inf-first-tile` masks so many.
    """
    return [round32(value) for value in PATTERNS[pattern](rows, columns, tile)]
