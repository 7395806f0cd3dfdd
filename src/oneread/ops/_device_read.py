"""`read` of tensors that lie on a GPU: check, make the results, hand over to the kernel.

Knows nothing of pointers or launches beyond where each result lies. Nothing here waits for the GPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch

from oneread.backends import torch_
from oneread.backends import torch_cuda as gpu
from oneread.ops._arguments import Options, check_k, float_dtype, normalized_axes
from oneread.ops._device import _one_axis, _refuse, _temperature
from oneread.ops._numbers import integers, per_row_or_more
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
    """Read a tensor that lies on a GPU."""
    gpu.check(x, "x")
    _refuse(options, x)
    shape = tuple(x.shape)
    axes = normalized_axes(axis, shape, False, "read")
    rows = tuple([n for i, n in enumerate(shape) if i not in axes])
    length = math.prod([shape[i] for i in axes])
    _check_own(shape, length, own, x.device)
    held = gpu.memory(x).dtype
    computed = held if held in FLOAT_DTYPES else COMPUTE_DTYPE[held]
    statistic = STATISTIC_DTYPE[COMPUTE_DTYPE[computed]]
    with gpu.on(x):
        chosen, tail = selection(own["select"], x, rows)
        reduced = tuple([1 if i in axes else n for i, n in enumerate(shape)])
        slots = _slots(
            own, reduced if own["keepdims"] else rows, (*rows, *tail), statistic,
            float_dtype(dtype, statistic),
        )  # fmt: skip
        given = by_field(out, Read._fields, tuple(slots))
        memory = {name: _memory(x, slot, given[name], name) for name, slot in slots.items()}
        # `_kept_alive` is the memory of the temperatures until the kernel is in the stream.
        temperature, _kept_alive = _temperature(options.temperature, x, rows)
        source, place = _one_axis(x, axes)
        source = gpu.cast(source, computed)
        if math.prod(rows):
            cuda_read.read(
                gpu.memory(source), place, _asked(own, chosen),
                _places(memory, chosen), 0 if chosen is None else chosen.shape[-1],
                cuda.Manner(temperature, options.deterministic == "batch"),
            )  # fmt: skip
        made = {name: _finished(slots[name], memory[name], given[name]) for name in slots}
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


def selection(select: Any, x: Any, rows: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """Return the selected columns beside `x`, int64 (rows, s), and the axes that s has; or None."""
    if select is None:
        return None, ()
    if not gpu.is_on_gpu(select):
        array, tail = per_row_or_more(rows, integers(select, "select"), "select", "int64")
        return gpu.beside(x, torch.from_numpy(array)), tail
    gpu.check(select, "select")
    if select.dtype.is_floating_point or select.dtype is torch.bool:
        raise DtypeError(f"select holds {select.dtype}; integers are allowed")
    tail = tuple(select.shape[len(rows) :]) if select.ndim else ()
    if select.ndim and (tuple(select.shape[: len(rows)]) != rows or len(tail) > 1):
        raise ShapeError(
            f"select has shape {tuple(select.shape)}; {rows}, that of x without the axis, or one "
            "axis more at its end is allowed"
        )
    chosen = select.expand(rows) if not select.ndim else select
    chosen = chosen.to(device=x.device, dtype=torch.int64)
    return chosen.reshape(math.prod(rows), *(tail or (1,))).contiguous(), tail


def _check_own(shape: tuple[int, ...], length: int, own: dict[str, Any], where: Any) -> None:
    """Raise for what the op's own arguments do not allow, or what a GPU has not."""
    if not shape:
        raise ShapeError("x is one number without axes; read needs at least one axis")
    if check_k(own["top_k"], length, "top_k"):
        raise BackendUnavailableError(
            f"top_k is {own['top_k']} with x on {where}, where read finds none in this version: "
            "call softmax_topk beside it, or give x.cpu()"
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


def _memory(x: Any, slot: _Slot, out: Any, name: str) -> Any:
    """Return where the kernel writes: in place where that is its own type, side by side."""
    if out is not None:
        gpu.check_out(out, x, slot.shape, slot.dtype, f"out.{name}")
        if slot.dtype == slot.written and out.is_contiguous():
            return out
    return gpu.empty(x, slot.shape, slot.written)


def _finished(slot: _Slot, memory: Any, out: Any) -> Any:
    if out is None:
        return gpu.cast(memory, slot.dtype)
    if memory is not out:
        out.copy_(memory)
    torch_.written(out)
    return out


def _asked(own: dict[str, Any], chosen: Any) -> cuda_read.Asked:
    ranks = chosen.shape[-1] if own["rank"] else 0
    return cuda_read.Asked(bool(own["entropy"]), bool(own["sum_p2"]), bool(own["argmax"]), ranks)


def _places(memory: dict[str, Any], chosen: Any) -> cuda_read.Places:
    at = {name: held.data_ptr() for name, held in memory.items()}
    if chosen is not None:
        at["select"] = chosen.data_ptr()
    return cuda_read.Places(at.pop("lse"), **at)
