"""Reductions across lanes: shuffles, trees in shared memory, instructions that do it at once.

Found by what a step combines: a lane's own value with one that another lane had. Knows no words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from oneread.sass.decode.instruction import Instruction, Program, Register
from oneread.sass.facts.comparing import Choice
from oneread.sass.flow.graph import Graph, Loop
from oneread.sass.flow.reaching import Reaching
from oneread.sass.flow.recurrences import is_move
from oneread.sass.flow.words import Words

#: ``shuffle`` by SHFL, ``tree`` in shared memory, ``redux`` by one instruction a warp.
ReductionForm: TypeAlias = Literal["shuffle", "tree", "redux"]

_SUMS: Final = frozenset({"DADD", "DFMA", "FADD", "FFMA", "HADD2", "HFMA2", "IADD3"})
_SCALES: Final = frozenset({"DMUL", "FMUL", "HMUL2"})
_SELECTS: Final = frozenset({"FSEL", "SEL"})
_SHIFTS: Final = frozenset({"SHF", "SHR", "USHF", "USHR"})
_DEPTH: Final = 12


@dataclass(frozen=True, slots=True)
class Reduction:
    """Values of lanes that become one.

    ``operations`` are ``max``, ``min`` and ``sum``. ``distances`` are how far apart the lanes of
    each step are, the first step first: in lanes of a shuffle, in bytes of a tree; none of a loop
    whose step changes. ``moves`` bring the other lane's values.
    """

    form: ReductionForm
    operations: tuple[str, ...]
    distances: tuple[int, ...]
    moves: tuple[Instruction, ...]
    loop: Loop | None = None


class _Step(NamedTuple):
    """One step: how far, what is made, the instruction that brings the other lane's value.

    ``before`` are the moves of which the values come that it moves; ``own`` is the lane's own word
    of a tree.
    """

    distance: int
    operations: frozenset[str]
    move: Instruction
    loop: Loop | None
    before: frozenset[int]
    own: Register | None = None


def reductions(
    graph: Graph, words: Words, reaching: Reaching, choices: Mapping[int, Choice]
) -> list[Reduction]:
    """Return the reductions of a kernel, outside of its slow paths.

    Parameters
    ----------
    graph : Graph
        The kernel.
    words : Words
        The words of shared memory.
    reaching : Reaching
        Where values come from.
    choices : mapping of int to Choice
        The choices between values, by each of their steps.

    Returns
    -------
    list of Reduction
        In the order of their first moves.
    """
    warm = [number for number, block in graph.blocks.items() if not block.is_cold]
    instructions = list(graph.instructions(warm))
    finder = _Finder(graph, words, reaching, choices)
    found = _grouped(graph, "shuffle", finder.shuffles(instructions))
    found += _grouped(graph, "tree", finder.trees(instructions))
    found += [
        Reduction("redux", _redux(one), (), (one,))
        for one in instructions
        if one.opcode in ("REDUX", "CREDUX")
    ]
    return sorted(found, key=lambda one: one.moves[0].index)


class _Finder:
    """One search through a kernel."""

    def __init__(
        self, graph: Graph, words: Words, reaching: Reaching, choices: Mapping[int, Choice]
    ) -> None:
        self.program: Program = graph.program
        self.graph = graph
        self.words = words
        self.reaching = reaching
        self.choices = choices
        self.users = reaching.users()

    def shuffles(self, instructions: Iterable[Instruction]) -> list[_Step]:
        """Return the shuffles whose values are combined with the lane's own."""
        found = []
        for one in instructions:
            if one.opcode != "SHFL" or one.has("IDX", "UP"):  # UP is a scan
                continue
            operations: set[str] = set()
            for user in self.using(one):
                # What another lane had is scaled before it is added.
                direct = user.opcode not in _SCALES
                for other in [user] if direct else self.using(user):
                    operations |= self.combined(other)
            if operations:
                distance = one.inputs[1].number if one.inputs[1].kind == "number" else None
                found.append(self.step(one, int(distance or 0), operations))
        return found

    def using(self, one: Instruction) -> list[Instruction]:
        return [self.program.instructions[index] for index in self.users.get(one.index, ())]

    def combined(self, user: Instruction) -> set[str]:
        """Return what an instruction makes of two lanes' values."""
        if user.index in self.choices:
            return {self.choices[user.index].extreme}
        is_difference = any(operand.negative for operand in user.inputs)
        return {"sum"} if user.opcode in _SUMS and not is_difference else set()

    def trees(self, instructions: Sequence[Instruction]) -> list[_Step]:
        """Return the loads of another lane's word that go into the lane's own."""
        found: dict[int, _Step] = {}
        for store in instructions:
            if store.opcode != "STS":
                continue
            loads, operations = self.origins(store)
            own = {word for word in store.writes if word.bank == "S"}
            if not operations or not any(own & load.reads for load in loads):
                continue
            for load in loads:
                others = [word for word in load.reads - own if word.bank == "S"]
                if others and not own & load.reads:
                    distance = self.distance(min(own), min(others))
                    step = self.step(load, distance, operations)
                    found[load.index] = step._replace(own=min(own))
        return [found[index] for index in sorted(found)]

    def distance(self, own: Register, other: Register) -> int:
        """Return how far apart two words are, 0 where that cannot be told."""
        mine, others = self.words.addresses[own], self.words.addresses[other]
        return others.offset - mine.offset if mine.terms == others.terms else 0

    def origins(self, store: Instruction) -> tuple[list[Instruction], set[str]]:
        """Return the shared loads that a store's value is made of, and by what operations."""
        data = [r for word in store.writes for r in self.words.sources(store, word)]
        return self.walk(store, data, "LDS")

    def walk(
        self, reader: Instruction, registers: Iterable[Register], stop: str
    ) -> tuple[list[Instruction], set[str]]:
        """Return the instructions of an opcode that values come from, and the operations between.

        Only sums, scales and choices are followed: what is made of an exponential is another
        value.
        """
        found: dict[int, Instruction] = {}
        operations: set[str] = set()
        seen: set[tuple[int, Register]] = set()
        waiting = [(reader.index, register, 0) for register in registers]
        while waiting:
            index, register, depth = waiting.pop()
            for definition in self.reaching.of(index, register):
                if definition < 0 or (definition, register) in seen or depth > _DEPTH:
                    continue
                seen.add((definition, register))
                one = self.program.instructions[definition]
                if one.opcode == stop:
                    found[definition] = one
                    continue
                operations |= self.combined(one)
                passes = one.opcode in _SUMS | _SCALES | _SELECTS or one.index in self.choices
                if passes or is_move(one):
                    waiting += [(definition, source, depth + 1) for source in one.reads]
        return [found[index] for index in sorted(found)], operations

    def step(self, move: Instruction, distance: int, operations: Iterable[str]) -> _Step:
        block = self.graph.block_of(move.index)
        loop = self.graph.loop_of(block.number) if block else None
        data = [operand.register for operand in move.inputs[:1] if operand.register]
        before, _ = self.walk(move, data, move.opcode) if move.opcode == "SHFL" else ([], set())
        return _Step(
            distance, frozenset(operations), move, loop, frozenset(one.index for one in before)
        )


