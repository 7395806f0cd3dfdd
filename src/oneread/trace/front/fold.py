"""Arithmetic at compile time, by the rules of C and with float32 rounded at each step.

What has no defined value (an overflow, a division by zero, a shift too far) is not folded: it is
left for the run, which reports it where it happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from oneread.trace.machine.floats import from_integers, round32
from oneread.trace.types import Scalar

Number = int | float


def converted(value: Number, to: Scalar) -> Number | None:
    """Return a number in another type, or None where C leaves it open."""
    if to.kind == "bool":
        return int(value != 0)
    if to.kind == "float":
        if to.size == 8:
            return float(value)
        rounded: float = from_integers(value) if isinstance(value, int) else round32(value)
        return rounded
    if isinstance(value, float):
        if not math.isfinite(value) or not to.lowest <= int(value) <= to.highest:
            return None
        return int(value)
    return wrapped(value, to)


def wrapped(value: int, to: Scalar) -> int:
    """Return an integer cut to the bits of a type."""
    bits = 8 * to.size
    value &= (1 << bits) - 1
    return value - (1 << bits) if to.signed and value >> (bits - 1) else value


def applied(operator: str, left: Number, right: Number, kind: Scalar) -> Number | None:
    """Return the result of an operator on two numbers of a type, or None."""
    if kind.kind == "float":
        if operator == "/" and right == 0:
            return None
        return converted(_FLOATS[operator](float(left), float(right)), kind)
    left, right = int(left), int(right)
    if operator in ("<<", ">>"):
        if not 0 <= right < 8 * kind.size:
            return None
        if operator == "<<" and kind.signed and not 0 <= left << right <= 2 * kind.highest + 1:
            return None  # C++17 lets the sign bit be set, and no more
        exact = left << right if operator == "<<" else left >> right
        return wrapped(exact, kind)
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        if not kind.lowest <= quotient <= kind.highest:
            return None  # nor is the remainder defined then
        exact = quotient if operator == "/" else left - right * quotient
    else:
        exact = _INTEGERS[operator](left, right)
    if kind.signed and not kind.lowest <= exact <= kind.highest:
        return None
    return wrapped(exact, kind)


def compared(operator: str, left: Number, right: Number) -> int:
    """Return the result of a comparison."""
    return int(_COMPARISONS[operator](left, right))


def negated(operator: str, value: Number, kind: Scalar) -> Number | None:
    """Return the result of ``-``, ``~`` or ``!``, or None."""
    if operator == "!":
        return int(value == 0)
    if operator == "~":
        return wrapped(~int(value), kind)
    if isinstance(value, float):
        return -value
    return None if kind.signed and value == kind.lowest else wrapped(-value, kind)


_FLOATS: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
_INTEGERS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_COMPARISONS: Final[dict[str, Callable[[Number, Number], bool]]] = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
COMPARISONS: Final = frozenset(_COMPARISONS)
