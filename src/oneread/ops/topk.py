"""top_k and softmax_topk: the best columns of each row.

Knows nothing of the other ops.
"""

from __future__ import annotations

from typing import Any, Final

from oneread.ops._arguments import Call, check_axes, check_k, float_dtype, index_name, options_of
from oneread.ops._face import LOGIT, LOGPROB, PROB, WINNERS, Op, Plan, run_op, run_reduce
from oneread.ops._output import statistic, top
from oneread.spec import ShapeError, SoftmaxTopK, TopK

_KINDS: Final = {"prob": PROB, "logprob": LOGPROB, "logit": LOGIT}


def top_k(
    x: Any,
    k: int,
    axis: Any = -1,
    *,
    index_dtype: Any = None,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    dtype: Any = None,
    out: Any = None,
    workspace: None = None,
    threads: int | None = None,
    kernel: str | None = None,
    deterministic: str | None = None,
) -> TopK:
    """Return the k largest logits of each row, largest first.

    Parameters
    ----------
    x : array, at least one axis, bool|int|float16|bfloat16|float32|float64
        Logits, as in `softmax`.
    k : int
        How many: 0 to the length of the axis.
    axis : int or None, default -1
        The axis to search. None: all of `x`, in C order.
    index_dtype : str or dtype, optional
        Integer type of `indices`; the last column must fit. Default int64.
    where, lengths : array, optional
        As in `softmax`: columns left out are -inf and come after all others.
    temperature : float or array of float, optional
        As in `softmax`; it changes neither values nor order.
    dtype : str or dtype, optional
        Float type of `values`. Default: the input's; for integers what they are converted to.
    out : tuple of two arrays, optional
        Where to write values and indices: the result's shapes and types.
    workspace, threads : optional
        As in `softmax`.
    kernel : {'block_max', 'radix', 'sort'}, optional
        Which algorithm to run. None chooses. ShapeError if it cannot: ``block_max`` needs k up to
        2,048 and well below the length of the row, ``sort`` rows of up to 4,096 columns.
    deterministic : {'run', 'batch'}, optional
        As in `softmax`.

    Returns
    -------
    TopK
        `values`, the input's own numbers bit for bit, and `indices`, in arrays of x's library
        with `k` in the place of the axis. `out` itself when it is a `TopK`.

    Raises
    ------
    AxisError, DtypeError, BackendUnavailableError
        As in `softmax`; DtypeError also if `k` is not an integer.
    ShapeError
        If `k` is below 0 or above the length of the axis, if `x` has no axes, if a column does
        not fit `index_dtype`, or as in `softmax`.

    Notes
    -----
    Order: value descending, then column ascending, whatever the threads, the batch or the
    strides. NaN comes first whatever its sign, -0.0 equals 0.0. A row with fewer than k finite
    values is filled up with its -inf columns, lowest first. 1 load and no store an element with
    ``block_max``: the maxima of blocks bound the k-th value from below, and only blocks that
    reach it are looked at again, while they are in cache. A NaN has no bound: its row is finished
    by ``radix``, and `last_kernel` counts such rows.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> top = oneread.top_k(np.array([2.0, 9.0, 9.0, 4.0]), 3)
    >>> print(top.values, top.indices)
    [9. 9. 4.] [1 2 3]
    """
    own = {"k": k, "index_dtype": index_dtype}
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    result: TopK = run_op(TOP_K, x, axis, dtype, out, own, options)
    return result


