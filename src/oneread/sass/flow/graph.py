"""Basic blocks of a kernel, the ways between them, dominators and loops.

Knows which instructions branch; knows nothing of values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from oneread.sass.decode.instruction import Guard, Instruction, Program

_BRANCHES: Final = frozenset({"BRA", "JMP", "BRX", "BRXU", "JMX", "JMXU"})
_TABLES: Final = frozenset({"BRX", "BRXU", "JMX", "JMXU"})
_ENDS: Final = frozenset({"EXIT", "RET", "KILL"})
#: Branches that are taken only if the lanes of a warp disagree.
_IF_DIVERGED: Final = ("DIV", "CONV")


@dataclass(frozen=True, slots=True)
class Edge:
    """A way from one block to another, and what holds on it.

    ``is_rare`` marks the way of lanes that disagree where they seldom do, and calls.
    """

    source: int
    target: int
    holds: Guard | None = None
    is_rare: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``start`` up to ``stop`` that run one after another.

    ``is_cold`` says that only rare ways lead there, or that it does nothing but call: slow paths
    of divisions, and shuffles of a warp that has diverged.
    """

    number: int
    start: int
    stop: int
    is_cold: bool = False

    @property
    def indices(self) -> range:
        return range(self.start, self.stop)


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: its head, its blocks, and the loop around it by number."""

    number: int
    head: int
    blocks: frozenset[int]
    latches: tuple[int, ...]
    parent: int | None = None


@dataclass(frozen=True)
class Graph:
    """The blocks of a kernel that can be reached, in an order where loops stay together.

    ``order`` is reverse postorder from the entries: the kernel's own and those of what it calls.
    """

    program: Program
    blocks: Mapping[int, Block]
    edges: tuple[Edge, ...]
    order: tuple[int, ...]
    entries: tuple[int, ...]
    dominators: Mapping[int, frozenset[int]]
    loops: tuple[Loop, ...]

    def block_of(self, index: int) -> Block | None:
        """Return the block of an instruction, None where it cannot be reached."""
        return self._homes.get(index)

    @cached_property
    def _homes(self) -> dict[int, Block]:
        return {index: block for block in self.blocks.values() for index in block.indices}

    def instructions(self, blocks: Iterable[int]) -> Iterator[Instruction]:
        """Yield the instructions of blocks in the order of their addresses."""
        for number in sorted(blocks, key=lambda one: self.blocks[one].start):
            block = self.blocks[number]
            yield from self.program.instructions[block.start : block.stop]

    def control_of(self, number: int) -> tuple[Instruction, Guard] | None:
        """Return the branch that a block hangs on, and what holds there.

        None where several ways lead to the block, or none hangs on one predicate.
        """
        seen = {number, *self.entries}
        while True:
            ways = [edge for edge in self.edges if edge.target == number]
            if len(ways) != 1 or number in self.entries:
                return None
            if ways[0].holds:
                last = self.blocks[ways[0].source].stop - 1
                return self.program.instructions[last], ways[0].holds
            number = ways[0].source
            if number in seen:
                return None
            seen.add(number)

    def own_blocks(self, loop: Loop) -> frozenset[int]:
        """Return the blocks of a loop that belong to no loop inside of it."""
        inner = [one.blocks for one in self.loops if one.parent == loop.number]
        return loop.blocks.difference(*inner)

    def loop_of(self, block: int) -> Loop | None:
        """Return the innermost loop that a block belongs to."""
        inside = [one for one in self.loops if block in one.blocks]
        return min(inside, key=lambda one: len(one.blocks), default=None)


def build_graph(program: Program) -> Graph:
    """Cut a kernel into blocks and find its loops.

    Parameters
    ----------
    program : Program
        The kernel.

    Returns
    -------
    Graph
        What can be reached; padding behind the last branch is left out.
    """
    return _Builder(program).build()


class _Builder:
    """One run over a kernel."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.calls = {
            one.index: _call(program, one)
            for one in program.instructions
            if one.opcode == "CALL" and one.targets
        }
        self.spans = self.cut()
        self.block_at = {start: number for number, (start, _) in enumerate(self.spans)}

    def build(self) -> Graph:
        edges = [edge for number in range(len(self.spans)) for edge in self.ways(number)]
        entries = self.entries()
        edges += self.tables(edges, entries)
        order = _reverse_postorder(entries, edges)
        reached = set(order)
        edges = [edge for edge in edges if edge.source in reached]
        usual = [edge for edge in edges if not (edge.is_rare or self.is_slow(edge.source))]
        usual += [edge for number in order for edge in self.called(number)]
        warm = set(_reverse_postorder(entries[:1], usual))
        blocks = {
            number: Block(number, *self.spans[number], self.is_slow(number) or number not in warm)
            for number in order
        }
        dominators = _dominators(order, entries, edges)
        loops = _loops(order, edges, dominators)
        return Graph(
            self.program, blocks, tuple(edges), tuple(order), tuple(entries), dominators, loops
        )

    def cut(self) -> list[tuple[int, int]]:
        """Return where blocks start and stop, by index."""
        instructions, at = self.program.instructions, self.program.at
        starts = {0}
        for one in instructions:
            if self.jumps(one) or one.opcode in _ENDS or one.opcode == "CALL":
                starts.add(one.index + 1)
            if one.opcode != "BSSY":
                starts.update(at[address].index for address in one.targets if address in at)
        ordered = sorted(start for start in starts if start < len(instructions))
        return list(zip(ordered, [*ordered[1:], len(instructions)], strict=True))

    def jumps(self, one: Instruction) -> bool:
        """Say whether an instruction may go elsewhere for good."""
        return one.opcode in _BRANCHES or self.calls.get(one.index) == "jump"

    def ways(self, number: int) -> Iterator[Edge]:
        """Yield the ways out of a block."""
        last = self.program.instructions[self.spans[number][1] - 1]
        leaves = self.jumps(last) or last.opcode in _ENDS
        condition = _condition(last) if leaves else None
        if self.jumps(last) or last.opcode == "WARPSYNC":
            is_rare = last.has(*_IF_DIVERGED) or last.opcode == "WARPSYNC" or last.never_runs
            for address in last.targets:
                if address in self.program.at:
                    target = self.block_at[self.program.at[address].index]
                    yield Edge(number, target, condition, is_rare)
        if number + 1 < len(self.spans) and (not leaves or _is_conditional(last)):
            yield Edge(number, number + 1, condition.opposite if condition else None)

    def tables(self, edges: Sequence[Edge], entries: Sequence[int]) -> Iterator[Edge]:
        """Yield ways of jumps by a table that the text does not show.

        They may lead to every block that nothing else leads to, padding apart.
        """
        led_to = {edge.target for edge in edges}.union(entries)
        orphans = [number for number in range(len(self.spans)) if number not in led_to]
        for number, (_, stop) in enumerate(self.spans):
            last = self.program.instructions[stop - 1]
            if last.opcode in _TABLES and not last.targets:
                for orphan in orphans:
                    first = self.program.instructions[self.spans[orphan][0]]
                    if first.opcode != "NOP" and first.address not in first.targets:
                        yield Edge(number, orphan)

    def called(self, number: int) -> Iterator[Edge]:
        """Yield the way from a block to a function of the source that it calls."""
        last = self.program.instructions[self.spans[number][1] - 1]
        if self.calls.get(last.index) == "function":
            for address in last.targets:
                yield Edge(number, self.block_at[self.program.at[address].index])

    def is_slow(self, number: int) -> bool:
        """Say whether a block is there to call a slow path."""
        last = self.program.instructions[self.spans[number][1] - 1]
        return self.calls.get(last.index) == "slow" and last.guard is None

    def entries(self) -> list[int]:
        """Return the blocks where the kernel and what it calls begin."""
        called = {
            self.block_at[self.program.at[address].index]
            for one in self.program.instructions
            if self.calls.get(one.index, "jump") != "jump"
            for address in one.targets
            if address in self.program.at
        }
        return [0, *sorted(called - {0})] if self.spans else []


