"""Top-k on a GPU: k and what is wanted of the winners to a kernel, launched on memory by address.

Knows no array library. Nothing here waits for the GPU, and nothing is allocated on it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from oneread.runtime import cubins, cuda, driver
from oneread.runtime.lines import VECTOR_BYTES, Places, lines_of, mask_lies_alike, rows_of
from oneread.runtime.tuning import ELEMENTS, Choice, choices, choose
from oneread.spec import KernelRecord

__all__ = ["Asked", "Results", "ahead", "finds", "note_sort", "prepared", "topk"]

#: Winners of a row that the kernels of the table find.
MOST_K: Final = 2048
#: Up to here by bounds alone, which takes rows of any length; beyond, columns are 32 bits wide.
_BOUNDED_K, _MOST_COLUMNS = 64, 2**32 - 1
_MOST_GEOMETRIES: Final = 1024
#: Rows from here on need more than an int for their columns, and for what a step is ahead of them.
_LONG: Final = 2**31 - 2**24


def finds(k: int, columns: int) -> bool:
    """Whether the kernels find so many winners of rows of such a length."""
    return k <= _BOUNDED_K or (k <= MOST_K and columns <= _MOST_COLUMNS)


def note_sort(x: cuda.Memory) -> None:
    """Let `oneread.last_kernel` say that rows were sorted."""
    where = driver.device(x.device)
    cuda.note(
        KernelRecord(
            "sort_topk", where.target, x.dtype, "rows", 0, 1, selection="sort",
            device=f"cuda:{x.device}",
        )
    )  # fmt: skip


class Asked(NamedTuple):
    """How many winners a row has, and what is wanted of them."""

    k: int
    kind: int
    """What the values are, as the native module numbers it: 0 for logits."""
    index_bytes: int = 8
    sums: bool = True
    """Whether the normalizer of the whole row is needed."""


class Results(NamedTuple):
    """Addresses of the results, each contiguous with k a row; `lse` is one a row; 0 for none."""

    values: int
    indices: int
    lse: int = 0
    logits: int = 0
    """The winners' numbers themselves, besides values that are something else."""


class Ready(NamedTuple):
    """A kernel with all that a geometry fixes."""

    function: driver.Function
    grid: int
    block: int
    dynamic_bytes: int
    numbers: tuple[int, ...]
    record: KernelRecord
    what: str
    strides: tuple[int, ...]


def topk(x: cuda.Memory, axis: int, asked: Asked, results: Results, manner: cuda.Manner) -> None:
    """Put the winners of each row along an axis, whose columns lie side by side, into its stream.

    So do the bytes of a mask.
    """
    given, where = manner.temperature or cuda.Temperature(), manner.where
    kind = 0 if manner.temperature is None else 2 if given.address else 1
    masks = where.address if where else 0
    ready = prepared(
        asked, x.dtype, x.shape, x.strides, axis, kind,
        Places(x.address % VECTOR_BYTES, 0, masks % VECTOR_BYTES), x.device, manner.by_length,
        where.strides if where else None, bool(manner.lengths),
    )  # fmt: skip
    launch = cuda.Launch(
        ready.function, ready.grid, ready.block, ready.dynamic_bytes,
        [*ready.numbers, *results[1:]], ready.record, ready.what, ready.strides,
    )  # fmt: skip
    launch(
        x.stream, x.address, results.values, given.value, given.address, masks, manner.lengths
    )  # fmt: skip


@lru_cache(maxsize=_MOST_GEOMETRIES)
def prepared(
    asked: Asked, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], axis: int,
    tempered: int, places: Places, device: int, by_length: bool,
    where: tuple[int, ...] | None = None, lengths: bool = False,
) -> Ready:  # fmt: skip
    """Return the kernel for a geometry."""
    gpu = driver.device(device)
    lines = lines_of(shape, axis, strides, None, where)
    rows = rows_of(dtype, lines, places, result=False)._replace(k=asked.k)
    beside = {"LENGTHS": 1} if lengths else {}
    if lines.outer > 1:
        beside["LOOPS"] = 2
    if where is not None:
        beside["WHERE"] = 2 if mask_lies_alike(lines, places, rows) else 1
    choice = choose("topk", rows, gpu.target, temperature=tempered, by_length=by_length)
    choice = choice.beside(beside)
    grid = cuda._checked_grid(choice.grid(rows.rows), "top-k", lines)
    function = cuda._loaded(
        gpu.index, choice.kernel, _defines(choice, asked.sums, rows.vocab > _LONG),
        choice.dynamic_bytes, choice.cluster,
    )  # fmt: skip
    record = KernelRecord(
        choice.kernel, gpu.target, dtype, "rows", 0, choice.cluster, "none",
        device=f"cuda:{gpu.index}",
    )  # fmt: skip
    numbers = (rows.rows, rows.vocab, lines.x[1], asked.k, asked.kind, asked.index_bytes)
    return Ready(
        function, grid, choice.block, choice.dynamic_bytes, numbers, record,
        f"the {asked.k} first columns of {rows.rows} rows of {rows.vocab} {dtype}",
        (lines.inner, lines.x[0], 0, *lines.where),
    )  # fmt: skip


def _defines(choice: Choice, sums: bool, long: bool = False) -> tuple[tuple[str, int], ...]:
    return (*choice.defines, ("SUMS", int(sums)), ("LONG", int(long)))


def ahead(target: str, quick: bool = False) -> list[tuple[cubins.Source, dict[str, int]]]:
    """Return what top-k may need on a target, as `cuda.ahead` does for the other ops."""
    dtypes = ("float32", "bfloat16") if quick else tuple(ELEMENTS)
    found: dict[tuple[Any, ...], tuple[cubins.Source, dict[str, int]]] = {}
    for aligned in (True,) if quick else (True, False):
        chosen = choices("topk", target, aligned=aligned)
        for one in (one for dtype in dtypes for one in chosen[dtype]):
            for sums in (True, False):
                defines = _defines(one, sums)
                found[one.kernel, defines] = cuda.source(one.kernel), dict(defines)
    return list(found.values())
