"""Values that a loop carries from one trip to the next, found by data flow.

A recurrence is a circle of values: what a register or a word of shared memory held at the head of
the loop, through some instructions, to what it holds when the loop begins anew. Registers may
rotate on the way; only the circle counts. Knows of opcodes only which of them move a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.flow.graph import Graph, Loop
from oneread.sass.flow.reaching import ENTRY, Reaching, reach
from oneread.sass.flow.words import Words

_MOVES: Final = frozenset({"MOV", "MOV32I", "UMOV", "R2UR", "LDS", "STS", "SHFL"})


class Value(NamedTuple):
    """What an instruction wrote to a register; with `ENTRY`, what the loop's head found there."""

    definition: int
    register: Register


_Links: TypeAlias = Mapping[Value, frozenset[Value]]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A circle of values in a loop.

    ``carriers`` are the registers and words that take it over the head, ``steps`` the instructions
    of the circle in order of addresses, ``inputs`` the registers of each step that belong to it.
    """

    loop: Loop
    carriers: tuple[Register, ...]
    steps: tuple[Instruction, ...]
    inputs: Mapping[int, frozenset[Register]]
    links: _Links

    @property
    def operations(self) -> tuple[Instruction, ...]:
        """Return the steps that do more than move a value."""
        return tuple(one for one in self.steps if not is_move(one))


def is_move(one: Instruction) -> bool:
    """Say whether an instruction passes a value on as it is, perhaps to another lane."""
    if one.opcode == "FADD":
        return any(operand.kind == "zero" for operand in one.inputs)
    return one.opcode in _MOVES or (one.opcode == "IMAD" and one.has("MOV"))


def recurrences(graph: Graph, words: Words, loop: Loop) -> list[Recurrence]:
    """Return what a loop carries.

    Parameters
    ----------
    graph : Graph
        The kernel, the words of shared memory among its registers.
    words : Words
        Which of a wide access's registers belongs to which word.
    loop : Loop
        One of its loops.

    Returns
    -------
    list of Recurrence
        In the order of their first steps; what is only kept is none.
    """
    links = _links(graph, words, loop)
    found = []
    for circle in _circles(links):
        carriers = sorted(one.register for one in circle if one.definition == ENTRY)
        indices = sorted({one.definition for one in circle} - {ENTRY})
        steps = tuple(graph.program.instructions[index] for index in indices)
        if carriers and not all(is_move(one) for one in steps):
            inputs = {index: _inputs(index, circle, links) for index in indices}
            found.append(Recurrence(loop, tuple(carriers), steps, inputs, links))
    return sorted(found, key=lambda one: one.operations[0].index)


def _inputs(index: int, circle: set[Value], links: _Links) -> frozenset[Register]:
    """Return the registers of an instruction that hold values of the circle."""
    return frozenset(
        source.register
        for value in circle
        if value.definition == index
        for source in links[value]
        if source in circle
    )


def _links(graph: Graph, words: Words, loop: Loop) -> _Links:
    """Return of each value those that it is made of."""
    reaching = reach(graph, loop)
    found: dict[Value, frozenset[Value]] = {}
    for number in loop.blocks:
        if graph.blocks[number].is_cold:
            continue
        condition = _condition(graph, loop, reaching, number)
        for one in graph.instructions([number]):
            for register in one.writes:
                found[Value(one.index, register)] = condition | {
                    Value(definition, source)
                    for source in words.sources(one, register)
                    for definition in reaching.of(one.index, source)
                }
    for end in reaching.ends:
        for register, definitions in end.items():
            if register.bank == "S" and words.varies(register, graph, loop):
                continue  # the next trip finds another word there
            head = Value(ENTRY, register)
            values = frozenset(Value(one, register) for one in definitions)
            found[head] = found.get(head, frozenset()) | values
    return found


def _condition(graph: Graph, loop: Loop, reaching: Reaching, number: int) -> frozenset[Value]:
    """Return the values of the predicate that decides whether a block of a loop runs."""
    control = graph.control_of(number) if number != loop.head else None
    if control is None:
        return frozenset()
    branch, guard = control
    definitions = reaching.of(branch.index, guard.register)
    return frozenset(Value(one, guard.register) for one in definitions)


def _circles(links: _Links) -> list[set[Value]]:
    """Return the strongly connected parts of a graph of values (Kosaraju's algorithm)."""
    back: dict[Value, list[Value]] = {}
    for value, sources in links.items():
        for source in sources:
            back.setdefault(source, []).append(value)
    taken: set[Value] = set()
    found = []
    for root in reversed(_postorder(links)):
        part, waiting = set[Value](), [root]
        while waiting:
            one = waiting.pop()
            if one not in taken:
                taken.add(one)
                part.add(one)
                waiting += back.get(one, ())
        if len(part) > 1:
            found.append(part)
    return found


def _postorder(links: Mapping[Value, Iterable[Value]]) -> list[Value]:
    """Return the values in the order in which a search leaves them."""
    seen: set[Value] = set()
    order: list[Value] = []
    for root in links:
        path = [(root, iter(links[root]))] if root not in seen else []
        seen.add(root)
        while path:
            value, waiting = path[-1]
            following = next((one for one in waiting if one not in seen), None)
            if following is None:
                order.append(value)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(links.get(following, ()))))
    return order
