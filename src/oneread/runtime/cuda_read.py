"""`read` on a GPU: what is asked for to a kernel, compiled once, launched on memory by address.

Knows no array library. Nothing here waits for the GPU, and nothing is allocated on it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from oneread.runtime import cubins, cuda, driver
from oneread.runtime.lines import (
    VECTOR_BYTES,
    Lines,
    Places,
    lines_of,
    mask_lies_alike,
    rows_of,
)
from oneread.runtime.tuning import ELEMENTS, Choice, Rows, choices, choose
from oneread.spec import KernelRecord

__all__ = [
    "Asked",
    "Fields",
    "across_defines",
    "ahead",
    "defines",
    "launches",
    "prepared",
    "read",
]

#: Columns of a row whose rank one launch counts: more take more registers than there are.
MOST_RANKS: Final = 4
_BYTES: Final = 8  # of a column, a rank and a given logit
_MOST_GEOMETRIES: Final = 1024
_ACROSS: Final = "online_read_across"
#: Rows side by side: rows of a block, threads that share one, columns loaded at a time.
_SIDE, _SHARES, _AHEAD = 32, 8, 4


class Asked(NamedTuple):
    """What is wanted of each row besides its maximum and normalizer."""

    entropy: bool = False
    sum_p2: bool = False
    argmax: bool = False
    ranks: int = 0
    """How many selected columns get their rank."""
    state: bool = False
    """Whether the sums are wanted in place of what is made of them."""

    @property
    def defines(self) -> dict[str, int]:
        """What the kernel is compiled with for it."""
        return {
            "ENTROPY": int(self.entropy), "SUM_P2": int(self.sum_p2), "ARGMAX": int(self.argmax),
            "RANKS": self.ranks, "STATE": int(self.state),
        }  # fmt: skip


class Fields(NamedTuple):
    """Addresses of what is read besides x, and of results, each contiguous; 0 for none.

    `result` is lse; for a state float64 numbers, all maxima first, then each sum of all rows.
    """

    result: int
    max: int = 0
    argmax: int = 0
    select: int = 0
    logits: int = 0
    """Of the selected columns, float64, for a state."""
    selected: int = 0
    rank: int = 0
    entropy: int = 0
    sum_p2: int = 0


class Reading(NamedTuple):
    """A kernel with all that a geometry fixes."""

    function: driver.Function
    grid: int
    block: int
    numbers: tuple[int, ...]
    record: KernelRecord
    what: str
    strides: tuple[int, ...]

    def __call__(self, x: cuda.Memory, fields: Fields, selects: int, manner: cuda.Manner) -> None:
        """Put it into the stream of `x`."""
        given, where = manner.temperature or cuda.Temperature(), manner.where
        launch = self.launch(fields, selects)
        launch(
            x.stream, x.address, fields.result, given.value, given.address,
            where.address if where else 0, manner.lengths,
        )  # fmt: skip

    def launch(self, fields: Fields, selects: int) -> cuda.Launch:
        """Return it with where all but the first of the fields lie."""
        numbers = [*self.numbers, selects, *fields[1:]]
        return cuda.Launch(
            self.function, self.grid, self.block, 0, numbers, self.record, self.what, self.strides
        )

    def number_of(self, field: str) -> int:
        """Return which of the launch's numbers the address of a field of `Read` or `Fields` is."""
        if field == "lse":
            return cuda.FIRST
        return len(self.numbers) + Fields._fields.index(field)


def read(
    x: cuda.Memory, axis: int, asked: Asked, fields: Fields, selects: int, manner: cuda.Manner
) -> None:
    """Put `read` along an axis into the stream of `x`, of `selects` columns of each row.

    Ranks beyond the first four of a row are counted by another read for each four of them.
    """
    given, where = manner.temperature, manner.where
    kind = 0 if given is None else 2 if given.address else 1
    places = Places(x.address % VECTOR_BYTES, 0, where.address % VECTOR_BYTES if where else 0)
    for now in launches(asked):
        ready = prepared(
            now, x.dtype, x.shape, x.strides, axis, kind, places, x.device, manner.by_length,
            where.strides if where else None, bool(manner.lengths),
        )  # fmt: skip
        ready(x, fields, selects, manner)
        fields = fields._replace(
            selected=0, select=fields.select + MOST_RANKS * _BYTES,
            rank=fields.rank + MOST_RANKS * _BYTES, logits=fields.logits + MOST_RANKS * _BYTES,
        )  # fmt: skip


def launches(asked: Asked) -> list[Asked]:
    """Return what each launch does: all but the first count further ranks alone."""
    ranks = [min(asked.ranks - i, MOST_RANKS) for i in range(0, asked.ranks, MOST_RANKS)]
    more = [Asked(ranks=n, state=asked.state) for n in ranks[1:]]
    return [asked._replace(ranks=ranks[0] if ranks else 0), *more]


