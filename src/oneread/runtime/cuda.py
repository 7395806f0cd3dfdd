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
from oneread.runtime.tuning import (
    ELEMENTS,
    FOLDER,
    Neighbours,
    Rows,
    choices,
    choices_across,
    choose,
    choose_across,
)
from oneread.spec import KernelRecord, ShapeError

__all__ = [
    "VECTOR_BYTES",
    "Launch",
    "Manner",
    "Memory",
    "Temperature",
    "ahead",
    "last_kernel",
    "logsumexp",
    "prepared",
    "softmax",
]

_HEADERS: Final = ("element.cuh", "ending.cuh", "ptx.cuh", "row.cuh", "running.cuh")
VECTOR_BYTES: Final = 16
#: Shapes that are kept ready; the kernels themselves are few.
_MOST_GEOMETRIES: Final = 4096
_MOST_BLOCKS: Final = 2**31 - 1
_OPS: Final = ("softmax", "log_softmax", "logsumexp")

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


class _Lines(NamedTuple):
    """Rows as two nested loops over places where they begin, and the step along them."""

    outer: int
    inner: int
    vocab: int
    x: tuple[int, int, int]
    """Strides of the outer loop, the inner one and the columns."""
    y: tuple[int, int, int]


class Temperature(NamedTuple):
    """One for all rows; or the address of one float64 a row, in C order of the other axes."""

    value: float = 1.0
    address: int = 0


class Manner(NamedTuple):
    """How an op is done: its temperature, and whether by the length of the row alone."""

    temperature: Temperature | None = None
    by_length: bool = False


def softmax(x: Memory, y: Memory, axis: int, log: bool, manner: Manner) -> None:
    """Put softmax or log_softmax along an axis into the stream of `x`."""
    _run("log_softmax" if log else "softmax", x, y, axis, manner)


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


def _run(op: str, x: Memory, y: Memory, axis: int, manner: Manner) -> None:
    given = manner.temperature or _NO_TEMPERATURE
    kind = 0 if manner.temperature is None else 2 if given.address else 1
    launch = prepared(
        op, x.dtype, x.shape, x.strides, y.strides, axis, kind,
        x.address % VECTOR_BYTES, y.address % VECTOR_BYTES, x.device, manner.by_length,
    )  # fmt: skip
    launch(x.stream, x.address, y.address, given.value, given.address)


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
    axis: int, tempered: int, x_offset: int, y_offset: int, device: int, by_length: bool,
) -> Launch:  # fmt: skip
    """Return what launches the kernel for a geometry: strides and offsets are part of that."""
    where = driver.device(device)
    lines = _lines(shape, x, y if op != "logsumexp" else None, axis)
    if lines.inner == 1 and lines.x[2] == 1 and (op == "logsumexp" or lines.y[2] == 1):
        return _along(op, dtype, lines, tempered, x_offset, y_offset, by_length, where)
    return _across(op, dtype, lines, tempered, x_offset, y_offset, where)


def _along(
    op: str, dtype: str, lines: _Lines, tempered: int, x_offset: int, y_offset: int,
    by_length: bool, where: driver.Device,
) -> Launch:  # fmt: skip
    """Rows whose columns lie side by side."""
    size = ELEMENTS[dtype][1]
    x_step, y_step = lines.x[0] * size, lines.y[0] * size
    apart = 0 if op == "logsumexp" else x_offset - y_offset
    several = lines.outer > 1
    if op == "logsumexp" or not several:
        y_step = x_step
    width = _common_width(size, apart, x_step - y_step if several else 0)
    aligned = not (x_offset % width or (several and x_step % width) or lines.vocab * size % width)
    what = Rows(dtype, lines.outer, lines.vocab, width, aligned)
    choice = choose(op, what, where.target, temperature=tempered, by_length=by_length)
    grid = _checked_grid(choice.grid(lines.outer), op, lines)
    function = _loaded(
        where.index, choice.kernel, choice.defines, choice.dynamic_bytes, choice.cluster
    )
    numbers = [lines.outer, lines.vocab, lines.x[0]]
    if op != "logsumexp":
        numbers.append(lines.y[0])
    record = _record(op, choice.kernel, dtype, "rows", choice.cluster, where)
    return Launch(
        function, grid, choice.block, choice.dynamic_bytes, numbers, record, f"{op} of {what}"
    )


def _across(
    op: str, dtype: str, lines: _Lines, tempered: int, x_offset: int, y_offset: int,
    where: driver.Device,
) -> Launch:  # fmt: skip
    """Rows whose neighbours lie side by side, or that are strewn over memory."""
    size = ELEMENTS[dtype][1]
    width = size
    if op != "logsumexp" and lines.x[1] == lines.y[1] == 1:
        steps = (lines.inner, lines.x[0], lines.x[2], lines.y[0], lines.y[2])
        width = _common_width(size, x_offset, y_offset, *[step * size for step in steps])
    what = Neighbours(dtype, lines.inner, lines.vocab, width)
    choice = choose_across(op, what, where.target, temperature=tempered)
    grid = _checked_grid(lines.outer * -(-lines.inner // choice.rows_a_block), op, lines)
    function = _loaded(where.index, choice.kernel, choice.defines, 0, 1)
    numbers = [lines.outer, lines.inner, lines.vocab, *lines.x, *lines.y]
    record = _record(op, choice.kernel, dtype, "strided", 1, where)
    return Launch(function, grid, choice.block, 0, numbers, record, f"{op} of {lines}")


def _lines(
    shape: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...] | None, axis: int
) -> _Lines:
    """Return the rows along an axis as two loops, neighbouring axes as one where they are."""
    if y is None:  # results of one number a row, side by side
        rows = [n for i, n in enumerate(shape) if i != axis]
        steps = [1] * len(rows)
        for i in range(len(rows) - 2, -1, -1):
            steps[i] = steps[i + 1] * max(rows[i + 1], 1)
        y = (*steps[:axis], 0, *steps[axis:])
    loops: list[tuple[int, int, int]] = []
    for i, n in enumerate(shape):
        if i == axis or n == 1:
            continue
        if loops:
            count, x_step, y_step = loops[-1]
            if x_step == n * x[i] and y_step == n * y[i]:
                loops[-1] = (count * n, x[i], y[i])
                continue
        loops.append((n, x[i], y[i]))
    if len(loops) > 2:
        raise ShapeError(
            f"x has shape {shape} and strides {x}, whose rows along axis {axis} are more than two "
            "loops over memory, which this version does not do on a GPU: give x.contiguous()"
        )
    if len(loops) == 1 and x[axis] != 1:  # neighbours side by side: the inner loop
        loops.insert(0, (1, 0, 0))
    loops += [(1, 0, 0)] * (2 - len(loops))
    (outer, x_outer, y_outer), (inner, x_inner, y_inner) = loops
    return _Lines(
        outer, inner, shape[axis], (x_outer, x_inner, x[axis]), (y_outer, y_inner, y[axis])
    )


def _common_width(size: int, *distances: int) -> int:
    """Return the widest access that all distances in bytes are multiples of."""
    width = VECTOR_BYTES
    while width > size and any(distance % width for distance in distances):
        width //= 2
    return width


def _checked_grid(grid: int, op: str, lines: _Lines) -> int:
    if grid > _MOST_BLOCKS:
        raise ShapeError(
            f"{op} of {lines.outer * lines.inner} rows takes {grid} blocks; a GPU launches up to "
            f"{_MOST_BLOCKS} at once: give fewer rows"
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