def softmax_topk(
    x: Any,
    k: int,
    axis: Any = -1,
    *,
    kind: str = "prob",
    renormalize: bool = False,
    return_lse: bool = False,
    index_dtype: Any = None,
    where: Any = None,
    lengths: Any = None,
    temperature: Any = None,
    dtype: Any = None,
    out: Any = None,
    workspace: None = None,
    threads: int | None = None,
    kernel: str | None = None,
    deterministic: str | None = None,
) -> SoftmaxTopK:
    """Return the k likeliest columns of each row and their probabilities, in one read.

    Parameters
    ----------
    x : array, at least one axis, bool|int|float16|bfloat16|float32|float64
        Logits, as in `softmax`.
    k : int
        How many: 0 to the length of the axis.
    axis : int or None, default -1
        The axis of a row. None: all of `x`, in C order.
    kind : {'prob', 'logprob', 'logit'}, default 'prob'
        What `values` are: probabilities, log-probabilities, or the input's own numbers.
    renormalize : bool, default False
        Take probabilities over the k winners alone instead of over the whole row.
    return_lse : bool, default False
        Also return the row's logsumexp.
    index_dtype : str or dtype, optional
        Integer type of `indices`; the last column must fit. Default int64.
    where, lengths, temperature : array, optional
        As in `softmax`.
    dtype : str or dtype, optional
        Float type of the values and of lse. Default: float32 for inputs up to 32 bits, else
        float64; logits keep the input's.
    out : tuple of arrays, optional
        Where to write values, indices and, if asked for, lse.
    workspace, threads : optional
        As in `softmax`.
    kernel : {'lazy', 'safe_unfused', 'online_unfused', 'safe_fused', 'online_fused'}, optional
        Which algorithm to run. None chooses ``lazy``, our own. The others are those of the
        textbooks, to be compared with, and take what those of `softmax` take, k up to 2,048,
        ``kind='prob'`` and no `renormalize` or `return_lse`.
    deterministic : {'run', 'batch'}, optional
        As in `softmax`.

    Returns
    -------
    SoftmaxTopK
        `values`, `indices` with `k` in the place of the axis, and `lse`, which is None unless it
        was asked for, in arrays of x's library. `out` itself when it is a `SoftmaxTopK`.

    Raises
    ------
    AxisError, DtypeError, BackendUnavailableError
        As in `top_k`.
    ShapeError
        As in `top_k`, if `kind` is none of the three, if logits shall be renormalised, or if
        `kernel` cannot do what is asked.

    Notes
    -----
    The softmax and the search share one load of each element; no probability that is not asked
    for is ever stored [1]_. Ranked by logit, in the order of `top_k`, not by rounded probability.
    Maximum error 8 ulp beyond twice that of the plain formula.

    In a row of -inf only, with +inf or with NaN the probabilities are NaN; the indices are those
    of `top_k`. The unfused kernels rank the probabilities that they have stored, so that logits
    of one rounded probability are ordered by column.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       Algorithm 4.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> best = oneread.softmax_topk(np.array([0.0, 3.0, 1.0]), 2)
    >>> print(best.values.round(4), best.indices)
    [0.8438 0.1142] [1 2]
    """
    own = {
        "k": k, "index_dtype": index_dtype, "kind": kind, "renormalize": renormalize,
        "return_lse": return_lse,
    }  # fmt: skip
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    result: SoftmaxTopK = run_op(SOFTMAX_TOPK, x, axis, dtype, out, own, options)
    return result


def plan_top_k(call: Call, dtype: Any, *, k: Any, index_dtype: Any) -> Plan:
    """Say what top_k writes."""
    check_axes(call)
    k = check_k(k, call.length)
    own = call.float_dtype
    slots = {
        "values": top(call, "values", k, float_dtype(dtype, own), own),
        "indices": top(call, "indices", k, index_name(index_dtype, call.length), "int64"),
    }
    return Plan(slots, TopK, top_k=k)


def plan_softmax_topk(
    call: Call, dtype: Any, *, k: Any, index_dtype: Any, kind: str, renormalize: bool,
    return_lse: bool,
) -> Plan:  # fmt: skip
    """Say what softmax_topk writes."""
    check_axes(call)
    k = check_k(k, call.length)
    code = kind_code(kind, renormalize)
    if call.textbook and (code != PROB or return_lse):
        raise ShapeError(
            f"kernel={call.textbook!r} gives probabilities over the whole row alone: kind='prob' "
            "without renormalize and return_lse is allowed"
        )
    name = float_dtype(dtype, call.statistic)
    if code:
        values = top(call, "scores", k, name)
    else:
        written = call.value_dtype(name) if return_lse else call.float_dtype
        values = top(call, "values", k, float_dtype(dtype, call.float_dtype), written)
    indices = top(call, "indices", k, index_name(index_dtype, call.length), "int64")
    slots = {"values": values, "indices": indices}
    if return_lse:
        slots["lse"] = statistic(call, "lse", name)
    return Plan(slots, SoftmaxTopK, code, top_k=k)


def kind_code(kind: str, renormalize: bool) -> int:
    """Return the native module's number for what the values shall be; 0 for logits."""
    code = _KINDS.get(kind) if isinstance(kind, str) else None
    if code is None:
        raise ShapeError(f"kind is {kind!r}; 'prob', 'logprob' or 'logit' is allowed")
    if renormalize and code == LOGIT:
        raise ShapeError("renormalize is True with kind='logit'; logits have no sum to divide by")
    return code + WINNERS if renormalize else code


TOP_K = Op("top_k", plan_top_k, run_reduce)
SOFTMAX_TOPK = Op("softmax_topk", plan_softmax_topk, run_reduce)
