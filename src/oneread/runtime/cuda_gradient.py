"""Backward passes on a GPU: what is asked for to a kernel, compiled once, launched by address.

Knows no array library. Nothing here waits for the GPU, and nothing is allocated on it.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from oneread.runtime import cubins, cuda, driver
from oneread.runtime.lines import VECTOR_BYTES, Lines, Places, lines_of, rows_of
from oneread.runtime.tuning import ELEMENTS, Choice, choices, choose
from oneread.spec import KernelRecord

__all__ = ["Asked", "Numbers", "ahead", "logits_gradient", "softmax_backward"]

_MOST_GEOMETRIES: Final = 1024


class Numbers(NamedTuple):
    """Addresses of numbers one a row, and one a column, each contiguous; 0 for none."""

    lse: int
    scale: int = 0
    slope: int = 0
    square: int = 0
    target: int = 0
    at_target: int = 0
    uniform: int = 0
    class_weight: int = 0
    temperature: int = 0
    """Of float64 numbers; 0 where there is one for all."""


class Asked(NamedTuple):
    """Which terms a gradient has."""

    slope: bool = False
    target: bool = False
    uniform: bool = False
    weighted: bool = False
    softcap: bool = False
    square: bool = False
    tempered: int = 0
    """0 without a temperature, 1 with one for all, 2 with one a row."""

    @property
    def defines(self) -> tuple[tuple[str, int], ...]:
        """What the kernel is compiled with for it."""
        return (
            ("SLOPE", int(self.slope)), ("TARGET", int(self.target)),
            ("UNIFORM", int(self.uniform) + int(self.uniform and self.weighted)),
            ("SOFTCAP", int(self.softcap)), ("SQUARE", int(self.square)),
        )  # fmt: skip


class Ready(NamedTuple):
    """A kernel with all that a geometry fixes."""

    function: driver.Function
    grid: int
    choice: Choice
    numbers: tuple[int, ...]
    record: KernelRecord
    what: str

    def launch(self, more: tuple[int, ...]) -> cuda.Launch:
        """Return what puts it into a stream, given the numbers of this call."""
        return cuda.Launch(
            self.function, self.grid, self.choice.block, self.choice.dynamic_bytes,
            [*self.numbers, *more], self.record, self.what,
        )  # fmt: skip


def logits_gradient(
    x: cuda.Memory, dx: cuda.Memory, numbers: Numbers, softcap: float | None, temperature: float
) -> None:
    """Put the gradient of statistics of rows of logits, (rows, columns), into the stream of `x`.

    Columns lie side by side; `dx` may be `x`.
    """
    has_target = bool(numbers.target and numbers.at_target)
    asked = Asked(
        bool(numbers.slope), has_target, bool(numbers.uniform), bool(numbers.class_weight),
        softcap is not None, bool(numbers.square),
        2 if numbers.temperature else int(temperature != 1),
    )  # fmt: skip
    places = Places(x.address % VECTOR_BYTES, dx.address % VECTOR_BYTES)
    ready = _of_logits(asked, x.dtype, x.shape, x.strides, dx.strides, places, x.device)
    (cap,) = struct.unpack("q", struct.pack("d", 1.0 if softcap is None else softcap))
    launch = ready.launch((*numbers[:-1], cap))
    launch(x.stream, x.address, dx.address, temperature, numbers.temperature)


def softmax_backward(y: cuda.Memory, grad: cuda.Memory, dx: cuda.Memory, log: bool) -> None:
    """Put the gradient to the logits of softmax or log_softmax into the stream of `y`.

    Rows are (rows, columns), the columns side by side; `dx` may be `y` or `grad`.
    """
    places = Places(*[one.address % VECTOR_BYTES for one in (y, dx, grad)])
    ready = _of_softmax(
        log, y.dtype, y.shape, y.strides, dx.strides, grad.strides, places, y.device
    )
    ready.launch((grad.address,))(y.stream, y.address, dx.address)


@lru_cache(maxsize=_MOST_GEOMETRIES)
def _of_logits(
    asked: Asked, dtype: str, shape: tuple[int, ...], x: tuple[int, ...], dx: tuple[int, ...],
    places: Places, device: int,
) -> Ready:  # fmt: skip
    where = driver.device(device)
    lines = lines_of(shape, 1, x, dx)
    rows = rows_of(dtype, lines, places, result=True)
    choice = choose("logits_gradient", rows, where.target, temperature=asked.tempered)
    shares = choice.shares(rows)
    function = cuda._loaded(where.index, choice.kernel, (*choice.defines, *asked.defines), 0, 1)
    grid = cuda._checked_grid(choice.grid(rows.rows) * shares, "a gradient", lines)
    numbers = (lines.rows, lines.vocab, lines.x[1], lines.y[1], shares)
    return _ready(function, grid, choice, numbers, choice.kernel, dtype, lines, where)


@lru_cache(maxsize=_MOST_GEOMETRIES)
def _of_softmax(
    log: bool, dtype: str, shape: tuple[int, ...], y: tuple[int, ...], dx: tuple[int, ...],
    grad: tuple[int, ...], places: Places, device: int,
) -> Ready:  # fmt: skip
    where = driver.device(device)
    lines = lines_of(shape, 1, y, dx, grad)
    rows = rows_of(dtype, lines, places, result=True, another=True)
    choice = choose("softmax_backward", rows, where.target)
    function = cuda._loaded(
        where.index, choice.kernel, (*choice.defines, ("LOG", int(log))), choice.dynamic_bytes,
        choice.cluster,
    )  # fmt: skip
    grid = cuda._checked_grid(choice.grid(rows.rows), "a gradient", lines)
    numbers = (lines.rows, lines.vocab, lines.x[1], lines.y[1], lines.where[1])
    kernel = choice.kernel.replace("softmax", "log_softmax") if log else choice.kernel
    return _ready(function, grid, choice, numbers, kernel, dtype, lines, where)


def _ready(
    function: driver.Function, grid: int, choice: Choice, numbers: tuple[int, ...], kernel: str,
    dtype: str, lines: Lines, where: driver.Device,
) -> Ready:  # fmt: skip
    record = KernelRecord(
        kernel, where.target, dtype, "rows", 0, choice.cluster, "streaming",
        device=f"cuda:{where.index}",
    )  # fmt: skip
    return Ready(function, grid, choice, numbers, record, cuda._what("a gradient", dtype, lines))


def ahead(target: str, quick: bool = False) -> list[tuple[cubins.Source, dict[str, int]]]:
    """Return what backward passes may need on a target, as `cuda.ahead` does for the ops.

    Of gradients to logits these are what logsumexp and selected columns, cross entropy and
    entropies need.
    """
    dtypes = ("float32", "bfloat16") if quick else tuple(ELEMENTS)
    more: dict[str, list[tuple[tuple[str, int], ...]]] = {
        "logits_gradient": [Asked(slope=slope, target=True).defines for slope in (False, True)],
        "softmax_backward": [(("LOG", log),) for log in (0, 1)],
    }
    found: dict[tuple[Any, ...], tuple[cubins.Source, dict[str, int]]] = {}
    for op, added in more.items():
        for aligned in (True,) if quick else (True, False):
            chosen = choices(op, target, aligned=aligned)
            for one in (one for dtype in dtypes for one in chosen[dtype]):
                for terms in added:
                    macros = (*one.defines, *terms)
                    found[one.kernel, macros] = cuda.source(one.kernel), dict(macros)
    return list(found.values())
