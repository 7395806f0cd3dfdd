"""The ops on arrays that lie on a GPU: check, make the results, hand over to the kernels.

Knows nothing of pointers, launches or array libraries. What the kernels cannot do yet is refused
by name.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from oneread.backends import find
from oneread.ops._arguments import (
    Options,
    check_axis_of_lengths,
    check_deterministic,
    check_lengths,
    check_temperature,
    float_dtype,
    normalized_axes,
)
from oneread.ops._numbers import INTEGERS
from oneread.runtime import cuda
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    OPS,
    STATISTIC_DTYPE,
    BackendUnavailableError,
    DtypeError,
)

_LATER: Final = ("workspace", "threads", "kernel")


class _Rows(NamedTuple):
    """The rows of a call, each along one axis, and how they are done."""

    gpu: Any
    """What knows the library of the arrays."""
    x: Any
    axis: int
    computed: str
    """Type of what the kernel reads."""
    where: Any
    temperature: cuda.Temperature | None
    lengths: Any
    """int64, one a row side by side, or None."""
    by_length: bool

    def manner(self, where: cuda.Memory | None) -> cuda.Manner:
        """Return it as the kernels take it, with the mask where it lies now."""
        lengths = 0 if self.lengths is None else self.gpu.memory(self.lengths).address
        return cuda.Manner(self.temperature, self.by_length, where, lengths)

    def fit(self, x: cuda.Memory, y: cuda.Memory | None, where: cuda.Memory | None) -> bool:
        """Whether the kernels can walk the rows as they lie; without `y` for one number a row."""
        others = [one and one.strides for one in (y, where)]
        return cuda.fit(x.shape, self.axis, x.strides, *others)


def run(
    op: str, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    """Run an op on an array that lies on a GPU."""
    if op == "read":
        from oneread.ops import _device_read

        return _device_read.run(x, axis, dtype, out, own, options)
    if op in ("top_k", "softmax_topk"):
        from oneread.ops import _device_topk

        return _device_topk.run(op, x, axis, dtype, out, own, options)
    gpu = find.gpu_backend(x)
    gpu.check(x, "x")
    _refuse(options, gpu.place(x))
    shape = tuple(x.shape)
    axes = normalized_axes(axis, shape, OPS[op].tuple_axes, op)
    with gpu.on(x):
        # `reads` is also what keeps memory alive until the kernel is in the stream.
        rows, reads = _rows(gpu, x, axes, axis is None, options)
        if op == "logsumexp":
            name = float_dtype(dtype, STATISTIC_DTYPE[COMPUTE_DTYPE[rows.computed]])
            return _logsumexp(rows, name, _reduced(shape, axes, own["keepdims"]), out, x, reads)
        name = float_dtype(dtype, rows.computed)
        if out is not None:
            gpu.check_out(out, x, shape, name, reads)
        if not cuda.writes(rows.computed, name):
            rows = rows._replace(computed="float64")
        if len(axes) == 1 and shape:
            return _softmax(op, rows, name, out)
        y = _softmax(op, rows, name, None)
        y = _as_before(gpu, y, shape, axes) if shape else y.reshape(())
        return y if out is None else gpu.copy_into(out, y)


def warm(
    op: str, shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]
) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    if op == "read":
        from oneread.ops import _device_read

        _device_read.warm(shape, dtype, device, arguments)
        return
    if op in ("top_k", "softmax_topk"):
        from oneread.ops import _device_topk

        _device_topk.warm(op, shape, dtype, device, arguments)
        return
    axes = normalized_axes(arguments["axis"], shape, OPS[op].tuple_axes, op)
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    if len(axes) > 1 or not shape:
        shape = (*rows, math.prod([shape[i] for i in axes]))
        axes = (len(rows),)
    computed = dtype if dtype in FLOAT_DTYPES else COMPUTE_DTYPE[dtype]
    written = computed
    if op != "logsumexp":
        written = float_dtype(arguments["dtype"], computed)
        if not cuda.writes(computed, written):
            computed = written = "float64"
    strides = tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])
    temperature = arguments["temperature"]
    kind = 0 if temperature is None else 1 if isinstance(temperature, (int, float)) else 2
    cuda.prepared(
        op, computed, shape, strides, strides, axes[0], kind, cuda.Places(), device,
        arguments["deterministic"] == "batch",
        None if arguments["where"] is None else strides, arguments["lengths"] is not None, written,
    )  # fmt: skip


def _refuse(options: Options, place: str) -> None:
    for name in _LATER:
        if getattr(options, name) is not None:
            raise BackendUnavailableError(
                f"{name} is given with x on {place}, where this version takes none: leave it None, "
                "or give a copy on a CPU"
            )
    check_deterministic(options.deterministic)


def _rows(
    gpu: Any, x: Any, axes: tuple[int, ...], flat: bool, options: Options
) -> tuple[_Rows, list[tuple[str, Any]]]:
    """Return the rows of a call, and what is read beside `x`, with its role."""
    shape = tuple(x.shape)
    others = tuple([n for i, n in enumerate(shape) if i not in axes])
    reads: list[tuple[str, Any]] = []
    where: Any = None
    lengths: Any = None
    if options.where is not None:
        where = _mask(gpu, options.where, x)
        reads.append(("where", where))
        where, _ = _one_axis(gpu, where, axes)
    if options.lengths is not None:
        length = math.prod([shape[i] for i in axes]) if shape else 1
        check_axis_of_lengths(axes, flat)
        lengths = _lengths(gpu, options.lengths, x, others, length)
        reads.append(("lengths", lengths))
    temperature = options.temperature
    if temperature is not None:
        temperature = _temperature(gpu, temperature, x, others, reads)
    held = gpu.dtype_of(x)
    computed = held if held in FLOAT_DTYPES else COMPUTE_DTYPE[held]
    x, axis = _one_axis(gpu, x, axes)
    by_length = options.deterministic == "batch"
    return _Rows(gpu, x, axis, computed, where, temperature, lengths, by_length), reads


def _softmax(op: str, rows: _Rows, name: str, out: Any) -> Any:
    """Write `out`, in place where the kernel's type is its own."""
    gpu = rows.gpu
    x = gpu.cast(rows.x, rows.computed)
    written = name if cuda.writes(rows.computed, name) else rows.computed
    direct = out is not None and written == name
    y = out if direct else gpu.empty_like(x, written)
    of_x, of_y, where = gpu.memory(x), gpu.memory(y), _memory(gpu, rows.where)
    fits = rows.fit(of_x, of_y, where)
    if not fits and where is not None:
        held = gpu.dense_like(rows.where, x)
        where = gpu.memory(held)
        fits = rows.fit(of_x, of_y, where)
    if not fits:
        direct, x = False, gpu.contiguous(x)
        y = gpu.empty(x, x.shape, written)
        held = None if where is None else gpu.contiguous(rows.where)
        of_x, of_y, where = gpu.memory(x), gpu.memory(y), _memory(gpu, held)
    if math.prod(of_x.shape):
        cuda.softmax(of_x, of_y, rows.axis, op == "log_softmax", rows.manner(where))
    if direct:
        gpu.written(out)
        return out
    y = gpu.cast(y, name)
    return y if out is None else gpu.copy_into(out, y)


