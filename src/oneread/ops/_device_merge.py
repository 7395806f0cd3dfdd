"""The arithmetic of `_merge` for states whose numbers are arrays on a GPU.

Knows nothing of where the parts came from, nor of the arrays' library but what all name alike.
Nothing here waits for the GPU: what depends on numbers is chosen there. Sums are kept in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Array: TypeAlias = Any
#: The temperature of a state: a number, or one a row.
Temperature: TypeAlias = Any


class Sums(NamedTuple):
    """What `_merge.Sums` is; sums that nothing asks for are None."""

    m: Array
    r: Array
    s1: Array | None
    s2: Array | None


class Best(NamedTuple):
    """The first columns of each row in the order of top-k: that of the maximum alone."""

    indices: Array
    """int64 (rows, 1)."""


class Parts(NamedTuple):
    """What `_parts.Parts` is."""

    sums: Sums
    best: Best
    seen: Array
    logits: Array
    """float64 (rows, s); NaN where unseen."""
    ranks: Array


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The functions of `_merge`, in the arrays of one library; `xp` is what it names as all do."""

    xp: Any

    def merged_sums(self, a: Sums, b: Sums, temperature: Temperature) -> Sums:
        """Return the sums over the columns of both; the same bits in either order."""
        m = self.xp.maximum(a.m, b.m) + 0.0  # -0.0 and 0.0 are one maximum
        first, tie = a.m > b.m, (a.m == b.m) & (m > -math.inf)
        lost = ~(m < math.inf)  # NaN or +inf: t has no value
        low_m = self.xp.where(first, b.m, a.m)
        step = (low_m - m) / temperature
        weight = self.xp.where(low_m == -math.inf, 0.0, self.xp.exp(step))
        step = self.xp.where(
            weight == 0.0, 0.0, step
        )  # the limit: t exp(t) of a column at -inf is 0

        def joined(x: Array, y: Array, moved: Any, one: float) -> Array:
            """Return one sum of both; of two equal maxima one counts `one` in it."""
            low, high = self.xp.where(first, y, x), self.xp.where(first, x, y)
            total = self.xp.where(tie, (x + y) + one, high + moved(low))
            return self.xp.where(lost, math.nan, total)

        # The maximum of the lower part is an ordinary column now: t = step, exp(t) = weight.
        low_r = self.xp.where(first, b.r, a.r)
        r = joined(a.r, b.r, lambda low: weight * (1.0 + low), 1.0)
        s1 = s2 = None
        if a.s1 is not None and b.s1 is not None:
            s1 = joined(a.s1, b.s1, lambda low: weight * (low + step * (1.0 + low_r)), 0.0)
        if a.s2 is not None and b.s2 is not None:
            s2 = joined(a.s2, b.s2, lambda low: weight * weight * (1.0 + low), 1.0)
        return Sums(m, r, s1, s2)

    def merged_best(self, a: Parts, b: Parts) -> Best:
        """Return the first column of both in the order of top-k."""
        (one,), (other,) = a.best, b.best
        m, other_m = a.sums.m[:, None], b.sums.m[:, None]
        nan, other_nan = self.xp.isnan(m), self.xp.isnan(other_m)
        tie = (m == other_m) | (nan & other_nan)
        best = self.xp.where((m > other_m) | (nan & ~other_nan), one, other)
        return Best(self.xp.where(tie, self.xp.minimum(one, other), best))

    def scaled_max(self, sums: Sums, temperature: Temperature) -> Array:
        """Return max(x / temperature)."""
        return sums.m / temperature

    def normalizer(self, sums: Sums) -> Array:
        """Return d, the sum of exp((x - m) / temperature); 0 where all columns are -inf."""
        return self.xp.where(sums.m == -math.inf, 0.0, 1.0 + sums.r)

    def logsumexp(self, sums: Sums, temperature: Temperature) -> Array:
        """Return m / temperature + log d."""
        m = self.scaled_max(sums, temperature)
        return self.xp.where(self.xp.isinf(sums.m), m, m + self.xp.log1p(sums.r))

    def entropy(self, sums: Sums) -> Array:
        """Return log d - s1 / d, from -sum p log p with log p = t - log d."""
        assert sums.s1 is not None
        return self._finite(sums, self.xp.log1p(sums.r) - sums.s1 / (1.0 + sums.r))

    def sum_p2(self, sums: Sums) -> Array:
        """Return the sum of squared probabilities."""
        assert sums.s2 is not None
        return self._finite(sums, (1.0 + sums.s2) / self.xp.square(1.0 + sums.r))

    def logprob(self, sums: Sums, temperature: Temperature, logits: Array) -> Array:
        """Return log-probabilities of `logits`, shape (rows, s)."""
        m, log_d = sums.m[:, None], self.xp.log1p(sums.r)[:, None]
        scale = temperature if isinstance(temperature, float) else temperature[:, None]
        return self.xp.where(self.xp.isfinite(m), (logits - m) / scale - log_d, math.nan)

    def _finite(self, sums: Sums, result: Array) -> Array:
        return self.xp.where(self.xp.isfinite(sums.m), result, math.nan)
