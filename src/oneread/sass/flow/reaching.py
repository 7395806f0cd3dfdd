"""Where the value that an instruction reads was written: reaching definitions under guards.

A definition under ``@P0`` leaves the older one in place for ``!P0``; both are kept with the
conditions that they hold under, so that a reader under ``@P0`` sees the one that it can see. Knows
no opcode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from oneread.sass.decode.instruction import Guard, Instruction, Register
from oneread.sass.flow.graph import Edge, Graph, Loop

#: The definition of what a register held before the region began.
ENTRY: Final = -1

#: Of one register: the instructions that may have written it, and what must hold for each.
Definitions: TypeAlias = Mapping[int, frozenset[Guard]]
State: TypeAlias = dict[Register, Definitions]

_FROM_BEFORE: Final[Definitions] = {ENTRY: frozenset()}


@dataclass(frozen=True)
class Reaching:
    """The definitions that reach each reader in a region, and its end.

    ``sources`` is by instruction and register, `ENTRY` among the definitions where the value comes
    from before the region. ``ends`` are the states where control leaves for the head again.
    """

    sources: Mapping[tuple[int, Register], frozenset[int]]
    ends: tuple[State, ...]

    def of(self, index: int, register: Register) -> frozenset[int]:
        """Return the definitions of a register that an instruction may read."""
        return self.sources.get((index, register), frozenset())

    def feeding(self, one: Instruction, registers: Iterable[Register] = ()) -> frozenset[int]:
        """Return the instructions that write what an instruction reads, or these registers of it.

        `ENTRY` is left out.
        """
        wanted = tuple(registers) or one.reads
        found = (self.of(one.index, register) for register in wanted)
        return frozenset().union(*found) - {ENTRY}

    def users(self) -> dict[int, set[int]]:
        """Return for each definition the instructions that may read it."""
        found: dict[int, set[int]] = {}
        for (index, _), definitions in self.sources.items():
            for definition in definitions - {ENTRY}:
                found.setdefault(definition, set()).add(index)
        return found


def reach(graph: Graph, loop: Loop | None = None) -> Reaching:
    """Follow every value to its readers.

    Parameters
    ----------
    graph : Graph
        The kernel.
    loop : Loop, optional
        Only within one trip of this loop: what the head's registers hold then counts as written
        before. The whole kernel if left out.

    Returns
    -------
    Reaching
        Definitions of each reader, slow paths left out.
    """
    return _Region(graph, loop).run()


class _Region:
    """One run over a region."""

    def __init__(self, graph: Graph, loop: Loop | None) -> None:
        self.graph = graph
        # What a slow path leaves in a register is the same value, made with more care.
        self.order = [
            one
            for one in graph.order
            if (loop is None or one in loop.blocks) and not graph.blocks[one].is_cold
        ]
        inside = frozenset(self.order)
        heads = {loop.head} if loop else set()
        self.back = [e for e in graph.edges if e.source in inside and e.target in heads]
        self.ways: dict[int, list[Edge]] = {one: [] for one in self.order}
        self.after: dict[int, list[int]] = {one: [] for one in self.order}
        for edge in graph.edges:
            if edge.source in inside and edge.target in inside and edge.target not in heads:
                self.ways[edge.target].append(edge)
                self.after[edge.source].append(edge.target)
        self.out: dict[int, State] = {}
        self.sources: dict[tuple[int, Register], frozenset[int]] = {}

    def run(self) -> Reaching:
        waiting = set(self.order)
        while waiting:
            for number in self.order:
                if number in waiting:
                    waiting.discard(number)
                    state = self.through(number, self.entering(number), record=False)
                    if state != self.out.get(number):
                        self.out[number] = state
                        waiting.update(self.after[number])
        for number in self.order:
            self.through(number, self.entering(number), record=True)
        ends = tuple(_along(edge, self.out[edge.source]) for edge in self.back)
        return Reaching(self.sources, ends)

    def entering(self, number: int) -> State:
        known = [
            _along(edge, self.out[edge.source])
            for edge in self.ways[number]
            if edge.source in self.out
        ]
        return _merged(known) if known else {}

    def through(self, number: int, state: State, *, record: bool) -> State:
        for one in self.graph.instructions([number]):
            if record:
                for register in one.reads:
                    definitions = state.get(register, _FROM_BEFORE)
                    self.sources[one.index, register] = _seen(definitions, one.guard)
            for register in one.writes:
                if register.bank in ("P", "UP"):
                    _forget(state, register)
            for register in one.writes:
                state[register] = _written(state.get(register, _FROM_BEFORE), one)
        return state


def _seen(definitions: Definitions, guard: Guard | None) -> frozenset[int]:
    """Return the definitions that a reader under a guard can see."""
    if guard is None:
        return frozenset(definitions)
    return frozenset(
        one for one, conditions in definitions.items() if guard.opposite not in conditions
    )


def _written(before: Definitions, one: Instruction) -> Definitions:
    """Return the definitions of a register behind an instruction that writes it."""
    if one.guard is None:
        return {one.index: frozenset()}
    # A write to the guard itself ends what is known under it.
    kept = one.guard.register not in one.writes
    under = frozenset({one.guard}) if kept else frozenset[Guard]()
    against = frozenset({one.guard.opposite}) if kept else frozenset[Guard]()
    found = {
        index: conditions | against
        for index, conditions in before.items()
        if one.guard not in conditions
    }
    found[one.index] = under
    return found


def _forget(state: State, predicate: Register) -> None:
    """Drop what was known under a predicate that is written anew."""
    for register, definitions in state.items():
        held_by = (guard.register for held in definitions.values() if held for guard in held)
        if predicate in held_by:
            state[register] = {
                index: frozenset(guard for guard in held if guard.register != predicate)
                for index, held in definitions.items()
            }


def _along(edge: Edge, state: State) -> State:
    """Return a state without the definitions that cannot hold on a way."""
    if edge.holds is None:
        return dict(state)
    against = edge.holds.opposite
    found: State = {}
    for register, definitions in state.items():
        possible = {index: held for index, held in definitions.items() if against not in held}
        found[register] = possible or definitions
    return found


def _merged(states: list[State]) -> State:
    """Return what may hold where several ways meet."""
    found = dict(states[0])
    for state in states[1:]:
        for register in found.keys() | state.keys():
            first = found.get(register, _FROM_BEFORE)
            second = state.get(register, _FROM_BEFORE)
            if first is second or first == second:
                found[register] = first
                continue
            found[register] = {
                index: first[index] & second[index]
                if index in first and index in second
                else first.get(index, second.get(index, frozenset()))
                for index in first.keys() | second.keys()
            }
    return found