def _call(program: Program, one: Instruction) -> str:
    """Return what a CALL is: ``jump`` without return, ``slow`` path, ``function`` of the source.

    What is called is looked through up to its end: code that ends in EXIT never comes back, and
    the library's slow paths touch no memory.
    """
    if one.targets[0] not in program.at:
        return "slow"
    touches = False
    for other in program.instructions[program.at[one.targets[0]].index :]:
        if other.opcode == "EXIT" and other.guard is None:
            return "jump"
        if other.opcode == "RET":
            break
        touches = touches or other.opcode.startswith(("LD", "ST", "ATOM", "RED"))
    named = any("__cuda_sm" in operand.text for operand in one.operands)
    return "function" if touches and not named else "slow"


def _condition(one: Instruction) -> Guard | None:
    """Return what holds where a branch is taken, if one predicate says so."""
    operand = next((o for o in one.operands[:-1] if o.kind == "predicate"), None)
    if one.never_runs or (one.guard and operand):
        return None
    if operand and operand.register:
        return Guard(operand.register, operand.inverted)
    return one.guard


def _is_conditional(one: Instruction) -> bool:
    by_operand = any(operand.kind == "predicate" for operand in one.operands)
    return one.guard is not None or by_operand or one.has(*_IF_DIVERGED)


