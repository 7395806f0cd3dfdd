"""What the derivatives of all ops have in common: rows, masks, changes of logits.

Knows torch only by its backend, and no op's maths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from oneread.backends import torch_
from oneread.ops._arguments import normalized_axes
from oneread.spec import OPS

xp: Final[Any] = torch_.NAMESPACE

#: Elements of a scratch copy, where a formula needs more than a kernel does: 64 MiB of float32.
_SCRATCH: Final = 1 << 24


class Rows(NamedTuple):
    """The rows of a tensor, as the axes of a call make them."""

    shape: tuple[Any, ...]
    axes: tuple[int, ...]
    flat_axis: bool

    @classmethod
    def of(cls, op: str, x: Any, axis: Any) -> Rows:
        """Return the rows of `x` along the axes as an operator has them."""
        shape = tuple(x.shape)
        given = axis[0] if axis is not None and len(axis) == 1 else axis
        axes = normalized_axes(given, shape, OPS[op].tuple_axes, op)
        return cls(shape or (1,), axes, axis is None)

    @property
    def others(self) -> tuple[int, ...]:
        """The axes that are not of a row."""
        return tuple([i for i in range(len(self.shape)) if i not in self.axes])

    @property
    def outer(self) -> tuple[Any, ...]:
        """Shape of a result with one number a row."""
        return tuple([self.shape[i] for i in self.others])

    @property
    def count(self) -> Any:
        """How many rows there are."""
        return math.prod(self.outer)

    @property
    def length(self) -> Any:
        """Columns of a row."""
        return math.prod([self.shape[i] for i in self.axes])

    @property
    def _are_rows(self) -> bool:
        """Whether the axis is the last one."""
        return self.axes == (len(self.shape) - 1,)

    def flat(self, x: Any) -> Any:
        """Return a tensor of the shape of `x` as (rows, length)."""
        if self._are_rows:
            return x.reshape(self.count, self.length)
        x = x.reshape(self.shape)
        return x.permute(*self.others, *self.axes).reshape(self.count, self.length)

    def restored(self, x: Any, like: tuple[Any, ...]) -> Any:
        """Return (rows, length) in the shape that it came from."""
        if self._are_rows:
            return x.reshape(like)
        order = (*self.others, *self.axes)
        x = x.reshape([self.shape[i] for i in order])
        return x.permute([order.index(i) for i in range(len(order))]).reshape(like)

    def top(self, x: Any) -> Any:
        """Return (rows, k) of a result with k in the place of the axis."""
        place = 0 if self.flat_axis else self.axes[0]
        return x.movedim(place, -1).reshape(self.count, x.shape[place])

    def untop(self, x: Any) -> Any:
        """Return (rows, k) as such a result."""
        place = 0 if self.flat_axis else self.axes[0]
        return x.reshape((*self.outer, x.shape[-1])).movedim(-1, place)

    def numbers(self, given: Any, x: Any, dtype: Any = None) -> Any:
        """Return an option with one number a row as (rows,), or None."""
        if given is None:
            return None
        held = beside(given, x)
        held = held if dtype is None else held.to(dtype)
        return held.broadcast_to(self.outer).reshape(self.count)

    def scale(self, temperature: Any, x: Any) -> Any:
        """Return a temperature that broadcasts to (rows, length): a number, (rows, 1), or None.

        A number stays on a CPU, where dividing by it costs a GPU nothing. One on a GPU becomes that
        of each row: to look at it would be to wait.
        """
        if temperature is None:
            return None
        if not (temperature.ndim or temperature.is_cuda):  # a number makes nothing wider
            return temperature.double()
        return self.numbers(temperature, x, wide(x.dtype)).unsqueeze(1)

    def mask(self, x: Any, where: Any, lengths: Any) -> Any:
        """Return which columns of (rows, length) count, or None when all do."""
        kept = None
        if where is not None:
            kept = self.flat(beside(where, x).broadcast_to(self.shape))
        if lengths is not None:
            columns = xp.arange(self.length, device=x.device)
            within = columns < self.numbers(lengths, x)[:, None]
            kept = within if kept is None else kept & within
        return kept


def beside(given: Any, x: Any) -> Any:
    """Return an option on the device of `x`, without waiting for a GPU."""
    if given.device == x.device or given.ndim or given.is_cuda:
        return given.to(x.device, non_blocking=True)
    return xp.zeros((), dtype=given.dtype, device=x.device) + given


def changes(
    rows: Rows, tangent: Any, where: Any, lengths: Any, temperature: Any, dtype: Any
) -> Any:
    """Return how ``x / temperature`` changes, (rows, length); columns left out do not."""
    t = rows.flat(tangent).to(dtype)
    scale = rows.scale(temperature, t)
    t = t if scale is None else t / scale
    kept = rows.mask(t, where, lengths)
    return t if kept is None else xp.where(kept, t, 0)


def refuse_options(temperature: Any) -> None:
    """Raise when a gradient is wanted that no rule has."""
    if temperature is not None:
        torch_.check_gradient(temperature, "temperature")


def wide(dtype: Any) -> Any:
    """Return the type in which numbers a row are kept."""
    return xp.float64 if dtype == xp.float64 else xp.float32


def merged_scale(x: Any, dim: int | None, size: int, rows: int) -> Any:
    """Return a temperature of `Rows.scale` with a batch of vmap as more rows."""
    if x is None or (dim is None and not x.ndim):
        return x
    if x.ndim == 1:
        return x.reshape(size, 1, 1).expand(size, rows, 1).reshape(size * rows, 1)
    return merged(x, dim, size)


def merged(x: Any, dim: int | None, size: int) -> Any:
    """Return a tensor of vmap with its batch as more rows: (rows, ...) as (size * rows, ...)."""
    if x is None:
        return None
    x = x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)
    return x.reshape(size * x.shape[1], *x.shape[2:])


def pieces(x: Any) -> Iterator[slice]:
    """Yield rows of (rows, length) whose copy fits the scratch."""
    step = max(1, _SCRATCH // max(1, x.shape[1]))
    for start in range(0, x.shape[0], step):
        yield slice(start, start + step)
