"""States of rows that lie on a GPU: what is kept of them stays there.

Knows nothing of launches or array libraries. Nothing here waits for the GPU but what hands numbers
to the CPU: `pack`.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, Final, Self

import numpy as np

from oneread.backends import find
from oneread.backends.bfloat import cast, widened
from oneread.backends.find import outside_graphs
from oneread.ops import _merge, _parts
from oneread.ops._arguments import Options, normalized_axes
from oneread.ops._device import _per_row, _refuse, _rows
from oneread.ops._device_chunk import no_parts, read_parts
from oneread.ops._device_merge import Arithmetic, Parts, merged
from oneread.ops._device_read import selection
from oneread.ops._fields import where_it_lies
from oneread.ops._numbers import integer, shown
from oneread.ops._parts import LAST_STOP, SEEN, UNSEEN, asked_of
from oneread.ops.state import State, _one_dtype
from oneread.spec import BackendUnavailableError, ShapeError

#: Options that are arrays, and may lie on the GPU.
_ARRAYS: Final = ("temperature", "select", "selected_logit")


class DeviceState(State):
    """A `State` whose rows lie on a GPU.

    `_asked` holds arrays there, `_given` the same options as they were given, and `_seen` says of
    selected columns that were given on the CPU whether they were read. `_start` is the first column
    seen, and the argmax of a row that masks leave nothing of: without top-k its best column is
    `LAST_STOP`, none.
    """

    __slots__ = ("_given", "_gpu", "_seen", "_start")

    _asked: Any
    _parts: Any
    _given: Any
    _gpu: Any
    _seen: Any
    _start: int

    @classmethod
    def first(
        cls, x: Any, axis: Any, offset: Any, options: dict[str, Any], chunk: dict[str, Any]
    ) -> Self:
        """Do `State.of`; `options` are those of the state, `chunk` those of this chunk alone."""
        gpu = find.gpu_backend(x)
        gpu.check(x, "x")
        shape = tuple(x.shape)
        if not shape:
            raise ShapeError("x is one number without axes; read needs at least one axis")
        axes = normalized_axes(axis, shape, False, "State")
        rows = tuple([n for i, n in enumerate(shape) if i not in axes])
        state = cls.__new__(cls)
        state._gpu = gpu
        with gpu.on(x):
            place = None if axis is None else axes[0]
            state._given, state._asked = _options(gpu, x, rows, place, options)
            state._parts = no_parts(gpu, x, state._asked)
        state._dtype, state._library, state._columns = None, gpu.LIBRARY, 0
        chosen = state._given.select
        on_cpu = isinstance(chosen, np.ndarray)
        state._seen = np.zeros(chosen.shape, bool) if on_cpu else None
        state._stop = integer(offset, "offset")
        if not 0 <= state._stop <= LAST_STOP:
            raise ShapeError(f"offset is {shown(state._stop)}; 0 to 2**63 - 1 is allowed")
        state._start = state._stop
        return state.update(x, **chunk)

    def _on(self) -> AbstractContextManager[Any]:
        where: AbstractContextManager[Any] = self._gpu.on(self._parts.sums.m)
        return where

    @property
    def _maths(self) -> Any:
        return Arithmetic(self._gpu.NAMESPACE)

    @property
    def device(self) -> str:
        """The GPU that the state is on, as in ``cuda:0``."""
        return str(self._gpu.place(self._parts.sums.m))

    @outside_graphs
    def update(
        self, x: Any, *, where: Any = None, lengths: Any = None, threads: Any = None
    ) -> Self:
        """Do what `State.update` does, of a chunk on the same GPU."""
        gpu, asked = self._gpu, self._asked
        if not gpu.is_on_gpu(x) or gpu.place(x) != self.device:
            raise BackendUnavailableError(
                f"the chunk is not on {self.device}, where this state is: bring it there"
            )
        gpu.check(x, "x")
        options = Options(where=where, lengths=lengths, threads=threads)
        _refuse(options, self.device)
        shape = tuple(x.shape)
        axes = normalized_axes(asked.axis, shape, False, "State")
        rows = tuple([n for i, n in enumerate(shape) if i not in axes])
        if rows != asked.rows:
            raise ShapeError(
                f"the chunk has shape {shape} and so rows {rows}; this state has rows "
                f"{asked.rows} with axis {asked.axis}"
            )
        length = math.prod([shape[i] for i in axes])
        dtype = _one_dtype(self._dtype, gpu.dtype_of(x))
        stop = self._stop + length
        if stop > LAST_STOP:
            raise ShapeError(
                f"the chunk has {length} columns after offset {self._stop}; columns are numbered "
                "up to 2**63 - 1"
            )
        seen = _either(self._seen, self._seen_in(self._stop, stop), self._given)
        with gpu.on(x):
            chunk, _held = _rows(gpu, x, axes, asked.axis is None, options)
            if length:
                found = read_parts(chunk, asked, self._stop)
                self._parts = self._merged(found) if self._columns else found
        self._dtype, self._seen = dtype, seen
        self._columns, self._stop = self._columns + length, stop
        return self

    @where_it_lies
    def __or__(self, other: object) -> DeviceState:
        """Do what `State.__or__` does; the result lies where both do."""
        if not isinstance(other, State):
            return NotImplemented
        if not isinstance(other, DeviceState) or other.device != self.device:
            raise elsewhere(self, other)
        _check_same(self._gpu, self._given, other._given)
        state = DeviceState.__new__(DeviceState)
        state._gpu, state._library = self._gpu, self._library
        state._given, state._asked = self._given, self._asked
        state._dtype = _one_dtype(self._dtype, other._dtype)
        state._seen = _either(self._seen, other._seen, self._given)
        state._parts = self._merged(other._parts)
        state._columns = self._columns + other._columns
        state._stop = max(self._stop, other._stop)
        starts = [one._start for one in (self, other) if one._columns]
        state._start = min(starts, default=self._start)
        return state

    @property
    @where_it_lies
    def argmax(self) -> Any:
        """Global column of the largest logit of each row, or None when it was not asked for."""
        if not self._asked.argmax:
            return None
        if not self._columns:
            raise ShapeError("argmax of no columns: this state has seen none")
        best, xp = self._parts.best.indices[:, 0], self._gpu.NAMESPACE
        return self._per_row(xp.where(best == LAST_STOP, self._start, best), "int64")

    @property
    @where_it_lies
    def rank(self) -> Any:
        """Places of the selected columns, from 0, or None when they were not asked for.

        -1 for a column that a mask leaves out.
        """
        if not self._asked.rank:
            return None
        self._check_seen()
        parts, xp = self._parts, self._gpu.NAMESPACE
        return self._per_selected(xp.where(parts.seen != SEEN, -1, parts.ranks), "int64")

    @where_it_lies
    def logprob(self, logits: Any) -> Any:
        """Do what `State.logprob` does, of numbers on the same GPU."""
        gpu, asked = self._gpu, self._asked
        if not gpu.is_on_gpu(logits) or gpu.place(logits) != self.device:
            raise BackendUnavailableError(f"logits are not on {self.device}, as this state is")
        place = asked.axis if asked.axis is not None else 0
        more = logits.ndim == len(asked.rows) + 1
        moved = gpu.NAMESPACE.moveaxis(logits, place, -1) if more else logits[..., None]
        shape = tuple(moved.shape)
        if shape[:-1] != asked.rows:
            raise ShapeError(
                f"logits has shape {tuple(logits.shape)}; {asked.rows}, or one axis more at "
                f"{place}, is allowed"
            )
        flat = gpu.cast(moved, "float64").reshape(asked.count, shape[-1])
        result = self._maths.logprob(self._parts.sums, asked.temperature, flat)
        result = gpu.cast(result, self._statistic).reshape(shape)
        return gpu.NAMESPACE.moveaxis(result, -1, place) if more else result[..., 0]

    @where_it_lies
    def pack(self) -> bytes:
        """Return the state as bytes, as `State.pack`: waits for the GPU. `unpack` needs none."""
        return self._on_cpu().pack()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return State.unpack, (self.pack(),)

    def _on_cpu(self) -> State:
        """Return the same state on the CPU."""
        state = State.__new__(State)
        gpu, asked, parts = self._gpu, self._asked, self._parts
        held = {
            name: gpu.to_numpy(value)
            for name in _ARRAYS
            if (value := getattr(asked, name)) is not None and not isinstance(value, float)
        }
        state._asked = replace(asked, **held)
        nothing = np.zeros(asked.count)
        m, *sums = [nothing if s is None else gpu.to_numpy(s) for s in parts.sums]
        kept = asked.kept if self._columns else 0
        columns = gpu.to_numpy(parts.best.indices)[:, :kept]
        if asked.top_k:
            values = gpu.to_numpy(parts.best.values)
            masked = gpu.to_numpy(parts.best.masked)
        else:
            masked = columns == LAST_STOP
            columns = np.where(masked, self._start, columns)
            values = cast(m, self._value_dtype)[:, None][:, :kept]
        seen, logits, ranks = [gpu.to_numpy(part) for part in parts[2:]]
        state._parts = _parts.Parts(
            _merge.Sums(m, *[s.astype(np.longdouble) for s in sums]),
            _merge.Best(values, columns, masked), seen,
            np.where(seen == UNSEEN, 0.0, logits), ranks,
        )  # fmt: skip
        state._dtype, state._library = self._dtype, self._library
        state._columns, state._stop = self._columns, self._stop
        return state

    def _merged(self, other: Parts) -> Parts:
        asked = self._asked
        return merged(self._gpu, self._parts, other, asked.temperature, asked.argmax, asked.top_k)

    def _numbers(self, values: Any) -> Any:
        return self._gpu.cast(values, "float64")

    def _per_top(self, array: Any, dtype: str | None = None) -> Any:
        rows, axis = self._asked.rows, self._asked.axis
        array = array.reshape(*rows, array.shape[1])
        return self._shaped(self._gpu.NAMESPACE.moveaxis(array, -1, axis or 0), None, dtype)

    def _seen_in(self, start: int, stop: int) -> Any:
        chosen = self._given.select
        return None if self._seen is None else (chosen >= start) & (chosen < stop)

    def _check_seen(self) -> None:
        """Raise for a column that was not read, where it is known without waiting."""
        if self._seen is not None and not self._seen.all():
            raise ShapeError(
                f"the selected column {self._given.select[~self._seen][0]} lies in none of the "
                f"{self._columns} columns that this state has seen"
            )

    def _shaped(self, array: Any, shape: tuple[int, ...] | None, dtype: str | None) -> Any:
        array = self._gpu.cast(array, dtype or self._statistic)
        # A copy: what the caller does to a field must not reach the state.
        return self._gpu.copied(array if shape is None else array.reshape(shape))


def _options(
    gpu: Any, x: Any, rows: tuple[int, ...], place: int | None, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the options of a state as given, checked, and with arrays beside `x`."""
    far = {name: options[name] for name in _ARRAYS if gpu.is_on_gpu(options[name])}
    for name, value in far.items():
        gpu.check(value, name)
    if options["select"] is not None and any(name in far for name in _ARRAYS[1:]):
        far |= {name: options[name] for name in _ARRAYS[1:] if options[name] is not None}
    checked = {**options, **dict.fromkeys(far)}
    if "select" in far:
        checked["rank"] = False
        if options["rank"] and options["selected_logit"] is None:
            raise ShapeError("rank of a part of a row needs selected_logit beforehand")
    given = asked_of(rows, place, **checked)
    held = {
        name: gpu.beside(x, value)
        for name in _ARRAYS
        if isinstance(value := getattr(given, name), np.ndarray)
    }
    tail = given.tail
    if "select" in far:
        held["select"], tail = selection(gpu, options["select"], x, rows)
        if options["selected_logit"] is not None:
            logits = _logits(gpu, options["selected_logit"], x, (*rows, *tail))
            held["selected_logit"] = logits.reshape(held["select"].shape)
    if "temperature" in far:
        scale = _per_row(gpu, far["temperature"], x, rows, "float64", "temperature").reshape(-1)
        # What is none gives a row of NaN.
        held["temperature"] = gpu.NAMESPACE.where((scale > 0) & (scale < math.inf), scale, math.nan)
    given = replace(given, rank=bool(options["rank"]), tail=tail, **far)
    return given, replace(given, **held)


