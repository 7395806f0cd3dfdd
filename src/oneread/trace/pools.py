"""Pools of numbers: each vector once, float32 and 64-bit integers apart, no bit lost.

Knows nothing of where the numbers come from.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: How a vector lies in the pools: as integers; as float32; or as integers of which those that
#: stand for numbers with a fraction are bit patterns of doubles.
INTEGERS, FLOATS, PATTERNS = 0, 1, 2


@dataclass
class Pools:
    """Numbers of a recording, found by the place of the first of each vector."""

    floats: array[float] = field(default_factory=lambda: array("f"))
    integers: array[int] = field(default_factory=lambda: array("q"))
    _known: dict[tuple[str, bytes], int] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def put(self, values: Sequence[Any], how: int) -> int:
        """Return the place of a vector, a new one if it is not there yet."""
        if how == FLOATS:
            return self._place(self.floats, array("f", values))
        if how == PATTERNS:
            values = [_pattern(value) if type(value) is float else value for value in values]
        try:
            return self._place(self.integers, array("q", values))
        except OverflowError:  # unsigned ones beyond 63 bits
            return self._place(self.integers, array("q", [_signed(value) for value in values]))

    def _place(self, pool: array[Any], values: array[Any]) -> int:
        place = self._known.setdefault((pool.typecode, values.tobytes()), len(pool))
        if place == len(pool):
            pool.extend(values)
        return place


def choose(values: Sequence[Any]) -> int:
    """Return how these numbers lie in the pools."""
    kinds = set(map(type, values))
    if float not in kinds:
        return INTEGERS
    # A NaN equals nothing and so goes by its pattern.
    return FLOATS if kinds == {float} and list(array("f", values)) == list(values) else PATTERNS


def little_endian(pool: array[Any]) -> bytes:
    """Return the bytes of a pool as every machine writes them."""
    if sys.byteorder == "big":
        pool = pool[:]
        pool.byteswap()
    return pool.tobytes()


def _pattern(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _signed(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
