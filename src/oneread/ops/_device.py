"""The ops on tensors that lie on a GPU: check, make the results, hand over to the kernels.

Knows nothing of pointers or launches. What the kernels cannot do yet is refused by name.
"""

from __future__ import annotations

import math
from typing import Any, Final

from oneread.backends import torch_
from oneread.backends import torch_cuda as gpu
from oneread.ops._arguments import (
    Options,
    check_deterministic,
    check_temperature,
    float_dtype,
    normalized_axes,
)
from oneread.runtime import cuda
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    OPS,
    STATISTIC_DTYPE,
    BackendUnavailableError,
)

_OPS: Final = ("softmax", "log_softmax", "logsumexp")
_LATER: Final = ("where", "lengths", "workspace", "threads", "kernel")


def again(op: str, x: Any, out: Any) -> Any | None:
    """Do the common case with as little Python as possible; None leaves it to `run`.

    That is softmax or log_softmax along the last axis, without options.
    """
    y = gpu.plain_pair(x, out)
    if y is None:
        return None
    strides, x_at, y_at, device = x.stride(), x.data_ptr(), y.data_ptr(), x.get_device()
    if x_at % cuda.VECTOR_BYTES or y_at % cuda.VECTOR_BYTES or not x.numel() or not strides:
        return None
    launch = cuda.prepared(
        op, gpu.FLOATS[x.dtype], x.shape, strides, y.stride(), len(strides) - 1, 0, 0, 0, device,
        False,
    )  # fmt: skip
    launch(gpu.raw_stream(device), x_at, y_at)
    if out is not None:
        torch_.written(out)
    return y


def run(
    op: str, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    """Run an op on a tensor that lies on a GPU."""
    if op in ("top_k", "softmax_topk"):
        from oneread.ops import _device_topk

        return _device_topk.run(op, x, axis, dtype, out, own, options)
    _refuse_op(op, x.device)
    gpu.check(x, "x")
    _refuse(options, x)
    shape = tuple(x.shape)
    axes = normalized_axes(axis, shape, OPS[op].tuple_axes, op)
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    # `_kept_alive` is the memory of the temperatures until the kernel is in the stream.
    temperature, _kept_alive = _temperature(options.temperature, x, rows)
    manner = cuda.Manner(temperature, options.deterministic == "batch")
    source, place = _one_axis(x, axes)
    held = gpu.memory(x).dtype
    computed = held if held in FLOAT_DTYPES else COMPUTE_DTYPE[held]
    if op == "logsumexp":
        name = float_dtype(dtype, STATISTIC_DTYPE[COMPUTE_DTYPE[held]])
        reduced = tuple([1 if i in axes else n for i, n in enumerate(shape)])
        kept = own["keepdims"] and bool(shape)
        result_shape = reduced if kept else rows
        return _logsumexp(x, source, place, computed, name, result_shape, out, manner)
    name = float_dtype(dtype, computed)
    if out is not None:
        gpu.check_out(out, x, shape, name)
    if place == axes[0] and len(axes) == 1 and shape:
        return _softmax(op, x, place, _wider(computed, name), name, out, manner)
    y = _softmax(op, source, place, _wider(computed, name), name, None, manner)
    y = _as_before(y, shape, axes) if shape else y.reshape(())
    return y if out is None else out.copy_(y)


def warm(
    op: str, shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]
) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    if op in ("top_k", "softmax_topk"):
        from oneread.ops import _device_topk

        _device_topk.warm(op, shape, dtype, device, arguments)
        return
    _refuse_op(op, f"cuda:{device}")
    axes = normalized_axes(arguments["axis"], shape, OPS[op].tuple_axes, op)
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    if len(axes) > 1 or not shape:
        shape = (*rows, math.prod([shape[i] for i in axes]))
        axes = (len(rows),)
    computed = dtype if dtype in FLOAT_DTYPES else COMPUTE_DTYPE[dtype]
    if op != "logsumexp":
        computed = _wider(computed, float_dtype(arguments["dtype"], computed))
    strides = tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])
    temperature = arguments["temperature"]
    kind = 0 if temperature is None else 1 if isinstance(temperature, (int, float)) else 2
    by_length = arguments["deterministic"] == "batch"
    cuda.prepared(
        op, computed, shape, strides, strides, axes[0], kind, 0, 0, device, by_length,
    )  # fmt: skip


