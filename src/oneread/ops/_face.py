"""The one way that every op goes: check, plan the outputs, run, hand back.

Knows no op's maths. A `Plan` is pure description, so that a graph can be captured, a call
explained and memory predicted without running anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import STORAGE
from oneread.backends.numpy_ import NATIVE
from oneread.ops._arguments import DEFAULTS, Call, Options, Source, source_of
from oneread.ops._output import (
    Slot,
    buffer,
    by_field,
    converted,
    finished,
    operand,
    refuse_overlap,
    target,
)
from oneread.runtime import cpu
from oneread.spec import ShapeError

#: Outputs of the native `reduce`, in its order.
FIELDS: Final = (
    "lse", "max", "argmax", "values", "indices", "scores", "selected", "rank", "entropy", "sum_p2",
    "state_m", "state_r", "state_s1", "state_s2",
)  # fmt: skip

#: What the native module's scores are; with `WINNERS` added, over the k winners alone.
LOGIT, PROB, LOGPROB, WINNERS = 0, 1, 2, 2


class Plan(NamedTuple):
    """What a call will write, by the name of the result's field."""

    slots: dict[str, Slot]
    result: Any = None
    """The named tuple of the results; None when there is a single one."""
    kind: int = 0
    """What the kernel's scores are."""
    select: NDArray[Any] | None = None
    top_k: int = 0


class Op(NamedTuple):
    """How an op is done."""

    name: str
    plan: Callable[..., Plan]
    """From a call, a dtype and the op's own arguments to what will be written."""
    run: Callable[[Call, Plan, Any], Any]
    """From a call, a plan and `out` to the result."""


class _Again(NamedTuple):
    """What a call without options becomes when it is made again: the cost of every small call."""

    axes: tuple[int, ...]
    kind: int
    outputs: tuple[tuple[str, int, tuple[int, ...], str], ...]
    """Name, place among `FIELDS`, shape and type of each result."""
    result: Any


#: Calls without options and their plans, which follow from shapes and types alone.
_KEPT: dict[Any, tuple[Call, Plan, _Again | None]] = {}
_KEPT_MOST: Final = 1024


