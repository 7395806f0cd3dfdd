"""What is to be said about the cost of an element: loops by pipe, what limits them, how long.

Knows no language.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction
from oneread.sass.decode.opcodes import Pipe
from oneread.sass.facts.loops import Work, count_elements
from oneread.sass.facts.memory import CARDS, traffic
from oneread.sass.facts.throughput import Cost, cost
from oneread.sass.story.names import Names
from oneread.sass.story.statements import Gap, Statement, Table

#: Pipes that the table has columns for; what is in no other is in neither.
_PIPES: Final[tuple[Pipe, ...]] = ("fma", "alu", "mufu", "lsu", "uniform", "control")


class Costs:
    """The last section of the story of one kernel."""

    def __init__(self, analysis: Analysis, names: Names) -> None:
        self.analysis = analysis
        self.names = names

    def statements(self) -> Iterator[Statement]:
        """Tell what an element costs."""
        if not self.analysis.works:
            yield from self._straight()
            return
        heads = [work.instructions[0] for work in self.analysis.works]
        yield Statement("limits", {}, tuple(heads))
        widest = {
            max((rung for rung in one.rungs if rung.loop), key=lambda rung: rung.elements).loop
            for one in self.analysis.ladders
        }
        for work in self.analysis.works:
            if work.loop in widest:
                yield from self._work(work)

    def table(self) -> Table | None:
        """Return what each loop costs, as a table."""
        rows = []
        for work in self.analysis.works:
            price = work.cost
            pipes = [f"{price.pipes.get(name, 0) / price.elements:.2f}" for name in _PIPES]
            times = (price.stall_cycles, work.alone_cycles)
            rows.append(
                (
                    self.names.loop(work.loop),
                    str(work.elements or "-"),
                    f"{price.instructions / price.elements:.1f}",
                    *pipes,
                    f"{price.ceilings[price.limit]:.2f} {price.limit}" if price.ceilings else "-",
                    *("-" if one is None else f"{one / price.elements:.1f}" for one in times),
                )
            )
        columns = ("loop", "elements", "instructions", *_PIPES, "ceiling", "floor", "alone")
        return Table(columns, tuple(rows)) if rows else None

    def _straight(self) -> Iterator[Statement]:
        """Tell what a kernel without loops costs."""
        elements = count_elements(self.analysis.accesses)
        lines = self.analysis.warm
        price = cost(lines, max(elements, 1), self.analysis.program.target)
        pipes = ", ".join(f"{name} {count}" for name, count in price.pipes.items())
        gaps: dict[str, Gap] = {
            "instructions": price.instructions,
            "elements": elements,
            "pipes": pipes,
        }
        ends = (lines[0], lines[-1]) if lines else ()
        yield Statement("straight" if elements else "straight-none", gaps, ends)
        if elements and price.ceilings:
            yield from self._memory(lines, price)

    def _memory(self, instructions: Sequence[Instruction], price: Cost) -> Iterator[Statement]:
        """Tell what moves to and from global memory, and whether that limits more than a pipe."""
        analysis = self.analysis
        elements = price.elements
        found = traffic(instructions, analysis.accesses, analysis.transfers, elements)
        if found is None or not found.total:
            return
        indices = {one.instruction.index for one in analysis.accesses if one.space == "global"}
        indices |= {one.instruction.index for one in analysis.transfers if "global" in one.spaces}
        lines = tuple(one for one in instructions if one.index in indices)
        gaps: dict[str, Gap] = {"read": f"{found.read:g}", "written": f"{found.written:g}"}
        yield Statement("memory", gaps, lines)
        card = CARDS.get(analysis.program.target)
        if card is None:
            return
        allowed = card.rate / found.total
        gaps = {
            "card": card.name,
            "rate": f"{card.rate:.1f}",
            "allowed": f"{allowed:.2f}",
            "limit": price.limit,
        }
        is_lower = allowed < price.ceilings[price.limit]
        yield Statement("memory-limits" if is_lower else "memory-allows", gaps, lines)

    def _work(self, work: Work) -> Iterator[Statement]:
        price = work.cost
        gaps: dict[str, Gap] = {
            "at": self.names.loop(work.loop),
            "instructions": f"{price.instructions / price.elements:.1f}",
            "elements": work.elements,
            "limit": price.limit,
            "ceiling": f"{price.ceilings[price.limit]:.2f}",
        }
        ends = (work.instructions[0], work.instructions[-1])
        yield Statement("cost", gaps, ends)
        yield from self._memory(work.instructions, price)
        if price.stall_cycles is not None and work.alone_cycles is not None:
            gaps["cycles"] = f"{price.stall_cycles / price.elements:.1f}"
            gaps["estimate"] = f"{work.alone_cycles / price.elements:.0f}"
            yield Statement("alone", gaps, ends)
