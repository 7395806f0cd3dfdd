"""The rows of an array, whatever axes they lie along, and the formulas' terms of each row.

Knows no op by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from oneread.reference import exact
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES, AxisError, DtypeError, ShapeError

Array: TypeAlias = NDArray[Any]
Axis: TypeAlias = int | tuple[int, ...] | None

#: Elements worked on at a time, so that scratch stays near 100 MB however many rows there are.
_BLOCK_ELEMENTS = 1 << 20


class Block:
    """Some rows and the terms of the formulas, in the paper's letters, in float64.

    The maximum is kept out of the sum: d = 1 + r, where r sums exp((x - m) / temperature) over all
    columns but one that holds m. log d = log1p(r) is then right however small r is. Rows whose
    maximum is not finite have r = NaN, and all that is computed from it.
    """

    def __init__(self, own: Array, kept: Array, temperature: Array | None, span: slice) -> None:
        self.own = own
        """Logits in their own type (integers converted), -inf where masked, shape (rows, vocab)."""
        self.kept = kept
        self.temperature = temperature
        """Shape (rows, 1), or None."""
        self.span = span
        """Which rows of the whole these are."""

    def only(self, columns: Array) -> Block:
        """Return the same rows with nothing but these columns, in this order."""
        own = np.take_along_axis(self.own, columns, 1)
        kept = np.take_along_axis(self.kept, columns, 1)
        return type(self)(own, kept, self.temperature, self.span)

    @cached_property
    def x(self) -> Array:
        return self.own.astype(np.float64)

    @cached_property
    def m(self) -> Array:
        m: Array = self.x.max(axis=1, keepdims=True, initial=-np.inf)
        return m

    @cached_property
    def z_and_rest(self) -> tuple[Array, Array]:
        """(x - m) / temperature: subtracted first, then scaled; rounded, and the rounding error."""
        z, rest = exact.difference(self.x, self.m)
        return (z, rest) if self.temperature is None else exact.quotient(z, rest, self.temperature)

    @cached_property
    def z(self) -> Array:
        return self.z_and_rest[0]

    @cached_property
    def e(self) -> Array:
        z, rest = self.z_and_rest
        rounded: Array = np.exp(z)
        return np.asarray(rounded + rounded * rest)

    @cached_property
    def others(self) -> Array:
        """exp((x - m) / temperature) with a 0 in one column that holds the maximum."""
        others = self.e.copy()
        if others.shape[1]:
            np.put_along_axis(others, self.x.argmax(axis=1, keepdims=True), 0, 1)
        return others

    @cached_property
    def r(self) -> Array:
        r: Array = self.others.sum(axis=1, keepdims=True)
        return np.where(np.isfinite(self.m), r, r.dtype.type(np.nan))

    @cached_property
    def d(self) -> Array:
        return np.asarray(1 + self.r)

    @cached_property
    def log_d(self) -> Array:
        return np.asarray(np.log1p(self.r))

    @cached_property
    def maximum(self) -> Array:
        """Maximum of x / temperature."""
        return self.m if self.temperature is None else self.m / self.temperature

    @cached_property
    def probabilities(self) -> Array:
        return np.asarray(self.e / self.d)

    @cached_property
    def logprobs(self) -> Array:
        z, rest = self.z_and_rest
        return np.asarray(z + (rest - self.log_d))

    @cached_property
    def lse(self) -> Array:
        return np.where(np.isfinite(self.m), self.maximum + self.log_d, self.maximum)

    @cached_property
    def entropy(self) -> Array:
        # H = log d - s1 / d with s1 = sum of z exp(z) <= 0: two terms of one sign do not cancel.
        # A column of probability 0 adds 0, also where z is -inf.
        terms = np.where(self.others > 0, self.z * self.others, self.others)
        return np.asarray(self.log_d - terms.sum(axis=1, keepdims=True) / self.d)

    @cached_property
    def sum_p2(self) -> Array:
        s2 = np.square(self.others).sum(axis=1, keepdims=True)
        return np.asarray((1 + s2) / np.square(self.d))

    @cached_property
    def order(self) -> Array:
        """Columns, best first: NaN, then by value, then the masked ones; equals by column."""
        group = np.where(self.kept, np.where(np.isnan(self.x), 0, 1), 2).astype(np.uint8)
        return np.lexsort((-self.x, group), axis=-1).astype(np.int64)

    @cached_property
    def place(self) -> Array:
        """Where in that order each column stands, from 0."""
        place = np.empty_like(self.order)
        np.put_along_axis(place, self.order, np.arange(place.shape[1])[None], 1)
        return place


class PlainBlock(Block):
    """The same terms by the safe formula in the type that the op computes in.

    Sums are NumPy's pairwise ones. This is what a careful but ordinary implementation gives, and
    its error is the yardstick of `oneread.testing.assert_close_to_truth`.
    """

    @cached_property
    def x(self) -> Array:
        return self.own.astype(COMPUTE_DTYPE[self.own.dtype.name])

    @cached_property
    def maximum(self) -> Array:
        if self.temperature is None:
            return self.m
        return np.asarray(self.m / self.temperature.astype(self.x.dtype))

    @cached_property
    def z_and_rest(self) -> tuple[Array, Array]:
        z = self.x - self.m
        if self.temperature is not None:
            z = z / self.temperature.astype(z.dtype)
        return z, np.zeros((1, 1), z.dtype)


@dataclass(frozen=True, slots=True)
class Rows:
    """An array seen as (rows, vocab), and the way back to its shape."""

    x: Array
    kept: Array
    """Not masked, shape (rows, vocab); a broadcast True when nothing is masked."""
    temperature: Array | None
    shape: tuple[int, ...]
    axes: tuple[int, ...]

    @classmethod
    def of(
        cls,
        x: Any,
        axis: Axis,
        where: Any = None,
        lengths: Any = None,
        temperature: Any = None,
        *,
        one_axis: bool = False,
    ) -> Rows:
        """See `x` as rows along `axis`; `one_axis` refuses a tuple, which has no column order."""
        x = _checked_array(x)
        axes = _checked_axes(axis, x.ndim, one_axis)
        rows_shape = tuple(n for i, n in enumerate(x.shape) if i not in axes)
        n, vocab = math.prod(rows_shape), math.prod(x.shape[i] for i in axes)

        def as_rows(a: Array) -> Array:
            return a.transpose(_others_first(a.ndim, axes)).reshape(n, vocab)

        kept: Array = np.broadcast_to(np.True_, (n, vocab))
        if where is not None:
            kept = as_rows(np.broadcast_to(np.asarray(where, np.bool_), x.shape))
        if lengths is not None:
            length = np.broadcast_to(np.asarray(lengths), rows_shape).reshape(n, 1)
            kept = kept & (np.arange(vocab) < length)
        if temperature is not None:
            temperature = _checked_temperature(temperature, rows_shape).reshape(n, 1)
        return cls(as_rows(x), kept, temperature, x.shape, axes)

    @property
    def vocab(self) -> int:
        return int(self.x.shape[1])

    @property
    def rows_shape(self) -> tuple[int, ...]:
        return tuple(n for i, n in enumerate(self.shape) if i not in self.axes)

    def map(
        self, formulas: Callable[[Block], tuple[Array, ...]], arithmetic: type[Block]
    ) -> tuple[Array, ...]:
        """Evaluate the formulas block by block of rows and join their results."""
        step = max(1, _BLOCK_ELEMENTS // max(self.vocab, 1))
        spans = [slice(i, i + step) for i in range(0, max(len(self.x), 1), step)]
        with np.errstate(all="ignore"):
            parts = [formulas(self._block(span, arithmetic)) for span in spans]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _block(self, span: slice, arithmetic: type[Block]) -> Block:
        own, kept = self.x[span], self.kept[span]
        name = own.dtype.name
        own = own.astype(
            own.dtype.newbyteorder("=") if name in FLOAT_DTYPES else COMPUTE_DTYPE[name]
        )
        if not kept.all():
            own[~kept] = -np.inf
        temperature = None if self.temperature is None else self.temperature[span]
        return arithmetic(own, kept, temperature, span)

    def full(self, a: Array) -> Array:
        """Give (rows, vocab) the shape of the input."""
        order = _others_first(len(self.shape), self.axes)
        shape = tuple(self.shape[i] for i in order)
        return a.reshape(shape).transpose(np.argsort(order).astype(int).tolist())

    def reduced(self, a: Array, keepdims: bool = False) -> Array:
        """Give (rows, 1) the shape of the rows."""
        if not keepdims:
            return a.reshape(self.rows_shape)
        return a.reshape([1 if i in self.axes else n for i, n in enumerate(self.shape)])

    def ranked(self, a: Array) -> Array:
        """Give (rows, k) a shape in which k takes the axis' place."""
        if len(self.axes) != 1:
            return a.reshape(a.shape[1])
        return np.moveaxis(a.reshape(*self.rows_shape, a.shape[1]), -1, self.axes[0])