@lru_cache(maxsize=_MOST_GEOMETRIES)
def prepared(
    asked: Asked, dtype: str, shape: tuple[int, ...], strides: tuple[int, ...], axis: int,
    tempered: int, places: Places, device: int, by_length: bool,
    where: tuple[int, ...] | None = None, lengths: bool = False,
) -> Reading:  # fmt: skip
    """Return the kernel for a geometry."""
    gpu = driver.device(device)
    lines = lines_of(shape, axis, strides, None, where)
    beside = {"LENGTHS": 1} if lengths else {}
    steps = {lines.x[2]}
    if where is not None:
        steps.add(lines.where[2])
        beside["WHERE"] = 1
    if steps != {1} and lines.vocab > 1:
        return _across(asked, dtype, lines, tempered, beside, gpu)
    rows = rows_of(dtype, lines, places, result=False)
    if where is not None and mask_lies_alike(lines, places, rows):
        beside["WHERE"] = 2
    choice = choose(
        "read", rows, gpu.target, temperature=tempered, by_length=by_length, ranks=asked.ranks
    )
    return _along(asked, rows, lines, choice.beside(beside), gpu)


def _along(asked: Asked, rows: Rows, lines: Lines, choice: Choice, gpu: driver.Device) -> Reading:
    """Rows whose columns lie side by side."""
    function = cuda._loaded(
        gpu.index, choice.kernel, defines(choice, asked), choice.dynamic_bytes, choice.cluster
    )
    return Reading(
        function, cuda._checked_grid(choice.grid(rows.rows), "read", lines), choice.block,
        (lines.rows, lines.inner, lines.vocab, lines.x[0], lines.x[1]),
        _record(choice.kernel, rows.dtype, "rows", choice.cluster, gpu),
        cuda._what("read", rows.dtype, lines), (lines.inner, lines.x[0], 0, *lines.where),
    )  # fmt: skip


def _across(
    asked: Asked, dtype: str, lines: Lines, tempered: int, beside: dict[str, int],
    gpu: driver.Device,
) -> Reading:  # fmt: skip
    """Rows whose neighbours lie side by side, or that are strewn over memory."""
    macros = across_defines(dtype, tempered, asked) | beside
    grid = cuda._checked_grid(lines.outer * -(-lines.inner // _SIDE), "read", lines)
    function = cuda._loaded(gpu.index, _ACROSS, tuple(macros.items()), 0, 1)
    return Reading(
        function, grid, _SIDE * _SHARES, (lines.outer, lines.inner, lines.vocab, *lines.x),
        _record(_ACROSS, dtype, "strided", 1, gpu), cuda._what("read", dtype, lines),
        (lines.inner, lines.x[0], 0, *lines.where),
    )  # fmt: skip


def across_defines(dtype: str, tempered: int, asked: Asked) -> dict[str, int]:
    """Return what ``online_read_across`` is compiled with."""
    element, size = ELEMENTS[dtype]
    return {
        "ELEMENT": element, "VECTOR_BYTES": size, "ALIGNED": 1, "TEMPERATURE": tempered,
        "SIDE": _SIDE, "SHARES": _SHARES, "AHEAD": _AHEAD, **asked.defines,
    }  # fmt: skip


def _record(kernel: str, dtype: str, layout: str, spans: int, where: driver.Device) -> KernelRecord:
    return KernelRecord(
        kernel, where.target, dtype, layout, 0, spans, "none", device=f"cuda:{where.index}"
    )


def defines(choice: Choice, asked: Asked) -> tuple[tuple[str, int], ...]:
    """Return what a kernel is compiled with."""
    return choice.defines + tuple(asked.defines.items())


def ahead(target: str, quick: bool = False) -> list[tuple[cubins.Source, dict[str, int]]]:
    """Return what `read` may need on a target, as `cuda.ahead` does for the other ops.

    That is with nothing more asked for than the maximum and lse, and with one of everything.
    """
    dtypes = ("float32", "bfloat16") if quick else tuple(ELEMENTS)
    found: dict[tuple[Any, ...], tuple[cubins.Source, dict[str, int]]] = {}
    for asked in (Asked(), Asked(True, True, True, 1)):
        for aligned in (True,) if quick else (True, False):
            chosen = choices("read", target, aligned=aligned)
            for one in (one for dtype in dtypes for one in chosen[dtype]):
                macros = defines(one, asked)
                found[one.kernel, macros] = cuda.source(one.kernel), dict(macros)
        for dtype in dtypes:
            across = across_defines(dtype, 0, asked)
            found[_ACROSS, dtype, asked] = cuda.source(_ACROSS), across
    return list(found.values())
