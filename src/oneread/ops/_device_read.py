"""`read` of arrays that lie on a GPU: check, make the results, hand over to the kernel.

Knows nothing of pointers, launches or array libraries. Nothing here waits for the GPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from oneread.backends import find
from oneread.ops._arguments import Options, check_k, float_dtype, normalized_axes
from oneread.ops._device import _one_axis, _reduced, _refuse, _temperature
from oneread.ops._numbers import INTEGERS, integers, per_row_or_more
from oneread.ops._output import by_field
from oneread.runtime import cuda, cuda_read
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    STATISTIC_DTYPE,
    BackendUnavailableError,
    DtypeError,
    Read,
    ShapeError,
)


class _Slot(NamedTuple):
    """One output: its shape and type, and the type that the kernel writes."""

    shape: tuple[int, ...]
    dtype: str
    written: str


def run(x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options) -> Read:
    """Read an array that lies on a GPU."""
    gpu = find.gpu_backend(x)
    gpu.check(x, "x")
    _refuse(options, gpu.place(x))
    refuse_masks(options, gpu.place(x))
    shape = tuple(x.shape)
    axes = normalized_axes(axis, shape, False, "read")
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    _check_own(shape, math.prod([shape[i] for i in axes]), own, gpu.place(x))
    held = gpu.dtype_of(x)
    computed = held if held in FLOAT_DTYPES else COMPUTE_DTYPE[held]
    statistic = STATISTIC_DTYPE[COMPUTE_DTYPE[computed]]
    reads: list[tuple[str, Any]] = []  # which keeps memory alive until the kernel is launched
    with gpu.on(x):
        chosen, tail = selection(gpu, own["select"], x, rows)
        if chosen is not None:
            reads.append(("select", chosen))
        slots = _slots(
            own, _reduced(shape, axes, own["keepdims"]), (*rows, *tail), statistic,
            float_dtype(dtype, statistic),
        )  # fmt: skip
        given = by_field(out, Read._fields, tuple(slots))
        temperature = options.temperature
        if temperature is not None:
            temperature = _temperature(gpu, temperature, x, rows, reads)
        memory = {
            name: _memory(gpu, x, slot, given[name], f"out.{name}", reads)
            for name, slot in slots.items()
        }
        source, place = _one_axis(gpu, x, axes)
        source = walkable(gpu, gpu.cast(source, computed), place)
        if math.prod(rows):
            cuda_read.read(
                gpu.memory(source), place, _asked(own, chosen), _fields(gpu, memory, chosen),
                0 if chosen is None else chosen.shape[-1],
                cuda.Manner(temperature, options.deterministic == "batch"),
            )  # fmt: skip
        made = {name: _finished(gpu, slots[name], memory[name], given[name]) for name in slots}
    return out if isinstance(out, Read) else Read(**made)


def warm(shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    axes = normalized_axes(arguments["axis"], shape, False, "read")
    length = math.prod([shape[i] for i in axes])
    _check_own(shape, length, arguments, f"cuda:{device}")
    if len(axes) > 1:
        shape, axes = (length,), (0,)
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    strides = tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])
    chosen: tuple[int, ...] = np.shape(arguments["select"]) if arguments["rank"] else (0,)
    ranks = 1 if len(chosen) <= len(rows) and arguments["rank"] else chosen[-1]
    temperature = arguments["temperature"]
    kind = 0 if temperature is None else 1 if isinstance(temperature, (int, float)) else 2
    asked = cuda_read.Asked(
        bool(arguments["entropy"]), bool(arguments["sum_p2"]), bool(arguments["argmax"]), ranks
    )
    computed = dtype if dtype in FLOAT_DTYPES else COMPUTE_DTYPE[dtype]
    for now in cuda_read.launches(asked):
        cuda_read.prepared(
            now, computed, shape, strides, axes[0], kind, 0, device,
            arguments["deterministic"] == "batch",
        )  # fmt: skip


def refuse_masks(options: Options, place: str) -> None:
    """Raise for masks and lengths, which `read` does not take on a GPU yet."""
    for name in ("where", "lengths"):
        if getattr(options, name) is not None:
            raise BackendUnavailableError(
                f"{name} is given with x on {place}, where read and State take none in this "
                "version: leave it None, or give a copy on a CPU"
            )


def walkable(gpu: Any, x: Any, axis: int) -> Any:
    """Return `x`, copied where the kernels cannot walk its rows as they lie."""
    fits = cuda.fit(tuple(x.shape), axis, gpu.memory(x).strides, None)
    return x if fits else gpu.contiguous(x)


def selection(gpu: Any, select: Any, x: Any, rows: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Return the selected columns beside `x`, int64 (rows, s), and the axes that s has; or None."""
    if select is None:
        return None, ()
    if not gpu.is_on_gpu(select):
        array, tail = per_row_or_more(rows, integers(select, "select"), "select", "int64")
        return gpu.beside(x, array), tail
    gpu.check(select, "select")
    if gpu.dtype_of(select) not in INTEGERS:
        raise DtypeError(f"select holds {gpu.dtype_of(select)}; integers are allowed")
    shape = tuple(select.shape)
    tail = shape[len(rows) :] if shape else ()
    if shape and (shape[: len(rows)] != rows or len(tail) > 1):
        raise ShapeError(
            f"select has shape {shape}; {rows}, that of x without the axis, or one axis more at "
            "its end is allowed"
        )
    chosen = gpu.spread(select, x, (*rows, *tail), "int64", "select", "x without the axis")
    return gpu.contiguous(chosen).reshape(math.prod(rows), *(tail or (1,))), tail