def _others_first(ndim: int, axes: tuple[int, ...]) -> list[int]:
    return [i for i in range(ndim) if i not in axes] + list(axes)


def _checked_array(x: Any) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        raise DtypeError("got a masked array; give its data, and its mask as where=~mask")
    array = np.asarray(x)
    if array.dtype.name not in COMPUTE_DTYPE:
        raise DtypeError(
            f"got elements of type {array.dtype}; allowed are {', '.join(COMPUTE_DTYPE)}"
        )
    return array


def _checked_axes(axis: Axis, ndim: int, one_axis: bool) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    if one_axis and isinstance(axis, tuple):
        raise AxisError(f"got axis={axis}; this op takes one axis, or None for all in C order")
    axes = axis if isinstance(axis, tuple) else (axis,)
    if ndim == 0 and axes in ((), (0,), (-1,)):
        return ()
    if any(not -ndim <= i < ndim for i in axes) or len({i % ndim for i in axes}) < len(axes):
        raise AxisError(f"got axis={axis} for an array of {ndim} dimensions")
    return tuple(sorted(i % ndim for i in axes))


def _checked_temperature(temperature: Any, rows_shape: tuple[int, ...]) -> Array:
    array = np.asarray(temperature, np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise ShapeError(
            f"got temperature={temperature}; allowed are finite numbers above 0"
            " (the limit 0 is argmax)"
        )
    if array.shape not in ((), rows_shape):
        raise ShapeError(f"got temperature of shape {array.shape}; allowed are () and {rows_shape}")
    return np.broadcast_to(array, rows_shape)
