"""read: every statistic of each row in one read.

Knows nothing of the other ops.
"""

from __future__ import annotations

from typing import Any

from oneread.ops._arguments import Call, check_axes, check_k, columns, float_dtype, options_of
from oneread.ops._face import LOGPROB, Op, Plan, run_op, run_reduce
from oneread.ops._output import selection, statistic, top
from oneread.spec import Read, ShapeError


def read(
    x: Any,
    axis: Any = -1,
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
    dtype: Any = None,
    out: Any = None,
    workspace: None = None,
    threads: int | None = None,
    kernel: str | None = None,
    deterministic: str | None = None,
) -> Read:
    """Return every statistic of each row that is asked for, from one read of the logits.

    Parameters
    ----------
    x : array, at least one axis, bool|int|float16|bfloat16|float32|float64
        Logits, as in `softmax`.
    axis : int or None, default -1
        The axis of a row. None: all of `x`, in C order.
    top_k : int, default 0
        How many of the largest logits: 0 to the length of the axis.
    select : int or array of int, optional
        Columns whose log-probability is wanted: one for all rows, the shape of `x` without the
        axis, or one axis more at its end for several columns a row.
    rank : bool, default False
        Also return the place of the selected columns.
    entropy, sum_p2, argmax : bool, default False
        Also return the entropy, the sum of squared probabilities, the column of the largest.
    keepdims : bool, default False
        Keep the axis, with length 1, in every field with one number a row. `selected` and `rank`
        keep the shape of `select`.
    where, lengths, temperature : array, optional
        As in `softmax`.
    dtype : str or dtype, optional
        Float type of all fields but `values`. Default: float32 for inputs up to 32 bits, else
        float64.
    out : Read or tuple of arrays, optional
        A `Read` to refill, with exactly the fields that are asked for, or their arrays in order.
    workspace, threads, kernel, deterministic : optional
        As in `softmax`.

    Returns
    -------
    Read
        In arrays of x's library, None where not asked. One number a row: `lse`, `max` (both of
        ``x / temperature``), `argmax`, `entropy`, `sum_p2`. With `top_k` in the place of the
        axis: `values` (the input's own numbers), `indices`, `logprobs`. Shaped as `select`:
        `selected` (log-probabilities) and `rank`, from 0. A field of a single row is an array
        without axes. `out` itself when it is a `Read`.

    Raises
    ------
    AxisError, DtypeError, BackendUnavailableError
        As in `top_k`.
    ShapeError
        As in `top_k`, if `rank` is asked for without `select`, or `argmax` of an empty axis.
    IndexError
        If a selected column is negative or at or beyond the length of the axis.

    Notes
    -----
    1 load and no store an element [1]_. The order of `values` and `rank`, and ties, are those of
    `top_k`. Maximum error 8 ulp, 16 of `entropy` and `sum_p2`, beyond twice that of the
    plain formula. ``entropy = log d - s / d``
    with s the sum of ``t exp(t)``, ``t = (x - m) / temperature``; a column of -inf adds 0 to it.

    A row of -inf only: lse -inf, everything else computed NaN. A row with +inf: lse and max
    +inf, the rest NaN. A row with NaN: all NaN. Indices and ranks stay valid in all of them.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       Algorithm 4.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> logits = np.array([[0.0, 3.0, 1.0], [5.0, 5.0, -np.inf]])
    >>> r = oneread.read(logits, top_k=1, select=[0, 1], rank=True, entropy=True)
    >>> print(r.lse.round(4), r.indices.ravel())
    [3.1698 5.6931] [1 0]
    >>> print(r.selected.round(4), r.rank, r.entropy.round(4))
    [-3.1698 -0.6931] [2 1] [0.5243 0.6931]
    """
    own = {
        "top_k": top_k, "select": select, "rank": rank, "entropy": entropy, "sum_p2": sum_p2,
        "argmax": argmax, "keepdims": keepdims,
    }  # fmt: skip
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    result: Read = run_op(READ, x, axis, dtype, out, own, options)
    return result


def plan(
    call: Call, dtype: Any, *, top_k: Any, select: Any, rank: bool, entropy: bool, sum_p2: bool,
    argmax: bool, keepdims: bool,
) -> Plan:  # fmt: skip
    """Say what read writes."""
    check_axes(call)
    k = check_k(top_k, call.length, "top_k")
    if argmax and not call.length:
        raise ShapeError("argmax is asked for of an axis of length 0, which has no largest column")
    if rank and select is None:
        raise ShapeError("rank is asked for without select: give the columns whose rank is wanted")
    name = float_dtype(dtype, call.statistic)
    slots = {field: statistic(call, field, name, keepdims) for field in ("lse", "max")}
    if argmax:
        slots["argmax"] = statistic(call, "argmax", "int64", keepdims)
    if k:
        own, written = call.float_dtype, call.value_dtype(name)
        slots["values"] = top(call, "values", k, own, written)
        slots["indices"] = top(call, "indices", k, "int64")
        slots["logprobs"] = top(call, "scores", k, name)
    chosen = None
    if select is not None:
        chosen, tail = columns(call, select)
        slots["selected"] = selection(call, "selected", tail, name)
        if rank:
            slots["rank"] = selection(call, "rank", tail, "int64")
    for field, asked in (("entropy", entropy), ("sum_p2", sum_p2)):
        if asked:
            slots[field] = statistic(call, field, name, keepdims)
    return Plan(slots, Read, LOGPROB, chosen, k)


READ = Op("read", plan, run_reduce)