def run_op(
    op: Op, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    """Run an op; `own` are the arguments that it alone has, `options` those that all have."""
    if options is DEFAULTS:
        if type(x) is find.tensor_found and x.is_cuda:
            if not find.torch_found.in_dynamo():
                made = _gpu_calls()(op.name, x, axis, dtype, out, own)
                if made is not None:
                    return made
        elif out is None:
            kept = _kept_call(op, x, axis, dtype, own)
            if kept is not None:
                return _run_again(op, *kept)
    if type(x) is not np.ndarray and find.in_graph(x):
        from oneread.ops import _graph

        return _graph.call(op.name, x, axis, dtype, out, own, options)
    if type(x) is not np.ndarray and find.gpu_backend(x) is not None:
        from oneread.ops import _device

        return _device.run(op.name, x, axis, dtype, out, own, options)
    return _run(op, x, axis, dtype, out, own, options)


@cache
def _gpu_calls() -> Any:
    from oneread.ops import _device_calls

    return _device_calls.run


@find.outside_graphs
def _run(
    op: Op, x: Any, axis: Any, dtype: Any, out: Any, own: dict[str, Any], options: Options
) -> Any:
    source = source_of(x)
    if options is DEFAULTS:
        call, plan = _recalled(op, source, axis, dtype, own)
    else:
        call = Call(op.name, source, axis, options)
        plan = op.plan(call, dtype, **own)
    return op.run(call, plan, out)


def _recalled(
    op: Op, source: Source, axis: Any, dtype: Any, own: dict[str, Any]
) -> tuple[Call, Plan]:
    """Return a call without options and its plan, looked up when one like it was made before."""
    key = _key(op, source.shape, source.dtype, axis, dtype, own)
    kept = _KEPT.get(key)
    if kept is not None:
        return kept[0].again(source), kept[1]
    call = Call(op.name, source, axis)
    plan = op.plan(call, dtype, **own)
    if key is not None and plan.select is None and not isinstance(axis, tuple):
        if len(_KEPT) >= _KEPT_MOST:
            _KEPT.clear()
        without_x = call.again(source._replace(x=None, view=None))
        _KEPT[key] = without_x, plan, _again(op, call, plan)
    return call, plan


def _key(
    op: Op, shape: tuple[int, ...], name: str | None, axis: Any, dtype: Any, own: dict[str, Any]
) -> Any:
    """Return what a call without options is kept under; None with lists among its arguments."""
    # The types belong to the key: True equals 1 and is no k.
    values = (axis, dtype, *own.values())
    try:
        hash(values)
    except TypeError:
        return None
    return op.name, shape, name, values, tuple(map(type, values))


def _kept_call(
    op: Op, x: Any, axis: Any, dtype: Any, own: dict[str, Any]
) -> tuple[_Again, Any, Any] | None:
    """Return how to make a call again, its operand and what wraps its results, if it is kept."""
    wrap = None
    if type(x) is np.ndarray:
        operand, name = x, NATIVE.get(x.dtype)
    else:
        torch_ = find.torch_backend()
        operand = torch_ and torch_.plain(x)
        if operand is None:
            return None
        name, wrap = operand[1], torch_.wrap
    kept = _KEPT.get(_key(op, x.shape, name, axis, dtype, own))
    again = kept and kept[2]
    return (again, operand, wrap) if again else None


def _again(op: Op, call: Call, plan: Plan) -> _Again | None:
    """Return the short way to make a call again, where its results need no second look."""
    slots = plan.slots.items()
    as_written = all(s.dtype == s.kernel_dtype != "bfloat16" and s.place is None for _, s in slots)
    if op.run is not run_reduce or not call.shape or not as_written:
        return None
    outputs = [(name, FIELDS.index(s.field), s.shape, s.dtype) for name, s in slots]
    return _Again(call.axes, plan.kind, tuple(outputs), plan.result)


def _run_again(op: Op, again: _Again, operand: Any, wrap: Any) -> Any:
    written: list[Any] = [None] * len(FIELDS)
    made = {}
    for name, place, shape, dtype in again.outputs:
        made[name] = written[place] = np.empty(shape, STORAGE[dtype])
    cpu.native.reduce(
        operand, again.axes, None, None, None, cpu.threads, 0, op.name, again.kind, None, None,
        tuple(written),
    )  # fmt: skip
    if wrap is not None:
        made = {name: wrap(made[name], dtype, None) for name, _, _, dtype in again.outputs}
    return made[name] if again.result is None else again.result(**made)


def run_reduce(call: Call, plan: Plan, out: Any) -> Any:
    """Read each row once and return what was asked for."""
    slots, result = plan.slots, plan.result
    if out is None:
        memory = {name: buffer(call, slot) for name, slot in slots.items()}
        _reduce(call, plan, memory)
        made = {name: finished(call, slot, memory[name]) for name, slot in slots.items()}
    else:
        made = _given(plan, out)
        _reduce_into(call, plan, made)
    if result is None:
        return next(iter(made.values()))
    return out if isinstance(out, result) else result(**made)


def run_textbook(call: Call, y: Any, fresh: bool, indices: Any = None, scores: Any = None) -> None:
    """Run an algorithm of the textbooks: into `y`, or into indices and probabilities."""
    try:
        cpu.native.textbook(
            call.operand, call.axes, call.threads, call.op, call.textbook, y, indices, scores, fresh
        )
    except ValueError as error:  # rows that cannot be read in place, too large a k
        raise ShapeError(str(error)) from None


def _reduce(call: Call, plan: Plan, memory: dict[str, NDArray[Any]]) -> None:
    written = {slot.field: operand(slot, memory[name]) for name, slot in plan.slots.items()}
    if call.textbook:
        run_textbook(call, None, False, written["indices"], written["scores"])
        return
    try:
        cpu.native.reduce(
            call.operand, call.axes, call.where, call.lengths, call.temperature, call.threads,
            call.kernel, call.op, plan.kind, plan.select, None, tuple(map(written.get, FIELDS)),
        )  # fmt: skip
    except IndexError:
        raise IndexError(outside(call.length, plan.select)) from None
    except ValueError as error:  # a kernel was asked for that cannot do this
        raise ShapeError(str(error)) from None


def outside(length: int, select: Any) -> str:
    """Say which selected column is not in a row."""
    column = select[(select < 0) | (select >= length)][0]
    allowed = f"0 to {length - 1} is" if length else "an axis of length 0 has none to be"
    return f"select names column {column}; {allowed} allowed"


def _reduce_into(call: Call, plan: Plan, given: dict[str, Any]) -> None:
    """Fill the arrays that the caller gave: in place where the kernel can write them."""
    targets: dict[str, NDArray[Any]] = {}
    memory: dict[str, NDArray[Any]] = {}
    for name, slot in plan.slots.items():
        role = "out" if plan.result is None else f"out.{name}"
        array = target(call, slot, role, given[name])
        for other, taken in targets.items():
            refuse_overlap(role, array, f"out.{other}", taken)
        targets[name] = array
        direct = slot.dtype == slot.kernel_dtype and array.flags.carray
        memory[name] = array if direct else buffer(call, slot)
    _reduce(call, plan, memory)
    for name, slot in plan.slots.items():
        if memory[name] is not targets[name]:
            targets[name][...] = converted(slot, memory[name])
        call.backend.written(given[name])


def _given(plan: Plan, out: Any) -> dict[str, Any]:
    asked = tuple(plan.slots)
    if plan.result is None:
        return {asked[0]: out}
    given = by_field(out, plan.result._fields, asked)
    return {name: given[name] for name in asked}