def _logits(gpu: Any, given: Any, x: Any, shape: tuple[int, ...]) -> Any:
    if not gpu.is_on_gpu(given):
        numbers = widened(find.view(given, "selected_logit"))
        given = gpu.beside(x, np.array(numbers, np.float64, order="C"))
    if tuple(given.shape) != shape:
        raise ShapeError(
            f"selected_logit has shape {tuple(given.shape)}; {shape}, that of select, is allowed"
        )
    return gpu.contiguous(gpu.spread(given, x, shape, "float64", "selected_logit", "select"))


def _either(a: Any, b: Any, given: Any) -> Any:
    """Return which selected columns one of two states has seen; ShapeError when both have one."""
    if a is None or b is None:
        return None
    if (a & b).any():
        raise ShapeError(
            f"the selected column {given.select[a & b][0]} was read by both states: give each "
            "chunk the offset of its first column"
        )
    return a | b


def _check_same(gpu: Any, a: Any, b: Any) -> None:
    """Raise when two states have different options."""
    if a is b:
        return
    far: dict[str, None] = {}
    for name in _ARRAYS:
        one, other = getattr(a, name), getattr(b, name)
        if not gpu.is_on_gpu(one) and not gpu.is_on_gpu(other):
            continue
        both = gpu.is_on_gpu(one) and gpu.is_on_gpu(other)
        if one is not other and not (both and gpu.memory(one) == gpu.memory(other)):
            raise ShapeError(
                f"states with different options cannot be merged: {name} is not one and the "
                "same array, and comparing numbers would wait for the GPU"
            )
        far[name] = None
    if far:
        a, b = replace(a, **far), replace(b, **far)
    a.check_same(b)


def elsewhere(a: State, b: State) -> BackendUnavailableError:
    """Return the error for two states that are not on one device."""
    where = [one.device if isinstance(one, DeviceState) else "a CPU" for one in (a, b)]
    return BackendUnavailableError(
        f"a state on {where[0]} and one on {where[1]} cannot be merged: pack() and unpack() bring "
        "one to a CPU"
    )
