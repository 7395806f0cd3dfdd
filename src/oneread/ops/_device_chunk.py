"""What a state on a GPU keeps of one chunk of its rows: none, or what one read of it finds.

Knows nothing of the public face, launches or array libraries. Nothing here waits for the GPU.
"""

from __future__ import annotations

import math
from typing import Any

from oneread.ops._device import _memory, _Rows
from oneread.ops._device_merge import Best, Parts, Sums
from oneread.ops._device_read import walkable
from oneread.ops._device_topk import find_winners
from oneread.ops._face import LOGIT
from oneread.ops._parts import LAST_STOP, MASKED, SEEN, UNSEEN
from oneread.runtime import cuda, cuda_read, cuda_topk
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES


def no_parts(gpu: Any, x: Any, asked: Any) -> Parts:
    """Return what is found in no columns at all."""
    rows = (asked.count,)
    shape = (asked.count, 0) if asked.select is None else tuple(asked.select.shape)
    zero = gpu.full(x, rows, 0.0, "float64")
    return Parts(
        Sums(
            gpu.full(x, rows, -math.inf, "float64"), zero, zero if asked.entropy else None,
            zero if asked.sum_p2 else None,
        ),
        no_best(gpu, x, asked, 0), gpu.full(x, shape, UNSEEN, "uint8"),
        gpu.full(x, shape, math.nan, "float64"), gpu.full(x, shape, 0, "int64"),
    )  # fmt: skip


def no_best(gpu: Any, x: Any, asked: Any, k: int) -> Best:
    """Return memory for the first k columns of each row; without top-k no column, for one."""
    if not asked.top_k:
        return Best(gpu.full(x, (asked.count, 1), LAST_STOP, "int64"))
    rows = (asked.count, k)
    return Best(
        gpu.empty(x, rows, "int64"), gpu.empty(x, rows, _number(gpu.dtype_of(x))),
        gpu.full(x, rows, 0, "bool"),
    )  # fmt: skip


def read_parts(chunk: _Rows, asked: Any, offset: int) -> Parts:
    """Read a chunk of each row, whose first column is column `offset` of the row."""
    gpu = chunk.gpu
    top = _first_columns(chunk, asked, offset) if asked.top_k else None
    if not asked.count:
        empty = no_parts(gpu, chunk.x, asked)
        return empty._replace(best=top or empty.best)
    argmax = asked.argmax and top is None
    chunk = walkable(chunk._replace(x=gpu.cast(chunk.x, chunk.computed)))
    x, xp = chunk.x, gpu.NAMESPACE
    empty = no_parts(gpu, x, asked)
    sums = gpu.empty(x, (2 + asked.entropy + asked.sum_p2, asked.count), "float64")
    local = None if asked.select is None else asked.select - offset
    ranks = 0 if local is None or not asked.rank else local.shape[1]
    at = {"result": sums, "argmax": empty.best.indices if argmax else None}
    if ranks:
        at |= {"select": local, "logits": asked.selected_logit, "rank": empty.ranks}
    manner = chunk._replace(temperature=_temperature(gpu, asked.temperature)).manner(
        _memory(gpu, chunk.where)
    )
    cuda_read.read(
        gpu.memory(x), chunk.axis,
        cuda_read.Asked(asked.entropy, asked.sum_p2, argmax, ranks, state=True),
        cuda_read.Fields(**{
            name: gpu.memory(array).address for name, array in at.items() if array is not None
        }),
        ranks, manner,
    )  # fmt: skip
    rest = iter(sums[2:])
    found = Sums(
        sums[0], sums[1], next(rest) if asked.entropy else None,
        next(rest) if asked.sum_p2 else None,
    )  # fmt: skip
    best = top or empty.best
    if argmax:
        column = best.indices
        best = Best(xp.where(column == LAST_STOP, column, column + offset))
    if local is None:
        return empty._replace(sums=found, best=best)
    seen, logits = _look_up(chunk, local)
    return empty._replace(sums=found, best=best, seen=seen, logits=logits)


def _temperature(gpu: Any, scale: Any) -> cuda.Temperature | None:
    if not isinstance(scale, float):
        return cuda.Temperature(address=gpu.memory(scale).address)
    return None if scale == 1.0 else cuda.Temperature(scale)


def _first_columns(chunk: _Rows, asked: Any, offset: int) -> Best:
    """Return the first columns of each row of a chunk."""
    gpu, length = chunk.gpu, chunk.x.shape[chunk.axis]
    k = min(asked.top_k, length)
    best = no_best(gpu, chunk.x, asked, k)
    assert best.values is not None
    if asked.count:
        wanted = cuda_topk.Asked(k, LOGIT, sums=False)
        find_winners(chunk._replace(temperature=None), wanted, best.values, best.indices)
    kept = _kept(chunk, best.indices)
    if kept is not None:  # a row of no length is NaN
        best = best._replace(masked=~kept & (best.values == -math.inf))
    return best._replace(indices=best.indices + offset)


def _kept(chunk: _Rows, local: Any) -> Any:
    """Return whether masks keep columns of the chunk, (rows, s); None without masks."""
    gpu, kept = chunk.gpu, None
    if chunk.where is not None:
        where = gpu.NAMESPACE.moveaxis(chunk.where, chunk.axis, -1)
        there = local.reshape(*where.shape[:-1], local.shape[1])
        kept = gpu.take(where, there).reshape(local.shape)
    if chunk.lengths is not None:
        before = local < chunk.lengths.reshape(-1, 1)
        kept = before if kept is None else kept & before
    return kept


def _look_up(chunk: _Rows, local: Any) -> tuple[Any, Any]:
    """Return how each column was seen, and the logits of those that lie in the chunk."""
    gpu, axis, length = chunk.gpu, chunk.axis, chunk.x.shape[chunk.axis]
    xp = gpu.NAMESPACE
    inside = (local >= 0) & (local < length)
    rows = xp.moveaxis(chunk.x, axis, -1)
    near = xp.where(inside, local, 0)
    there = near.reshape(*rows.shape[:-1], local.shape[1])
    found = gpu.cast(gpu.take(rows, there), "float64").reshape(local.shape)
    seen = gpu.cast(inside, "uint8") * SEEN
    kept = _kept(chunk, near)
    if kept is not None:
        seen = xp.where(inside & ~kept, MASKED, seen)
        found = xp.where(kept, found, -math.inf)
    return seen, xp.where(inside, found, math.nan)


def _number(dtype: str) -> str:
    """Return the type in which a state keeps logits of a type."""
    return dtype if dtype in FLOAT_DTYPES else COMPUTE_DTYPE[dtype]
