"""The ops that put columns in order by their formulas, in float64, one short function each.

Knows nothing of speed. The order: NaN first, then by value, then masked columns;
equal ones by column.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from oneread.reference.rows import Array, Block, Rows
from oneread.spec import DtypeError, Read, ShapeError, SoftmaxTopK, TopK

#: Score of each column for each value of `kind=`.
_SCORES: Final[dict[str, Callable[[Block], Array]]] = {
    "prob": lambda b: b.probabilities,
    "logprob": lambda b: b.logprobs,
    "logit": lambda b: b.own,
}

#: Formula of each field, given k and the selected columns, and what its shape follows.
_READ: Final[dict[str, tuple[Callable[[Block, int, Array], Array], str]]] = {
    "lse": (lambda b, _k, _c: b.lse, "row"),
    "max": (lambda b, _k, _c: b.maximum, "row"),
    "argmax": (lambda b, _k, _c: b.order[:, :1], "row"),
    "values": (lambda b, k, _c: _take(b.own, b.order[:, :k]), "k"),
    "indices": (lambda b, k, _c: b.order[:, :k], "k"),
    "logprobs": (lambda b, k, _c: _take(b.logprobs, b.order[:, :k]), "k"),
    "selected": (lambda b, _k, columns: _take(b.logprobs, columns[b.span]), "select"),
    "rank": (lambda b, _k, columns: _take(b.place, columns[b.span]), "select"),
    "entropy": (lambda b, _k, _c: b.entropy, "row"),
    "sum_p2": (lambda b, _k, _c: b.sum_p2, "row"),
}


def top_k(
    x: Any,
    k: int,
    axis: int | None = -1,
    *,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> TopK:
    """Return the k largest logits of each row, largest first, equal ones by column.

    Parameters
    ----------
    x : array of any supported type
        Logits. NaN comes first, -0.0 equals 0.0, masked columns come after all others.
    k : int
        How many, from 0 to the length of the row.
    axis : int or None
        Axis that a row lies along; k takes its place in the result.
    where, lengths, temperature, arithmetic : optional
        As in `softmax`; a temperature changes nothing here.

    Returns
    -------
    TopK
        The input's own numbers (integers after conversion) and int64 columns.

    Raises
    ------
    ShapeError
        When k is negative or above the length of the row, or `x` has no axis.

    Examples
    --------
    >>> import numpy as np
    >>> top_k([3.0, np.nan, 5.0, 5.0], 3).indices.tolist()
    [1, 2, 3]
    """
    rows = Rows.of(x, axis, where, lengths, temperature, one_axis=True)
    k = _checked_k(k, rows)
    values, indices = rows.map(lambda b: (_take(b.own, b.order[:, :k]), b.order[:, :k]), arithmetic)
    return TopK(rows.ranked(values), rows.ranked(indices))


def softmax_topk(
    x: Any,
    k: int,
    axis: int | None = -1,
    *,
    kind: str = "prob",
    renormalize: bool = False,
    return_lse: bool = False,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> SoftmaxTopK:
    """Return the k likeliest columns of each row, ranked by logit.

    Parameters
    ----------
    x : array of any supported type
        Logits, ordered as in `top_k`.
    k : int
        How many, from 0 to the length of the row.
    axis : int or None
        Axis that a row lies along; k takes its place in the result.
    kind : {"prob", "logprob", "logit"}
        What the values are. Logits are the input's own numbers.
    renormalize : bool
        Whether the probabilities are those among the k winners alone.
    return_lse : bool
        Whether to return the logarithm of the whole row's sum too.
    where, lengths, temperature, arithmetic : optional
        As in `softmax`.

    Returns
    -------
    SoftmaxTopK
        Values, int64 columns, and lse or None.

    Raises
    ------
    ShapeError
        When k or `kind` is not one of those allowed, or `x` has no axis.

    Examples
    --------
    >>> softmax_topk([0.0, 0.0, 0.0, 0.0], 2).values.tolist()
    [0.25, 0.25]
    >>> softmax_topk([0.0, 0.0, 0.0, 0.0], 2, renormalize=True).values.tolist()
    [0.5, 0.5]
    """
    if kind not in _SCORES:
        raise ShapeError(f"got kind={kind!r}; allowed are {', '.join(map(repr, _SCORES))}")
    scores = _SCORES[kind]
    rows = Rows.of(x, axis, where, lengths, temperature, one_axis=True)
    k = _checked_k(k, rows)

    def formulas(b: Block) -> tuple[Array, ...]:
        winners = b.order[:, :k]
        if renormalize:
            return scores(b.only(winners)), winners, b.lse
        return _take(scores(b), winners), winners, b.lse

    values, indices, lse = rows.map(formulas, arithmetic)
    return SoftmaxTopK(
        rows.ranked(values), rows.ranked(indices), rows.reduced(lse) if return_lse else None
    )


def read(
    x: Any,
    axis: int | None = -1,
    *,
    top_k: int = 0,
    select: Any = None,
    rank: bool = False,
    entropy: bool = False,
    sum_p2: bool = False,
    argmax: bool = False,
    keepdims: bool = False,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    arithmetic: type[Block] = Block,
) -> Read:
    """Return every statistic of each row that is asked for.

    Parameters
    ----------
    x : array of any supported type
        Logits, ordered as in `top_k`.
    axis : int or None
        Axis that a row lies along.
    top_k : int
        How many of the largest logits, with their columns and log-probabilities.
    select : array of int, optional
        Columns whose log-probability is wanted, in the shape of the rows, or that and (s,).
    rank, entropy, sum_p2, argmax : bool
        Place of the selected columns, entropy, sum of squared probabilities, first column of all.
    keepdims : bool
        Whether the axis stays, with length 1, in lse, max, argmax, entropy and sum_p2.
    where, lengths, temperature, arithmetic : optional
        As in `softmax`.

    Returns
    -------
    Read
        What was asked for; the other fields are None, except lse and max.

    Raises
    ------
    ShapeError
        When k, `select` or the shape of `x` does not allow what is asked.
    IndexError
        When a selected column is outside the row.

    Examples
    --------
    >>> r = read([2.0, 1.0, 0.0], select=2, rank=True, argmax=True)
    >>> int(r.argmax), int(r.rank), round(float(r.selected), 4), r.entropy is None
    (0, 2, -2.4076, True)
    """
    rows = Rows.of(x, axis, where, lengths, temperature, one_axis=True)
    k = _checked_k(top_k, rows) if top_k else 0
    if argmax and not rows.vocab:
        raise ShapeError("got argmax=True for rows of length 0, which have no column")
    chosen, chosen_shape = _checked_select(select, rank, rows)
    asked = {
        "lse": True,
        "max": True,
        "argmax": argmax,
        **dict.fromkeys(("values", "indices", "logprobs"), k > 0),
        "selected": select is not None,
        "rank": rank,
        "entropy": entropy,
        "sum_p2": sum_p2,
    }
    names = [name for name, wanted in asked.items() if wanted]
    terms = rows.map(lambda b: tuple(_READ[n][0](b, k, chosen) for n in names), arithmetic)
    shaped: dict[str, Callable[[Array], Array]] = {
        "row": lambda a: rows.reduced(a, keepdims),
        "k": rows.ranked,
        "select": lambda a: a.reshape(chosen_shape),
    }
    return Read(**{n: shaped[_READ[n][1]](a) for n, a in zip(names, terms, strict=True)})


def _take(terms: Array, columns: Array) -> Array:
    return np.take_along_axis(terms, columns, 1)


def _checked_k(k: Any, rows: Rows) -> int:
    if isinstance(k, bool | np.bool_) or not hasattr(k, "__index__"):
        raise DtypeError(f"got k={k!r}; allowed are integers from 0 to {rows.vocab}")
    count: int = operator.index(k)
    if not rows.shape:
        raise ShapeError(
            f"got k={k} for an array without axes; allowed are arrays with at least one"
        )
    if not 0 <= count <= rows.vocab:
        raise ShapeError(
            f"got k={k} for rows of length {rows.vocab}; allowed are 0 to {rows.vocab}"
        )
    return count


def _checked_select(select: Any, rank: bool, rows: Rows) -> tuple[Array, tuple[int, ...]]:
    """Return the columns as (rows, s), and the shape that they came in."""
    if select is None:
        if rank:
            raise ShapeError("got rank=True without select, the columns whose place is wanted")
        return np.empty((len(rows.x), 0), np.int64), ()
    array = np.asarray(select)
    if array.dtype.kind not in "iu":
        raise DtypeError(f"got select of type {array.dtype}; allowed are integers")
    shape = rows.rows_shape
    if array.shape != shape and (array.ndim != len(shape) + 1 or array.shape[:-1] != shape):
        raise ShapeError(
            f"got select of shape {array.shape}; allowed are {shape} and {shape} + (s,)"
        )
    if ((array < 0) | (array >= rows.vocab)).any():
        raise IndexError(f"got a selected column outside [0, {rows.vocab})")
    s = 1 if array.ndim == len(shape) else array.shape[-1]
    return array.astype(np.int64).reshape(len(rows.x), s), array.shape
