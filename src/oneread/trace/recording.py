"""A recording of a run: steps, accesses, registers, as columns of numbers.

Knows no file format beyond its columns. Values go to two pools, of float32 and of integers, once
for each event; an event has the place of its first number.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oneread.trace.errors import LimitError
from oneread.trace.limits import Limits
from oneread.trace.machine.hazards import Access
from oneread.trace.machine.values import spread
from oneread.trace.machine.warp import Warp

#: What an event can be.
OPERATIONS = ("load", "store", "atomic", "register", "barrier", "shuffle", "branch")


@dataclass
class Recording:
    """Columns of steps and of events; a step owns the events up to its `end`."""

    block: array[int] = field(default_factory=lambda: array("i"))
    warp: array[int] = field(default_factory=lambda: array("i"))
    line: array[int] = field(default_factory=lambda: array("i"))
    column: array[int] = field(default_factory=lambda: array("i"))
    mask: array[int] = field(default_factory=lambda: array("I"))
    end: array[int] = field(default_factory=lambda: array("i"))
    operation: array[int] = field(default_factory=lambda: array("b"))
    """Index into `OPERATIONS`."""
    name: array[int] = field(default_factory=lambda: array("i"))
    """Index into `names`: the buffer or variable."""
    at: array[int] = field(default_factory=lambda: array("q"))
    """First cell; or, where `stride` is None, its place in `integers`."""
    stride: list[int | None] = field(default_factory=list)
    count: array[int] = field(default_factory=lambda: array("i"))
    value: array[int] = field(default_factory=lambda: array("q"))
    """Place of the first number in the pool of its kind, -1 for none."""
    old: array[int] = field(default_factory=lambda: array("q"))
    """The same for what was there before."""
    floating: array[int] = field(default_factory=lambda: array("b"))
    """Whether `value` and `old` are places in `floats`, else in `integers`."""
    names: list[str] = field(default_factory=list)
    floats: array[float] = field(default_factory=lambda: array("f"))
    integers: array[int] = field(default_factory=lambda: array("q"))
    first_step: int = 0

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.line)

    @property
    def events(self) -> int:
        """How many events there are."""
        return len(self.operation)


class Recorder:
    """Writes a recording while a run goes on.

    Parameters
    ----------
    blocks : frozenset or None
        Blocks whose events are kept; None for all. Steps of others are left out, too.
    limits : Limits
        How many events there may be.
    """

    def __init__(self, blocks: frozenset[int] | None, limits: Limits) -> None:
        self.recording = Recording()
        self._blocks, self._limits = blocks, limits
        self._names: dict[str, int] = {}

    def step(self, warp: Warp, line: int, column: int) -> None:
        """End a step."""
        if self._blocks is not None and warp.block.index not in self._blocks:
            return
        out = self.recording
        out.block.append(warp.block.index)
        out.warp.append(warp.index)
        out.line.append(line)
        out.column.append(column)
        out.mask.append(warp.mask)
        out.end.append(len(out.operation))
        if out.events > self._limits.recorded:
            raise LimitError(
                f"more than {self._limits.recorded:,} events (recorded); record fewer rows", line
            )

    def access(
        self,
        access: Access,
        values: Sequence[Sequence[Any]],
        old: Sequence[Sequence[Any]] | None,
    ) -> None:
        """Note a load, a store or an atomic: one sequence of numbers for each part."""
        if self._blocks is not None and access.warp.block.index not in self._blocks:
            return
        cells = access.cells
        even = type(cells) is range
        floating = all(type(part[0]) is float for part in values)
        self._event(
            OPERATIONS.index(access.kind),
            access.buffer.name,
            cells[0] if even else self._keep(cells, False),
            cells.step if even else None,  # type: ignore[attr-defined]
            len(cells),
            _flat(values),
            None if old is None else _flat(old),
            floating,
        )

    def register(self, warp: Warp, name: str, value: Any, old: Any) -> None:
        """Note that a variable has a new value in the active lanes; structs are left out."""
        if self._blocks is not None and warp.block.index not in self._blocks:
            return
        if type(value) is list:
            return
        floating = type(spread(value)[0]) is float
        if old is None or type(spread(old)[0]) is not type(spread(value)[0]):
            before: Sequence[Any] | None = None
        else:
            before = spread(old) if _many(old) else (old,)
        after = spread(value) if _many(value) else (value,)
        if before is not None and len(before) != len(after):
            before, after = spread(old), spread(value)
        self._event(OPERATIONS.index("register"), name, 0, 1, len(after), after, before, floating)

    def mark(self, warp: Warp, operation: str, name: str) -> None:
        """Note a barrier, a shuffle or a branch."""
        if self._blocks is None or warp.block.index in self._blocks:
            self._event(OPERATIONS.index(operation), name, 0, 1, 0, (), None, False)

    def _event(
        self,
        operation: int,
        name: str,
        at: int,
        stride: int | None,
        count: int,
        values: Sequence[Any],
        old: Sequence[Any] | None,
        floating: bool,
    ) -> None:
        out = self.recording
        place = self._names.get(name)
        if place is None:
            place = self._names[name] = len(out.names)
            out.names.append(name)
        out.operation.append(operation)
        out.name.append(place)
        out.at.append(at)
        out.stride.append(stride)
        out.count.append(count)
        out.value.append(self._keep(values, floating) if len(values) else -1)
        out.old.append(-1 if old is None else self._keep(old, floating))
        out.floating.append(floating)

    def _keep(self, values: Sequence[Any], floating: bool) -> int:
        pool: Any = self.recording.floats if floating else self.recording.integers
        place = len(pool)
        try:
            pool.extend(values)
        except (OverflowError, TypeError):  # beyond 64 bits, or floats among integers
            del pool[place:]
            pool.extend([_signed(int(value)) if value == value else 0 for value in values])
        return place


def _flat(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the numbers lane by lane, the parts of each lane side by side."""
    if len(parts) == 1:
        return parts[0]
    return [value for lane in zip(*parts, strict=True) for value in lane]


def _signed(value: int) -> int:
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)


def _many(value: Any) -> bool:
    return type(value) is tuple or type(value) is range
