"""The ops on a GPU: geometry to kernel, compiled once, launched from what was kept.

Knows addresses and strides, no array library. Nothing here waits for the GPU, and after the first
call of a geometry nothing is allocated.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from oneread.runtime import cubins, driver
from oneread.runtime.cpu import native
from oneread.runtime.lines import (
    VECTOR_BYTES,
    Lines,
    Places,
    common_width,
    fit,
    lines_of,
    mask_lies_alike,
    rows_between,
    rows_of,
)
from oneread.runtime.tuning import (
    ELEMENTS,
    FOLDER,
    Choice,
    Neighbours,
    Rows,
    choices,
    choices_across,
    choose,
    choose_across,
)
from oneread.spec import KernelRecord, ShapeError

__all__ = [
    "FIRST",
    "VECTOR_BYTES",
    "Launch",
    "Manner",
    "Memory",
    "Places",
    "Temperature",
    "ahead",
    "fit",
    "last_kernel",
    "logsumexp",
    "note",
    "prepared",
    "softmax",
    "writes",
]

_HEADERS: Final = (
    "backward.cuh", "beside.cuh", "candidates.cuh", "element.cuh", "ending.cuh", "missing.cuh",
    "moments.cuh", "order.cuh", "place.cuh", "ptx.cuh", "results.cuh", "row.cuh", "running.cuh",
    "shortlist.cuh", "sum.cuh",
)  # fmt: skip
#: Shapes that are kept ready; the kernels themselves are few.
_MOST_GEOMETRIES: Final = 4096
_MOST_BLOCKS: Final = 2**31 - 1
_OPS: Final = ("softmax", "log_softmax", "logsumexp")
#: In the place of a number of a launch: the address that comes second, that of the result.
FIRST: Final = -1

#: What ran, numbered in the order of these.
_records: dict[KernelRecord, int] = {}
_records_lock: Final = threading.Lock()


class Memory(NamedTuple):
    """Memory of an array on a GPU: strides in elements, the stream by the driver's number."""

    address: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int
    stream: int


class Temperature(NamedTuple):
    """One for all rows; or the address of one float64 a row, in C order of the other axes."""

    value: float = 1.0
    address: int = 0


class Manner(NamedTuple):
    """How an op is done: its temperature, whether by the length of the row alone, its masks.

    `where` is memory of bytes in the shape of x, 0 for what counts as -inf; `lengths` the address
    of one int64 a row, in C order of the other axes.
    """

    temperature: Temperature | None = None
    by_length: bool = False
    where: Memory | None = None
    lengths: int = 0


def softmax(x: Memory, y: Memory, axis: int, log: bool, manner: Manner) -> None:
    """Put softmax or log_softmax along an axis into the stream of `x`.

    `y` may be of another type, where `writes` says so.
    """
    _run("log_softmax" if log else "softmax", x, y, axis, manner)


def writes(dtype: str, written: str) -> bool:
    """Whether softmax and log_softmax of one type can write another."""
    return dtype == written or "float64" not in (dtype, written)


def logsumexp(x: Memory, lse: Memory, axis: int, manner: Manner) -> None:
    """Put logsumexp along an axis into the stream of `x`; `lse` is contiguous."""
    _run("logsumexp", x, lse, axis, manner)


_NO_TEMPERATURE: Final = Temperature()


def last_kernel() -> KernelRecord | None:
    """Return which kernel this thread last launched on a GPU."""
    number = native.last_launch()
    return None if number < 0 else list(_records)[number]


def _number_of(record: KernelRecord) -> int:
    with _records_lock:
        return _records.setdefault(record, len(_records))


def note(record: KernelRecord) -> None:
    """Let `last_kernel` return what ran in several kernels."""
    native.note_launch(_number_of(record))


def _run(op: str, x: Memory, y: Memory, axis: int, manner: Manner) -> None:
    given, where = manner.temperature or _NO_TEMPERATURE, manner.where
    kind = 0 if manner.temperature is None else 2 if given.address else 1
    masks = where.address if where else 0
    places = Places(x.address % VECTOR_BYTES, y.address % VECTOR_BYTES, masks % VECTOR_BYTES)
    launch = prepared(
        op, x.dtype, x.shape, x.strides, y.strides, axis, kind, places, x.device, manner.by_length,
        where.strides if where else None, bool(manner.lengths),
        y.dtype if op != "logsumexp" else x.dtype,
    )  # fmt: skip
    launch(x.stream, x.address, y.address, given.value, given.address, masks, manner.lengths)


class Launch(native.CudaLaunch):
    """One kernel with all that a geometry fixes; called, it goes to a stream.

    Whichever GPU is the current one of the calling thread stays so.
    """

    def __init__(
        self, function: driver.Function, grid: int, block: int, dynamic_bytes: int,
        numbers: list[int], record: KernelRecord, what: str, strides: Sequence[int] = (),
    ) -> None:  # fmt: skip
        super().__init__(
            driver.addresses(), function.device.context, function.handle, grid, block,
            dynamic_bytes, numbers, strides, _number_of(record),
        )  # fmt: skip
        self._function, self._what = function, what

    def failed(self, status: int) -> None:
        """Raise for an error code of the driver."""
        driver.check_launch(status, self._function, self._what)


