"""softmax and log_softmax: a result as long as the row.

Knows nothing of the other ops.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from oneread.backends import find
from oneread.ops._arguments import Call, float_dtype, options_of
from oneread.ops._face import Op, Plan, run_op, run_textbook
from oneread.ops._output import Slot, row_output
from oneread.runtime import cpu, reuse

_FLOATS: Final = frozenset(np.dtype(name) for name in ("float16", "float32", "float64"))
_LAST_AXIS: Final = tuple((ndim - 1,) for ndim in range(65))


def softmax(
    x: Any,
    axis: Any = -1,
    *,
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
    """Return the probabilities of each row.

    Parameters
    ----------
    x : array, any shape, bool|int|float16|bfloat16|float32|float64
        Logits: NumPy, PyTorch on a CPU or an NVIDIA GPU, CuPy, a list, or anything NumPy can see.
        Any strides and byte order; read-only memory is fine.
    axis : int, tuple of int or None, default -1
        Axes that make up a row. None: all of them, in C order.
    where : array of bool, optional
        Broadcasts to the shape of `x`. False acts exactly as -inf, also over a NaN.
    lengths : array of int, optional
        One a row, broadcast to the shape of `x` without the axis, with a single axis or None.
        Columns at or beyond it act as -inf and are never read. One that lies on a GPU and that
        no row can have makes its row NaN.
    temperature : float or array of float, optional
        What the logits are divided by, after the maximum is subtracted: finite and above 0, one
        number or one a row.
    dtype : str or dtype, optional
        Result type: float16, bfloat16, float32 or float64. Default: the input's; for integers
        what they are converted to, float32 (up to 16 bits) or float64.
    out : array, optional
        Where to write: the result's shape and type, any strides. It may be `x` itself; it must
        not share other memory with an input.
    workspace : None
        A call on a CPU takes none.
    threads : int, optional
        At least 1, at most 256 are used; default `get_threads()`.
    kernel : {'lazy', 'naive', 'safe', 'online', 'two_pass'}, optional
        Which algorithm to run. None chooses ``lazy``, our own. The others are those of the
        textbooks [1]_ [2]_, to be compared with: they take floats side by side along the axis,
        and neither masks, temperatures nor another dtype.
    deterministic : {'run', 'batch'}, optional
        Both hold on a CPU: a row's bits depend on that row alone. On a GPU ``batch`` makes the
        launch depend on the length of the row alone, and so do its bits.

    Returns
    -------
    array
        Same shape and library as `x`; `out` itself when it is given.

    Raises
    ------
    AxisError
        If `axis` is not an axis of `x`.
    ShapeError
        If a shape or the value of an option does not fit; the message says what does.
    DtypeError
        If `x` or an option is of a type that is not computed: complex, strings, masked arrays.
    BackendUnavailableError
        If `x` lies on a GPU and `threads` or `kernel` is given, which a CPU alone has; if `out`
        is given, or `temperature` requires a gradient, while one is expected.
    KernelCompileError
        If the compiler refuses a kernel for the GPU of `x`; carries its log.

    Notes
    -----
    ``y = exp((x - m) / temperature) / d`` with m the row's maximum and d the sum of the
    exponentials [1]_. Each element of `x` is read once; its exponential is kept, in scratch or in
    `out`, until it can be divided. 16-bit input is computed and summed in float32. Maximum error
    8 ulp beyond twice that of the plain formula, for rows of up to 2,000,000 columns; results below
    the normal range may be 0.

    A row of -inf only, a row with +inf and a row with NaN are NaN; single -inf entries are exact
    zeros. An empty axis gives an empty result, a number without axes 1.0.

    ``naive`` subtracts no maximum: where exp(x) overflows it gives NaN or 0, and where all of
    them vanish NaN. ``two_pass`` gives NaN for a row without a logit within 2,900,000 of 0
    (float64: 740,000,000).

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       Algorithms 1 to 3.
    .. [2] M. Dukhan, A. Ablavatski, "The two-pass softmax algorithm", 2020.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> y = oneread.softmax(np.array([[0.0, 1.0, -np.inf]]))
    >>> print(y.round(4))
    [[0.2689 0.7311 0.    ]]
    """
    if (
        where is None and lengths is None and temperature is None and dtype is None
        and workspace is None and threads is None and kernel is None and deterministic is None
        and type(axis) is int and axis == -1
    ):  # fmt: skip
        quick = _default_call if type(x) is np.ndarray else plain_torch_call
        y = quick(x, out, False)
        if y is not None:
            return y
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    return run_op(SOFTMAX, x, axis, dtype, out, {}, options)


def log_softmax(
    x: Any,
    axis: Any = -1,
    *,
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
    """Return the log-probabilities of each row.

    Parameters
    ----------
    x : array, any shape, bool|int|float16|bfloat16|float32|float64
        Logits, as in `softmax`.
    axis : int, tuple of int or None, default -1
        Axes that make up a row. None: all of them, in C order.
    where, lengths, temperature : array, optional
        As in `softmax`.
    dtype : str or dtype, optional
        As in `softmax`.
    out : array, optional
        As in `softmax`.
    workspace, threads, kernel, deterministic : optional
        As in `softmax`.

    Returns
    -------
    array
        Same shape and library as `x`, in its type; `out` itself when it is given.

    Raises
    ------
    AxisError, ShapeError, DtypeError, BackendUnavailableError
        As in `softmax`.

    Notes
    -----
    ``y = (x - m) / temperature - log1p(r)`` with m the row's maximum and r the sum of
    ``exp((x - m) / temperature)`` over all columns but the one that holds it [1]_: the maximum
    never enters the sum, so a log-probability near 0 keeps its digits (2 ulp for every gap from
    1 to 87). 2 loads and 1 store an element.

    A row of -inf only, a row with +inf and a row with NaN are NaN; single -inf entries stay -inf.
    An empty axis gives an empty result, a number without axes 0.0.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       Algorithm 3.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> y = oneread.log_softmax(np.array([20.0, 0.0]))
    >>> print(f"{y[0]:.3e} {y[1]:.3f}")
    -2.061e-09 -20.000
    """
    if (
        where is None and lengths is None and temperature is None and dtype is None
        and workspace is None and threads is None and kernel is None and deterministic is None
        and type(axis) is int and axis == -1
    ):  # fmt: skip
        quick = _default_call if type(x) is np.ndarray else plain_torch_call
        y = quick(x, out, True)
        if y is not None:
            return y
    options = options_of(where, lengths, temperature, workspace, threads, kernel, deterministic)
    return run_op(LOG_SOFTMAX, x, axis, dtype, out, {}, options)


def _default_call(x: Any, out: Any, log: bool) -> Any | None:
    """Run the common case with as little Python as possible; None leaves it to the general one."""
    if x.dtype not in _FLOATS or not x.ndim:
        return None
    fresh = out is None
    if fresh:
        y = np.empty_like(x, order="C" if 0 in x.strides else "K")
        if y.nbytes >= reuse.LARGE_BYTES:
            y, fresh = reuse.large(y)
    elif (
        type(out) is np.ndarray
        and out.dtype == x.dtype
        and out.shape == x.shape
        and out.flags.carray
        and (out is x or _are_apart(out, x))
    ):
        y = out
    else:
        return None
    cpu.native.softmax(x, y, _LAST_AXIS[x.ndim], log, None, None, None, cpu.threads, fresh)
    return y


def _are_apart(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays share no memory; arrays that own theirs need no look."""
    if a.base is None and b.base is None and a.flags.owndata and b.flags.owndata:
        return True
    return not np.may_share_memory(a, b)


