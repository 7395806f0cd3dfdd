"""Rows of arrays on a GPU as loops over memory, and the accesses that fit them.

Knows shapes, strides and offsets, no array and no kernel. Strides are in elements.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from oneread.runtime.tuning import ELEMENTS, Rows
from oneread.spec import ShapeError

__all__ = [
    "VECTOR_BYTES",
    "Lines",
    "Places",
    "common_width",
    "fit",
    "lines_of",
    "mask_lies_alike",
    "rows_between",
    "rows_of",
]

VECTOR_BYTES: Final = 16

Strides = tuple[int, ...]


class Lines(NamedTuple):
    """Rows as two nested loops over places where they begin, and the step along them.

    A single loop is the inner one. Strides are those of the outer loop, the inner one and the
    columns.
    """

    outer: int
    inner: int
    vocab: int
    x: tuple[int, int, int]
    y: tuple[int, int, int]
    where: tuple[int, int, int] = (0, 0, 0)
    """Those of a mask: 0 without one."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.outer * self.inner

    def steps(self, strides: tuple[int, int, int]) -> list[int]:
        """Return the strides of the loops that have more than one turn."""
        counts = (self.outer, self.inner)
        return [step for n, step in zip(counts, strides[:2], strict=True) if n > 1]


class Places(NamedTuple):
    """Where x, y and a mask begin: addresses modulo `VECTOR_BYTES`."""

    x: int = 0
    y: int = 0
    where: int = 0


@lru_cache(maxsize=4096)
def fit(
    shape: Strides, axis: int, x: Strides, y: Strides | None, where: Strides | None = None
) -> bool:
    """Whether `lines_of` can say it: at most two loops over the memory of all."""
    return len(_loops_of(shape, axis, x, y, where)) <= 2


def lines_of(
    shape: Strides, axis: int, x: Strides, y: Strides | None, where: Strides | None = None
) -> Lines:
    """Return the rows along an axis; without `y` results are one number a row, side by side."""
    loops = _loops_of(shape, axis, x, y, where)
    if len(loops) > 2:
        raise ShapeError(f"rows of {shape} with strides {x}, {y} are more than two loops")
    (outer, before), (inner, steps) = [(1, (0, 0, 0))] * (2 - len(loops)) + loops
    along = (x[axis], y[axis] if y else 0, where[axis] if where else 0)
    return Lines(outer, inner, shape[axis], *zip(before, steps, along, strict=True))


def rows_of(dtype: str, lines: Lines, places: Places, result: bool, another: bool = False) -> Rows:
    """Return rows side by side as a kernel is chosen for them; `result` is as long as they are.

    With `another` what stands for a mask is a second input like x.
    """
    size = ELEMENTS[dtype][1]
    x_steps = [step * size for step in lines.steps(lines.x)]
    apart: list[int] = []
    others = [(places.y, lines.y)] if result else []
    if another:
        others.append((places.where, lines.where))
    for place, strides in others:
        apart.append(places.x - place)
        steps = [step * size for step in lines.steps(strides)]
        apart += [a - b for a, b in zip(x_steps, steps, strict=True)]
    width = common_width(size, *apart)
    edges = [places.x, lines.vocab * size, *x_steps]
    aligned = not any(edge % width for edge in edges)
    return Rows(dtype, lines.rows, lines.vocab, width, aligned)


def rows_between(dtype: str, written: str, lines: Lines, places: Places) -> Rows:
    """Return what `rows_of` does for results of another type: places count in elements then."""
    size, written_size = ELEMENTS[dtype][1], ELEMENTS[written][1]
    apart = [places.x // size - places.y // written_size]
    steps = zip(lines.steps(lines.x), lines.steps(lines.y), strict=True)
    apart += [a - b for a, b in steps]
    width = VECTOR_BYTES
    while width > size:
        access = min(VECTOR_BYTES, width // size * written_size)
        if not any(distance * written_size % access for distance in apart):
            break
        width //= 2
    return rows_of(dtype, lines, places, result=False)._replace(vector_bytes=width)


def common_width(size: int, *distances: int) -> int:
    """Return the widest access that all distances in bytes are multiples of."""
    width = VECTOR_BYTES
    while width > size and any(distance % width for distance in distances):
        width //= 2
    return width


def mask_lies_alike(lines: Lines, places: Places, rows: Rows) -> bool:
    """Whether the bytes of a mask for one access to x are themselves one access."""
    size = ELEMENTS[rows.dtype][1]
    width = rows.vector_bytes // size
    apart = [places.where - places.x // size]
    steps = zip(lines.steps(lines.where), lines.steps(lines.x), strict=True)
    apart += [a - b for a, b in steps]
    return not any(distance % width for distance in apart)


def _loops_of(
    shape: Strides, axis: int, x: Strides, y: Strides | None, where: Strides | None
) -> list[tuple[int, tuple[int, int, int]]]:
    """Return count and strides of each loop over the rows, neighbouring ones joined to one."""
    y = _dense_rows(shape, axis) if y is None else y
    where = (0,) * len(shape) if where is None else where
    loops: list[tuple[int, tuple[int, int, int]]] = []
    for i, n in enumerate(shape):
        if i == axis or n == 1:
            continue
        steps = (x[i], y[i], where[i])
        if loops and loops[-1][1] == (n * x[i], n * y[i], n * where[i]):
            loops[-1] = (loops[-1][0] * n, steps)
        else:
            loops.append((n, steps))
    return loops


def _dense_rows(shape: Strides, axis: int) -> Strides:
    steps, step = [0] * len(shape), 1
    for i in reversed(range(len(shape))):
        if i != axis:
            steps[i] = step
            step *= max(shape[i], 1)
    return tuple(steps)
