"""What is to be said about a kernel, as ids of sentences with what stands in their gaps.

Sections and their order are those of the SASS note. Every sentence names the instructions that
show it. Knows no language.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import parameter_base
from oneread.sass.facts.accumulators import Accumulator
from oneread.sass.facts.loops import Work, count_elements
from oneread.sass.facts.throughput import cost
from oneread.sass.flow.graph import Loop
from oneread.sass.read.opening import Code
from oneread.source.host import find_kernels

_SPECIAL: Final = {
    "SR_TID.X": "threadIdx.x", "SR_TID.Y": "threadIdx.y", "SR_TID.Z": "threadIdx.z",
    "SR_CTAID.X": "blockIdx.x", "SR_CTAID.Y": "blockIdx.y", "SR_CTAID.Z": "blockIdx.z",
    "SR_LANEID": "laneid",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence: its id, what fills its gaps, the instructions it is about.

    ``quotes`` are those that are shown in full; a sentence without instructions is about what is
    not there.
    """

    id: str
    gaps: Mapping[str, str | int] = field(default_factory=dict)
    cites: tuple[Instruction, ...] = ()
    quotes: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the story."""

    id: str
    statements: tuple[Statement, ...]


def tell(code: Code, analysis: Analysis) -> list[Section]:
    """Return the story of a kernel.

    Parameters
    ----------
    code : Code
        Where it comes from.
    analysis : Analysis
        The facts about it.

    Returns
    -------
    list of Section
        In the order of the SASS note.
    """
    story = _Story(code, analysis)
    sections = {
        "source": story.source,
        "guard": story.guard,
        "accumulators": story.accumulators,
        "maximum": story.maximum,
        "exponential": story.exponential,
        "sum": story.sum,
        "shared": story.shared,
        "unrolling": story.unrolling,
        "normalisation": story.normalisation,
        "limits": story.limits,
    }
    return [Section(name, tuple(told())) for name, told in sections.items()]


class _Story:
    """The sections of one kernel."""

    def __init__(self, code: Code, analysis: Analysis) -> None:
        self.code = code
        self.analysis = analysis
        self.instructions = analysis.program.instructions

    # ---- sections

    def source(self) -> Iterator[Statement]:
        program = self.analysis.program
        flags = " ".join(self.code.build.flags) if self.code.build else ""
        yield Statement(
            "built-with" if flags else "built",
            {"kernel": program.name, "arch": program.arch, "flags": flags},
        )
        count = len(self.analysis.warm)
        cold = len(self.analysis.instructions) - count
        yield Statement("size-cold" if cold else "size", {"count": count, "cold": cold})
        if program.resources.registers is not None:
            yield Statement(
                "resources",
                {
                    "registers": program.resources.registers,
                    "shared": program.resources.shared_bytes or 0,
                },
            )
        for opcode, times in sorted(self.analysis.unknown.items()):
            lines = tuple(one for one in self.analysis.instructions if one.opcode == opcode)
            yield Statement("unknown", {"opcode": opcode, "count": times}, lines)

    def guard(self) -> Iterator[Statement]:
        found = self.analysis.exits
        if not found:
            yield Statement("guard-none")
        for one in found:
            names = [_SPECIAL.get(name, name) for name in one.special]
            names += [self._parameter(offset) for offset in one.parameters]
            lines = (*one.steps, one.instruction)
            what = ", ".join(names)
            yield Statement("guard" if what else "guard-unclear", {"what": what}, lines, lines)

    def accumulators(self) -> Iterator[Statement]:
        found = self.analysis.accumulators
        if not found:
            yield Statement("accumulators-none")
        for one in found:
            gaps: dict[str, str | int] = {
                "loop": self._loop(one.loop),
                "where": self._carriers(one),
            }
            kind = "rescaled-sum" if one.kind == "sum" and one.rescales else one.kind
            place = "shared" if one.is_shared else "register"
            if one.initial is None:
                yield Statement(f"{kind}-{place}", gaps, one.updates)
            else:
                first = one.initial.instruction
                gaps["initial"] = one.initial.text
                yield Statement(f"{kind}-{place}-from", gaps, (first, *one.updates), (first,))

    def maximum(self) -> Iterator[Statement]:
        found = [one for one in self.analysis.choices if one.extreme == "max"]
        if not found:
            yield Statement("maximum-none")
        for form in dict.fromkeys(one.form for one in found):
            same = [one for one in found if one.form == form]
            gaps: dict[str, str | int] = {"count": len(same), "form": form}
            lines = tuple(one.steps[-1] for one in same)
            yield Statement("maximum", gaps, lines, same[0].steps)
            if "+" in form:
                yield Statement("maximum-nan", {"form": form}, same[0].steps)

    def exponential(self) -> Iterator[Statement]:
        found = self.analysis.exponentials
        if not found:
            yield Statement("exponential-none")
        for form in dict.fromkeys(one.form for one in found):
            same = [one for one in found if one.form == form]
            lines = tuple(one.power for one in same)
            yield Statement(f"exponential-{form}", {"count": len(same)}, lines, same[0].parts)

    def sum(self) -> Iterator[Statement]:
        found = [one for one in self.analysis.accumulators if one.kind == "sum"]
        if not found:
            yield Statement("sum-none")
        for one in found:
            gaps: dict[str, str | int] = {"loop": self._loop(one.loop), "count": one.length}
            fused = [step for step in one.rescales if step.opcode.startswith(("FFMA", "DFMA"))]
            form = "plain" if not one.rescales else "fused" if fused else "scaled"
            lines = tuple(sorted({*one.updates, *one.rescales}, key=lambda step: step.index))
            yield Statement(f"sum-{form}", gaps, lines, tuple(fused or lines)[:1])

    def shared(self) -> Iterator[Statement]:
        lines = [one.instruction for one in self.analysis.accesses if one.space == "shared"]
        barriers = [one for one in self.analysis.warm if one.opcode == "BAR"]
        if not lines:
            yield Statement("shared-none")
        else:
            loads = sum(one.opcode == "LDS" for one in lines)
            gaps = {"stores": len(lines) - loads, "loads": loads, "barriers": len(barriers)}
            yield Statement("shared", gaps, (*lines, *barriers))
        for one in self.analysis.reductions:
            what = ", ".join(one.operations)
            steps = ", ".join(map(str, one.distances))
            kind = f"reduction-{one.form}" + (
                "" if one.distances or one.form == "redux" else "-loop"
            )
            yield Statement(kind, {"what": what, "steps": steps}, one.moves, one.moves[:1])
        local = tuple(one.instruction for one in self.analysis.accesses if one.space == "local")
        if local:
            yield Statement("local", {"count": len(local)}, local)

    def unrolling(self) -> Iterator[Statement]:
        if not self.analysis.ladders:
            yield Statement("unrolling-none")
        for one in self.analysis.ladders:
            rungs = ", ".join(f"{rung.elements}{' (L)' if rung.loop else ''}" for rung in one.rungs)
            lines = tuple(access.instruction for rung in one.rungs for access in rung.accesses)
            widest = max(one.rungs, key=lambda rung: rung.elements)
            gaps: dict[str, str | int] = {
                "line": one.line or 0,
                "rungs": rungs,
                "what": self._parameter(one.parameter),
            }
            kind = "unrolled" if widest.elements > 1 else "not-unrolled"
            quotes = tuple(access.instruction for access in widest.accesses)
            yield Statement(f"{kind}-{'line' if one.line else 'somewhere'}", gaps, lines, quotes)

    def normalisation(self) -> Iterator[Statement]:
        found = self.analysis.divisions
        if not found:
            yield Statement("division-none")
        for form in dict.fromkeys(one.form for one in found):
            same = [one for one in found if one.form == form]
            lines = tuple(one.reciprocal for one in same)
            checks = sum(len(one.checks) for one in same)
            first = same[0]
            quotes = (first.reciprocal, *(first.checks or first.products)[:1])
            yield Statement(
                f"division-{form}", {"count": len(same), "checks": checks}, lines, quotes
            )
            repeated = tuple(one for one in lines if self._loop_of(one))
            if repeated:
                yield Statement("division-repeated", {"count": len(repeated)}, repeated)

    def limits(self) -> Iterator[Statement]:
        if not self.analysis.works:
            yield from self._straight()
        for work in self.analysis.works:
            yield from self._work(work)

    # ---- gaps

    def _straight(self) -> Iterator[Statement]:
        """Tell what a kernel without loops costs."""
        elements = count_elements(self.analysis.accesses)
        lines = self.analysis.warm
        price = cost(lines, max(elements, 1), self.analysis.program.target)
        pipes = ", ".join(f"{name} {count}" for name, count in price.pipes.items())
        gaps: dict[str, str | int] = {
            "instructions": price.instructions,
            "elements": elements,
            "pipes": pipes,
        }
        ends = (lines[0], lines[-1]) if lines else ()
        yield Statement("straight" if elements else "straight-none", gaps, ends)

    def _work(self, work: Work) -> Iterator[Statement]:
        price = work.cost
        if not price.ceilings:
            return
        gaps: dict[str, str | int] = {
            "loop": self._loop(work.loop),
            "instructions": f"{price.instructions / price.elements:.1f}",
            "elements": work.elements,
            "limit": price.limit,
            "ceiling": f"{price.ceilings[price.limit]:.2f}",
            "pipes": ", ".join(
                f"{name} {count / price.elements:.2f}" for name, count in price.pipes.items()
            ),
        }
        ends = (work.instructions[0], work.instructions[-1])
        yield Statement("cost" if work.elements else "cost-trip", gaps, ends)
        if price.stall_cycles is not None:
            gaps["cycles"] = f"{price.stall_cycles / price.elements:.1f}"
            yield Statement("alone" if work.elements else "alone-trip", gaps, ends)

    def _loop(self, loop: Loop) -> str:
        return f"{self.instructions[self.analysis.graph.blocks[loop.head].start].address:#06x}"

    def _loop_of(self, one: Instruction) -> Loop | None:
        block = self.analysis.graph.block_of(one.index)
        return self.analysis.graph.loop_of(block.number) if block else None

    def _carriers(self, one: Accumulator) -> str:
        if not one.is_shared:
            return ", ".join(map(str, one.carriers))
        offsets = [self.analysis.words.addresses[word].offset for word in one.carriers]
        return ", ".join(f"+{offset:#x}" for offset in offsets)

    def _parameter(self, offset: int | None) -> str:
        """Return the name of the parameter at an offset, or where it is."""
        if offset is None:
            return "?"
        return self._names().get(
            offset, f"c[0x0][{parameter_base(self.analysis.program.target) + offset:#x}]"
        )

    def _names(self) -> dict[int, str]:
        """Return the names of the parameters by their offsets, if the source is known."""
        if self.code.source is None:
            return {}
        name = self.analysis.program.name
        for one in find_kernels(self.code.source):
            if one.name == name:
                found: dict[int, str] = {}
                at = 0
                for parameter in one.parameters:
                    size = _size(parameter.type, is_pointer=parameter.is_pointer)
                    if size is None:
                        return found
                    at = -(-at // size) * size
                    found[at] = parameter.name
                    at += size
                return found
        return {}


def _size(type_: str, *, is_pointer: bool) -> int | None:
    """Return the bytes of a parameter, None of a type that is not built in."""
    if is_pointer:
        return 8
    words = set(type_.replace("const", "").split())
    if words & {"long", "double", "size_t", "int64_t", "uint64_t"}:
        return 8
    return 4 if words & {"int", "unsigned", "float", "int32_t", "uint32_t"} else None
