"""What vmap does with an op: its batch is one more axis of rows.

Knows torch only by its backend, and no op's maths.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from oneread.backends import torch_autograd
from oneread.spec import OPS


def batching(op: str, names: tuple[str, ...], single: bool) -> Callable[..., Any]:
    """Return the vmap of an operator whose arguments after x have these names."""

    def batch(info: Any, in_dims: Any, x: Any, *values: Any) -> Any:
        size = info.batch_size
        given = dict(zip(names, values, strict=True))
        dims = dict(zip(names, in_dims[1:], strict=True))
        x = x.expand(size, *x.shape) if in_dims[0] is None else x.movedim(in_dims[0], 0)
        inner = tuple(x.shape[1:])
        where = _aligned(given["where"], dims["where"], len(inner))
        axis = given["axis"]
        if not inner or (axis is None and not OPS[op].tuple_axes):
            x = x.reshape(size, math.prod(inner))
            where = where if where is None else _flat(where, inner)
            given["axis"] = [1]
        elif axis is None:
            given["axis"] = list(range(1, x.ndim))
        else:
            given["axis"] = [a + 1 if a >= 0 else a for a in axis]
        outer = _outer(tuple(x.shape), given["axis"])
        given["where"] = where
        for name in ("lengths", "temperature"):
            given[name] = _aligned(given[name], dims[name], len(outer))
        if given.get("select") is not None:
            given["select"] = _selected(given["select"], dims["select"], size, outer)
        made = torch_autograd.call(op, x, *given.values())
        outputs = [made] if single else list(made)
        if op in ("softmax", "log_softmax"):
            outputs = [outputs[0].reshape(size, *inner)]
        elif axis is None and given.get("keepdims") and not OPS[op].tuple_axes:
            outputs = [
                y.reshape(size, *[1] * len(inner)) if y.shape == (size, 1) else y for y in outputs
            ]
        return (outputs[0], 0) if single else (outputs, [0] * len(outputs))

    return batch


def _aligned(x: Any, dim: int | None, ndim: int) -> Any:
    """Return what broadcasts to `ndim` axes so that it does with a batch before them."""
    if x is None or dim is None:
        return x
    x = x.movedim(dim, 0)
    return x.reshape(x.shape[0], *[1] * (ndim - (x.ndim - 1)), *x.shape[1:])


def _flat(where: Any, inner: tuple[Any, ...]) -> Any:
    batched = where.ndim > len(inner)
    shape = ((where.shape[0],) if batched else ()) + inner
    flat = where.broadcast_to(shape)
    return flat.reshape(*shape[: len(shape) - len(inner)], math.prod(inner))


def _outer(shape: tuple[Any, ...], axes: list[int]) -> tuple[Any, ...]:
    gone = {a % len(shape) for a in axes}
    return tuple([n for i, n in enumerate(shape) if i not in gone][1:])


def _selected(select: Any, dim: int | None, size: Any, outer: tuple[Any, ...]) -> Any:
    """Return columns for each row, those of the batch included."""
    if dim is None:
        return select if not select.ndim else select.expand(size, *select.shape)
    select = select.movedim(dim, 0)
    if select.ndim == 1 and outer:
        return select.reshape(size, *[1] * len(outer)).expand(size, *outer)
    return select
