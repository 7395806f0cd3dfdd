"""logsumexp: one number a row.

Knows nothing of the other ops.
"""

from __future__ import annotations

from typing import Any

from oneread.ops._arguments import Call, float_dtype, options_of
from oneread.ops._face import Op, Plan, run_op, run_reduce
from oneread.ops._output import statistic


def logsumexp(
    x: Any,
    axis: Any = -1,
    *,
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
) -> Any:
    """Return the natural logarithm of the sum of exponentials of each row.

    Parameters
    ----------
    x : array, any shape, bool|int|float16|bfloat16|float32|float64
        Logits, as in `softmax`.
    axis : int, tuple of int or None, default -1
        Axes that make up a row. None: all of them.
    keepdims : bool, default False
        Keep the axes, with length 1.
    where, lengths, temperature : array, optional
        As in `softmax`.
    dtype : str or dtype, optional
        Result type: float16, bfloat16, float32 or float64. Default: float32 for inputs up to
        32 bits, else float64.
    out : array, optional
        Where to write: the result's shape and type.
    workspace, threads, kernel, deterministic : optional
        As in `softmax`.

    Returns
    -------
    array
        `x` without the axes, of its library; an array without axes for a single row. `out`
        itself when it is given.

    Raises
    ------
    AxisError, ShapeError, DtypeError, BackendUnavailableError
        As in `softmax`.

    Notes
    -----
    ``lse = m / temperature + log1p(r)`` with m and r as in `log_softmax` [1]_: that of
    ``x / temperature``. 1 load and no store an element. Maximum error 8 ulp beyond twice that of
    the plain formula, for rows of up to 2,000,000 columns.

    A row of -inf only and an empty axis give -inf, a row with +inf gives +inf, a row with NaN
    NaN, a number without axes itself.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       Algorithm 3, lines 1-6.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> lse = oneread.logsumexp(np.array([[0.0, 0.0], [1000.0, 1000.0]]))
    >>> print([f"{value:.4f}" for value in lse])
    ['0.6931', '1000.6931']
    """
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    return run_op(LOGSUMEXP, x, axis, dtype, out, {"keepdims": keepdims}, options)


def plan(call: Call, dtype: Any, keepdims: bool) -> Plan:
    """Say what logsumexp writes."""
    return Plan({"lse": statistic(call, "lse", float_dtype(dtype, call.statistic), keepdims)})


LOGSUMEXP = Op("logsumexp", plan, run_reduce)
