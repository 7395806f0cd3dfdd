"""The arithmetic of a state: merging two parts of a row, and the statistics of a whole one.

Knows nothing of where the parts came from. Sums are kept in NumPy's widest float (80 bits on
x86-64, 128 on aarch64), so that rounding stays out of sight however many parts a row was cut in.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import View
from oneread.backends.bfloat import widened

#: The temperature of a state: a number, or one a row.
Temperature = float | NDArray[Any]


class Sums(NamedTuple):
    """Sums over the columns seen so far, one a row; t = (x - m) / temperature.

    One column that holds the maximum stays out of the sums, or its 1 would swallow the rest.
    """

    m: NDArray[Any]
    """max(x), float64; -inf before the first column."""
    r: NDArray[Any]
    """Sum of exp(t)."""
    s1: NDArray[Any]
    """Sum of t exp(t)."""
    s2: NDArray[Any]
    """Sum of exp(2 t)."""


class Best(NamedTuple):
    """The first columns of each row in the order of top-k, shape (rows, j)."""

    values: NDArray[Any]
    indices: NDArray[Any]
    masked: NDArray[Any]
    """Whether the column was left out by a mask; such columns come last."""


def no_sums(rows: int) -> Sums:
    """Return the sums of no column at all, the identity of `merged_sums`."""
    zero = np.zeros(rows, np.longdouble)
    return Sums(np.full(rows, -np.inf), zero, zero, zero)


def no_best(rows: int) -> Best:
    """Return the best of no column at all, the identity of `merged_best`."""
    return Best(np.empty((rows, 0)), np.empty((rows, 0), np.int64), np.empty((rows, 0), np.bool_))


def merged_sums(a: Sums, b: Sums, temperature: Temperature) -> Sums:
    """Return the sums over the columns of both; the same bits in either order."""
    with np.errstate(all="ignore"):
        m = np.maximum(a.m, b.m) + 0.0  # -0.0 and 0.0 are one maximum
        m[np.isnan(m)] = np.nan  # so are all NaNs
        first = a.m > b.m
        low = Sums(*[np.where(first, y, x) for x, y in zip(a, b, strict=True)])
        high = Sums(*[np.where(first, x, y) for x, y in zip(a, b, strict=True)])
        step = (low.m.astype(np.longdouble) - m) / temperature
        weight = np.exp(step)
        weight[low.m == -np.inf] = 0.0
        step[weight == 0.0] = 0.0  # the limit: t exp(t) of a column at -inf is 0
        # The maximum of the lower part is an ordinary column now: t = step, exp(t) = weight.
        r = high.r + weight * (1.0 + low.r)
        s1 = high.s1 + weight * (low.s1 + step * (1.0 + low.r))
        s2 = high.s2 + weight * weight * (1.0 + low.s2)
        tie = (a.m == b.m) & (m > -np.inf)  # one of two maxima becomes an ordinary column
        r = np.where(tie, (a.r + b.r) + 1.0, r)
        s1 = np.where(tie, a.s1 + b.s1, s1)
        s2 = np.where(tie, (a.s2 + b.s2) + 1.0, s2)
        lost = ~(m < np.inf)  # NaN or +inf: t has no value
        return Sums(m, *[np.where(lost, np.nan, total) for total in (r, s1, s2)])


def merged_best(a: Best, b: Best, k: int, dtype: str) -> Best:
    """Return the first `k` columns of both in the order of top-k."""
    if not b.indices.shape[1]:
        return a
    if not a.indices.shape[1]:
        return b
    values, indices, masked = [np.concatenate(pair, axis=1) for pair in zip(a, b, strict=True)]
    numbers = widened(View(values, dtype))
    is_nan = np.isnan(numbers)
    group = np.where(masked, 2, np.where(is_nan, 0, 1))
    descending = np.where(is_nan | masked, 0, -numbers)
    order = np.lexsort((indices, descending, group), axis=-1)[:, :k]
    return Best(*[np.take_along_axis(part, order, 1) for part in (values, indices, masked)])


def scaled_max(sums: Sums, temperature: Temperature) -> NDArray[Any]:
    """Return max(x / temperature)."""
    with np.errstate(over="ignore"):
        return sums.m.astype(np.longdouble) / temperature


def normalizer(sums: Sums) -> NDArray[Any]:
    """Return d, the sum of exp((x - m) / temperature) over all columns; 0 where all are -inf."""
    return np.where(sums.m == -np.inf, 0.0, 1.0 + sums.r)


def logsumexp(sums: Sums, temperature: Temperature) -> NDArray[Any]:
    """Return m / temperature + log d."""
    m = scaled_max(sums, temperature)
    return np.where(np.isinf(sums.m), m, m + np.log1p(sums.r))


def entropy(sums: Sums) -> NDArray[Any]:
    """Return log d - s1 / d, from -sum p log p with log p = t - log d."""
    return _finite(sums, np.log1p(sums.r) - sums.s1 / (1.0 + sums.r))


def sum_p2(sums: Sums) -> NDArray[Any]:
    """Return the sum of squared probabilities."""
    return _finite(sums, (1.0 + sums.s2) / np.square(1.0 + sums.r))


def logprob(sums: Sums, temperature: Temperature, logits: NDArray[Any]) -> NDArray[Any]:
    """Return log-probabilities of `logits`, shape (rows, s)."""
    m, log_d = sums.m[:, None], np.log1p(sums.r)[:, None]
    scale = temperature if isinstance(temperature, float) else temperature[:, None]
    with np.errstate(invalid="ignore", over="ignore"):
        result = (logits.astype(np.longdouble) - m) / scale - log_d
    return np.where(np.isfinite(m), result, np.nan)


def over_winners(scores: NDArray[Any]) -> NDArray[Any]:
    """Return log-probabilities over the columns given alone, the first the likeliest."""
    with np.errstate(invalid="ignore"):
        scores = scores - scores[:, :1]  # the first is the largest: no overflow
        return np.asarray(scores - np.log(np.exp(scores).sum(1, keepdims=True)))


def exp(scores: NDArray[Any]) -> NDArray[Any]:
    """Return what the logarithms are of."""
    return np.asarray(np.exp(scores))


def _finite(sums: Sums, result: NDArray[Any]) -> NDArray[Any]:
    return np.where(np.isfinite(sums.m), result, np.nan)
