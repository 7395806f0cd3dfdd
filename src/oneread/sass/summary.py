"""A kernel's machine code in a few properties, so that builds can be set side by side.

Each is a number or a short text that means the same for every target. Knows no view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from oneread.sass.analysis import Analysis
from oneread.sass.facts.accumulators import Accumulator
from oneread.sass.facts.loops import Ladder, Work
from oneread.sass.facts.reductions import Reduction
from oneread.sass.facts.roles import ROLES, Role


@dataclass(frozen=True, slots=True)
class Summary:
    """Properties of one build of a kernel, as far as its facts go.

    ``instructions`` leaves slow paths out. ``guards`` are the special registers that decide which
    threads leave at once. ``accumulators`` mark a rescaled sum with an asterisk
    and one in shared memory with @. ``ladders`` name for each line that goes over elements the
    elements of its pieces, L for a loop. The last four are of the widest loop of the first of these
    lines: instructions and `MUFU` an element, the ceiling in elements a clock of an SM, and what
    limits it.
    """

    instructions: int
    guards: tuple[str, ...]
    registers: int | None
    shared_bytes: int | None
    shared_accesses: int
    local_accesses: int
    barriers: int
    load_bytes: int
    read_only_loads: bool
    accumulators: tuple[str, ...]
    initials: tuple[str, ...]
    sums: tuple[str, ...]
    maximum: tuple[str, ...]
    exponential: tuple[str, ...]
    division: tuple[str, ...]
    divisions_in_loops: int
    reductions: tuple[str, ...]
    ladders: tuple[str, ...]
    instructions_each: float | None
    mufu_each: float | None
    ceiling: float | None
    limit: str | None

    @property
    def first_pass(self) -> tuple[int, ...]:
        """Return the elements of the pieces of the first line that goes over elements."""
        return self._pieces(0)

    @property
    def last_pass(self) -> tuple[int, ...]:
        """Return the same of the last line."""
        return self._pieces(-1)

    @property
    def first_trip(self) -> int:
        """Return the elements of the widest piece of the first line; 0 where there is none."""
        return max(self.first_pass, default=0)

    def _pieces(self, place: int) -> tuple[int, ...]:
        if not self.ladders:
            return ()
        pieces = self.ladders[place].rpartition(": ")[2].split()
        return tuple(int(piece.removesuffix("L")) for piece in pieces)


def summarise(analysis: Analysis) -> Summary:
    """Return the properties of a kernel.

    Parameters
    ----------
    analysis : Analysis
        The facts about it.

    Returns
    -------
    Summary
        The properties.
    """
    loads = [one for one in analysis.accesses if one.space == "global" and not one.is_store]
    main = next(iter(widest_loops(analysis)), None)
    resources = analysis.program.resources
    return Summary(
        instructions=len(analysis.warm),
        guards=_unique(name for one in analysis.exits for name in one.special),
        registers=resources.registers,
        shared_bytes=resources.shared_bytes,
        shared_accesses=len(analysis.shared),
        local_accesses=sum(one.space == "local" for one in analysis.accesses),
        barriers=sum(one.opcode == "BAR" for one in analysis.warm),
        load_bytes=max((one.lane_bytes for one in loads), default=0),
        read_only_loads=bool(loads) and all(one.is_read_only for one in loads),
        accumulators=_unique(map(accumulator_name, analysis.accumulators)),
        initials=_unique(
            f"{accumulator_name(one)} {one.initial.text}"
            for one in analysis.accumulators
            if one.initial
        ),
        sums=_unique(one.form for one in analysis.accumulators if one.form),
        maximum=_counted(
            one.form for one in analysis.choices if one.extreme == "max" and one.is_float
        ),
        exponential=_counted(one.form for one in analysis.exponentials),
        division=_counted(one.form for one in analysis.divisions),
        divisions_in_loops=sum(
            analysis.loop_of(one.reciprocal) is not None for one in analysis.divisions
        ),
        reductions=_unique(map(_reduction, analysis.reductions)),
        ladders=tuple(map(_ladder, analysis.ladders)),
        instructions_each=main.cost.instructions / main.elements if main else None,
        mufu_each=main.cost.pipes.get("mufu", 0) / main.elements if main else None,
        ceiling=main.cost.ceilings[main.cost.limit] if main else None,
        limit=main.cost.limit if main else None,
    )


def accumulator_name(one: Accumulator) -> str:
    """Return kind and place of an accumulator in one word, such as ``sum*`` or ``max@``."""
    return one.kind + ("*" if one.rescales else "") + ("@" if one.is_shared else "")


def roles_each(analysis: Analysis) -> dict[Role, float]:
    """Return the instructions an element by what they are there for.

    Parameters
    ----------
    analysis : Analysis
        The facts about a kernel.

    Returns
    -------
    dict of str to float
        All roles in their order, each summed over the widest loops of all lines that go over
        elements; empty where there is none.
    """
    total = dict.fromkeys(ROLES, 0.0)
    works = widest_loops(analysis)
    for work in works:
        counts = Counter(analysis.roles.get(one.index, "other") for one in work.instructions)
        for role in ROLES:
            total[role] += counts[role] / work.elements
    return total if works else {}


def widest_loops(analysis: Analysis) -> list[Work]:
    """Return the widest loop of each line that goes over elements, in the order of the lines."""
    loops = dict.fromkeys(
        max((rung for rung in one.rungs if rung.loop), key=lambda rung: rung.elements).loop
        for one in analysis.ladders
    )
    return [work for loop in loops for work in analysis.works if work.loop == loop]


def _reduction(one: Reduction) -> str:
    return f"{one.form} {'+'.join(one.operations)}"


def _ladder(one: Ladder) -> str:
    rungs = " ".join(f"{rung.elements}{'L' if rung.loop else ''}" for rung in one.rungs)
    return f"{one.line}: {rungs}" if one.line else rungs


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))


def _counted(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{count} {word}" for word, count in Counter(words).items())
