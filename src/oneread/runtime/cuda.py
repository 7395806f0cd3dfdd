"""The ops on a GPU: geometry to kernel, compiled once, launched from what was kept.

Knows addresses and strides, no array library. Nothing here waits for the GPU, and after the first
call of a geometry nothing is allocated.
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from oneread.runtime import cubins, driver
from oneread.runtime.cpu import native
from oneread.runtime.tuning import ELEMENTS, FOLDER, Rows, choices, choose
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
    "note",
    "prepared",
    "softmax",
]

_HEADERS: Final = (
    "candidates.cuh", "element.cuh", "order.cuh", "ptx.cuh", "row.cuh", "running.cuh",
    "shortlist.cuh",
)  # fmt: skip
VECTOR_BYTES: Final = 16
#: Shapes that are kept ready; the kernels themselves are few.
_MOST_GEOMETRIES: Final = 4096
_MOST_BLOCKS: Final = 2**31 - 1
#: Rows side by side: rows of a block, threads that share one, columns loaded at a time.
_SIDE, _SHARES, _AHEAD = 32, 8, 4
_OPS: Final = {"softmax": 0, "log_softmax": 1, "logsumexp": 2}

_last = threading.local()


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
    return getattr(_last, "record", None)


def note(record: KernelRecord) -> None:
    """Let `last_kernel` return what ran in several kernels."""
    _last.record = record


def _run(op: str, x: Memory, y: Memory, axis: int, manner: Manner) -> None:
    given = manner.temperature or _NO_TEMPERATURE
    kind = 0 if manner.temperature is None else 2 if given.address else 1
    launch = prepared(
        op, x.dtype, x.shape, x.strides, y.strides, axis, kind,
        x.address % VECTOR_BYTES, y.address % VECTOR_BYTES, x.device, manner.by_length,
    )  # fmt: skip
    launch(x.stream, x.address, y.address, given.value, given.address)


class Launch:
    """One kernel with all that a geometry fixes; called, it goes to a stream.

    The GPU must be the current one of the calling thread.
    """

    __slots__ = ("_function", "_record", "_start", "_what")

    def __init__(
        self, function: driver.Function, grid: int, block: int, dynamic_bytes: int,
        numbers: list[int], record: KernelRecord, what: str,
    ) -> None:  # fmt: skip
        self._start = native.CudaLaunch(
            driver.address(), function.handle, grid, block, dynamic_bytes, numbers
        )
        self._function, self._record, self._what = function, record, what

    def __call__(
        self, stream: int, x: int, y: int, temperature: float = 1.0, temperatures: int = 0
    ) -> None:
        """Put it into a stream, for memory at these addresses."""
        status = self._start(stream, x, y, temperature, temperatures)
        if status:
            driver.check_launch(status, self._function, self._what)
        _last.record = self._record


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
    return _across(op, dtype, lines, tempered, where)


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
    width = _common_width(apart, x_step - y_step if several else 0, size)
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


def _across(op: str, dtype: str, lines: _Lines, tempered: int, where: driver.Device) -> Launch:
    """Rows whose neighbours lie side by side, or that are strewn over memory."""
    defines = across_defines(*ELEMENTS[dtype], tempered) | {"OP": _OPS[op]}
    grid = _checked_grid(lines.outer * -(-lines.inner // _SIDE), op, lines)
    function = _loaded(where.index, "softmax_across", tuple(defines.items()), 0, 1)
    numbers = [lines.outer, lines.inner, lines.vocab, *lines.x, *lines.y]
    record = _record(op, "softmax_across", dtype, "strided", 1, where)
    return Launch(function, grid, _SIDE * _SHARES, 0, numbers, record, f"{op} of {lines}")


def across_defines(element: int, size: int, tempered: int) -> dict[str, int]:
    """Return what ``softmax_across`` is compiled with, but for the op."""
    return {
        "ELEMENT": element, "VECTOR_BYTES": size, "TEMPERATURE": tempered,
        "SIDE": _SIDE, "SHARES": _SHARES, "AHEAD": _AHEAD,
    }  # fmt: skip


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


def _common_width(apart: int, steps_apart: int, size: int) -> int:
    """Return the widest access for which the rows of two arrays lie alike."""
    width = VECTOR_BYTES
    while width > size and (apart % width or steps_apart % width):
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
    for op, number in _OPS.items():
        for aligned in (True,) if quick else (True, False):
            chosen = choices(op, target, aligned=aligned)
            for one in (one for dtype in dtypes for one in chosen[dtype]):
                found[one.kernel, one.defines] = source(one.kernel), dict(one.defines)
        for dtype in dtypes:
            defines = across_defines(*ELEMENTS[dtype], 0) | {"OP": number}
            found[op, dtype] = source("softmax_across"), defines
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
