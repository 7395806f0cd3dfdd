"""All that is found out about a kernel, in one value that views and assertions are made from.

Knows no view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from oneread.sass.decode.instruction import Instruction, Program, Register
from oneread.sass.decode.opcodes import pipe
from oneread.sass.facts.accesses import Access, accesses
from oneread.sass.facts.accumulators import Accumulator, accumulator_of
from oneread.sass.facts.comparing import Choice, choices
from oneread.sass.facts.constants import Constants
from oneread.sass.facts.divisions import Division, divisions
from oneread.sass.facts.exponentials import Exponential, exponentials
from oneread.sass.facts.guards import Exit, exits
from oneread.sass.facts.invariants import is_invariant
from oneread.sass.facts.loops import Ladder, Work, ladders, over_elements, works
from oneread.sass.facts.reductions import Reduction, reductions
from oneread.sass.facts.roles import Role, roles
from oneread.sass.facts.transfers import Transfer, transfers
from oneread.sass.flow.graph import Graph, Loop, build_graph
from oneread.sass.flow.liveness import live
from oneread.sass.flow.reaching import Reaching, reach
from oneread.sass.flow.recurrences import recurrences
from oneread.sass.flow.words import Words, with_words


@dataclass(frozen=True)
class Analysis:
    """A kernel and the facts about it; each is computed when it is first asked for.

    Facts are about what runs usually: slow paths are in `instructions` and in `graph`, but not in
    `warm`, nor among the facts.
    """

    program: Program
    graph: Graph
    words: Words
    reaching: Reaching

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """Return what can be reached, in order of addresses."""
        return tuple(self.graph.instructions(self.graph.order))

    @cached_property
    def warm(self) -> tuple[Instruction, ...]:
        """Return what is reached without a slow path and does something."""
        blocks = (one.number for one in self.graph.blocks.values() if not one.is_cold)
        return tuple(one for one in self.graph.instructions(blocks) if not one.never_runs)

    @cached_property
    def unknown(self) -> Counter[str]:
        """Return the opcodes that are not known, with their numbers."""
        return Counter(one.opcode for one in self.instructions if pipe(one.opcode) is None)

    @cached_property
    def exits(self) -> tuple[Exit, ...]:
        """Return the guards at the start."""
        return tuple(exits(self.graph, self.reaching))

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """Return the loads and stores."""
        return tuple(accesses(self.program, self.warm, self.reaching))

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """Return the atomics, and the copies past the registers."""
        return tuple(transfers(self.warm))

    @cached_property
    def shared(self) -> tuple[Instruction, ...]:
        """Return all that touches shared memory."""
        found = [one.instruction for one in self.accesses if one.space == "shared"]
        found += [one.instruction for one in self.transfers if "shared" in one.spaces]
        return tuple(sorted(found, key=lambda one: one.index))

    @cached_property
    def spills(self) -> tuple[Instruction, ...]:
        """Return what spills registers; all of local memory where spills are not marked."""
        local = [one.instruction for one in self.accesses if one.space == "local"]
        return tuple(one for one in local if one.is_spill or not self.marks_spills)

    @property
    def marks_spills(self) -> bool:
        """Say whether what spills is marked, so that other local memory is an array."""
        return self.program.marks_spills or any(one.is_spill for one in self.instructions)

    @cached_property
    def choices(self) -> tuple[Choice, ...]:
        """Return the places where the larger or smaller of values is taken."""
        return tuple(choices(self.graph, self.warm, self.reaching))

    @cached_property
    def exponentials(self) -> tuple[Exponential, ...]:
        """Return the exponentials."""
        return tuple(exponentials(self.program, self.warm, self.reaching))

    @cached_property
    def divisions(self) -> tuple[Division, ...]:
        """Return the divisions and reciprocals."""
        return tuple(divisions(self.program, self.warm, self.reaching))

    @cached_property
    def accumulators(self) -> tuple[Accumulator, ...]:
        """Return what loops improve, in the order of the loops."""
        constants = Constants(self.program, self.reaching)
        found = (
            accumulator_of(recurrence, self._by_step, self.reaching, self.words, constants)
            for loop in self.graph.loops
            for recurrence in recurrences(self.graph, self.words, loop)
        )
        return tuple(one for one in found if one)

    @cached_property
    def reductions(self) -> tuple[Reduction, ...]:
        """Return the reductions across lanes."""
        return tuple(reductions(self.graph, self.words, self.reaching, self._by_step))

    @cached_property
    def works(self) -> tuple[Work, ...]:
        """Return the loops as work."""
        return tuple(works(self.graph, self._over_elements))

    @cached_property
    def ladders(self) -> tuple[Ladder, ...]:
        """Return how the loops of the source were unrolled."""
        return tuple(ladders(self.graph, self._over_elements))

    @cached_property
    def _over_elements(self) -> tuple[Access, ...]:
        return tuple(over_elements(self.graph, self.words, self.accesses))

    def loop_of(self, one: Instruction) -> Loop | None:
        """Return the innermost loop that an instruction stands in."""
        block = self.graph.block_of(one.index)
        return self.graph.loop_of(block.number) if block else None

    def is_repeated(self, one: Instruction) -> bool:
        """Say whether an instruction stands in a loop in which its result does not change."""
        loop = self.loop_of(one)
        return loop is not None and is_invariant(one, loop, self.graph, self.reaching)

    @cached_property
    def roles(self) -> Mapping[int, Role]:
        """Return what each instruction is there for, by index."""
        return roles(self)

    @cached_property
    def live(self) -> Mapping[int, frozenset[Register]]:
        """Return the registers that are taken at each instruction, by index."""
        return live(self.graph)

    @cached_property
    def _by_step(self) -> Mapping[int, Choice]:
        return {step.index: one for one in self.choices for step in one.steps}


def analyse(program: Program) -> Analysis:
    """Find out what a kernel's machine code does.

    Parameters
    ----------
    program : Program
        The kernel.

    Returns
    -------
    Analysis
        The facts.
    """
    plain = build_graph(program)
    reaching = reach(plain)
    graph, words = with_words(plain, reaching)
    # Without words of shared memory there is nothing more to follow.
    return Analysis(graph.program, graph, words, reach(graph) if words.addresses else reaching)
