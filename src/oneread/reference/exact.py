"""Differences and quotients of doubles together with what their rounding left out.

Knows nothing of rows. Without these the truth of a float64 row would carry the rounding of x - m,
which at a gap of 700 is worth 250 units in the last place of the exponential.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

#: 2**27 + 1 cuts the 53 digits of a double into two halves whose products are exact (Veltkamp).
_SPLITTER = 134217729.0


def difference(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return ``a - b`` rounded, and its rounding error: the pair adds up to it exactly (Knuth)."""
    rounded = a - b
    b_seen = a - rounded
    a_seen = rounded + b_seen
    return rounded, _finite_or_zero((a - a_seen) + (b_seen - b))


def quotient(a: Doubles, a_rest: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return ``(a + a_rest) / b`` rounded, and what is left, to about 106 binary digits."""
    rounded = a / b
    product, product_rest = _product(rounded, b)
    remainder = ((a - product) - product_rest) + a_rest
    return rounded, _finite_or_zero(remainder / b)


def _product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return ``a * b`` rounded, and its rounding error (Dekker)."""
    rounded = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    rest = ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low
    return rounded, rest


def _halves(a: Doubles) -> tuple[Doubles, Doubles]:
    scaled = _SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def _finite_or_zero(rest: Doubles) -> Doubles:
    """Drop the rest where infinities or an overflow made it meaningless."""
    return np.where(np.isfinite(rest), rest, 0.0)