@lru_cache(maxsize=_MOST_GEOMETRIES)
def prepared(
    op: str, dtype: str, shape: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...],
    axis: int, tempered: int, places: Places, device: int, by_length: bool,
    where: tuple[int, ...] | None = None, lengths: bool = False, written: str = "",
) -> Launch:  # fmt: skip
    """Return what launches the kernel for a geometry: strides and offsets are part of that.

    `written` is the type of y, that of x if left out.
    """
    gpu = driver.device(device)
    lines = lines_of(shape, axis, x, y if op != "logsumexp" else None, where)
    beside = {"LENGTHS": 1} if lengths else {}
    if written not in ("", dtype):
        beside["RESULT"] = ELEMENTS[written][0]
    steps = {lines.x[2]}
    if op != "logsumexp":
        steps.add(lines.y[2])
    if where is not None:
        steps.add(lines.where[2])
        beside["WHERE"] = 1
    if steps != {1}:
        return _across(op, dtype, lines, tempered, places, beside, gpu)
    if "RESULT" in beside:
        rows = rows_between(dtype, written, lines, places)
    else:
        rows = rows_of(dtype, lines, places, op != "logsumexp")
    if lines.outer > 1:
        beside["LOOPS"] = 2
    if where is not None and mask_lies_alike(lines, places, rows):
        beside["WHERE"] = 2
    choice = choose(op, rows, gpu.target, temperature=tempered, by_length=by_length)
    return _along(op, rows, lines, choice.beside(beside), gpu)


def _along(op: str, rows: Rows, lines: Lines, choice: Choice, gpu: driver.Device) -> Launch:
    """Rows whose columns lie side by side."""
    grid = _checked_grid(choice.grid(rows.rows), op, lines)
    function = _loaded(
        gpu.index, choice.kernel, choice.defines, choice.dynamic_bytes, choice.cluster
    )
    numbers = [rows.rows, rows.vocab, lines.x[1]]
    if op != "logsumexp":
        numbers.append(lines.y[1])
    strides = (lines.inner, lines.x[0], lines.y[0], *lines.where)
    record = _record(op, choice.kernel, rows.dtype, "rows", choice.cluster, gpu)
    return Launch(
        function, grid, choice.block, choice.dynamic_bytes, numbers, record,
        _what(op, rows.dtype, lines), strides,
    )  # fmt: skip


def _across(
    op: str, dtype: str, lines: Lines, tempered: int, places: Places, beside: dict[str, int],
    gpu: driver.Device,
) -> Launch:  # fmt: skip
    """Rows whose neighbours lie side by side, or that are strewn over memory."""
    size = ELEMENTS[dtype][1]
    width = size
    if op != "logsumexp" and lines.x[1] == lines.y[1] == 1 and not beside:
        steps = (lines.inner, lines.x[0], lines.x[2], lines.y[0], lines.y[2])
        width = common_width(size, places.x, places.y, *[step * size for step in steps])
    what = Neighbours(dtype, lines.inner, lines.vocab, width, bool(beside))
    choice = choose_across(op, what, gpu.target, temperature=tempered).beside(beside)
    grid = _checked_grid(lines.outer * -(-lines.inner // choice.rows_a_block), op, lines)
    function = _loaded(gpu.index, choice.kernel, choice.defines, 0, 1)
    numbers = [lines.outer, lines.inner, lines.vocab, *lines.x, *lines.y]
    record = _record(op, choice.kernel, dtype, "strided", 1, gpu)
    return Launch(
        function, grid, choice.block, 0, numbers, record, _what(op, dtype, lines),
        (lines.inner, 0, 0, *lines.where),
    )  # fmt: skip


def _what(op: str, dtype: str, lines: Lines) -> str:
    return f"{op} of {lines.rows} rows of {lines.vocab} {dtype}"


def _checked_grid(grid: int, op: str, lines: Lines) -> int:
    if grid > _MOST_BLOCKS:
        raise ShapeError(
            f"{op} of {lines.rows} rows takes {grid} blocks; a GPU launches up to {_MOST_BLOCKS} "
            "at once: give fewer rows"
        )
    return grid


@cache
def _loaded(
    device: int, kernel: str, defines: tuple[tuple[str, int], ...], dynamic_bytes: int, cluster: int
) -> driver.Function:
    where = driver.device(device)
    code = cubins.compiled(source(kernel), where.target, dict(defines))
    return driver.load(where, code, kernel, dynamic_bytes=dynamic_bytes, cluster=cluster)


@cache
def source(kernel: str) -> cubins.Source:
    """Return the source of a kernel, with its headers."""

    def text(name: str) -> str:
        return (FOLDER / name).read_text(encoding="utf-8")

    return cubins.Source(f"{kernel}.cu", text(f"{kernel}.cu"), {n: text(n) for n in _HEADERS})


def ahead(target: str, quick: bool = False) -> list[tuple[cubins.Source, dict[str, int]]]:
    """Return what the ops may need on a target: sources, and what they are compiled with.

    That is without a temperature; `quick` leaves out float16, float64 and rows that begin or end
    within 16 bytes.
    """
    dtypes = ("float32", "bfloat16") if quick else tuple(ELEMENTS)
    found: dict[tuple[Any, ...], tuple[cubins.Source, dict[str, int]]] = {}
    for op in _OPS:
        tables = [choices(op, target), choices_across(op, target)]
        if not quick:
            tables.append(choices(op, target, aligned=False))
        for one in (one for table in tables for dtype in dtypes for one in table[dtype]):
            found[one.kernel, one.defines] = source(one.kernel), dict(one.defines)
    return list(found.values())


def _record(
    op: str, kernel: str, dtype: str, layout: str, spans: int, where: driver.Device
) -> KernelRecord:
    return KernelRecord(
        kernel if op != "log_softmax" else kernel.replace("softmax", "log_softmax"),
        where.target,
        dtype,
        layout,
        0,
        spans,
        "none" if op == "logsumexp" else "streaming",
        device=f"cuda:{where.index}",
    )
