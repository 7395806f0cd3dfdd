"""A recording of a run: steps, accesses, registers, as columns of numbers.

Knows no file format beyond its columns. Values go to pools; an event has the place of its first
number there.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oneread.spec.words import plural
from oneread.trace.errors import LimitError
from oneread.trace.limits import Limits
from oneread.trace.machine.access import Access
from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.values import spread
from oneread.trace.machine.warp import Warp
from oneread.trace.pools import INTEGERS, Pools, choose

#: What an event can be.
OPERATIONS = ("load", "store", "atomic", "register", "barrier", "shuffle", "branch")


@dataclass(frozen=True, slots=True)
class Memory:
    """A buffer as it has to be known to read events: which cells an element has, and of what."""

    name: str
    space: str
    elements: int
    """Of all lanes together, in local memory."""
    types: tuple[str, ...]
    """Of the cells of an element, by the letters of the module `struct`."""
    row_cells: int = 0
    """Cells of a row, where the buffer has rows."""


def memory(buffer: Buffer) -> Memory:
    """Return what has to be known of a buffer."""
    types = tuple(code for _, code in buffer.layout)
    return Memory(buffer.name, buffer.space, buffer.count, types, buffer.width)


@dataclass
class Recording:
    """Columns of steps and of events; a step owns the events up to its `end`."""

    step: array[int] = field(default_factory=lambda: array("i"))
    """Its number among those of all blocks."""
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
    """First cell; or, where `stride` is None, the place of the cells in the pool of integers."""
    stride: list[int | None] = field(default_factory=list)
    count: array[int] = field(default_factory=lambda: array("i"))
    value: array[int] = field(default_factory=lambda: array("q"))
    """Place of the first number in its pool, -1 for none; there are `count`."""
    old: array[int] = field(default_factory=lambda: array("q"))
    """The same for what was there before."""
    pool: array[int] = field(default_factory=lambda: array("b"))
    """How `value` and `old` lie in `pools`: a constant of `oneread.trace.pools`."""
    partial: array[int] = field(default_factory=lambda: array("i"))
    """Accesses in which fewer lanes took part than in their step: as in ``c ? x[i] : 0``."""
    lanes: array[int] = field(default_factory=lambda: array("I"))
    """Lanes of each of `partial`."""
    names: list[str] = field(default_factory=list)
    spaces: list[str] = field(default_factory=list)
    """Where each of `names` lives: ``global``, ``shared``, ``local``, ``register`` or ``""``."""
    pools: Pools = field(default_factory=Pools)
    locals: dict[str, Memory] = field(default_factory=dict)
    """Arrays in local memory that were touched."""

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
        self._names: dict[tuple[str, str], int] = {}
        self._accesses: list[tuple[int, int]] = []
        """Events of the step that goes on, with their lanes."""

    def step(self, warp: Warp, number: int, line: int, column: int) -> None:
        """End a step."""
        if self._blocks is not None and warp.block.index not in self._blocks:
            return
        out = self.recording
        out.step.append(number)
        out.block.append(warp.block.index)
        out.warp.append(warp.index)
        out.line.append(line)
        out.column.append(column)
        out.mask.append(warp.mask)
        for event, lanes in self._accesses:
            if lanes != warp.mask:
                out.partial.append(event)
                out.lanes.append(lanes)
        self._accesses.clear()
        out.end.append(len(out.operation))
        if out.events > self._limits.recorded:
            most = plural(self._limits.recorded, "event")
            raise LimitError(
                f"more than {most} (recorded); record fewer blocks", line, setting="recorded"
            )

    def access(self, access: Access, values: Sequence[Any], old: Sequence[Any] | None) -> None:
        """Note a load, a store or an atomic: what its cells hold, and what they held before.

        An atomic has its numbers in the order of the lanes, which may share a cell.
        """
        if self._blocks is not None and access.warp.block.index not in self._blocks:
            return
        cells, buffer = access.cells, access.buffer
        if len(values) > len(cells):
            cells = [cells[0]] * len(values)
        even = type(cells) is range
        if buffer.space == "local" and buffer.name not in self.recording.locals:
            self.recording.locals[buffer.name] = memory(buffer)
        self._accesses.append((self.recording.events, access.bits))
        self._event(
            OPERATIONS.index(access.kind),
            (buffer.name, buffer.space),
            cells[0] if even else self.recording.pools.put(cells, INTEGERS),
            cells.step if even else None,  # type: ignore[attr-defined]
            len(cells),
            values,
            old,
        )

    def register(self, warp: Warp, name: str, value: Any, old: Any) -> None:
        """Note that a variable, or a member of one, has a new value in the active lanes."""
        if self._blocks is not None and warp.block.index not in self._blocks:
            return
        after = spread(value) if _many(value) else (value,)
        before: Sequence[Any] | None = None
        if old is not None and type(spread(old)[0]) is type(spread(value)[0]):
            before = spread(old) if _many(old) else (old,)
            if len(before) != len(after):
                before, after = spread(old), spread(value)
        thing = (name, "register")
        self._event(OPERATIONS.index("register"), thing, 0, 1, len(after), after, before)

    def shuffle(
        self, warp: Warp, name: str, sources: Sequence[int], value: Any, given: Any
    ) -> None:
        """Note the lane that each lane takes its value from, what it gets and what it gave."""
        if self._blocks is None or warp.block.index in self._blocks:
            at = self.recording.pools.put(sources, INTEGERS)
            kind = OPERATIONS.index("shuffle")
            self._event(kind, (name, ""), at, None, len(sources), spread(value), spread(given))

    def mark(self, warp: Warp, operation: str, name: str) -> None:
        """Note a barrier or a branch."""
        if self._blocks is None or warp.block.index in self._blocks:
            self._event(OPERATIONS.index(operation), (name, ""), 0, 1, 0, (), None)

    def _event(
        self,
        operation: int,
        thing: tuple[str, str],
        at: int,
        stride: int | None,
        count: int,
        values: Sequence[Any],
        old: Sequence[Any] | None,
    ) -> None:
        out = self.recording
        place = self._names.get(thing)
        if place is None:
            place = self._names[thing] = len(out.names)
            out.names.append(thing[0])
            out.spaces.append(thing[1])
        how = choose(values if old is None else [*values, *old])
        out.operation.append(operation)
        out.name.append(place)
        out.at.append(at)
        out.stride.append(stride)
        out.count.append(count)
        out.value.append(out.pools.put(values, how) if len(values) else -1)
        out.old.append(-1 if old is None else out.pools.put(old, how))
        out.pool.append(how)


def _many(value: Any) -> bool:
    return type(value) is tuple or type(value) is range