def _logsumexp(
    rows: _Rows, name: str, shape: tuple[int, ...], out: Any, given: Any,
    reads: list[tuple[str, Any]],
) -> Any:  # fmt: skip
    gpu = rows.gpu
    if out is not None:
        gpu.check_out(out, given, shape, name, reads)
    x = gpu.cast(rows.x, rows.computed)
    others = tuple([n for i, n in enumerate(x.shape) if i != rows.axis])
    statistic = STATISTIC_DTYPE[COMPUTE_DTYPE[rows.computed]]
    direct = out is not None and statistic == name and gpu.is_contiguous(out)
    lse = out.reshape(others) if direct else gpu.empty(x, others, statistic)
    of_x, where = gpu.memory(x), _memory(gpu, rows.where)
    fits = rows.fit(of_x, None, where)
    if not fits and where is not None:
        held = gpu.dense_like(rows.where, x)
        where = gpu.memory(held)
        fits = rows.fit(of_x, None, where)
    if not fits:
        x = gpu.contiguous(x)
        held = None if where is None else gpu.contiguous(rows.where)
        of_x, where = gpu.memory(x), _memory(gpu, held)
    if math.prod(others):
        cuda.logsumexp(of_x, gpu.memory(lse), rows.axis, rows.manner(where))
    if direct:
        gpu.written(out)
        return out
    lse = gpu.cast(lse, name).reshape(shape)
    return lse if out is None else gpu.copy_into(out, lse)