def _reverse_postorder(entries: Sequence[int], edges: Iterable[Edge]) -> list[int]:
    """Return the blocks that can be reached, each before those that it leads to but for loops."""
    after: dict[int, list[int]] = {}
    for edge in edges:
        after.setdefault(edge.source, []).append(edge.target)
    seen: set[int] = set()
    order: list[int] = []
    for entry in reversed(entries):
        if entry in seen:
            continue
        seen.add(entry)
        path = [(entry, iter(after.get(entry, ())))]
        while path:
            number, waiting = path[-1]
            following = next((one for one in waiting if one not in seen), None)
            if following is None:
                order.append(number)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(after.get(following, ()))))
    return order[::-1]


def _dominators(
    order: Sequence[int], entries: Sequence[int], edges: Sequence[Edge]
) -> dict[int, frozenset[int]]:
    """Return for each block the blocks that every way to it goes through, itself among them."""
    before: dict[int, list[int]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge.source)
    everything = frozenset(order)
    found = {one: frozenset({one}) if one in entries else everything for one in order}
    changed = True
    while changed:
        changed = False
        for one in order:
            if one in entries:
                continue
            common = frozenset.intersection(*(found[way] for way in before[one])) | {one}
            if common != found[one]:
                found[one], changed = common, True
    return found


def _loops(
    order: Sequence[int], edges: Sequence[Edge], dominators: Mapping[int, frozenset[int]]
) -> tuple[Loop, ...]:
    """Return the natural loops, those with one head as one, the outer before the inner."""
    before: dict[int, list[int]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge.source)
    latches: dict[int, list[int]] = {}
    for edge in edges:
        if edge.target in dominators[edge.source]:
            latches.setdefault(edge.target, []).append(edge.source)
    bodies: dict[int, frozenset[int]] = {}
    for head, sources in latches.items():
        body, waiting = {head}, list(sources)
        while waiting:
            one = waiting.pop()
            if one not in body:
                body.add(one)
                waiting += before.get(one, ())
        bodies[head] = frozenset(body)
    heads = sorted(bodies, key=lambda head: (order.index(head), -len(bodies[head])))
    found: list[Loop] = []
    for number, head in enumerate(heads):
        around = [one for one in found if head in one.blocks]
        parent = min(around, key=lambda one: len(one.blocks), default=None)
        found.append(
            Loop(
                number,
                head,
                bodies[head],
                tuple(sorted(latches[head])),
                parent.number if parent else None,
            )
        )
    return tuple(found)
