"""States of rows that lie on a GPU: what is kept of them stays there.

Knows nothing of launches. Nothing here waits for the GPU but what hands numbers to the CPU: `pack`.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from oneread.backends import torch_cuda as gpu
from oneread.backends.bfloat import cast
from oneread.backends.find import outside_graphs
from oneread.ops import _device_merge, _merge, _parts
from oneread.ops._arguments import Options, check_k, normalized_axes
from oneread.ops._device import _one_axis, _refuse
from oneread.ops._device_merge import Best, Parts, Sums
from oneread.ops._device_read import selection
from oneread.ops._numbers import integer, shown
from oneread.ops._parts import LAST_STOP, SEEN, UNSEEN, asked_of
from oneread.ops.state import State, _one_dtype
from oneread.runtime import cuda, cuda_read
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES, BackendUnavailableError, ShapeError

_ON_GPU = ("temperature", "select", "selected_logit")


class DeviceState(State):
    """A `State` whose rows lie on a GPU.

    `_asked` holds tensors there, `_given` the same options as they were given, and `_seen` says of
    selected columns that were given on the CPU whether they were read.
    """

    __slots__ = ("_given", "_seen")

    _asked: Any
    _parts: Any
    _given: Any
    _seen: NDArray[np.bool_] | None

    _maths: ClassVar[Any] = _device_merge

    @classmethod
    def first(
        cls, x: Any, axis: Any, offset: Any, options: dict[str, Any], chunk: dict[str, Any]
    ) -> Self:
        """Do `State.of`; `options` are those of the state, `chunk` those of this chunk alone."""
        gpu.check(x, "x")
        shape = tuple(x.shape)
        if not shape:
            raise ShapeError("x is one number without axes; read needs at least one axis")
        axes = normalized_axes(axis, shape, False, "State")
        rows = tuple([n for i, n in enumerate(shape) if i not in axes])
        if check_k(options["top_k"], LAST_STOP, "top_k"):
            raise BackendUnavailableError(
                f"top_k is {options['top_k']} with x on {x.device}, where a State keeps none in "
                "this version: leave it 0, or give x.cpu()"
            )
        state = cls.__new__(cls)
        with gpu.on(x):
            place = None if axis is None else axes[0]
            state._given, state._asked = _options(x, rows, place, options)
            state._parts = _nothing(x, state._asked)
        state._dtype, state._library, state._columns = None, "torch", 0
        chosen = state._given.select
        state._seen = np.zeros(chosen.shape, bool) if isinstance(chosen, np.ndarray) else None
        state._stop = integer(offset, "offset")
        if not 0 <= state._stop <= LAST_STOP:
            raise ShapeError(f"offset is {shown(state._stop)}; 0 to 2**63 - 1 is allowed")
        return state.update(x, **chunk)

    @property
    def device(self) -> Any:
        """The GPU that the state is on."""
        return self._parts.sums.m.device

    @outside_graphs
    def update(
        self, x: Any, *, where: Any = None, lengths: Any = None, threads: Any = None
    ) -> Self:
        """Do what `State.update` does, of a chunk on the same GPU."""
        asked = self._asked
        if not gpu.is_on_gpu(x) or x.device != self.device:
            raise BackendUnavailableError(
                f"the chunk is not on {self.device}, where this state is: bring it there"
            )
        gpu.check(x, "x")
        _refuse(Options(where=where, lengths=lengths, threads=threads), x)
        shape = tuple(x.shape)
        axes = normalized_axes(asked.axis, shape, False, "State")
        rows = tuple([n for i, n in enumerate(shape) if i not in axes])
        if rows != asked.rows:
            raise ShapeError(
                f"the chunk has shape {shape} and so rows {rows}; this state has rows "
                f"{asked.rows} with axis {asked.axis}"
            )
        length = math.prod([shape[i] for i in axes])
        dtype = _one_dtype(self._dtype, gpu.memory(x).dtype)
        stop = self._stop + length
        if stop > LAST_STOP:
            raise ShapeError(
                f"the chunk has {length} columns after offset {self._stop}; columns are numbered "
                "up to 2**63 - 1"
            )
        seen = self._seen_in(self._stop, stop)
        with gpu.on(x):
            source, place = _one_axis(x, axes)
            if asked.count and length:
                parts = _read(source, place, asked, self._stop)
                self._parts = _merged(self._parts, parts, asked)
        self._dtype, self._seen = dtype, _either(self._seen, seen, self._given)
        self._columns, self._stop = self._columns + length, stop
        return self

    @outside_graphs
    def __or__(self, other: object) -> DeviceState:
        """Do what `State.__or__` does; the result lies where both do."""
        if not isinstance(other, State):
            return NotImplemented
        if not isinstance(other, DeviceState) or other.device != self.device:
            raise elsewhere(self, other)
        _check_same(self._given, other._given)
        state = DeviceState.__new__(DeviceState)
        state._given, state._asked = self._given, self._asked
        state._dtype, state._library = _one_dtype(self._dtype, other._dtype), "torch"
        state._seen = _either(self._seen, other._seen, self._given)
        with gpu.on(self._parts.sums.m):
            state._parts = _merged(self._parts, other._parts, self._asked)
        state._columns = self._columns + other._columns
        state._stop = max(self._stop, other._stop)
        return state

    @property
    @outside_graphs
    def rank(self) -> Any:
        """Places of the selected columns, from 0, or None when they were not asked for."""
        if not self._asked.rank:
            return None
        self._check_seen()
        parts = self._parts
        return self._per_selected(torch.where(parts.seen == UNSEEN, -1, parts.ranks), "int64")

    def top_k(self, kind: str = "logit", renormalize: bool = False) -> Any:
        """Raise: a state on a GPU keeps no top-k in this version."""
        raise ShapeError("top_k is 0 in this state; on a GPU this version keeps no other")

    @outside_graphs
    def logprob(self, logits: Any) -> Any:
        """Do what `State.logprob` does, of numbers on the same GPU."""
        asked = self._asked
        if not gpu.is_on_gpu(logits) or logits.device != self.device:
            raise BackendUnavailableError(f"logits are not on {self.device}, as this state is")
        place = asked.axis if asked.axis is not None else 0
        more = logits.ndim == len(asked.rows) + 1
        moved = logits.movedim(place, -1) if more else logits[..., None]
        if tuple(moved.shape[:-1]) != asked.rows:
            raise ShapeError(
                f"logits has shape {tuple(logits.shape)}; {asked.rows}, or one axis more at "
                f"{place}, is allowed"
            )
        flat = moved.reshape(asked.count, moved.shape[-1]).double()
        result = _device_merge.logprob(self._parts.sums, asked.temperature, flat)
        result = gpu.cast(result, self._statistic).reshape(moved.shape)
        return result.movedim(-1, place) if more else result[..., 0]

    @outside_graphs
    def pack(self) -> bytes:
        """Return the state as bytes, as `State.pack`: waits for the GPU. `unpack` needs none."""
        return self._on_cpu().pack()

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return State.unpack, (self.pack(),)

    def _on_cpu(self) -> State:
        """Return the same state on the CPU."""
        state = State.__new__(State)
        asked, parts = self._asked, self._parts
        held = {
            name: value.cpu().numpy()
            for name in _ON_GPU
            if isinstance(value := getattr(asked, name), torch.Tensor)
        }
        state._asked = replace(asked, **held)
        nothing = np.zeros(asked.count, np.longdouble)
        sums = [s if s is None else s.cpu().numpy().astype(np.longdouble) for s in parts.sums[1:]]
        m = parts.sums.m.cpu().numpy()
        kept = asked.kept if self._columns else 0
        columns = parts.best.indices.cpu().numpy()[:, :kept]
        values = cast(m, self._value_dtype)[:, None][:, :kept]
        seen, logits, ranks = [part.cpu().numpy() for part in parts[2:]]
        state._parts = _parts.Parts(
            _merge.Sums(m, *[nothing if s is None else s for s in sums]),
            _merge.Best(values, columns, np.zeros(columns.shape, np.bool_)), seen,
            np.where(seen == UNSEEN, 0.0, logits), ranks,
        )  # fmt: skip
        state._dtype, state._library = self._dtype, self._library
        state._columns, state._stop = self._columns, self._stop
        return state

    def _seen_in(self, start: int, stop: int) -> Any:
        chosen = self._given.select
        return (chosen >= start) & (chosen < stop) if isinstance(chosen, np.ndarray) else None

    def _check_seen(self) -> None:
        """Raise for a column that was not read, where it is known without waiting."""
        if self._seen is not None and not self._seen.all():
            raise ShapeError(
                f"the selected column {self._given.select[~self._seen][0]} lies in none of the "
                f"{self._columns} columns that this state has seen"
            )

    def _shaped(self, array: Any, shape: tuple[int, ...] | None, dtype: str | None) -> Any:
        array = gpu.cast(array, dtype or self._statistic)
        # A copy: what the caller does to a field must not reach the state.
        return (array if shape is None else array.reshape(shape)).clone()


def _options(
    x: Any, rows: tuple[int, ...], place: int | None, options: dict[str, Any]
) -> tuple[Any, Any]:
    """Return the options of a state as given, checked, and with tensors beside `x`."""
    scale = options["temperature"]
    if gpu.is_on_gpu(scale) and not scale.ndim:
        options = {**options, "temperature": scale.cpu()}
    far = {name: options[name] for name in _ON_GPU if gpu.is_on_gpu(options[name])}
    if any(name in far for name in _ON_GPU[1:]) and options["select"] is not None:
        far |= {name: options[name] for name in _ON_GPU[1:] if options[name] is not None}
    checked = {**options, **dict.fromkeys(far)}
    if "select" in far:
        checked["rank"] = False
        if options["rank"] and options["selected_logit"] is None:
            raise ShapeError("rank of a part of a row needs selected_logit beforehand")
    given = asked_of(rows, place, **checked)
    if "select" not in far:
        tail = given.tail
        held = {
            name: gpu.beside(x, torch.from_numpy(value))
            for name in _ON_GPU
            if isinstance(value := getattr(given, name), np.ndarray)
        }
    else:
        chosen, tail = selection(options["select"], x, rows)
        held = {"select": chosen}
        if options["selected_logit"] is not None:
            held["selected_logit"] = _logits(options["selected_logit"], x, (*rows, *tail), chosen)
        if isinstance(given.temperature, np.ndarray):
            held["temperature"] = gpu.beside(x, torch.from_numpy(given.temperature))
    if "temperature" in far:
        scale = gpu.per_row(scale, x, rows).reshape(-1)
        held["temperature"] = torch.where((scale > 0) & scale.isfinite(), scale, math.nan)
    given = replace(given, rank=bool(options["rank"]), tail=tail, **far)
    return given, replace(given, **held)


def _logits(given: Any, x: Any, shape: tuple[int, ...], chosen: Any) -> Any:
    held = torch.as_tensor(given, device=x.device)
    if tuple(held.shape) != shape:
        raise ShapeError(
            f"selected_logit has shape {tuple(held.shape)}; {shape}, that of select, is allowed"
        )
    return held.double().reshape(chosen.shape).contiguous()


def _nothing(x: Any, asked: Any) -> Parts:
    """Return what is found in no columns at all."""
    n = asked.count
    zero = torch.zeros(n, dtype=torch.float64, device=x.device)
    shape = (n, 0) if asked.select is None else asked.select.shape
    marks = torch.full(shape, UNSEEN, dtype=torch.uint8, device=x.device)
    best = torch.full((n, 1), LAST_STOP, dtype=torch.int64, device=x.device)
    return Parts(
        Sums(
            torch.full_like(zero, -math.inf), zero, zero if asked.entropy else None,
            zero if asked.sum_p2 else None,
        ),
        Best(best), marks,
        torch.full(shape, math.nan, dtype=torch.float64, device=x.device),
        torch.zeros(shape, dtype=torch.int64, device=x.device),
    )  # fmt: skip


def _read(source: Any, place: int, asked: Any, offset: int) -> Parts:
    """Read a chunk of each row, whose first column is column `offset` of the row."""
    held = gpu.memory(source).dtype
    computed = gpu.cast(source, held if held in FLOAT_DTYPES else COMPUTE_DTYPE[held])
    empty = _nothing(source, asked)
    count = 2 + asked.entropy + asked.sum_p2
    sums = gpu.empty(source, (count, asked.count), "float64")
    ranks = asked.select.shape[1] if asked.rank else 0
    local = None if asked.select is None else asked.select - offset
    scale = asked.temperature
    temperature = None
    if isinstance(scale, torch.Tensor):
        temperature = cuda.Temperature(address=scale.data_ptr())
    elif scale != 1.0:
        temperature = cuda.Temperature(scale)
    cuda_read.read(
        gpu.memory(computed), place,
        cuda_read.Asked(asked.entropy, asked.sum_p2, asked.argmax, ranks, state=True),
        cuda_read.Places(
            sums.data_ptr(), argmax=empty.best.indices.data_ptr() if asked.argmax else 0,
            select=0 if local is None else local.data_ptr(),
            logits=asked.selected_logit.data_ptr() if ranks else 0,
            rank=empty.ranks.data_ptr() if ranks else 0,
        ), ranks, cuda.Manner(temperature),
    )  # fmt: skip
    rest = iter(sums[2:])
    found = Sums(
        sums[0], sums[1], next(rest) if asked.entropy else None,
        next(rest) if asked.sum_p2 else None,
    )  # fmt: skip
    if asked.argmax:
        empty.best.indices.add_(offset)
    if local is None:
        return empty._replace(sums=found)
    seen, logits = _look_up(computed, place, local)
    return empty._replace(sums=found, seen=seen, logits=logits)


def _look_up(x: Any, place: int, local: Any) -> tuple[Any, Any]:
    """Return whether each column lies in the chunk, and the logits of those that do."""
    inside = (local >= 0) & (local < x.shape[place])
    near = torch.where(inside, local, 0)
    rows = x.movedim(place, -1)
    found = rows.gather(-1, near.reshape(*rows.shape[:-1], local.shape[1]))
    logits = torch.where(inside, found.reshape(local.shape).double(), math.nan)
    return torch.where(inside, SEEN, UNSEEN).to(torch.uint8), logits


def _merged(a: Parts, b: Parts, asked: Any) -> Parts:
    """Return what is found in the columns of both; the same bits in either order."""
    return Parts(
        _device_merge.merged_sums(a.sums, b.sums, asked.temperature),
        _device_merge.merged_best(a, b) if asked.argmax else a.best,
        torch.maximum(a.seen, b.seen), torch.where(a.seen == UNSEEN, b.logits, a.logits),
        a.ranks + b.ranks,
    )  # fmt: skip


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


def _check_same(a: Any, b: Any) -> None:
    """Raise when two states have different options."""
    tensors: dict[str, None] = {}
    for field in fields(a):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if not isinstance(one, torch.Tensor) and not isinstance(other, torch.Tensor):
            continue
        if one is not other and not _is_same_memory(one, other):
            raise ShapeError(
                f"states with different options cannot be merged: {field.name} is not one and the "
                "same tensor, and comparing numbers would wait for the GPU"
            )
        tensors[field.name] = None
    replace(a, **tensors).check_same(replace(b, **tensors))


def _is_same_memory(a: Any, b: Any) -> bool:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    same = (a.data_ptr(), a.shape, a.stride(), a.dtype) == (
        b.data_ptr(), b.shape, b.stride(), b.dtype,
    )  # fmt: skip
    return same and a.device == b.device


def elsewhere(a: State, b: State) -> BackendUnavailableError:
    where = [one.device if isinstance(one, DeviceState) else "a CPU" for one in (a, b)]
    return BackendUnavailableError(
        f"a state on {where[0]} and one on {where[1]} cannot be merged: pack() and unpack() bring "
        "one to a CPU"
    )
