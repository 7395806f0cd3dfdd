"""Where a kernel writes and what the caller gets: fresh arrays, or the `out` that was given.

Knows no op's maths. A kernel writes the numbers of a row side by side, in few types; what the
caller asked for may be narrower, lie elsewhere in memory or have its axes in another order.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import STORAGE, Memory, View
from oneread.backends.bfloat import cast, widened
from oneread.ops._arguments import Call
from oneread.runtime import reuse
from oneread.spec import STATISTIC_DTYPE, DtypeError, ShapeError

_OVERLAP_WORK: Final = 100_000  # candidate solutions that NumPy's overlap check may try


class Slot(NamedTuple):
    """One output: what the caller gets and what the kernel writes."""

    field: str
    """The kernel's name for it."""
    shape: tuple[int, ...]
    dtype: str
    kernel_dtype: str
    place: int | None = None
    """Axis of the result that holds the k numbers of a row, if not the last."""


def statistic(call: Call, field: str, dtype: str, keepdims: bool = False) -> Slot:
    """Return the slot for one number a row."""
    return Slot(field, call.rows_shape(keepdims), dtype, _written(call, dtype))


def top(call: Call, field: str, k: int, dtype: str, kernel_dtype: str | None = None) -> Slot:
    """Return the slot for `k` numbers a row, in the place of the axis."""
    shape, place = call.top_shape(k), call.top_axis
    kernel_dtype = kernel_dtype or _written(call, dtype)
    return Slot(field, shape, dtype, kernel_dtype, None if place == len(shape) - 1 else place)


def selection(call: Call, field: str, tail: tuple[int, ...], dtype: str) -> Slot:
    """Return the slot for the selected columns of each row, shaped as `select`."""
    return Slot(field, call.rows + tail, dtype, _written(call, dtype))


def _written(call: Call, dtype: str) -> str:
    """Return the type in which the kernel writes what the caller gets as `dtype`."""
    return dtype if dtype in STATISTIC_DTYPE or dtype == "int64" else call.statistic


def buffer(call: Call, slot: Slot) -> NDArray[Any]:
    """Return fresh memory for a slot, as the kernel writes it: contiguous, k last."""
    shape = slot.shape
    if slot.place is not None:
        shape = (*call.rows, shape[slot.place])
    return reuse.large(np.empty(shape, STORAGE[slot.kernel_dtype]))[0]


def operand(slot: Slot, memory: NDArray[Any]) -> Any:
    """Return memory of a slot as the native module takes it."""
    return memory if slot.kernel_dtype != "bfloat16" else View(memory, "bfloat16").operand


def target(call: Call, slot: Slot, role: str, out: Any) -> NDArray[Any]:
    """Return the memory of an `out`, with k last."""
    array = check_out(call, role, out, slot.shape, slot.dtype).array
    return array if slot.place is None else np.moveaxis(array, slot.place, -1)


def finished(call: Call, slot: Slot, memory: NDArray[Any]) -> Any:
    """Return the caller's array around memory that the kernel has written."""
    if slot.dtype != slot.kernel_dtype:
        memory = converted(slot, memory)
    if slot.place is not None:
        memory = np.moveaxis(memory, -1, slot.place)
    return call.backend.wrap(memory, slot.dtype, call.source.x)


def converted(slot: Slot, memory: NDArray[Any]) -> NDArray[Any]:
    """Return what the kernel wrote in the type that the caller gets."""
    if slot.dtype == slot.kernel_dtype:
        return memory
    return cast(widened(View(memory, slot.kernel_dtype)), slot.dtype)


def row_output(call: Call, dtype: str, out: Any) -> tuple[Memory, bool]:
    """Return the memory of a result as long as the row, and whether its pages are yet to come.

    It is that of `out`, of an earlier result that is gone, or new.
    """
    if out is not None:
        view = check_out(call, "out", out, call.shape, dtype, may_be_x=True)
        return view if call.shape else View(view.array.reshape(1), dtype), False
    like = call.memory
    # A broadcast axis has no place in memory that an output could follow.
    order: Literal["K", "C"] = "C" if 0 in like.strides else call.backend.ORDER
    y, fresh = reuse.large(np.empty_like(like, dtype=STORAGE[dtype], order=order, subok=False))
    return View(y, dtype), fresh


def by_field(out: Any, fields: tuple[str, ...], asked: tuple[str, ...]) -> dict[str, Any]:
    """Return the `out` of several outputs by name; their fields, or only those asked for."""
    if out is None:
        return dict.fromkeys(asked)
    writes = f"{', '.join(asked)} {'is' if len(asked) == 1 else 'are'} written"
    if not isinstance(out, tuple):
        raise DtypeError(f"out is a {type(out).__qualname__}; a tuple is allowed: {writes}")
    names = asked if len(out) == len(asked) and not hasattr(out, "_fields") else fields
    if len(out) > len(names):
        raise ShapeError(f"out holds {len(out)} arrays; {writes}")
    given = dict(zip(names, out, strict=False))
    for name in fields:
        if (given.get(name) is not None) != (name in asked):
            state = "missing" if name in asked else "given but was not asked for"
            raise ShapeError(f"out.{name} is {state}; {writes}")
    return given


def check_out(
    call: Call, role: str, out: Any, shape: tuple[int, ...], dtype: str, may_be_x: bool = False
) -> Memory:
    """Return the memory of an `out`, or raise when the result must not be written there."""
    if not call.backend.owns(out):
        raise DtypeError(
            f"{role} is a {type(out).__module__}.{type(out).__qualname__}; a writable array of "
            f"{call.backend.NAME}, as the result is one, is allowed"
        )
    view = call.backend.view(out, role, write=True)
    array = view.array
    if array.shape != shape:
        raise ShapeError(f"{role} has shape {array.shape}; the result has shape {shape}")
    if view.dtype != dtype or not array.dtype.isnative:
        held = view.dtype if array.dtype.isnative else f"{view.dtype} of foreign byte order"
        raise DtypeError(f"{role} holds {held}; the result is {dtype}")
    if _overlaps_itself(array):
        raise ShapeError(
            f"{role} has several elements in one place (shape {shape}, strides {array.strides}); "
            "give memory of its own to each"
        )
    if not (may_be_x and _same_memory(array, call.memory.reshape(shape))):
        refuse_overlap(role, array, "x", call.memory)
    for name, memory in call.reads:
        refuse_overlap(role, array, name, memory)
    return view


def refuse_overlap(role: str, out: NDArray[Any], name: str, memory: NDArray[Any]) -> None:
    """Raise when two arrays have memory in common."""
    if not np.may_share_memory(out, memory):
        return
    try:
        shared = np.shares_memory(out, memory, max_work=_OVERLAP_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        shared = True
    if shared:
        raise ShapeError(f"{role} shares memory with {name}; give memory of its own")


def _same_memory(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two arrays of one shape are the same elements in the same order."""
    if a.dtype != b.dtype:
        return False
    steps = zip(a.shape, a.strides, b.strides, strict=True)
    if any(n > 1 and step != other for n, step, other in steps):
        return False
    first, second = a.__array_interface__["data"][0], b.__array_interface__["data"][0]
    return bool(first == second)


def _overlaps_itself(array: NDArray[Any]) -> bool:
    """Whether elements may lie in one place: a stride shorter than what it must step over."""
    if array.flags.c_contiguous:
        return False
    steps = sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1)
    extent = array.itemsize
    for stride, n in steps:
        if stride < extent:
            return True
        extent = stride * (n - 1) + extent
    return False
