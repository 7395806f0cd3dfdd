"""Loops as work: how many elements a trip is for, what that costs, and how a loop was unrolled.

Knows no idiom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import Access
from oneread.sass.facts.throughput import Cost, cost
from oneread.sass.flow.graph import Graph, Loop


@dataclass(frozen=True, slots=True)
class Work:
    """A loop as work, without the loops inside of it and without slow paths.

    ``elements`` is how many elements of its buffers a lane is done with in a trip, 0 where that is
    not known; `cost` is then of one trip.
    """

    loop: Loop
    instructions: tuple[Instruction, ...]
    elements: int
    cost: Cost


@dataclass(frozen=True, slots=True)
class Rung:
    """A piece of code that does a number of elements: a loop, or a piece that runs once."""

    elements: int
    loop: Loop | None
    accesses: tuple[Access, ...]

    @property
    def start(self) -> int:
        return self.accesses[0].instruction.index


@dataclass(frozen=True, slots=True)
class Ladder:
    """The pieces of code that one line of the source became, in the order of addresses.

    ``line`` is None where the code has no line numbers.
    """

    line: int | None
    is_store: bool
    parameter: int | None
    rungs: tuple[Rung, ...]


def works(graph: Graph, accesses: Sequence[Access]) -> list[Work]:
    """Return the loops of a kernel as work.

    Parameters
    ----------
    graph : Graph
        The kernel.
    accesses : sequence of Access
        Its loads and stores.

    Returns
    -------
    list of Work
        One for each loop, in their order.
    """
    found = []
    for loop in graph.loops:
        own = [one for one in graph.own_blocks(loop) if not graph.blocks[one].is_cold]
        instructions = tuple(graph.instructions(own))
        indices = {one.index for one in instructions}
        inside = [one for one in accesses if one.instruction.index in indices]
        elements = count_elements(inside)
        price = cost(instructions, max(elements, 1), graph.program.target)
        found.append(Work(loop, instructions, elements, price))
    return found


def count_elements(accesses: Iterable[Access]) -> int:
    """Return how many elements accesses are for: the most of one pointer, loads before stores."""
    for is_store in (False, True):
        counts: dict[int | None, int] = defaultdict(int)
        for one in accesses:
            if one.space == "global" and one.is_store == is_store:
                counts[one.parameter] += one.lane_bytes // one.element_bytes
        if counts:
            return max(counts.values())
    return 0


def ladders(graph: Graph, accesses: Sequence[Access]) -> list[Ladder]:
    """Return how the loops of the source were unrolled.

    Parameters
    ----------
    graph : Graph
        The kernel.
    accesses : sequence of Access
        Its loads and stores.

    Returns
    -------
    list of Ladder
        One for each line of the source that loads or, where it loads nothing, stores in a loop.
    """
    home = _homes(graph)
    groups: dict[tuple[int | None, bool, int | None], dict[int, list[Access]]] = {}
    for one in accesses:
        place = home.get(one.instruction.index)
        if one.space != "global" or place is None:
            continue
        line = one.instruction.line.outermost.line if one.instruction.line else None
        key = line, one.is_store, one.parameter
        groups.setdefault(key, {}).setdefault(place, []).append(one)
    loops = {loop.head: loop for loop in graph.loops}
    found = []
    for (line, is_store, parameter), places in groups.items():
        rungs = tuple(
            Rung(count_elements(places[place]), loops.get(place), tuple(places[place]))
            for place in sorted(places, key=lambda at: places[at][0].instruction.index)
        )
        if any(rung.loop for rung in rungs):
            found.append(Ladder(line, is_store, parameter, rungs))
    return _without_echoes(found)


def _homes(graph: Graph) -> Mapping[int, int]:
    """Return for each instruction that is no slow path the head of its loop, or its block."""
    after: dict[int, set[int]] = {}
    before: dict[int, set[int]] = {}
    for edge in graph.edges:
        if not (graph.blocks[edge.source].is_cold or graph.blocks[edge.target].is_cold):
            after.setdefault(edge.source, set()).add(edge.target)
            before.setdefault(edge.target, set()).add(edge.source)
    found: dict[int, int] = {}
    for number in graph.order:
        block = graph.blocks[number]
        loop = graph.loop_of(number)
        if block.is_cold:
            continue
        place = loop.head if loop else number
        ways = before.get(number, set())
        if loop is None and len(ways) == 1:
            (way,) = ways
            # A block that follows no other and is followed by no other goes on with its piece.
            if len(after[way]) == 1 and graph.loop_of(way) is None:
                place = found[graph.blocks[way].start]
        found.update(dict.fromkeys(block.indices, place))
    return found


def _without_echoes(found: Sequence[Ladder]) -> list[Ladder]:
    """Leave out the stores of loops that a ladder of loads already shows."""
    shown = {rung.loop.head for one in found if not one.is_store for rung in one.rungs if rung.loop}
    return [
        one
        for one in found
        if not one.is_store or not any(rung.loop and rung.loop.head in shown for rung in one.rungs)
    ]
