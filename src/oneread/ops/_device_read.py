"""`read` of arrays that lie on a GPU: check, make the results, hand over to the kernel.

Knows nothing of pointers, launches or array libraries. Nothing here waits for the GPU.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from oneread.backends import find
from oneread.ops import _device_topk
from oneread.ops._arguments import Options, check_k, float_dtype, normalized_axes
from oneread.ops._device import _memory, _reduced, _refuse, _Rows, _rows
from oneread.ops._device_topk import find_winners, finished, memory_for
from oneread.ops._face import LOGPROB
from oneread.ops._numbers import INTEGERS, integers, per_row_or_more
from oneread.ops._output import by_field
from oneread.runtime import cuda, cuda_read, cuda_topk
from oneread.spec import (
    COMPUTE_DTYPE,
    FLOAT_DTYPES,
    STATISTIC_DTYPE,
    DtypeError,
    Read,
    ShapeError,
)

#: Fields that the kernels of top-k can write by themselves.
_OF_WINNERS: Final = {"lse", "max", "argmax", "values", "indices", "logprobs"}


class _Slot(NamedTuple):
    """One output: its shape and type, and the type that the kernel writes."""

    shape: tuple[int, ...]
    dtype: str
    written: str
    place: int | None = None
    """Axis that holds the k numbers of a row, if not the last."""


def run(x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options) -> Read:
    """Read an array that lies on a GPU."""
    gpu = find.gpu_backend(x)
    gpu.check(x, "x")
    _refuse(options, gpu.place(x))
    shape = tuple(x.shape)
    axes = normalized_axes(axis, shape, False, "read")
    others = tuple([n for i, n in enumerate(shape) if i not in axes])
    k = _check_own(shape, math.prod([shape[i] for i in axes]), own)
    with gpu.on(x):
        # `reads` is also what keeps memory alive until the kernels are in the stream.
        rows, reads = _rows(gpu, x, axes, axis is None, options)
        chosen, tail = selection(gpu, own["select"], x, others)
        if chosen is not None:
            reads.append(("select", chosen))
        statistic = STATISTIC_DTYPE[COMPUTE_DTYPE[rows.computed]]
        slots = _slots(
            own, _reduced(shape, axes, own["keepdims"]), (*others, *tail), statistic,
            float_dtype(dtype, statistic),
        )  # fmt: skip
        if k:
            slots |= _top_slots(k, shape, axes, rows.computed, slots["lse"])
        slots = {name: slots[name] for name in Read._fields if name in slots}
        given = by_field(out, Read._fields, tuple(slots))
        memory = {
            name: memory_for(gpu, x, others, slot, slot.written, given[name], f"out.{name}", reads)
            for name, slot in slots.items()
        }
        if math.prod(others):
            _launch(rows._replace(x=gpu.cast(rows.x, rows.computed)), own, k, memory, chosen)
        made = {name: finished(gpu, slots[name], memory[name], given[name]) for name in slots}
    return out if isinstance(out, Read) else Read(**made)


def warm(shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    axes = normalized_axes(arguments["axis"], shape, False, "read")
    length = math.prod([shape[i] for i in axes])
    k = _check_own(shape, length, arguments)
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
    by_length = arguments["deterministic"] == "batch"
    masks = None if arguments["where"] is None else strides
    lengths = arguments["lengths"] is not None
    for now in cuda_read.launches(asked):
        cuda_read.prepared(
            now, computed, shape, strides, axes[0], kind, cuda.Places(), device, by_length, masks,
            lengths,
        )  # fmt: skip
    if k:
        top = {
            "k": k, "kind": "logprob", "renormalize": False, "return_lse": False,
            "index_dtype": None, "axis": axes[0], "dtype": None,
        }  # fmt: skip
        _device_topk.warm("softmax_topk", shape, dtype, device, arguments | top)


def walkable(rows: _Rows) -> _Rows:
    """Return the rows, copied where the kernels cannot walk them, or their mask, as they lie."""
    gpu, x, where = rows.gpu, rows.x, rows.where
    if rows.fit(gpu.memory(x), None, _memory(gpu, where)):
        return rows
    if where is not None:
        rows = rows._replace(where=gpu.dense_like(where, x))
        if rows.fit(gpu.memory(x), None, gpu.memory(rows.where)):
            return rows
        where = gpu.contiguous(where)
    return rows._replace(x=gpu.contiguous(x), where=where)


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


def _check_own(shape: tuple[int, ...], length: int, own: dict[str, Any]) -> int:
    """Raise for what the op's own arguments do not allow; return how many winners are wanted."""
    if not shape:
        raise ShapeError("x is one number without axes; read needs at least one axis")
    k = check_k(own["top_k"], length, "top_k")
    if own["argmax"] and not length:
        raise ShapeError("argmax is asked for of an axis of length 0, which has no largest column")
    if own["rank"] and own["select"] is None:
        raise ShapeError("rank is asked for without select: give the columns whose rank is wanted")
    return k


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


def _top_slots(
    k: int, shape: tuple[int, ...], axes: tuple[int, ...], computed: str, number: _Slot
) -> dict[str, _Slot]:
    """Return what is written of the winners; `number` is one of a row."""
    place = axes[0] if len(axes) == 1 else 0
    rows = [n for i, n in enumerate(shape) if i not in axes]
    found = (*rows[:place], k, *rows[place:])
    at = None if place == len(rows) else place
    return {
        "values": _Slot(found, computed, computed, at),
        "indices": _Slot(found, "int64", "int64", at),
        "logprobs": _Slot(found, number.dtype, number.written, at),
    }


def _launch(rows: _Rows, own: dict[str, Any], k: int, memory: dict[str, Any], chosen: Any) -> None:
    """Put the kernels into the stream: one, unless winners and more are asked for."""
    gpu = rows.gpu
    alone = k > 0 and set(memory) <= _OF_WINNERS and rows.temperature is None
    if k:
        find_winners(
            rows, cuda_topk.Asked(k, LOGPROB), memory["logprobs"], memory["indices"],
            memory["lse"] if alone else None, memory["values"],
        )  # fmt: skip
    if alone:
        for name, source in (("max", "values"), ("argmax", "indices")):
            if name in memory:
                first = memory[source][..., 0]
                gpu.copy_into(memory[name], first.reshape(memory[name].shape))
        return
    rows = walkable(rows)
    cuda_read.read(
        gpu.memory(rows.x), rows.axis, _asked(own, chosen), _fields(gpu, memory, chosen),
        0 if chosen is None else chosen.shape[-1], rows.manner(_memory(gpu, rows.where)),
    )  # fmt: skip


def _asked(own: dict[str, Any], chosen: Any) -> cuda_read.Asked:
    ranks = chosen.shape[-1] if own["rank"] else 0
    return cuda_read.Asked(bool(own["entropy"]), bool(own["sum_p2"]), bool(own["argmax"]), ranks)


def _fields(gpu: Any, memory: dict[str, Any], chosen: Any) -> cuda_read.Fields:
    at = {
        name: gpu.memory(held).address
        for name, held in memory.items()
        if name in cuda_read.Fields._fields or name == "lse"
    }
    if chosen is not None:
        at["select"] = gpu.memory(chosen).address
    return cuda_read.Fields(at.pop("lse"), **at)
