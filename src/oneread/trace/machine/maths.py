"""Functions such as expf, correctly rounded to float32 on every machine.

Knows neither masks nor memory. The C library's double result is good to a few ulp of double. Only
where the float32 that it rounds to could depend on that error are more digits computed, by
`decimal`; so all C libraries give the same float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from itertools import repeat
from typing import Any

from oneread.trace.machine.floats import round32, round_each
from oneread.trace.machine.values import spread

#: How far a C library's result may be off, relative: 4 ulp of double at most.
_SLACK = 2.0**-50
_UP, _DOWN = 1 + _SLACK, 1 - _SLACK

#: Digits of the second computation, and the relative distance from which on it is a tie.
_EXACT = Context(prec=60, Emin=-999999, Emax=999999)
_TIE = Decimal("1e-45")

#: What follows the largest float32, for the middle between it and infinity.
_BEYOND = Decimal(2) ** 128

Real = Callable[..., float]


def correctly_rounded(fast: Real, exact: Callable[..., Decimal]) -> Callable[..., Any]:
    """Return a function of float32 values, correctly rounded.

    Parameters
    ----------
    fast : callable
        The function in double; total, within 4 ulp.
    exact : callable
        The same to 50 digits; asked only where `fast` is within 4 ulp of the middle between two
        float32, so for finite arguments.
    """

    def one(*x: float) -> float:
        y = fast(*x)
        low, high = round32(y * _DOWN), round32(y * _UP)
        if low == high or y != y:
            return float(low)
        return _nearest(exact(*map(Decimal, x)), low, high)

    def apply(*x: Any) -> Any:
        if not any(type(value) is tuple for value in x):
            return one(*x)
        lanes = [value if type(value) is tuple else repeat(value) for value in x]
        y = tuple(map(fast, *lanes))
        low = round_each([v * _DOWN for v in y])
        high = round_each([v * _UP for v in y])
        return low if low == high else tuple(map(one, *map(spread, x)))

    return apply


def _nearest(value: Decimal, low: float, high: float) -> float:
    """Return that of two neighbouring float32 which is nearest to `value`."""
    ends = [_BEYOND.copy_sign(Decimal(v)) if math.isinf(v) else Decimal(v) for v in (low, high)]
    middle = _EXACT.divide(_EXACT.add(*ends), 2)
    if abs(value - middle) <= abs(middle) * _TIE:
        return float(round32(float(middle)))
    return low if (value < middle) == (low < high) else high


def _bounded(function: Real) -> Real:
    """Return the function with infinity where its result is too large."""

    def apply(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.inf

    return apply


def _logarithm(function: Real) -> Real:
    """Return the function with -inf at 0 and NaN below."""

    def apply(x: float) -> float:
        if x > 0 or x != x:
            return function(x)
        return -math.inf if x == 0 else math.nan

    return apply


def _log1p(x: float) -> float:
    if x > -1 or x != x:
        return math.log1p(x)
    return -math.inf if x == -1 else math.nan


def sqrt(x: float) -> float:
    """Return the square root, NaN below zero."""
    return math.nan if x < 0 else math.sqrt(x)


def rsqrt(x: float) -> float:
    """Return 1 / sqrt(x), infinity at zero and NaN below."""
    if x == 0:
        return math.copysign(math.inf, x)
    return math.nan if x < 0 else 1 / math.sqrt(x)


def power(x: float, y: float) -> float:
    """Return x to the y as C has it."""
    try:
        return math.pow(x, y)
    except OverflowError:
        return -math.inf if x < 0 and y % 2 == 1 else math.inf
    except ValueError:  # 0 to a negative power, or a negative to a fraction
        if x == 0:
            return math.copysign(math.inf, x) if y % 2 == 1 else math.inf
        return math.nan


def _periodic(function: Real) -> Real:
    """Return the function with NaN at infinity."""
    return lambda x: math.nan if math.isinf(x) else function(x)


_LN2, _LN10 = _EXACT.ln(Decimal(2)), _EXACT.ln(Decimal(10))


def _exp2_digits(x: Decimal) -> Decimal:
    return _EXACT.exp(_EXACT.multiply(x, _LN2))


def _tanh_digits(x: Decimal) -> Decimal:
    e = _EXACT.exp(_EXACT.multiply(x, 2))
    return _EXACT.divide(_EXACT.subtract(e, 1), _EXACT.add(e, 1))


def _rsqrt_digits(x: Decimal) -> Decimal:
    return _EXACT.divide(1, _EXACT.sqrt(x))


#: The functions that are correctly rounded, in double and to 50 digits. expm1, log1p and tanh
#: near 0 have 60 digits less those that cancel; enough for every float32 in whose place two
#: neighbours are considered.
FUNCTIONS: dict[str, tuple[Real, Callable[..., Decimal]]] = {
    "exp": (_bounded(math.exp), _EXACT.exp),
    "exp2": (_bounded(math.exp2), _exp2_digits),
    "exp10": (lambda x: power(10.0, x), lambda x: _EXACT.exp(_EXACT.multiply(x, _LN10))),
    "expm1": (_bounded(math.expm1), lambda x: _EXACT.subtract(_EXACT.exp(x), 1)),
    "log": (_logarithm(math.log), _EXACT.ln),
    "log2": (_logarithm(math.log2), lambda x: _EXACT.divide(_EXACT.ln(x), _LN2)),
    "log10": (_logarithm(math.log10), _EXACT.log10),
    "log1p": (_log1p, lambda x: _EXACT.ln(_EXACT.add(x, 1))),
    "rsqrt": (rsqrt, _rsqrt_digits),
    "tanh": (math.tanh, _tanh_digits),
    "pow": (power, _EXACT.power),
}

#: Functions for which no more digits are at hand; off by one float32 ulp once in 10^7 at most.
PLAIN: dict[str, Real] = {
    "sin": _periodic(math.sin),
    "cos": _periodic(math.cos),
    "tan": _periodic(math.tan),
    "atan": math.atan,
    "erf": math.erf,
    "erfc": math.erfc,
    "sqrt": sqrt,
}
