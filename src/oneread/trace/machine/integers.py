"""Arithmetic of C integers on the values of 32 lanes.

Knows neither masks nor memory. Results are exact; `wrap` brings them into their type and says
which lanes did not fit, and the machine judges whether that is a fault. Equal steps from lane to
lane (`range`) stay such through sums and products, which is how contiguous accesses are found.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import repeat
from typing import Any

from oneread.trace.machine.values import FULL, WARP, bits_of, spread, step_range

Binary = Callable[[Any, Any], Any]


def lanewise(op: Callable[[int, int], int]) -> Binary:
    """Return `op` on integer values of 32 lanes."""

    def apply(a: Any, b: Any) -> Any:
        many_a, many_b = type(a) is not int, type(b) is not int
        if many_a:
            return tuple(map(op, a, b if many_b else repeat(b)))
        return tuple(map(op, repeat(a), b)) if many_b else op(a, b)

    return apply


_add, _sub, _mul = map(lanewise, (operator.add, operator.sub, operator.mul))


def add(a: Any, b: Any) -> Any:
    """Return a + b, exact."""
    kinds = (type(a), type(b))
    if kinds == (int, int):
        return a + b
    if kinds == (range, int):
        return range(a.start + b, a.stop + b, a.step)
    if kinds == (int, range):
        return range(a + b.start, a + b.stop, b.step)
    if kinds == (range, range):
        return step_range(a.start + b.start, a.step + b.step)
    return _add(a, b)


def sub(a: Any, b: Any) -> Any:
    """Return a - b, exact."""
    kinds = (type(a), type(b))
    if kinds == (int, int):
        return a - b
    if kinds == (range, int):
        return range(a.start - b, a.stop - b, a.step)
    if kinds == (int, range):
        return step_range(a - b.start, -b.step)
    if kinds == (range, range):
        return step_range(a.start - b.start, a.step - b.step)
    return _sub(a, b)


def mul(a: Any, b: Any) -> Any:
    """Return a * b, exact."""
    kinds = (type(a), type(b))
    if kinds == (int, int):
        return a * b
    if kinds == (range, int):
        return step_range(a.start * b, a.step * b)
    if kinds == (int, range):
        return step_range(b.start * a, b.step * a)
    return _mul(a, b)


def scale(a: Any, factor: int) -> Any:
    """Return a * factor for a factor that is the same in all lanes."""
    if type(a) is int:
        return a * factor
    if type(a) is range:
        return step_range(a.start * factor, a.step * factor)
    return tuple([value * factor for value in a])


def quotient(a: int, b: int) -> int:
    """Return a / b, cut towards zero; 0 for b = 0, which the machine reports."""
    if b == 0:
        return 0
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def remainder(a: int, b: int) -> int:
    """Return a % b with the sign of a; 0 for b = 0, which the machine reports."""
    return a - quotient(a, b) * b if b else 0


_divide, _modulo, _and = map(lanewise, (quotient, remainder, operator.and_))
_shift_right = lanewise(lambda a, b: a >> (b & 63))


def divide(a: Any, b: Any) -> Any:
    """Return a / b; one number where a warp's lanes all lie in one multiple of b."""
    if type(a) is range and type(b) is int and b > 0 and min(a[0], a[-1]) >= 0:
        first = a[0] // b
        if first == a[-1] // b:
            return first
    return _divide(a, b)


def modulo(a: Any, b: Any) -> Any:
    """Return a % b; equal steps where a warp's lanes all lie in one multiple of b."""
    if type(a) is range and type(b) is int and b > 0 and min(a[0], a[-1]) >= 0:
        first = a[0] // b
        if first == a[-1] // b:
            return range(a.start - first * b, a.stop - first * b, a.step)
    return _modulo(a, b)


def bit_and(a: Any, b: Any) -> Any:
    """Return a & b; a remainder where b is a power of two less one."""
    if type(a) is range and type(b) is int and b > 0 and not b & (b + 1) and min(a[0], a[-1]) >= 0:
        return modulo(a, b + 1)
    return _and(a, b)


def shift_right(a: Any, b: Any) -> Any:
    """Return a >> b."""
    if type(a) is range and type(b) is int and min(a[0], a[-1]) >= 0:
        return divide(a, 1 << (b & 63))
    return _shift_right(a, b)


bit_or, bit_xor = lanewise(operator.or_), lanewise(operator.xor)
minimum, maximum = lanewise(min), lanewise(max)
shift_left = lanewise(lambda a, b: a << (b & 63))


def absolute(a: Any) -> Any:
    """Return the distance from 0, exact."""
    return abs(a) if type(a) is int else tuple(map(abs, a))


def ends(value: Any) -> tuple[int, int]:
    """Return the smallest and the largest of all lanes."""
    if type(value) is int:
        return value, value
    if type(value) is range:
        first, last = value[0], value[-1]
        return (first, last) if first < last else (last, first)
    return min(value), max(value)


def fits(value: Any, low: int, high: int) -> bool:
    """Return whether all lanes are in [low, high]."""
    if type(value) is int:
        return low <= value <= high
    least, most = ends(value)
    return low <= least and most <= high


def outside(value: Any, low: int, high: int) -> int:
    """Return the mask of the lanes outside [low, high]."""
    return bits_of(not low <= lane <= high for lane in spread(value))


def wrap(value: Any, bits: int, signed: bool) -> Any:
    """Return the value modulo 2^bits, in the range of its type."""
    mask = (1 << bits) - 1
    half = 1 << (bits - 1) if signed else 0
    if type(value) is int:
        return ((value + half) & mask) - half
    return tuple([((lane + half) & mask) - half for lane in value])


def _below(a: Any, b: int) -> int:
    """Return the mask of the lanes of an increasing range that are less than b."""
    count = -((a.start - b) // a.step)
    return 0 if count <= 0 else FULL if count >= WARP else (1 << count) - 1


def less(a: Any, b: Any) -> int:
    """Return the mask of the lanes with a < b."""
    kinds = (type(a), type(b))
    if kinds == (int, int):
        return FULL if a < b else 0
    if kinds == (range, int) and a.step > 0:
        return _below(a, b)
    if kinds == (int, range) and b.step > 0:
        return FULL ^ _below(b, a + 1)
    return bits_of(map(operator.lt, spread(a), spread(b)))


def equal(a: Any, b: Any) -> int:
    """Return the mask of the lanes with a == b."""
    kinds = (type(a), type(b))
    if kinds == (int, int):
        return FULL if a == b else 0
    if kinds == (range, int):
        return 1 << a.index(b) if b in a else 0
    return bits_of(map(operator.eq, spread(a), spread(b)))


COMPARISONS: dict[str, Callable[[Any, Any], int]] = {
    "<": less,
    ">": lambda a, b: less(b, a),
    "<=": lambda a, b: FULL ^ less(b, a),
    ">=": lambda a, b: FULL ^ less(a, b),
    "==": equal,
    "!=": lambda a, b: FULL ^ equal(a, b),
}


def nonzero(value: Any) -> int:
    """Return the mask of the lanes that are not 0; numbers of any type."""
    if type(value) is tuple or type(value) is range:
        return bits_of(value)
    return FULL if value else 0


def truncate(value: Any, low: int, high: int) -> Any:
    """Return floats cut to integers; too large ones stay at the ends, NaN is 0, as on the GPU."""
    if type(value) is tuple:
        return tuple([_cut(lane, low, high) for lane in value])
    return _cut(value, low, high)


def _cut(value: float, low: int, high: int) -> int:
    if value != value:
        return 0
    return low if value <= low else high if value >= high else int(value)
