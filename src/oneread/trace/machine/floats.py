"""Arithmetic of float32 and double on the values of 32 lanes.

Knows neither masks nor memory. Each operation on float32 is done in double and rounded once to
float32; for + - * / and sqrt that is the correctly rounded result, since double has more than
twice the bits. No product is joined with a sum (`-fmad=false`).
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import repeat
from typing import Any

from oneread.trace.machine.values import WARP, bits_of

_WARP_OF_FLOATS = struct.Struct(f"{WARP}f")
_ONE_FLOAT = struct.Struct("f")
_pack, _unpack = _WARP_OF_FLOATS.pack, _WARP_OF_FLOATS.unpack
_pack_one, _unpack_one = _ONE_FLOAT.pack, _ONE_FLOAT.unpack

#: Largest float32.
FLOAT_MAX = _unpack_one(b"\xff\xff\x7f\x7f")[0]

Binary = Callable[[Any, Any], Any]
Unary = Callable[[Any], Any]


def round32(value: Any) -> Any:
    """Round numbers to float32: to nearest, ties to even, too large ones to infinity."""
    if type(value) is tuple or type(value) is range:
        return _unpack(_pack(*value))
    return _unpack_one(_pack_one(value))[0]


def as_double(value: Any) -> Any:
    """Return integers as double."""
    return float(value) if type(value) is int else tuple(map(float, value))


def from_integers(value: Any) -> Any:
    """Return integers as float32, rounded once."""
    if type(value) is int:
        return _unpack_one(_pack_one(_sticky(value)))[0]
    return _unpack(_pack(*map(_sticky, value)))


def _sticky(value: int) -> int:
    """Return the integer with its bits below the 53rd joined in one, which rounds the same."""
    extra = value.bit_length() - 53
    if extra <= 0:
        return value
    size = abs(value)
    kept = (size >> extra | bool(size & ((1 << extra) - 1))) << extra
    return kept if value > 0 else -kept


def round_each(numbers: Iterable[float]) -> tuple[float, ...]:
    """Round 32 numbers to float32."""
    return _unpack(_pack(*numbers))


def float32_binary(op: Callable[[float, float], float]) -> Binary:
    """Return `op` on float32 values of 32 lanes, rounded."""

    def apply(a: Any, b: Any) -> Any:
        if type(a) is tuple:
            return _unpack(_pack(*map(op, a, b if type(b) is tuple else repeat(b))))
        if type(b) is tuple:
            return _unpack(_pack(*map(op, repeat(a), b)))
        return _unpack_one(_pack_one(op(a, b)))[0]

    return apply


def float64_binary(op: Callable[[float, float], float]) -> Binary:
    """Return `op` on double values of 32 lanes, or where it returns one of its operands."""

    def apply(a: Any, b: Any) -> Any:
        if type(a) is tuple:
            return tuple(map(op, a, b if type(b) is tuple else repeat(b)))
        if type(b) is tuple:
            return tuple(map(op, repeat(a), b))
        return op(a, b)

    return apply


def exact_unary(op: Callable[[float], float]) -> Unary:
    """Return `op` where the result needs no rounding in the type of its operand."""

    def apply(a: Any) -> Any:
        return tuple(map(op, a)) if type(a) is tuple else op(a)

    return apply


def float32_unary(op: Callable[[float], float]) -> Unary:
    """Return `op` on float32 values of 32 lanes, rounded."""

    def apply(a: Any) -> Any:
        if type(a) is tuple:
            return _unpack(_pack(*map(op, a)))
        return _unpack_one(_pack_one(op(a)))[0]

    return apply


def comparison(op: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    """Return the mask of the lanes for which `op` holds; numbers of any type."""

    def apply(a: Any, b: Any) -> int:
        many_a = type(a) is tuple or type(a) is range
        if type(b) is tuple or type(b) is range:
            return bits_of(map(op, a if many_a else repeat(a), b))
        if many_a:
            return bits_of(map(op, a, repeat(b)))
        return (1 << WARP) - 1 if op(a, b) else 0

    return apply


def divide(a: float, b: float) -> float:
    """Return a / b as IEEE 754 has it, division by zero included."""
    if b:
        return a / b
    if a != a or a == 0.0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def divide_warp(a: Any, b: Any) -> Any:
    """Return a / b in float32; zeros in the divisor are rare, so they are met by a second try."""
    try:
        return _divide_fast(a, b)
    except ZeroDivisionError:
        return _divide_any(a, b)


_divide_fast = float32_binary(operator.truediv)
_divide_any = float32_binary(divide)


def larger(a: float, b: float) -> float:
    """Return the larger; a NaN gives way to a number."""
    return a if a > b or b != b else b


def smaller(a: float, b: float) -> float:
    """Return the smaller; a NaN gives way to a number."""
    return a if a < b or b != b else b


def fused(a: float, b: float, c: float) -> float:
    """Return a * b + c of float32 numbers, rounded once to float32.

    The product is exact in double. The sum is rounded to odd, so that rounding it again to
    float32 rounds the exact value: two bits more than the target's suffice.
    """
    product = a * b
    total = product + c
    if not math.isfinite(total):
        return total
    back = total - product
    rest = (product - (total - back)) + (c - back)
    if rest and not _odd(total):
        total = math.nextafter(total, math.copysign(math.inf, rest))
    return total


def fused64(a: float, b: float, c: float) -> float:
    """Return a * b + c of double numbers, rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact) if exact else a * b + c
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _odd(value: float) -> bool:
    return bool(struct.pack("<d", value)[0] & 1)


def fused_warp(a: Any, b: Any, c: Any) -> Any:
    """Return a * b + c rounded once, in each lane."""
    if type(a) is tuple or type(b) is tuple or type(c) is tuple:
        lanes = (value if type(value) is tuple else repeat(value, WARP) for value in (a, b, c))
        return _unpack(_pack(*map(fused, *lanes)))
    return _unpack_one(_pack_one(fused(a, b, c)))[0]


add32, sub32, mul32 = map(float32_binary, (operator.add, operator.sub, operator.mul))
add64, sub64, mul64 = map(float64_binary, (operator.add, operator.sub, operator.mul))
divide64 = float64_binary(divide)
negate = exact_unary(operator.neg)
max_warp, min_warp = map(float64_binary, (larger, smaller))