def _memory(gpu: Any, mask: Any) -> cuda.Memory | None:
    return None if mask is None else gpu.memory(mask)


def _one_axis(gpu: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any, int]:
    """Return `x` with its row along one axis, and which; several axes are made one by copying."""
    if not x.ndim:
        return x.reshape(1), 0
    if len(axes) == 1:
        return x, axes[0]
    others = [i for i in range(x.ndim) if i not in axes]
    moved = gpu.permuted(x, [*others, *axes])
    row = math.prod([x.shape[i] for i in axes])
    return moved.reshape((*[x.shape[i] for i in others], row)), len(others)


def _as_before(gpu: Any, y: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Return a result of `_one_axis` with its axes where those of the input are."""
    others = [i for i in range(len(shape)) if i not in axes]
    order = [*others, *axes]
    y = y.reshape([shape[i] for i in order])
    return gpu.permuted(y, [order.index(i) for i in range(len(shape))])


def _reduced(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims and shape:
        return tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def _mask(gpu: Any, given: Any, x: Any) -> Any:
    """Return a mask as bytes beside `x`, in its shape; what it broadcasts over is not copied."""
    if gpu.is_on_gpu(given):
        gpu.check(given, "where")
        dtype = gpu.dtype_of(given)
    else:
        view = find.view(given, "where")
        given, dtype = view.array, view.dtype
    if dtype != "bool":
        raise DtypeError(f"where holds {dtype}; bool is allowed: give mask.astype(bool)")
    return gpu.spread(given, x, tuple(x.shape), "bool", "where", "x")


def _lengths(gpu: Any, given: Any, x: Any, rows: tuple[int, ...], length: int) -> Any:
    """Return lengths as int64 beside `x`, side by side; those on a GPU are not looked at."""
    if not gpu.is_on_gpu(given):
        given = check_lengths(given, length)
    elif gpu.dtype_of(given) not in INTEGERS:
        raise DtypeError(f"lengths holds {gpu.dtype_of(given)}; integers are allowed")
    return _per_row(gpu, given, x, rows, "int64", "lengths")


def _temperature(
    gpu: Any, given: Any, x: Any, rows: tuple[int, ...], reads: list[tuple[str, Any]]
) -> cuda.Temperature:
    """Return a temperature as the kernels take it; looking at one on the GPU would wait for it."""
    if gpu.is_on_gpu(given):
        gpu.check(given, "temperature")
    else:
        given = check_temperature(given)
        if isinstance(given, float):
            return cuda.Temperature(given)
    held = _per_row(gpu, given, x, rows, "float64", "temperature")
    reads.append(("temperature", held))
    return cuda.Temperature(address=gpu.memory(held).address)


def _per_row(gpu: Any, numbers: Any, x: Any, rows: tuple[int, ...], dtype: str, role: str) -> Any:
    if not gpu.is_on_gpu(numbers):
        numbers = gpu.beside(x, np.array(numbers, dtype, order="C"))
    held = gpu.spread(numbers, x, rows, dtype, role, "x without the axis")
    return gpu.contiguous(held)


__all__ = ["run", "warm"]
