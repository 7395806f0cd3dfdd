"""What a kernel's outputs should be: softmax, log-sum-exp and top-k in double.

Knows no kernel. The same formulas as `oneread.reference`, without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Row = Sequence[float]


def maximum(row: Row) -> float:
    """Return the largest, NaN if one is NaN, -inf for an empty row."""
    if any(value != value for value in row):
        return math.nan
    return max(row, default=-math.inf)


def normalizer(row: Row) -> float:
    """Return d, the sum of exp(x - m); NaN where m is infinite."""
    m = maximum(row)
    if math.isinf(m) or m != m:
        return math.nan
    return math.fsum(math.exp(value - m) for value in row)


def softmax(row: Row) -> list[float]:
    """Return exp(x - m) / d; NaN all over for a row without a finite maximum."""
    m, d = maximum(row), normalizer(row)
    if d != d:
        return [math.nan] * len(row)
    return [math.exp(value - m) / d for value in row]


def logsumexp(row: Row) -> float:
    """Return m + log d; an infinite m is the result itself."""
    m = maximum(row)
    return m if math.isinf(m) or m != m else m + math.log(normalizer(row))


def log_softmax(row: Row) -> list[float]:
    """Return x - m - log d; NaN all over for a row without a finite maximum."""
    m, d = maximum(row), normalizer(row)
    if d != d:
        return [math.nan] * len(row)
    return [value - m - math.log(d) for value in row]


def top_k(row: Row, k: int) -> list[int]:
    """Return the columns of the k largest, largest first; NaN before all, equal ones by column."""
    order = sorted(
        range(len(row)), key=lambda i: (row[i] == row[i], -row[i] if row[i] == row[i] else 0.0, i)
    )
    return order[:k]


def naive_softmax(row: Row) -> list[float]:
    """Return exp(x) / sum(exp(x)), without a maximum, as Algorithm 1 of the paper."""
    powers = [_exp(value) for value in row]
    total = math.fsum(powers) if math.inf not in powers else math.inf
    return [_ratio(power, total) for power in powers]


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return math.inf


def _ratio(part: float, whole: float) -> float:
    if not whole or (math.isinf(part) and math.isinf(whole)):
        return math.nan
    return part / whole


#: Results of one number a column, and of one number a row.
BY_COLUMN: dict[str, Callable[[Row], list[float]]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
}
BY_ROW: dict[str, Callable[[Row], float]] = {
    "logsumexp": logsumexp,
    "maximum": maximum,
    "normalizer": normalizer,
}
