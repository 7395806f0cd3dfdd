"""The ops over whole rows by their formulas, in float64, one short function each.

Knows nothing of speed. Letters as in Milakov & Gimelshein (2018): m maximum, d = 1 + r normalizer.
"""

from __future__ import annotations

from typing import Any

from oneread.reference.rows import Array, Axis, Block, Rows


def softmax(
    x: Any,
    axis: Axis = -1,
    *,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> Array:
    """Return y = exp((x - m) / temperature) / d of each row.

    Parameters
    ----------
    x : array of any supported type
        Logits. Integers of up to 16 bits are converted to float32 first, wider ones to float64.
    axis : int, tuple of int or None
        Axes that a row lies along; None takes them all, in C order.
    where : array of bool, optional
        False acts as -inf; broadcast against `x`.
    lengths : array of int, optional
        Columns at or beyond it act as -inf; one a row.
    temperature : float or array, optional
        Finite and above 0; one for all or one a row.
    arithmetic : type
        How the terms are formed; the default is the truth.

    Returns
    -------
    array of float64
        Probabilities in the shape of `x`.

    Examples
    --------
    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    rows = Rows.of(x, axis, where, lengths, temperature)
    return rows.full(*rows.map(lambda b: (b.probabilities,), arithmetic))


def log_softmax(
    x: Any,
    axis: Axis = -1,
    *,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> Array:
    """Return (x - m) / temperature - log d of each row.

    Parameters
    ----------
    x : array of any supported type
        Logits, as in `softmax`.
    axis : int, tuple of int or None
        Axes that a row lies along.
    where, lengths, temperature, arithmetic : optional
        As in `softmax`.

    Returns
    -------
    array of float64
        Log-probabilities in the shape of `x`.

    Examples
    --------
    >>> [float(f"{v:.3g}") for v in log_softmax([20, 0])]
    [-2.06e-09, -20.0]
    """
    rows = Rows.of(x, axis, where, lengths, temperature)
    return rows.full(*rows.map(lambda b: (b.logprobs,), arithmetic))


def logsumexp(
    x: Any,
    axis: Axis = -1,
    *,
    keepdims: bool = False,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> Array:
    """Return m / temperature + log d of each row.

    Parameters
    ----------
    x : array of any supported type
        Logits, as in `softmax`.
    axis : int, tuple of int or None
        Axes that a row lies along.
    keepdims : bool
        Whether the axes stay, with length 1.
    where, lengths, temperature, arithmetic : optional
        As in `softmax`.

    Returns
    -------
    array of float64
        One natural logarithm a row; -inf for a row without columns.

    Examples
    --------
    >>> import numpy as np
    >>> float(logsumexp([0.0, -np.inf])), float(logsumexp([-np.inf, -np.inf]))
    (0.0, -inf)
    """
    rows = Rows.of(x, axis, where, lengths, temperature)
    (result,) = rows.map(lambda b: (b.lse,), arithmetic)
    return rows.reduced(result, keepdims)


def maximum(
    x: Any,
    axis: Axis = -1,
    *,
    keepdims: bool = False,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
) -> Array:
    """Return the maximum of x / temperature of each row.

    Parameters
    ----------
    x : array of any supported type
        Logits, as in `softmax`.
    axis : int, tuple of int or None
        Axes that a row lies along.
    keepdims : bool
        Whether the axes stay, with length 1.
    where, lengths, temperature : optional
        As in `softmax`.

    Returns
    -------
    array of float64
        One maximum a row; NaN when the row holds one, -inf for a row without columns.

    Examples
    --------
    >>> float(maximum([1.0, 3.0], temperature=2.0))
    1.5
    """
    rows = Rows.of(x, axis, where, lengths, temperature)
    (result,) = rows.map(lambda b: (b.maximum,), Block)
    return rows.reduced(result, keepdims)
