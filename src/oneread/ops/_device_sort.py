"""Top-k of any k on a GPU: whole rows sorted by PyTorch, some rows at a time.

For what the kernels of top-k do not find. Their order and their values, at several reads and
writes of each row. Knows nothing of axes, types of results and options.
"""

from __future__ import annotations

from typing import Any, Final

from oneread.backends import torch_cuda as gpu
from oneread.backends.torch_order import first_columns
from oneread.ops._face import LOGIT, LOGPROB, WINNERS
from oneread.runtime import cuda, cuda_topk
from oneread.spec import COMPUTE_DTYPE, STATISTIC_DTYPE

#: Columns that are sorted at once, unless a row is longer: 400 MiB for keys and places.
_AT_ONCE: Final = 1 << 24


def topk(x: Any, k: int, kind: int, values: Any, indices: Any, manner: cuda.Manner) -> None:
    """Write the winners of each row of `x`, of shape (rows, columns), and their columns."""
    rows, length = x.shape
    values, indices = values.view(rows, k), indices.view(rows, k)
    step = rows_at_once(rows, length)
    for start in range(0, rows, step):
        part = x[start : start + step]
        columns = first_columns(part, k)
        indices[start : start + step] = columns
        values[start : start + step] = _scores(part, columns, kind, _from_row(manner, start))
    cuda_topk.note_sort(gpu.memory(x))


def warm(
    dtype: str, shape: tuple[int, int], k: int, kind: int, tempered: int, device: int,
    by_length: bool,
) -> None:  # fmt: skip
    """Compile and load what `topk` takes beside PyTorch's own kernels."""
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


def _scores(x: Any, columns: Any, kind: int, manner: cuda.Manner) -> Any:
    """Return what the values of winners are: the numbers, or probabilities or their logarithms."""
    if kind == LOGIT:
        return x.gather(-1, columns)
    numbers = x.gather(-1, columns) if kind > WINNERS else x
    numbers = gpu.cast(numbers, _statistic(gpu.FLOATS[x.dtype])).contiguous()
    scores = gpu.empty_like(numbers, gpu.FLOATS[numbers.dtype])
    log = _op(kind) == "log_softmax"
    cuda.softmax(gpu.memory(numbers), gpu.memory(scores), 1, log, manner)
    return scores if kind > WINNERS else scores.gather(-1, columns)


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