def plain_torch_call(x: Any, out: Any, log: bool) -> Any | None:
    """Run the common case of tensors; None leaves it to the general one."""
    torch_ = find.torch_found or find.torch_backend()
    if torch_ is None:
        return None
    if type(x) is torch_.TENSOR and x.is_cuda:
        if torch_.in_dynamo():
            return None
        if x.requires_grad:
            return _with_gradient(torch_, x, out, log)
        return _cuda_calls()(log, x, None, out)
    pair = torch_.plain_pair(x, out)
    if pair is None:
        return _with_gradient(torch_, x, out, log)
    x_operand, y_operand, y = pair
    axis = _LAST_AXIS[len(x_operand[2])]
    cpu.native.softmax(x_operand, y_operand, axis, log, None, None, None, cpu.threads, out is None)
    if out is not None:
        torch_.written(out)
    return y


def _with_gradient(torch_: Any, x: Any, out: Any, log: bool) -> Any | None:
    """Run the common case where a gradient is wanted; None when something is out of the way."""
    if out is not None or type(x) not in torch_.PLAIN_TYPES or torch_.is_compiling():
        return None
    return _short()(x, log) if x.requires_grad and x.ndim else None


@cache
def _short() -> Any:
    from oneread.ops import _derive_softmax

    return _derive_softmax.short


@cache
def _cuda_calls() -> Any:
    from oneread.ops import _device_calls

    return _device_calls.made()


def plan(call: Call, dtype: Any) -> Plan:
    """Say what softmax and log_softmax write."""
    name = float_dtype(dtype, call.float_dtype)
    return Plan({"y": Slot("y", call.shape, name, name)})


def run(call: Call, plan: Plan, out: Any) -> Any:
    """Write the probabilities of each row, or their logarithms."""
    dtype = plan.slots["y"].dtype
    y, fresh = row_output(call, dtype, out)
    if call.textbook:
        run_textbook(call, y.operand, fresh)
    else:
        cpu.native.softmax(
            call.operand, y.operand, call.axes, call.op == "log_softmax", call.where, call.lengths,
            call.temperature, call.threads, fresh,
        )  # fmt: skip
    if out is not None:
        call.backend.written(out)
        return out
    return call.backend.wrap(y.array.reshape(call.shape), dtype, call.source.x)


SOFTMAX = Op("softmax", plan, run)
LOG_SOFTMAX = Op("log_softmax", plan, run)
