"""A state as bytes and back: which facts and arrays, and whether they fit together.

Knows nothing of bytes: those are in `_pack`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import STORAGE
from oneread.ops._fields import FLAGS, StateFields
from oneread.ops._merge import Best, Sums
from oneread.ops._pack import bad_bytes, packed, unpacked
from oneread.ops._parts import LAST_STOP, MASKED, Asked, Parts, asked_of, no_parts
from oneread.spec import INPUT_DTYPES, OneReadError, ShapeError

_SUMS = ("r", "s1", "s2")


def stored(state: StateFields) -> bytes:
    """Return a state as bytes."""
    asked, parts = state._asked, state._parts
    scale = asked.temperature
    facts = {
        "rows": asked.rows, "axis": asked.axis, "tail": asked.tail, "top_k": asked.top_k,
        "flags": [getattr(asked, name) for name in FLAGS],
        "temperature": scale if isinstance(scale, float) else None, "dtype": state._dtype,
        "library": state._library, "columns": state._columns, "stop": state._stop,
    }  # fmt: skip
    arrays: dict[str, NDArray[Any]] = {"m": parts.sums.m}
    for name in _SUMS:  # in two halves, which hold the wider type
        total = getattr(parts.sums, name)
        high = total.astype(np.float64)
        arrays |= {name: high, f"{name}_rest": (total - high).astype(np.float64)}
    arrays["values"] = parts.best.values.astype(STORAGE[state._value_dtype], copy=False)
    arrays |= {"indices": parts.best.indices, "masked": parts.best.masked.view(np.uint8)}
    if not isinstance(scale, float):
        arrays["scale"] = scale
    if asked.select is not None:
        arrays |= {"select": asked.select, "seen": parts.seen}
        arrays |= {"logits": parts.logits, "ranks": parts.ranks}
    if asked.selected_logit is not None:
        arrays["selected_logit"] = asked.selected_logit
    return packed(facts, arrays)


def restore(state: StateFields, data: Any) -> None:
    """Fill a new state from bytes; ShapeError when they are not those of one."""
    facts, arrays = unpacked(data)
    try:
        _restore(state, facts, arrays)
    except (OneReadError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise bad_bytes(str(error)) from None


def _restore(state: StateFields, facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    asked = state._asked = _asked(facts, arrays)
    state._dtype, state._library = facts["dtype"], facts["library"]
    _check(state._dtype is None or state._dtype in INPUT_DTYPES, "element type")
    _check(state._library in ("numpy", "torch"), "library")
    state._columns, state._stop = facts["columns"], facts["stop"]
    _check(type(state._columns) is int and type(state._stop) is int, "number of columns")
    _check(0 <= state._columns <= state._stop <= LAST_STOP, "number of columns")
    state._parts = _parts(arrays, asked, STORAGE[state._value_dtype])
    best = state._parts.best.indices
    _check(best.shape[1] == min(asked.kept, state._columns), "length of top-k")
    _check(bool(((best >= 0) & (best < state._stop)).all()), "column of top-k")


def _asked(facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Asked:
    rows, tail, axis = tuple(facts["rows"]), tuple(facts["tail"]), facts["axis"]
    _check(all(type(n) is int and n >= 0 for n in (*rows, *tail)), "shape")
    _check(len(tail) <= 1 and ("select" in arrays or not tail), "shape")
    if axis is None:
        _check(not rows, "axis")
    else:
        _check(type(axis) is int and 0 <= axis <= len(rows), "axis")
    flags = facts["flags"]
    _check(all(type(flag) is bool for flag in flags), "flag")
    n, chosen = math.prod(rows), (math.prod(rows), *(tail or (1,)))
    found = {
        name: _taken(arrays, name, chosen, dtype).reshape(rows + tail)
        for name, dtype in (("select", np.int64), ("selected_logit", np.float64))
        if name in arrays
    }
    scale = facts["temperature"]
    return asked_of(
        rows, axis, top_k=facts["top_k"], **dict(zip(FLAGS, flags, strict=True)),
        select=found.get("select"), selected_logit=found.get("selected_logit"),
        temperature=_taken(arrays, "scale", (n,), np.float64).reshape(rows)
        if scale is None
        else scale,
    )  # fmt: skip


def _parts(arrays: dict[str, NDArray[Any]], asked: Asked, value_type: np.dtype[Any]) -> Parts:
    """Return the parts that these arrays hold, in the shapes and types that `asked` implies."""
    n, kept = asked.count, arrays["indices"].shape[-1]
    halves = [_taken(arrays, s + rest, (n,), np.float64) for s in _SUMS for rest in ("", "_rest")]
    totals = [
        high.astype(np.longdouble) + low
        for high, low in zip(halves[::2], halves[1::2], strict=True)
    ]
    sums = Sums(_taken(arrays, "m", (n,), np.float64), *totals)
    _check(not (sums.r < 0).any(), "sum")
    masked = _taken(arrays, "masked", (n, kept), np.uint8)
    best = Best(
        _taken(arrays, "values", (n, kept), value_type),
        _taken(arrays, "indices", (n, kept), np.int64),
        masked.astype(np.bool_),
    )
    _check(not (masked > 1).any(), "mark")
    parts = no_parts(asked)._replace(sums=sums, best=best)
    if asked.select is not None:
        shape = asked.select.shape
        parts = parts._replace(
            seen=_taken(arrays, "seen", shape, np.uint8),
            logits=_taken(arrays, "logits", shape, np.float64),
            ranks=_taken(arrays, "ranks", shape, np.int64),
        )
        _check(not (parts.seen > MASKED).any(), "mark")
    return parts


def _taken(
    arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...], dtype: Any
) -> NDArray[Any]:
    array = arrays[name]
    _check(array.shape == shape and array.dtype == dtype, name)
    return array


def _check(good: bool, what: str) -> None:
    if not good:
        raise ShapeError(f"an impossible {what}")
