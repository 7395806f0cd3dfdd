"""The arithmetic of `_merge` for states whose numbers are arrays on a GPU.

Knows nothing of where the parts came from, nor of the arrays' library but what all name alike.
Nothing here waits for the GPU: what depends on numbers is chosen there. Sums are kept in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from oneread.runtime import cuda, cuda_merge

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
    """The first columns of each row in the order of top-k.

    With the indices alone it is that of the maximum, (rows, 1), which the kernels find by the way.
    """

    indices: Array
    """int64 (rows, j)."""
    values: Array | None = None
    """The columns' own numbers."""
    masked: Array | None = None
    """Whether the column was left out by a mask; such columns come last."""


class Parts(NamedTuple):
    """What `_parts.Parts` is."""

    sums: Sums
    best: Best
    seen: Array
    logits: Array
    """float64 (rows, s); NaN where unseen."""
    ranks: Array


def merged(
    gpu: Any, a: Parts, b: Parts, temperature: Temperature, argmax: bool, top_k: int
) -> Parts:
    """Return what is found in the columns of both; the same bits in either order."""
    if top_k:
        best = merged_best(gpu, a.best, b.best, top_k)
        return merged(gpu, a, b, temperature, False, 0)._replace(best=best)
    m, column = a.sums.m, a.best.indices
    rows, selected = math.prod(m.shape), math.prod(a.seen.shape)
    table = iter(gpu.empty(m, (sum(s is not None for s in a.sums), rows), "float64"))
    both = Parts(
        Sums(*[None if s is None else next(table) for s in a.sums]),
        Best(gpu.empty(m, tuple(column.shape), "int64")) if argmax else a.best,
        gpu.empty(m, tuple(a.seen.shape), "uint8") if selected else a.seen,
        gpu.empty(m, tuple(a.seen.shape), "float64") if selected else a.logits,
        gpu.empty(m, tuple(a.seen.shape), "int64") if selected else a.ranks,
    )

    def held(parts: Parts) -> cuda_merge.Held:
        found = [*parts.sums, parts.best.indices if argmax else None]
        found += parts[2:] if selected else [None] * 3
        return cuda_merge.Held(*[0 if one is None else gpu.address(one) for one in found])

    if rows:
        if isinstance(temperature, float):
            given = cuda.Temperature(temperature)
        else:
            given = cuda.Temperature(address=gpu.address(temperature))
        where = gpu.memory(both.sums.m)
        cuda_merge.merge(
            held(a), held(b), held(both), rows, selected, given, where.device, where.stream
        )
    return both


def merged_best(gpu: Any, a: Best, b: Best, k: int) -> Best:
    """Return the first `k` columns of both in the order of top-k."""
    xp = gpu.NAMESPACE
    both = Best(*[xp.concatenate(pair, -1) for pair in zip(a, b, strict=True)])
    by_column = xp.argsort(both.indices, -1)  # no two are equal
    both = Best(*[gpu.take(part, by_column) for part in both])
    assert both.masked is not None
    first = gpu.first_columns(both.values, k, ~both.masked)
    return Best(*[gpu.take(part, first) for part in both])


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The functions of `_merge`, in the arrays of one library; `xp` is what it names as all do."""

    xp: Any

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

    def over_winners(self, scores: Array) -> Array:
        """Return log-probabilities over the columns given alone, the first the likeliest."""
        scores = scores - scores[:, :1]
        return scores - self.xp.log(self.xp.exp(scores).sum(1))[:, None]

    def exp(self, scores: Array) -> Array:
        """Return what the logarithms are of."""
        return self.xp.exp(scores)

    def _finite(self, sums: Sums, result: Array) -> Array:
        return self.xp.where(self.xp.isfinite(sums.m), result, math.nan)
