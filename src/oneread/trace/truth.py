"""What a kernel's outputs should be: softmax, log-sum-exp and top-k in double.

Knows no kernel. The same formulas as `oneread.reference`, without NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from oneread.trace.machine.floats import round32

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


def _log_normalizer(row: Row) -> float:
    """Return log d of a row with a finite maximum; exact too where d is hardly more than 1."""
    m = maximum(row)
    place = row.index(m)
    rest = (math.exp(value - m) for i, value in enumerate(row) if i != place)
    return math.log1p(math.fsum(rest))


def logsumexp(row: Row) -> float:
    """Return m + log d; an infinite m is the result itself."""
    m = maximum(row)
    return m if math.isinf(m) or m != m else m + _log_normalizer(row)


def log_softmax(row: Row) -> list[float]:
    """Return x - m - log d; NaN all over for a row without a finite maximum."""
    m = maximum(row)
    if math.isinf(m) or m != m:
        return [math.nan] * len(row)
    log_d = _log_normalizer(row)
    return [(value - m) - log_d for value in row]


def top_k(row: Row, k: int) -> list[int]:
    """Return the columns of the k largest, largest first; NaN before all, equal ones by column."""
    order = sorted(
        range(len(row)), key=lambda i: (row[i] == row[i], -row[i] if row[i] == row[i] else 0.0, i)
    )
    return order[:k]


def naive_softmax(row: Row) -> list[float]:
    """Return exp(x) / sum(exp(x)), Algorithm 1 of the paper: what overflows float32 is infinite."""
    powers = [round32(_exp(value)) for value in row]
    total = round32(math.fsum(powers))
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


def top_values(row: Row, k: int) -> list[float]:
    """Return the k largest, largest first."""
    return [row[i] for i in top_k(row, k)]


def top_columns(row: Row, k: int) -> list[float]:
    """Return where the k largest are."""
    return [float(i) for i in top_k(row, k)]


def top_probabilities(row: Row, k: int) -> list[float]:
    """Return the softmax of the k largest."""
    shares = softmax(row)
    return [shares[i] for i in top_k(row, k)]


def _spans(row: Row, size: int) -> list[Row]:
    return [row[i : i + size] for i in range(0, len(row), size)]


def span_maximum(row: Row, size: int) -> list[float]:
    """Return the maximum of each span of so many columns; a NaN gives way, it shows in d."""
    return [maximum([v for v in span if v == v]) for span in _spans(row, size)]


def span_normalizer(row: Row, size: int) -> list[float]:
    """Return the normalizer of each span; 0 for one of nothing but -inf, as a merge needs it."""
    return [0.0 if maximum(span) == -math.inf else normalizer(span) for span in _spans(row, size)]


def relu(row: Row) -> list[float]:
    """Return max(x, 0), and 0 for NaN, as fmaxf does."""
    return [value if value > 0 else 0.0 for value in row]


#: What a row gives, by name: functions of the row, and of k or of the length of a span.
BY_ROW: dict[str, Callable[[Row], Sequence[float]]] = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "naive_softmax": naive_softmax,
    "relu": relu,
    "logsumexp": lambda row: [logsumexp(row)],
    "maximum": lambda row: [maximum(row)],
    "normalizer": lambda row: [normalizer(row)],
}
BY_K: dict[str, Callable[[Row, int], Sequence[float]]] = {
    "top_values": top_values,
    "top_columns": top_columns,
    "top_probabilities": top_probabilities,
}
BY_SPAN: dict[str, Callable[[Row, int], Sequence[float]]] = {
    "span_maximum": span_maximum,
    "span_normalizer": span_normalizer,
}
NAMES = frozenset([*BY_ROW, *BY_K, *BY_SPAN, "multiply_add"])
