"""Arithmetic of C as closures: each takes the closures of its operands and returns its own.

Knows types and lanes; knows no tree and no memory.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from oneread.trace.machine import floats, integers
from oneread.trace.machine.reporting import Reporter
from oneread.trace.machine.values import FULL, bits_of, from_bits, look, spread
from oneread.trace.machine.warp import Warp
from oneread.trace.types import Pointer, Scalar, Type

Value = Callable[[Warp], Any]

_FLOAT_COMPARISONS = {
    "<": floats.comparison(operator.lt),
    ">": floats.comparison(operator.gt),
    "<=": floats.comparison(operator.le),
    ">=": floats.comparison(operator.ge),
    "==": floats.comparison(operator.eq),
    "!=": floats.comparison(operator.ne),
}
_FLOATS = {
    4: {
        "+": floats.add32,
        "-": floats.sub32,
        "*": floats.mul32,
        "/": floats.divide_warp,
    },
    8: {
        "+": floats.add64,
        "-": floats.sub64,
        "*": floats.mul64,
        "/": floats.divide64,
    },
}
_INTEGERS = {
    "+": integers.add,
    "-": integers.sub,
    "*": integers.mul,
    "/": integers.divide,
    "%": integers.modulo,
    "&": integers.bit_and,
    "|": integers.bit_or,
    "^": integers.bit_xor,
    "<<": integers.shift_left,
    ">>": integers.shift_right,
}


class Operators:
    """Makes closures of operators, which report what they find wrong.

    Parameters
    ----------
    report : Reporter
        Where faults go.
    clock : object
        With `step`.
    find_nan : bool
        Whether operations that make a NaN of numbers are reported.
    """

    def __init__(self, report: Reporter, clock: Any, find_nan: bool) -> None:
        self._report, self._clock, self._find_nan = report, clock, find_nan

    def binary(self, op: str, kind: Type, a: Value, b: Value, place: Any) -> Value:
        """Return ``a op b`` for operands of a type; comparisons give a bool."""
        integral = isinstance(kind, Pointer) or (isinstance(kind, Scalar) and kind.kind != "float")
        if op in _FLOAT_COMPARISONS:
            table = integers.COMPARISONS if integral else _FLOAT_COMPARISONS
            compare = table[op]
            return lambda warp: compare(a(warp), b(warp))
        assert isinstance(kind, Scalar)
        if not integral:
            apply = _FLOATS[kind.size][op]
            if self._find_nan:
                return self._watched(op, apply, a, b, place)
            return lambda warp: apply(a(warp), b(warp))
        if op in {"<<", ">>"}:
            return self._shift(op, kind, a, b, place)
        if op in {"/", "%"}:
            return self._division(op, kind, a, b, place)
        return self._integer(op, kind, a, b, place)

    def _integer(self, op: str, kind: Scalar, a: Value, b: Value, place: Any) -> Value:
        apply, low, high = _INTEGERS[op], kind.lowest, kind.highest
        fits, signed, bits = integers.fits, kind.signed, 8 * kind.size

        def evaluate(warp: Warp) -> Any:
            left, right = a(warp), b(warp)
            value = apply(left, right)
            if fits(value, low, high):
                return value
            if signed:
                self._overflow(warp, op, kind, left, right, value, place)
            return integers.wrap(value, bits, signed)

        return evaluate

    def absolute(self, kind: Scalar, a: Value, place: Any) -> Value:
        """Return ``abs(a)`` of an integer: ``0 - a`` may not fit."""

        def evaluate(warp: Warp) -> Any:
            right = a(warp)
            value = integers.absolute(right)
            if integers.fits(value, 0, kind.highest):
                return value
            self._overflow(warp, "-", kind, 0, right, value, place)
            return integers.wrap(value, 8 * kind.size, kind.signed)

        return evaluate

    def _overflow(
        self, warp: Warp, op: str, kind: Scalar, left: Any, right: Any, value: Any, place: Any
    ) -> None:
        lanes = integers.outside(value, kind.lowest, kind.highest) & warp.mask
        if lanes:
            lane = look(lanes).first
            self._report.add(
                "overflow",
                place,
                warp,
                self._clock.step,
                lanes,
                left=spread(left)[lane],
                right=spread(right)[lane],
                operator=op,
                type=str(kind),
                lane=lane,
            )

    def _division(self, op: str, kind: Scalar, a: Value, b: Value, place: Any) -> Value:
        apply, signed, bits = _INTEGERS[op], kind.signed, 8 * kind.size

        def evaluate(warp: Warp) -> Any:
            left, right = a(warp), b(warp)
            zeros = (FULL ^ integers.nonzero(right)) & warp.mask
            if zeros:
                lane = look(zeros).first
                self._report.add(
                    "division-by-zero",
                    place,
                    warp,
                    self._clock.step,
                    zeros,
                    left=spread(left)[lane],
                    operator=op,
                    lane=lane,
                )
            value = apply(left, right)
            # Where the quotient does not fit, the remainder is not defined either.
            exact = value
            if op == "%" and signed and (right == -1 if type(right) is int else -1 in right):
                exact = integers.divide(left, right)
            if integers.fits(exact, kind.lowest, kind.highest):
                return value
            self._overflow(warp, op, kind, left, right, exact, place)
            return integers.wrap(value, bits, signed)

        return evaluate

    def _shift(self, op: str, kind: Scalar, a: Value, b: Value, place: Any) -> Value:
        apply, bits = _INTEGERS[op], 8 * kind.size
        loses = op == "<<" and kind.signed
        most = 2 * kind.highest + 1  # the sign bit may be set, as C++17 says

        def evaluate(warp: Warp) -> Any:
            left, right = a(warp), b(warp)
            bad = 0
            if not integers.fits(right, 0, bits - 1):
                bad = integers.outside(right, 0, bits - 1) & warp.mask
                self._shifted(warp, "shift-width", bad, left, right, bits, place)
            value = apply(left, right)
            if loses and not integers.fits(value, 0, most):
                lost = integers.outside(value, 0, most) & warp.mask & ~bad
                self._shifted(warp, "shift-overflow", lost, left, right, bits, place)
            if integers.fits(value, kind.lowest, kind.highest):
                return value
            return integers.wrap(value, bits, kind.signed)

        return evaluate

    def _shifted(
        self, warp: Warp, fault: str, lanes: int, left: Any, right: Any, bits: int, place: Any
    ) -> None:
        """Report lanes that shift by a bad width, or more than the type holds."""
        if lanes:
            lane = look(lanes).first
            self._report.add(
                fault,
                place,
                warp,
                self._clock.step,
                lanes,
                left=spread(left)[lane],
                right=spread(right)[lane],
                bits=bits,
                lane=lane,
            )

    def _watched(
        self, op: str, apply: Callable[[Any, Any], Any], a: Value, b: Value, place: Any
    ) -> Value:
        def evaluate(warp: Warp) -> Any:
            left, right = a(warp), b(warp)
            value = apply(left, right)
            self.made_nan(warp, op, (left, right), value, place)
            return value

        return evaluate

    def made_nan(
        self, warp: Warp, op: str, operands: tuple[Any, ...], value: Any, place: Any
    ) -> None:
        """Report lanes whose result is NaN though no operand is."""
        lanes = _nans(value) & warp.mask
        for operand in operands:
            lanes &= ~_nans(operand)
        if lanes:
            lane = look(lanes).first
            shown = [_shown(spread(operand)[lane]) for operand in operands]
            self._report.add(
                "nan-made",
                place,
                warp,
                self._clock.step,
                lanes,
                left=shown[0],
                right=shown[-1],
                operator=op,
                lane=lane,
            )

    def unary(self, op: str, kind: Type, a: Value, place: Any) -> Value:
        """Return ``op a`` for an operand of a type."""
        assert isinstance(kind, Scalar)
        if op == "!":
            return lambda warp: FULL ^ a(warp)
        if kind.kind == "float":
            return lambda warp: floats.negate(a(warp))
        if op == "-":
            return self._integer("-", kind, lambda _: 0, a, place)
        bias = -1 if kind.signed else kind.highest
        return lambda warp: integers.sub(bias, a(warp))


def _nans(value: Any) -> int:
    if type(value) is tuple:
        return bits_of([lane != lane for lane in value])
    return FULL if value != value else 0


def _shown(value: Any) -> str:
    if type(value) is float and math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    return str(value)


def convert(source: Type, target: Type, a: Value) -> Value:
    """Return the closure of a value made one of another type."""
    if not isinstance(target, Scalar | Pointer) or not isinstance(source, Scalar | Pointer):
        return a
    if isinstance(target, Scalar) and target.kind == "bool":
        if isinstance(source, Scalar) and source.kind == "bool":
            return a
        return lambda warp: integers.nonzero(a(warp))
    if isinstance(source, Scalar) and source.kind == "bool":
        return _from_bool(target, a)
    if isinstance(target, Scalar) and target.kind == "float":
        return _to_float(source, target, a)
    if isinstance(source, Scalar) and source.kind == "float":
        assert isinstance(target, Scalar)
        low, high = target.lowest, target.highest
        return lambda warp: integers.truncate(a(warp), low, high)
    return _to_integer(source, target, a)


def _from_bool(target: Scalar | Pointer, a: Value) -> Value:
    if isinstance(target, Scalar) and target.kind == "float":
        return lambda warp: floats.round32(from_bits(a(warp)))
    return lambda warp: from_bits(a(warp))


def _to_float(source: Type, target: Scalar, a: Value) -> Value:
    floating = isinstance(source, Scalar) and source.kind == "float"
    if floating:
        if target.size >= source.size:
            return a
        return lambda warp: floats.round32(a(warp))
    if target.size == 8:
        return lambda warp: floats.as_double(a(warp))
    return lambda warp: floats.from_integers(a(warp))


def _to_integer(source: Type, target: Scalar | Pointer, a: Value) -> Value:
    def bounds(kind: Type) -> tuple[int, int]:
        return (kind.lowest, kind.highest) if isinstance(kind, Scalar) else (0, (1 << 64) - 1)

    (low, high), (least, most) = bounds(target), bounds(source)
    if low <= least and most <= high:
        return a
    bits, signed = 8 * target.size, isinstance(target, Scalar) and target.signed

    def evaluate(warp: Warp) -> Any:
        value = a(warp)
        return value if integers.fits(value, low, high) else integers.wrap(value, bits, signed)

    return evaluate
