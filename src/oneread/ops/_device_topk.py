"""top_k and softmax_topk of tensors that lie on a GPU: check, make the results, hand over.

Knows nothing of pointers or launches beyond where each result lies. Nothing here waits for the GPU.
"""

from __future__ import annotations

from typing import Any, Final

from oneread.backends import torch_
from oneread.backends import torch_cuda as gpu
from oneread.ops import _device_sort, topk
from oneread.ops._arguments import Call, Options, Source
from oneread.ops._device import _one_axis, _refuse, _temperature
from oneread.ops._face import LOGIT, LOGPROB, Plan
from oneread.ops._output import Slot, by_field
from oneread.runtime import cuda, cuda_topk
from oneread.spec import STATISTIC_DTYPE, BackendUnavailableError

_OPS: Final = {"top_k": topk.TOP_K, "softmax_topk": topk.SOFTMAX_TOPK}
#: Types of indices that the kernels write; others are converted afterwards.
_INDEX_BYTES: Final = {"int64": 8, "int32": 4}


def run(
    op: str, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    """Find the winners of each row of a tensor that lies on a GPU."""
    gpu.check(x, "x")
    _refuse(options, gpu.place(x))
    _refuse_masks(options, x.device)
    call, plan = _planned(op, x, tuple(x.shape), gpu.memory(x).dtype, axis, dtype, own)
    computed = _computed(call, plan)
    with gpu.on(x):
        reads: list[tuple[str, Any]] = []  # which keeps memory alive until the kernel is launched
        temperature = options.temperature
        if temperature is not None:
            temperature = _temperature(gpu, temperature, x, call.rows, reads)
        manner = cuda.Manner(temperature, options.deterministic == "batch")
        given = by_field(out, plan.result._fields, tuple(plan.slots))
        memory = {
            name: _memory(
                x,
                call,
                slot,
                _written(name, plan.kind, computed, slot),
                given[name],
                f"out.{name}",
                reads,
            )
            for name, slot in plan.slots.items()
        }
        if call.count:
            _launch(gpu.cast(x, computed), call, plan, memory, manner)
        made = {
            name: _finished(slot, memory[name], given[name]) for name, slot in plan.slots.items()
        }
    return out if isinstance(out, plan.result) else plan.result(**made)


def warm(
    op: str, shape: tuple[int, ...], dtype: str, device: int, arguments: dict[str, Any]
) -> None:
    """Compile and load the kernel of a call with contiguous arrays of such a shape."""
    names = {"k", "index_dtype", "kind", "renormalize", "return_lse"} & set(arguments)
    own = {name: arguments[name] for name in names}
    call, plan = _planned(op, None, shape, dtype, arguments["axis"], arguments["dtype"], own)
    temperature = arguments["temperature"]
    kind = 0 if temperature is None else 1 if isinstance(temperature, (int, float)) else 2
    computed, by_length = _computed(call, plan), arguments["deterministic"] == "batch"
    if not call.count or not plan.top_k:
        return
    shape = (call.count, call.length)
    if cuda_topk.finds(plan.top_k, call.length):
        cuda_topk.prepared(
            _asked(plan), computed, shape, (call.length, 1), kind, 0, device, by_length
        )
    else:
        _device_sort.warm(computed, shape, plan.top_k, plan.kind, kind, device, by_length)


def _planned(
    op: str, x: Any, shape: tuple[int, ...], name: str, axis: Any, dtype: Any, own: dict[str, Any]
) -> tuple[Call, Plan]:
    call = Call(op, Source(torch_, x, shape, name, None), axis)
    return call, _OPS[op].plan(call, dtype, **own)


def _refuse_masks(options: Options, device: Any) -> None:
    for name in ("where", "lengths"):
        if getattr(options, name) is not None:
            raise BackendUnavailableError(
                f"{name} is given with x on {device}, where top-k takes none in this version: "
                "leave it None, or give x.cpu()"
            )


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


def _launch(x: Any, call: Call, plan: Plan, memory: dict[str, Any], manner: cuda.Manner) -> None:
    """Put the kernel into the stream; rows whose columns are strewn are copied first."""
    source, place = _one_axis(gpu, x, call.axes)
    if not plan.top_k:  # then lse alone may be wanted
        if "lse" in memory:
            cuda.logsumexp(gpu.memory(source), gpu.memory(memory["lse"]), place, manner)
        return
    rows = source.movedim(place, -1).reshape(call.count, call.length)
    if rows.stride(-1) != 1 and call.length > 1:
        rows = rows.contiguous()
    if not cuda_topk.finds(plan.top_k, call.length):
        if "lse" in memory:
            cuda.logsumexp(gpu.memory(rows), gpu.memory(memory["lse"].view(-1)), 1, manner)
        _device_sort.topk(rows, plan.top_k, plan.kind, memory["values"], memory["indices"], manner)
        return
    lse = memory["lse"].data_ptr() if "lse" in memory else 0
    places = cuda_topk.Places(memory["values"].data_ptr(), memory["indices"].data_ptr(), lse)
    cuda_topk.topk(gpu.memory(rows), _asked(plan), places, manner)


def _memory(
    x: Any, call: Call, slot: Slot, written: str, out: Any, role: str, reads: list[tuple[str, Any]]
) -> Any:
    """Return where the kernel writes: in place where that is its own type, k last.

    No memory of `reads`, where `out` is put as well.
    """
    if out is not None:
        gpu.check_out(out, x, slot.shape, slot.dtype, reads, role)
        reads.append((role, out))
        if slot.dtype == written and slot.place is None and out.is_contiguous():
            return out
    shape = slot.shape if slot.place is None else (*call.rows, slot.shape[slot.place])
    return gpu.empty(x, shape, written)


def _finished(slot: Slot, memory: Any, out: Any) -> Any:
    if memory is not out:
        if slot.place is not None:
            memory = memory.movedim(-1, slot.place)
        if out is None:
            return gpu.cast(memory, slot.dtype)
        out.copy_(memory)
    torch_.written(out)
    return out
