"""The arithmetic of `_merge` for states whose numbers are tensors on a GPU.

Knows nothing of where the parts came from. Nothing here waits for the GPU: what depends on numbers
is chosen there. Sums are kept in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor

#: The temperature of a state: a number, or one a row.
Temperature: TypeAlias = float | Tensor


class Sums(NamedTuple):
    """What `_merge.Sums` is; sums that nothing asks for are None."""

    m: Tensor
    r: Tensor
    s1: Tensor | None
    s2: Tensor | None


class Best(NamedTuple):
    """The first columns of each row in the order of top-k: that of the maximum alone."""

    indices: Tensor
    """int64 (rows, 1)."""


class Parts(NamedTuple):
    """What `_parts.Parts` is."""

    sums: Sums
    best: Best
    seen: Tensor
    logits: Tensor
    """float64 (rows, s); NaN where unseen."""
    ranks: Tensor


def merged_sums(a: Sums, b: Sums, temperature: Temperature) -> Sums:
    """Return the sums over the columns of both; the same bits in either order."""
    m = torch.maximum(a.m, b.m) + 0.0  # -0.0 and 0.0 are one maximum
    first, tie = a.m > b.m, (a.m == b.m) & (m > -math.inf)
    lost = ~(m < math.inf)  # NaN or +inf: t has no value
    low_m = torch.where(first, b.m, a.m)
    step = (low_m - m) / temperature
    weight = torch.where(low_m == -math.inf, 0.0, torch.exp(step))
    step = torch.where(weight == 0.0, 0.0, step)  # the limit: t exp(t) of a column at -inf is 0

    def joined(x: Tensor, y: Tensor, moved: Any, one: float) -> Tensor:
        """Return one sum of both; of two equal maxima one counts `one` in it."""
        low, high = torch.where(first, y, x), torch.where(first, x, y)
        total = torch.where(tie, (x + y) + one, high + moved(low))
        return torch.where(lost, math.nan, total)

    # The maximum of the lower part is an ordinary column now: t = step, exp(t) = weight.
    low_r = torch.where(first, b.r, a.r)
    r = joined(a.r, b.r, lambda low: weight * (1.0 + low), 1.0)
    s1 = s2 = None
    if a.s1 is not None and b.s1 is not None:
        s1 = joined(a.s1, b.s1, lambda low: weight * (low + step * (1.0 + low_r)), 0.0)
    if a.s2 is not None and b.s2 is not None:
        s2 = joined(a.s2, b.s2, lambda low: weight * weight * (1.0 + low), 1.0)
    return Sums(m, r, s1, s2)


def merged_best(a: Parts, b: Parts) -> Best:
    """Return the first column of both in the order of top-k."""
    (one,), (other,) = a.best, b.best
    m, other_m = a.sums.m[:, None], b.sums.m[:, None]
    nan, other_nan = m.isnan(), other_m.isnan()
    tie = (m == other_m) | (nan & other_nan)
    best = torch.where((m > other_m) | (nan & ~other_nan), one, other)
    return Best(torch.where(tie, torch.minimum(one, other), best))


def scaled_max(sums: Sums, temperature: Temperature) -> Tensor:
    """Return max(x / temperature)."""
    return sums.m / temperature


def normalizer(sums: Sums) -> Tensor:
    """Return d, the sum of exp((x - m) / temperature) over all columns; 0 where all are -inf."""
    return torch.where(sums.m == -math.inf, 0.0, 1.0 + sums.r)


def logsumexp(sums: Sums, temperature: Temperature) -> Tensor:
    """Return m / temperature + log d."""
    m = scaled_max(sums, temperature)
    return torch.where(sums.m.isinf(), m, m + torch.log1p(sums.r))


def entropy(sums: Sums) -> Tensor:
    """Return log d - s1 / d, from -sum p log p with log p = t - log d."""
    assert sums.s1 is not None
    return _finite(sums, torch.log1p(sums.r) - sums.s1 / (1.0 + sums.r))


def sum_p2(sums: Sums) -> Tensor:
    """Return the sum of squared probabilities."""
    assert sums.s2 is not None
    return _finite(sums, (1.0 + sums.s2) / torch.square(1.0 + sums.r))


def logprob(sums: Sums, temperature: Temperature, logits: Tensor) -> Tensor:
    """Return log-probabilities of `logits`, shape (rows, s)."""
    m, log_d = sums.m[:, None], torch.log1p(sums.r)[:, None]
    scale = temperature if isinstance(temperature, float) else temperature[:, None]
    return torch.where(m.isfinite(), (logits - m) / scale - log_d, math.nan)


def _finite(sums: Sums, result: Tensor) -> Tensor:
    return torch.where(sums.m.isfinite(), result, math.nan)