def _refuse_op(op: str, device: Any) -> None:
    if op not in _OPS:
        raise BackendUnavailableError(
            f"x is on {device}, where this version computes {', '.join(_OPS)}: for {op} give "
            "x.cpu()"
        )


def _softmax(
    op: str,
    x: Any,
    axis: int,
    computed: str,
    name: str,
    out: Any,
    manner: cuda.Manner,
) -> Any:
    """Write `out`, in place where the kernel's type is its own."""
    with gpu.on(x):
        source = gpu.cast(x, computed)
        direct = out is not None and computed == name
        y = out if direct else gpu.empty_like(x, computed)
        if y.numel():
            cuda.softmax(gpu.memory(source), gpu.memory(y), axis, op == "log_softmax", manner)
        if direct:
            torch_.written(out)
            return out
        y = gpu.cast(y, name)
        return y if out is None else out.copy_(y)


def _logsumexp(
    x: Any, source: Any, place: int, computed: str, name: str, shape: tuple[int, ...], out: Any,
    manner: cuda.Manner,
) -> Any:  # fmt: skip
    if out is not None:
        gpu.check_out(out, x, shape, name)
    rows = tuple([n for i, n in enumerate(source.shape) if i != place])
    statistic = STATISTIC_DTYPE[COMPUTE_DTYPE[computed]]
    with gpu.on(x):
        source = gpu.cast(source, computed)
        direct = out is not None and statistic == name and out.is_contiguous()
        lse = out.view(rows) if direct else gpu.empty(x, rows, statistic)
        if lse.numel():
            cuda.logsumexp(gpu.memory(source), gpu.memory(lse), place, manner)
        if direct:
            torch_.written(out)
            return out
        lse = gpu.cast(lse, name).reshape(shape)
        return lse if out is None else out.copy_(lse)


def _one_axis(x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Return `x` with its row along one axis, and which; several axes are made one by copying."""
    if not x.ndim:
        return x.reshape(1), 0
    if len(axes) == 1:
        return x, axes[0]
    others = [i for i in range(x.ndim) if i not in axes]
    moved = x.permute(*others, *axes)
    return moved.reshape(*[x.shape[i] for i in others], -1), len(others)


def _as_before(y: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return a result of `_one_axis` with its axes where those of the input are."""
    others = [i for i in range(len(shape)) if i not in axes]
    order = [*others, *axes]
    y = y.reshape([shape[i] for i in order])
    return y.permute([order.index(i) for i in range(len(shape))])


def _wider(a: str, b: str) -> str:
    """Return the type to compute in, which holds the numbers of both."""
    if a == b:
        return a
    return "float64" if "float64" in (a, b) else "float32"


def _refuse(options: Options, x: Any) -> None:
    for name in _LATER:
        if getattr(options, name) is not None:
            raise BackendUnavailableError(
                f"{name} is given with x on {x.device}, where this version takes none: leave it "
                "None, or give x.cpu()"
            )
    check_deterministic(options.deterministic)


def _temperature(given: Any, x: Any, rows: tuple[int, ...]) -> tuple[cuda.Temperature | None, Any]:
    """Return a temperature as the kernels take it, and what keeps its memory."""
    if given is None:
        return None, None
    if gpu.is_on_gpu(given) and given.ndim:  # looking at the numbers would wait for the GPU
        held = gpu.per_row(given, x, rows)
        return cuda.Temperature(address=held.data_ptr()), held
    checked = check_temperature(given.cpu() if gpu.is_on_gpu(given) else given)
    if isinstance(checked, float):
        return cuda.Temperature(checked), None
    held = gpu.per_row(checked, x, rows)
    return cuda.Temperature(address=held.data_ptr()), held


__all__ = ["run"]
