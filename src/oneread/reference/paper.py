"""The algorithms of Milakov & Gimelshein (2018) as loops over one row, line by line.

Knows nothing of arrays of rows, masks or speed. For reading; the truth is in the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

Vector: TypeAlias = Sequence[float]
Algorithm: TypeAlias = Callable[[Vector], list[float]]


def naive(x: Vector) -> list[float]:
    """Return softmax by Algorithm 1: 2 loads and 1 store an element.

    Parameters
    ----------
    x : sequence of float
        Logits of one row.

    Returns
    -------
    list of float
        Probabilities; NaN where exp(x) overflows.

    References
    ----------
    Milakov & Gimelshein (2018), Algorithm 1.

    Examples
    --------
    >>> naive([0.0, 0.0])
    [0.5, 0.5]
    >>> naive([1000.0, 0.0])
    [nan, 0.0]
    """
    d = 0.0
    for x_j in x:
        d += _exp(x_j)
    return [_over(_exp(x_i), d) for x_i in x]


def safe(x: Vector) -> list[float]:
    """Return softmax by Algorithm 2: 3 loads and 1 store an element.

    Parameters
    ----------
    x : sequence of float
        Logits of one row.

    Returns
    -------
    list of float
        Probabilities.

    References
    ----------
    Milakov & Gimelshein (2018), Algorithm 2.

    Examples
    --------
    >>> safe([1000.0, 0.0])
    [1.0, 0.0]
    """
    m = -np.inf
    for x_k in x:
        m = max(m, x_k)
    d = 0.0
    for x_j in x:
        d += _exp(x_j - m)
    return [_over(_exp(x_i - m), d) for x_i in x]


def normalizers(x: Vector) -> Iterator[tuple[float, float]]:
    """Yield (m_j, d_j) after each element, lines 1 to 6 of Algorithm 3.

    Parameters
    ----------
    x : sequence of float
        Logits of one row.

    Yields
    ------
    tuple of float
        m_j = max(x[:j]) and d_j, the sum of exp(x_i - m_j) over i <= j.

    Notes
    -----
    1 <= d_j <= j: one term of the sum is exp(0) and none is larger, so d neither overflows nor
    vanishes. That holds from the first finite element on. As printed, a row that begins with -inf
    gives NaN, since -inf - -inf has no value; `merge` shows the guard.

    References
    ----------
    Milakov & Gimelshein (2018), Algorithm 3 and section 3.

    Examples
    --------
    >>> list(normalizers([0.0, 0.0, 1000.0]))
    [(0.0, 1.0), (0.0, 2.0), (1000.0, 1.0)]
    """
    m, d = -np.inf, 0.0
    for x_j in x:
        m_before, m = m, max(m, x_j)
        d = d * _exp(m_before - m) + _exp(x_j - m)
        yield m, d


def online(x: Vector) -> list[float]:
    """Return softmax by Algorithm 3: 2 loads and 1 store an element.

    Parameters
    ----------
    x : sequence of float
        Logits of one row.

    Returns
    -------
    list of float
        Probabilities.

    References
    ----------
    Milakov & Gimelshein (2018), Algorithm 3.

    Examples
    --------
    >>> online([0.0, 1000.0])
    [0.0, 1.0]
    """
    m, d = -np.inf, 0.0
    for x_j in x:
        m_before, m = m, max(m, x_j)
        d = d * _exp(m_before - m) + _exp(x_j - m)
    return [_over(_exp(x_i - m), d) for x_i in x]


def online_topk(x: Vector, k: int) -> tuple[list[float], list[int]]:
    """Return the k largest probabilities and their columns by Algorithm 4: 1 load an element.

    Parameters
    ----------
    x : sequence of float
        Logits of one row.
    k : int
        How many, up to the length of the row.

    Returns
    -------
    tuple of list
        Probabilities, largest first, and columns counted from 0; equal ones by column.

    References
    ----------
    Milakov & Gimelshein (2018), Algorithm 4.

    Examples
    --------
    >>> online_topk([0.0, 0.0, 1000.0], 2)
    ([1.0, 0.0], [2, 0])
    """
    m, d = -np.inf, 0.0
    u = [-np.inf] * k + [0.0]
    p = [-1] * k + [0]
    for j, x_j in enumerate(x):
        m_before, m = m, max(m, x_j)
        d = d * _exp(m_before - m) + _exp(x_j - m)
        u[k], p[k] = x_j, j
        i = k
        # u[:k] is sorted; the new element moves up past those that are smaller, never past equals.
        while i > 0 and (u[i - 1] < u[i] or p[i - 1] < 0):
            u[i - 1], u[i] = u[i], u[i - 1]
            p[i - 1], p[i] = p[i], p[i - 1]
            i -= 1
    return [_over(_exp(u_i - m), d) for u_i in u[:k]], p[:k]


def merge(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """Return the (m, d) of two pieces of a row put together.

    Parameters
    ----------
    a, b : tuple of float
        (m, d) of each piece; (-inf, 0) is that of a piece without columns.

    Returns
    -------
    tuple of float
        The larger maximum and d_a exp(m_a - m) + d_b exp(m_b - m).

    Notes
    -----
    Associative and commutative, with (-inf, 0) as identity. The guard for it is ours.

    References
    ----------
    Milakov & Gimelshein (2018), equation 4.

    Examples
    --------
    >>> merge((0.0, 2.0), (0.0, 1.0))
    (0.0, 3.0)
    >>> merge((-np.inf, 0.0), (5.0, 1.0))
    (5.0, 1.0)
    """
    (m_a, d_a), (m_b, d_b) = a, b
    m = max(m_a, m_b)
    if m == -np.inf:
        return m, 0.0
    return m, d_a * _exp(m_a - m) + d_b * _exp(m_b - m)


def _exp(x: float) -> float:
    """Return e to the x, with inf for an overflow where `math.exp` raises."""
    with np.errstate(all="ignore"):
        return float(np.exp(x))


def _over(a: float, b: float) -> float:
    """Return a / b, with NaN for inf / inf and 0 / 0 where Python raises."""
    with np.errstate(all="ignore"):
        return float(np.float64(a) / b)