def _grouped(graph: Graph, form: ReductionForm, steps: Sequence[_Step]) -> list[Reduction]:
    """Put steps together that follow each other, and operations that go side by side."""
    chains: list[list[_Step]] = []
    for step in steps:
        chain = next((one for one in reversed(chains) if _goes_on(one, step)), None)
        if chain is None:
            chains.append([step])
        else:
            chain.append(step)
    found: list[list[_Step]] = []
    for chain in chains:
        if len(_distances(chain)) < 2 and not _halves(graph, chain[0]):
            continue
        beside = next((one for one in found if _side_by_side(one, chain)), None)
        if beside is None:
            found.append(chain)
        else:
            beside[:] = sorted([*beside, *chain], key=lambda step: step.move.index)
    return [_reduction(form, chain) for chain in found]


def _goes_on(chain: Sequence[_Step], step: _Step) -> bool:
    """Say whether a step is the next one of a chain, or one more like its last."""
    last = chain[-1]
    if (last.loop, last.operations) != (step.loop, step.operations):
        return False
    if step.move.opcode == "SHFL":
        return last.move.index in step.before
    # Two trees may take the same steps; where no distance can be told, nor can the word.
    if step.own != last.own and (step.distance or step.loop):
        return False
    # Of an odd number, a little more or less is left than half. The last lane's address is written
    # without the lane, so that no distance can be told.
    return step.distance == 0 or last.distance // 3 <= step.distance <= last.distance


def _distances(chain: Sequence[_Step]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(step.distance for step in chain if step.distance))


def _side_by_side(one: Sequence[_Step], other: Sequence[_Step]) -> bool:
    """Say whether two chains take the same steps at the same time."""
    if (one[0].loop, _distances(one)) != (other[0].loop, _distances(other)):
        return False
    if any(step.operations == other[0].operations for step in one):
        return False
    return one[0].move.index < other[-1].move.index and other[0].move.index < one[-1].move.index


def _halves(graph: Graph, step: _Step) -> bool:
    """Say whether a step is one of a loop that shifts something to the right in each trip."""
    if step.loop is None or step.distance:
        return False
    own = graph.instructions(graph.own_blocks(step.loop))
    return any(one.opcode in _SHIFTS and one.has("R") for one in own)


def _reduction(form: ReductionForm, steps: Sequence[_Step]) -> Reduction:
    distances = _distances(steps)
    operations = frozenset().union(*(step.operations for step in steps))
    loop = steps[0].loop if not distances else None
    return Reduction(
        form, tuple(sorted(operations)), distances, tuple(step.move for step in steps), loop
    )


def _redux(one: Instruction) -> tuple[str, ...]:
    return tuple(word.lower() for word in one.modifiers if word in ("MAX", "MIN", "SUM"))
