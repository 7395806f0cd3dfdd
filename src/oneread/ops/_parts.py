"""What a state keeps of the columns it has seen, and how a chunk of them is read.

Knows nothing of the public face. `Asked` says what is wanted, `Parts` holds it so far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oneread.backends import find
from oneread.backends.base import STORAGE, View
from oneread.backends.bfloat import widened
from oneread.ops._arguments import (
    Call,
    check_k,
    check_temperature,
)
from oneread.ops._face import FIELDS
from oneread.ops._merge import (
    Best,
    Sums,
    Temperature,
    merged_best,
    merged_sums,
    no_best,
    no_sums,
)
from oneread.ops._numbers import integers, per_row, per_row_or_more
from oneread.runtime import cpu
from oneread.spec import ShapeError

UNSEEN, SEEN, MASKED = 0, 1, 2

#: Columns are numbered by int64: none is at or beyond this one.
LAST_STOP: Final = 2**63 - 1


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """The options of a state; two states merge when they are equal."""

    rows: tuple[int, ...]
    axis: int | None
    """Where the axis stands among the rows, from 0; None when chunks are flattened."""
    top_k: int
    argmax: bool
    rank: bool
    entropy: bool
    sum_p2: bool
    temperature: Temperature
    select: NDArray[Any] | None
    """Global columns, int64 (rows, s)."""
    selected_logit: NDArray[Any] | None
    """float64 (rows, s)."""
    tail: tuple[int, ...]
    """(s,) when `select` has an axis of its own, else ()."""

    @property
    def count(self) -> int:
        """How many rows there are."""
        return math.prod(self.rows)

    @property
    def kept(self) -> int:
        """How many of the best columns are kept; the first is the argmax."""
        return max(self.top_k, int(self.argmax))

    def check_same(self, other: Asked) -> None:
        """Raise when the two differ."""
        for field in fields(self):
            a, b = getattr(self, field.name), getattr(other, field.name)
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                same = a is not None and b is not None and _same_numbers(a, b)
            else:
                same = a == b
            if not same:
                raise ShapeError(
                    f"states with different options cannot be merged: {field.name} is {a} in one "
                    f"and {b} in the other"
                )


def _same_numbers(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f" and b.dtype.kind == "f")


def asked_of(
    rows: tuple[int, ...],
    axis: int | None,
    *,
    top_k: Any,
    select: Any,
    selected_logit: Any,
    rank: bool,
    entropy: bool,
    sum_p2: bool,
    argmax: bool,
    temperature: Any,
) -> Asked:
    """Check the options of a state and put them into one form."""
    chosen, logits, tail = _selection(rows, select, selected_logit, rank)
    scale: Temperature = 1.0 if temperature is None else check_temperature(temperature)
    if not isinstance(scale, float):
        scale = per_row(rows, scale, "temperature", "float64")
    k = check_k(top_k, np.iinfo(np.int64).max, "top_k")
    return Asked(
        rows, axis, k, bool(argmax), bool(rank), bool(entropy), bool(sum_p2), scale, chosen, logits,
        tail,
    )  # fmt: skip


def _selection(
    rows: tuple[int, ...], select: Any, selected_logit: Any, rank: bool
) -> tuple[NDArray[Any] | None, NDArray[Any] | None, tuple[int, ...]]:
    """Return the selected columns and their logits, (rows, s), and the axes beyond the rows."""
    chosen: NDArray[Any] | None = None
    logits: NDArray[Any] | None = None
    tail: tuple[int, ...] = ()
    if select is not None:
        chosen, tail = per_row_or_more(rows, integers(select, "select"), "select", "int64")
        if chosen.size and chosen.min() < 0:
            raise IndexError(f"select names column {chosen.min()}; columns start at 0")
    if rank and (chosen is None or selected_logit is None):
        raise ShapeError(
            "rank of a part of a row needs select and selected_logit, the logit in that column, "
            "beforehand: gather it with one look at the chunk that holds it"
        )
    if selected_logit is not None:
        if chosen is None:
            raise ShapeError("selected_logit is given without select")
        view = find.view(selected_logit, "selected_logit")
        logits, shape = per_row_or_more(rows, widened(view), "selected_logit", "float64")
        if shape != tail:
            raise ShapeError(
                f"selected_logit has shape {view.array.shape}; {(*rows, *tail)}, that of select, "
                "is allowed"
            )
    return chosen, logits, tail


class Parts(NamedTuple):
    """What was found in the columns seen so far."""

    sums: Sums
    best: Best
    seen: NDArray[Any]
    """UNSEEN, SEEN or MASKED for each selected column, uint8 (rows, s)."""
    logits: NDArray[Any]
    """Logits of the selected columns, float64 (rows, s); 0 where unseen, -inf where masked."""
    ranks: NDArray[Any]
    """How many columns come before the selected ones, int64 (rows, s)."""


def no_parts(asked: Asked) -> Parts:
    """Return what is found in no columns at all."""
    shape = (asked.count, 0) if asked.select is None else asked.select.shape
    return Parts(
        no_sums(asked.count), no_best(asked.count), np.zeros(shape, np.uint8), np.zeros(shape),
        np.zeros(shape, np.int64),
    )  # fmt: skip


def merged_parts(a: Parts, b: Parts, asked: Asked, dtype: str) -> Parts:
    """Return what is found in the columns of both; the same bits in either order."""
    twice = (a.seen != UNSEEN) & (b.seen != UNSEEN)
    if twice.any():
        assert asked.select is not None
        raise ShapeError(
            f"the selected column {asked.select[twice][0]} was read by both states: give each "
            "chunk the offset of its first column"
        )
    return Parts(
        merged_sums(a.sums, b.sums, asked.temperature),
        merged_best(a.best, b.best, asked.kept, dtype),
        np.maximum(a.seen, b.seen),
        np.where(a.seen == UNSEEN, b.logits, a.logits),
        a.ranks + b.ranks,
    )


def read_parts(asked: Asked, call: Call, offset: int) -> Parts:
    """Read a chunk of each row, whose first column is column `offset` of the row."""
    n, k = call.count, min(asked.kept, call.length)
    totals = {f"state_{s}": np.empty((n, 2)) for s in Sums._fields[1:]}  # in two halves
    out: dict[str, Any] = {"state_m": np.empty(n), **totals}
    best = no_best(n)
    if k:
        best = Best(
            np.empty((n, k), STORAGE[call.float_dtype]), np.empty((n, k), np.int64),
            np.zeros((n, k), np.bool_),
        )  # fmt: skip
        out["values"] = View(best.values, call.float_dtype).operand
        out["indices"] = best.indices
    empty = no_parts(asked)
    local = None
    if asked.select is not None:
        local = asked.select - offset
        if asked.rank:
            out["rank"] = empty.ranks
    cpu.native.reduce(
        call.operand, call.axes, call.where, call.lengths, call.temperature, call.threads, 0,
        "read", 0, local if asked.rank else None, asked.selected_logit if asked.rank else None,
        tuple([out.get(name) for name in FIELDS]),
    )  # fmt: skip
    sums = Sums(
        out["state_m"], *[total.astype(np.longdouble).sum(axis=1) for total in totals.values()]
    )
    if k:
        np.copyto(best.masked, _masked(call, best.indices))
        np.add(best.indices, offset, out=best.indices)
    if local is None:
        return empty._replace(sums=sums, best=best)
    seen, logits = _look_up(call, local)
    return Parts(sums, best, seen, logits, empty.ranks)


def _look_up(call: Call, local: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return whether each column lies in the chunk, and the logits of those that do."""
    inside = (local >= 0) & (local < call.length)
    seen, logits = np.zeros(local.shape, np.uint8), np.zeros(local.shape)
    if inside.any():
        assert call.view is not None
        near = np.where(inside, local, 0)
        masked = _masked(call, near)
        found = widened(View(_gather(call, call.view.array, near), call.dtype)).astype(np.float64)
        seen[inside] = np.where(masked, MASKED, SEEN)[inside]
        logits[inside] = np.where(masked, -np.inf, found)[inside]
    return seen, logits


def _masked(call: Call, indices: NDArray[Any]) -> NDArray[Any]:
    masked = np.zeros(indices.shape, np.bool_)
    if call.where is not None:
        masked |= ~_gather(call, call.where, indices)
    if call.lengths is not None:
        masked |= indices >= call.lengths[:, None]
    return masked


def _gather(call: Call, array: NDArray[Any], indices: NDArray[Any]) -> NDArray[Any]:
    """Return the elements of an array of x's shape at columns (rows, s)."""
    if call.flat:
        found: NDArray[Any] = array[np.unravel_index(indices[0], array.shape)]
    else:
        rows = np.moveaxis(array, call.axes[0], -1)
        found = np.take_along_axis(rows, indices.reshape(*call.rows, indices.shape[1]), -1)
    return found.reshape(indices.shape)