def _check_own(shape: tuple[int, ...], length: int, own: dict[str, Any], where: Any) -> None:
    """Raise for what the op's own arguments do not allow, or what a GPU has not."""
    if not shape:
        raise ShapeError("x is one number without axes; read needs at least one axis")
    if check_k(own["top_k"], length, "top_k"):
        raise BackendUnavailableError(
            f"top_k is {own['top_k']} with x on {where}, where read finds none in this version: "
            "call softmax_topk beside it, or give a copy on a CPU"
        )
    if own["argmax"] and not length:
        raise ShapeError("argmax is asked for of an axis of length 0, which has no largest column")
    if own["rank"] and own["select"] is None:
        raise ShapeError("rank is asked for without select: give the columns whose rank is wanted")


def _slots(
    own: dict[str, Any], one: tuple[int, ...], chosen: tuple[int, ...], statistic: str, name: str
) -> dict[str, _Slot]:
    """Return what is written, in the order of `Read`."""
    number, column = _Slot(one, name, statistic), _Slot(one, "int64", "int64")
    slots = {"lse": number, "max": number}
    if own["argmax"]:
        slots["argmax"] = column
    if own["select"] is not None:
        slots["selected"] = number._replace(shape=chosen)
        if own["rank"]:
            slots["rank"] = column._replace(shape=chosen)
    return slots | {field: number for field in ("entropy", "sum_p2") if own[field]}


def _memory(
    gpu: Any, x: Any, slot: _Slot, out: Any, role: str, reads: list[tuple[str, Any]]
) -> Any:
    """Return where the kernel writes: in place where that is its own type, side by side."""
    if out is not None:
        gpu.check_out(out, x, slot.shape, slot.dtype, reads, role)
        reads.append((role, out))
        if slot.dtype == slot.written and gpu.is_contiguous(out):
            return out
    return gpu.empty(x, slot.shape, slot.written)


def _finished(gpu: Any, slot: _Slot, memory: Any, out: Any) -> Any:
    if out is None:
        return gpu.cast(memory, slot.dtype)
    if memory is not out:
        return gpu.copy_into(out, memory)
    gpu.written(out)
    return out


def _asked(own: dict[str, Any], chosen: Any) -> cuda_read.Asked:
    ranks = chosen.shape[-1] if own["rank"] else 0
    return cuda_read.Asked(bool(own["entropy"]), bool(own["sum_p2"]), bool(own["argmax"]), ranks)


def _fields(gpu: Any, memory: dict[str, Any], chosen: Any) -> cuda_read.Fields:
    at = {name: gpu.memory(held).address for name, held in memory.items()}
    if chosen is not None:
        at["select"] = gpu.memory(chosen).address
    return cuda_read.Fields(at.pop("lse"), **at)
