"""Plain calls of tensors on a GPU: side by side along the last axis, without options.

The native module makes them. Knows what it is to launch and to write for a geometry, which it asks
once, and nothing of pointers.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final, TypeAlias

from oneread.backends.base import STORAGE
from oneread.ops._arguments import float_dtype
from oneread.ops._device_read import _slots
from oneread.runtime import cuda, cuda_read
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES, STATISTIC_DTYPE, Read

__all__ = ["made", "run"]

#: What is called, as the native module numbers it; those of `READ` have a bit more for each field,
#: softmax and log_softmax above it the number of the type that is written, from 1.
SOFTMAX, LOG_SOFTMAX, LOGSUMEXP, READ = range(4)
_FIRST_BIT: Final = 2
_OPS: Final = ("softmax", "log_softmax", "logsumexp")
_FIELDS: Final = ("rank", "entropy", "sum_p2", "argmax")

_Shape: TypeAlias = tuple[int, ...]
#: What is read beside x: its type and shape.
_Beside: TypeAlias = tuple[str, _Shape] | None
#: What `native.CudaCalls` says of a result: type, shape, which number its address is, alignment.
_Result: TypeAlias = tuple[str, _Shape, int, int]
_Prepared: TypeAlias = tuple[cuda.Launch, list[_Result | None], int]


@cache
def made() -> Any:
    """Return what makes the calls: of what is called, x, what is read beside it, and `out`."""
    from oneread.backends import torch_cuda

    return torch_cuda.calls(_prepared)


def run(op: str, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any]) -> Any:
    """Make the call of an op, with its own arguments; None where it is not such a call.

    Those of softmax and log_softmax without a dtype were tried before. Nor can torch.compile look
    into this one.
    """
    if type(axis) is not int or axis != -1:
        return None
    if dtype is not None:
        if op not in _OPS[:LOGSUMEXP]:
            return None
        written = 1 + FLOAT_DTYPES.index(float_dtype(dtype, ""))
        return made()(_OPS.index(op) | written << _FIRST_BIT, x, None, out)
    if op == "logsumexp":
        return None if own["keepdims"] else made()(LOGSUMEXP, x, None, out)
    if op != "read" or own["keepdims"] or not _is_zero(own["top_k"]):
        return None
    what = READ
    for i, name in enumerate(_FIELDS, _FIRST_BIT):
        what |= bool(own[name]) << i
    fields = made()(what, x, own["select"], out)
    return fields and (out if type(out) is Read else Read._make(fields))


def _is_zero(k: Any) -> bool:
    return type(k) is int and not k


def _prepared(
    what: int, dtype: str, shape: _Shape, device: int, beside: _Beside
) -> _Prepared | None:
    """Say for a geometry what is launched, what is written, and where what is beside x goes."""
    if dtype not in FLOAT_DTYPES:
        return None
    op = what & READ
    if op == READ:
        return _read(what, dtype, shape, device, beside)
    strides, written = _dense(shape), dtype
    if op == LOGSUMEXP:
        result = _result(_statistic(dtype), shape[:-1], cuda.FIRST)
    else:
        if asked := what >> _FIRST_BIT:
            written = FLOAT_DTYPES[asked - 1]
        if not cuda.writes(dtype, written):
            return None
        result = (written, shape, cuda.FIRST, cuda.VECTOR_BYTES)
    launch = cuda.prepared(
        _OPS[op], dtype, shape, strides, strides, len(shape) - 1, 0, cuda.Places(), device, False,
        written=written,
    )  # fmt: skip
    return launch, [result], 0


def _read(what: int, dtype: str, shape: _Shape, device: int, beside: _Beside) -> _Prepared | None:
    own: dict[str, Any] = {name: what >> i & 1 for i, name in enumerate(_FIELDS, _FIRST_BIT)}
    own["select"] = beside
    rows, chosen = shape[:-1], beside[1] if beside else ()
    if beside and not (beside[0] == "int64" and chosen[: len(rows)] == rows):
        return None
    tail = chosen[len(rows) :]
    selects = tail[0] if tail else int(beside is not None)
    if len(tail) > 1 or own["rank"] > selects or selects * own["rank"] > cuda_read.MOST_RANKS:
        return None
    asked = cuda_read.Asked(
        bool(own["entropy"]), bool(own["sum_p2"]), bool(own["argmax"]), selects * own["rank"]
    )
    ready = cuda_read.prepared(
        asked, dtype, shape, _dense(shape), len(shape) - 1, 0, cuda.Places(), device, False
    )
    slots = _slots(own, rows, chosen, _statistic(dtype), _statistic(dtype))
    results = [
        _result(slots[name].dtype, slots[name].shape, ready.number_of(name))
        if name in slots else None
        for name in Read._fields
    ]  # fmt: skip
    return ready.launch(cuda_read.Fields(0), selects), results, ready.number_of("select")


def _dense(shape: _Shape) -> _Shape:
    return tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])


def _statistic(dtype: str) -> str:
    return STATISTIC_DTYPE[COMPUTE_DTYPE[dtype]]


def _result(dtype: str, shape: _Shape, number: int) -> _Result:
    return dtype, shape, number, STORAGE[dtype].itemsize
