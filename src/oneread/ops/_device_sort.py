"""Top-k of any k on a GPU: whole rows sorted by their array library, some rows at a time.

For what the kernels of top-k do not find. Their order and their values, at several reads and
writes of each row. Knows nothing of axes, types of results and options.
"""

from __future__ import annotations

import math
from typing import Any, Final

from oneread.ops._face import LOGIT, LOGPROB, WINNERS
from oneread.runtime import cuda, cuda_topk
from oneread.spec import COMPUTE_DTYPE, STATISTIC_DTYPE

#: Columns that are sorted at once, unless a row is longer: 400 MiB for keys and places.
_AT_ONCE: Final = 1 << 24


def topk(rows: Any, k: int, kind: int, values: Any, indices: Any, logits: Any = None) -> None:
    """Write the winners of each row, along the last axis of `rows.x`, and their columns.

    Into `logits`, where it is given, their numbers besides.
    """
    gpu, length = rows.gpu, rows.x.shape[-1]
    count = math.prod(rows.x.shape[:-1])
    x = rows.x.reshape(count, length)
    where = None if rows.where is None else rows.where.reshape(count, length)
    lengths = None if rows.lengths is None else rows.lengths.reshape(count, 1)
    values, indices = values.reshape(count, k), indices.reshape(count, k)
    logits = None if logits is None else logits.reshape(count, k)
    manner = rows._replace(lengths=None).manner(None)
    step = rows_at_once(count, length)
    for start in range(0, count, step):
        some = slice(start, start + step)
        part, kept = _masked(
            gpu, x[some], where if where is None else where[some],
            lengths if lengths is None else lengths[some],
        )  # fmt: skip
        columns = gpu.first_columns(part, k, kept)
        indices[some] = columns
        if logits is not None:
            logits[some] = gpu.take(part, columns)
        values[some] = _scores(gpu, part, columns, kind, _from_row(manner, start))
    cuda_topk.note_sort(gpu.memory(x))


def warm(
    dtype: str, shape: tuple[int, int], k: int, kind: int, tempered: int, device: int,
    by_length: bool,
) -> None:  # fmt: skip
    """Compile and load what `topk` takes beside the library's own kernels."""
    if kind == LOGIT:
        return
    rows, columns = rows_at_once(*shape), k if kind > WINNERS else shape[1]
    cuda.prepared(
        _op(kind), _statistic(dtype), (rows, columns), (columns, 1), (columns, 1), 1,
        tempered, cuda.Places(), device, by_length,
    )  # fmt: skip


def rows_at_once(rows: int, length: int) -> int:
    """Return how many rows are sorted together."""
    return min(rows, max(1, _AT_ONCE // length))


def _masked(gpu: Any, x: Any, where: Any, lengths: Any) -> tuple[Any, Any]:
    """Return `x` with -inf for columns left out, and which are kept; NaN in a row of no length."""
    if where is None and lengths is None:
        return x, None
    xp, kept, instead = gpu.NAMESPACE, where, gpu.full(x, (1, 1), -math.inf, gpu.dtype_of(x))
    if lengths is not None:
        before = gpu.numbered(x, x.shape[1]) < lengths
        kept = before if where is None else where & before
        good = (lengths >= 0) & (lengths <= x.shape[1])
        kept = kept & good
        instead = gpu.cast(xp.where(good, -math.inf, math.nan), gpu.dtype_of(x))
    return xp.where(kept, x, instead), kept


def _scores(gpu: Any, x: Any, columns: Any, kind: int, manner: cuda.Manner) -> Any:
    """Return what the values of winners are: the numbers, or probabilities or their logarithms."""
    if kind == LOGIT:
        return gpu.take(x, columns)
    numbers = gpu.take(x, columns) if kind > WINNERS else x
    numbers = gpu.contiguous(gpu.cast(numbers, _statistic(gpu.dtype_of(x))))
    scores = gpu.empty_like(numbers, gpu.dtype_of(numbers))
    log = _op(kind) == "log_softmax"
    cuda.softmax(gpu.memory(numbers), gpu.memory(scores), 1, log, manner)
    return scores if kind > WINNERS else gpu.take(scores, columns)


def _statistic(dtype: str) -> str:
    return STATISTIC_DTYPE[COMPUTE_DTYPE[dtype]]


def _op(kind: int) -> str:
    return "log_softmax" if kind % 2 == LOGPROB % 2 else "softmax"


def _from_row(manner: cuda.Manner, start: int) -> cuda.Manner:
    """Return how rows from `start` on are done: a temperature of each row lies 8 bytes on."""
    given = manner.temperature
    if given is None or not given.address:
        return manner
    return manner._replace(temperature=given._replace(address=given.address + 8 * start))
