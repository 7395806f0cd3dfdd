"""Loops as work: how many elements a trip is for, what that costs, and how a loop was unrolled.

Knows no idiom.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import Access, Space
from oneread.sass.facts.alone import cycles_alone
from oneread.sass.facts.throughput import Cost, cost
from oneread.sass.flow.graph import Graph, Loop
from oneread.sass.flow.words import Words


@dataclass(frozen=True, slots=True)
class Work:
    """A loop as work, without the loops inside of it and without slow paths.

    ``elements`` is how many elements of its buffers a lane is done with in a trip, 0 where that is
    not known; `cost` is then of one trip. ``alone_cycles`` is an estimate of a trip's time for a
    warp alone on an SM, None without control bits.
    """

    loop: Loop
    instructions: tuple[Instruction, ...]
    elements: int
    cost: Cost
    alone_cycles: int | None


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
    space: Space
    is_store: bool
    parameter: int | None
    rungs: tuple[Rung, ...]


def over_elements(graph: Graph, words: Words, accesses: Sequence[Access]) -> list[Access]:
    """Return the accesses that go over elements of a buffer.

    Parameters
    ----------
    graph : Graph
        The kernel.
    words : Words
        The words of shared memory.
    accesses : sequence of Access
        Its loads and stores.

    Returns
    -------
    list of Access
        All of global memory, and loads of shared memory that find another word in each trip of a
        loop without barriers, with others of the same line of the source.
    """
    moving = [one for one in accesses if _moves(graph, words, one)]
    lines = {_line(one) for one in moving} - {None}
    return [
        one
        for one in accesses
        if one.space == "global" or one in moving or (_is_load(one) and _line(one) in lines)
    ]


def _is_load(one: Access) -> bool:
    return one.space == "shared" and not one.is_store


def _moves(graph: Graph, words: Words, one: Access) -> bool:
    """Say whether a load of shared memory finds another word in each trip of its loop."""
    block = graph.block_of(one.instruction.index)
    loop = graph.loop_of(block.number) if block else None
    if loop is None or not _is_load(one):
        return False
    if any(other.opcode == "BAR" for other in graph.instructions(graph.own_blocks(loop))):
        return False
    found = [word for word in one.instruction.reads if word.bank == "S"]
    return bool(found) and words.varies(found[0], graph, loop)


def _line(one: Access) -> int | None:
    return one.instruction.line.outermost.line if one.instruction.line else None


def works(graph: Graph, accesses: Sequence[Access]) -> list[Work]:
    """Return the loops of a kernel as work.

    Parameters
    ----------
    graph : Graph
        The kernel.
    accesses : sequence of Access
        Its loads and stores over elements.

    Returns
    -------
    list of Work
        One for each loop, in their order; none for those of slow paths.
    """
    found = []
    for loop in graph.loops:
        own = [one for one in graph.own_blocks(loop) if not graph.blocks[one].is_cold]
        instructions = tuple(graph.instructions(own))
        if not instructions:
            continue
        indices = {one.index for one in instructions}
        inside = [one for one in accesses if one.instruction.index in indices]
        elements = count_elements(inside)
        target = graph.program.target
        price = cost(instructions, max(elements, 1), target)
        alone = cycles_alone(instructions, target)
        found.append(Work(loop, instructions, elements, price, alone))
    return found


def count_elements(accesses: Iterable[Access]) -> int:
    """Return how many elements accesses are for.

    The most of one pointer: of loads of global memory or, where there are none, of stores or of
    loads of shared memory.
    """
    given = list(accesses)
    for space, is_store in (("global", False), ("global", True), ("shared", False)):
        counts: dict[int | None, int] = defaultdict(int)
        for one in given:
            if (one.space, one.is_store) == (space, is_store):
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
    groups: dict[tuple[int | None, Space, bool, int | None], dict[int, list[Access]]] = {}
    for one in accesses:
        place = home.get(one.instruction.index)
        if place is None:
            continue
        key = _line(one), one.space, one.is_store, one.parameter
        groups.setdefault(key, {}).setdefault(place, []).append(one)
    loops = {loop.head: loop for loop in graph.loops}
    found = []
    for (line, space, is_store, parameter), places in groups.items():
        rungs = tuple(
            Rung(count_elements(places[place]), loops.get(place), tuple(places[place]))
            for place in sorted(places, key=lambda at: places[at][0].instruction.index)
        )
        if any(rung.loop for rung in rungs):
            found.append(Ladder(line, space, is_store, parameter, rungs))
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
    """Leave out what a ladder already shows: stores where there are loads, shared where global."""
    kept: list[Ladder] = []
    shown: set[int] = set()
    for one in sorted(found, key=lambda one: (one.space == "shared", one.is_store)):
        heads = {rung.loop.head for rung in one.rungs if rung.loop}
        if (one.space == "global" and not one.is_store) or not heads & shown:
            kept.append(one)
        shown |= heads
    return sorted(kept, key=lambda one: one.rungs[0].start)
