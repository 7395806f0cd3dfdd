"""top_k and softmax_topk of arrays that lie on a GPU: check, make the results, hand over.

Knows nothing of pointers, launches or array libraries. Nothing here waits for the GPU.
"""

from __future__ import annotations

from typing import Any, Final

from oneread.backends import find
from oneread.ops import _device_sort, topk
from oneread.ops._arguments import Call, Options, Source
from oneread.ops._device import _memory, _refuse, _Rows, _rows
from oneread.ops._face import LOGIT, LOGPROB, Plan
from oneread.ops._output import Slot, by_field
from oneread.runtime import cuda, cuda_topk
from oneread.spec import STATISTIC_DTYPE

_OPS: Final = {"top_k": topk.TOP_K, "softmax_topk": topk.SOFTMAX_TOPK}
#: Types of indices that the kernels write; others are converted afterwards.
_INDEX_BYTES: Final = {"int64": 8, "int32": 4}


def run(
    op: str, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    """Find the winners of each row of an array that lies on a GPU."""
    gpu = find.gpu_backend(x)
    gpu.check(x, "x")
    _refuse(options, gpu.place(x))
    call, plan = _planned(op, gpu, x, tuple(x.shape), gpu.dtype_of(x), axis, dtype, own)
    computed = _computed(call, plan)
    with gpu.on(x):
        # `reads` is also what keeps memory alive until the kernel is in the stream.
        rows, reads = _rows(gpu, x, call.axes, axis is None, options)
        given = by_field(out, plan.result._fields, tuple(plan.slots))
        memory = {
            name: memory_for(gpu, x, call.rows, slot, _written(name, plan.kind, computed, slot),
                             given[name], f"out.{name}", reads)
            for name, slot in plan.slots.items()
        }  # fmt: skip
        if call.count:
            find_winners(rows._replace(computed=computed), _asked(plan), **memory)
        made = {
            name: finished(gpu, slot, memory[name], given[name])
            for name, slot in plan.slots.items()
        }
    return out if isinstance(out, plan.result) else plan.result(**made)


def warm(
    op: str, shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]
) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    names = {"k", "index_dtype", "kind", "renormalize", "return_lse"} & set(arguments)
    own = {name: arguments[name] for name in names}
    call, plan = _planned(op, None, None, shape, dtype, arguments["axis"], arguments["dtype"], own)
    temperature = arguments["temperature"]
    kind = 0 if temperature is None else 1 if isinstance(temperature, (int, float)) else 2
    computed, by_length = _computed(call, plan), arguments["deterministic"] == "batch"
    if not call.count or not plan.top_k:
        return
    shape, strides = (call.count, call.length), (call.length, 1)
    if cuda_topk.finds(plan.top_k, call.length):
        cuda_topk.prepared(
            _asked(plan), computed, shape, strides, 1, kind, cuda.Places(), device, by_length,
            None if arguments["where"] is None else strides, arguments["lengths"] is not None,
        )  # fmt: skip
    else:
        _device_sort.warm(computed, shape, plan.top_k, plan.kind, kind, device, by_length)


def _planned(
    op: str, gpu: Any, x: Any, shape: tuple[int, ...], name: str, axis: Any, dtype: Any,
    own: dict[str, Any],
) -> tuple[Call, Plan]:  # fmt: skip
    call = Call(op, Source(gpu, x, shape, name, None), axis)
    return call, _OPS[op].plan(call, dtype, **own)


def _computed(call: Call, plan: Plan) -> str:
    """Return the type that the row is read in: its own, unless float64 statistics are wanted."""
    wide = any(slot.field in ("scores", "lse") and slot.dtype == "float64"
               for slot in plan.slots.values())  # fmt: skip
    return "float64" if wide else call.float_dtype


def _written(name: str, kind: int, computed: str, slot: Slot) -> str:
    """Return the type in which the kernel writes an output."""
    if name == "indices":
        return slot.dtype if slot.dtype in _INDEX_BYTES else "int64"
    if name == "values" and kind == LOGIT:
        return computed
    return STATISTIC_DTYPE.get(computed, "float32")


def _asked(plan: Plan) -> cuda_topk.Asked:
    sums = "lse" in plan.slots or LOGIT < plan.kind <= LOGPROB
    index_bytes = _INDEX_BYTES.get(plan.slots["indices"].dtype, 8)
    return cuda_topk.Asked(plan.top_k, plan.kind, index_bytes, sums)


def find_winners(
    rows: _Rows, asked: cuda_topk.Asked, values: Any, indices: Any, lse: Any = None,
    logits: Any = None,
) -> None:  # fmt: skip
    """Put what finds the winners into the stream; results lie side by side, k last."""
    gpu, k, length = rows.gpu, asked.k, rows.x.shape[rows.axis]
    rows = side_by_side(rows._replace(x=gpu.cast(rows.x, rows.computed)))
    x, manner = gpu.memory(rows.x), rows.manner(_memory(gpu, rows.where))
    found = k > 0 and cuda_topk.finds(k, length)
    if found:
        results = [0 if one is None else gpu.memory(one).address
                   for one in (values, indices, lse, logits)]  # fmt: skip
        cuda_topk.topk(x, rows.axis, asked, cuda_topk.Results(*results), manner)
        return
    if lse is not None:
        cuda.logsumexp(x, gpu.memory(lse), rows.axis, manner)
    if k:
        _device_sort.topk(rows, k, asked.kind, values, indices, logits)


def side_by_side(rows: _Rows) -> _Rows:
    """Return rows whose columns, and bytes of a mask, lie side by side along the last axis.

    What does not lie so, in two loops over memory at most, is copied.
    """
    gpu, last = rows.gpu, rows.x.ndim - 1
    order = [i for i in range(rows.x.ndim) if i != rows.axis] + [rows.axis]
    x, where = gpu.permuted(rows.x, order), rows.where
    if where is not None:
        where = _in_steps(gpu, gpu.permuted(where, order))
    x = _in_steps(gpu, x)
    rows = rows._replace(x=x, where=where, axis=last)
    if rows.fit(gpu.memory(x), None, _memory(gpu, where)):
        return rows
    return rows._replace(
        x=gpu.contiguous(x), where=None if where is None else gpu.contiguous(where)
    )


def _in_steps(gpu: Any, x: Any) -> Any:
    return x if gpu.memory(x).strides[-1] == 1 else gpu.contiguous(x)


def memory_for(
    gpu: Any, x: Any, rows: tuple[int, ...], slot: Any, written: str, out: Any, role: str,
    reads: list[tuple[str, Any]],
) -> Any:  # fmt: skip
    """Return where the kernel writes: in place where that is its own type, k last.

    No memory of `reads`, where `out` is put as well.
    """
    if out is not None:
        gpu.check_out(out, x, slot.shape, slot.dtype, reads, role)
        reads.append((role, out))
        if slot.dtype == written and slot.place is None and gpu.is_contiguous(out):
            return out
    shape = slot.shape if slot.place is None else (*rows, slot.shape[slot.place])
    return gpu.empty(x, shape, written)


def finished(gpu: Any, slot: Any, memory: Any, out: Any) -> Any:
    """Return what the caller gets of memory that the kernel has written."""
    if memory is out:
        gpu.written(out)
        return out
    if slot.place is not None:
        order = list(range(memory.ndim - 1))
        order.insert(slot.place, memory.ndim - 1)
        memory = gpu.permuted(memory, order)
    return gpu.cast(memory, slot.dtype) if out is None else gpu.copy_into(out, memory)
