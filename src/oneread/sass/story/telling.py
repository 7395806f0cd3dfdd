"""What is to be said about a kernel, as ids of sentences with what stands in their gaps.

Sections and their order are those of the SASS note. Every sentence names the instructions that
show it. Knows no language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accumulators import Accumulator
from oneread.sass.facts.reductions import Reduction
from oneread.sass.facts.transfers import Transfer
from oneread.sass.read.opening import Code
from oneread.sass.story.costs import Costs
from oneread.sass.story.names import Names
from oneread.sass.story.statements import Gap, Section, Statement

_SPECIAL: Final = {
    "SR_TID.X": "threadIdx.x", "SR_TID.Y": "threadIdx.y", "SR_TID.Z": "threadIdx.z",
    "SR_CTAID.X": "blockIdx.x", "SR_CTAID.Y": "blockIdx.y", "SR_CTAID.Z": "blockIdx.z",
    "SR_LANEID": "laneid",
}  # fmt: skip
_FUSED: Final = ("FFMA", "DFMA", "HFMA2")


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
    costs = Costs(analysis, story.names)
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
        "limits": costs.statements,
    }
    return [
        Section(name, tuple(told()), costs.table() if name == "limits" else None)
        for name, told in sections.items()
    ]


class _Story:
    """The sections of one kernel."""

    def __init__(self, code: Code, analysis: Analysis) -> None:
        self.code = code
        self.analysis = analysis
        self.names = Names(code, analysis)

    # ---- sections

    def source(self) -> Iterator[Statement]:
        program = self.analysis.program
        flags = " ".join(self.code.build.flags) if self.code.build else ""
        yield Statement(
            "built-with" if flags else "built",
            {"kernel": program.short_name, "arch": program.arch, "flags": flags},
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
            names += [self.names.parameter(offset) for offset in one.parameters]
            lines = (*one.steps, one.instruction)
            what = ", ".join(names)
            yield Statement("guard" if what else "guard-unclear", {"what": what}, lines, lines)

    def accumulators(self) -> Iterator[Statement]:
        places: dict[tuple[str, str, str], list[Accumulator]] = {}
        for one in self.analysis.accumulators:
            initial = one.initial.text if one.initial else ""
            places.setdefault((_name(one), self.names.carriers(one), initial), []).append(one)
        # Lanes that do several columns at a time carry several, which are told together.
        groups: dict[tuple[str, str, tuple[str, ...]], dict[str, list[Accumulator]]] = {}
        for (kind, where, initial), same in places.items():
            loops = tuple(dict.fromkeys(self.names.loop(one.loop) for one in same))
            groups.setdefault((kind, initial, loops), {})[where] = same
        gathered = list(self._atomics())
        if not groups and not gathered:
            yield Statement("accumulators-none")
        yield from gathered
        for (kind, initial, loops), alike in groups.items():
            several = tuple(alike) if len(alike) > 1 else ", ".join(alike)
            gaps: dict[str, Gap] = {"loop": loops, "where": several, "initial": initial}
            found = [one for same in alike.values() for one in same]
            first = tuple(one.initial.instruction for one in found if one.initial)
            lines = (*dict.fromkeys(first), *(step for one in found for step in one.updates))
            yield Statement(f"{kind}-from" if initial else kind, gaps, lines, first[:1])

    def maximum(self) -> Iterator[Statement]:
        found = [one for one in self.analysis.choices if one.extreme == "max"]
        whole = self._whole_maxima()
        if not found and not whole:
            yield Statement("maximum-none")
        for form in dict.fromkeys(one.form for one in found):
            same = [one for one in found if one.form == form]
            gaps: dict[str, Gap] = {"count": len(same), "form": form}
            lines = tuple(one.steps[-1] for one in same)
            kind = "maximum" if same[0].is_float else "maximum-integer"
            yield Statement(kind, gaps, lines, same[0].steps)
            if "+" in form and same[0].is_float:
                yield Statement("maximum-nan", {"form": form}, same[0].steps)
        for opcode in dict.fromkeys(one.opcode for one in whole):
            ones = tuple(one for one in whole if one.opcode == opcode)
            yield Statement("maximum-by", {"form": f"{opcode}.MAX", "count": len(ones)}, ones)

    def _whole_maxima(self) -> list[Instruction]:
        """Return what takes the larger of what is in memory, or of all lanes, by itself."""
        atomics = [one.instruction for one in self.analysis.transfers if one.operation == "MAX"]
        moves = [move for one in self.analysis.reductions for move in one.moves]
        return [
            *atomics,
            *(one for one in moves if one.opcode.endswith("REDUX") and one.has("MAX")),
        ]

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
        gathered = list(self._atomics("ADD", "INC"))
        if not found and not gathered:
            yield Statement("sum-none")
        yield from gathered
        for form in dict.fromkeys(one.form for one in found):
            same = [one for one in found if one.form == form]
            steps = {step.index: step for one in same for step in (*one.updates, *one.rescales)}
            lines = tuple(steps[index] for index in sorted(steps))
            fused = tuple(one for one in lines if one.opcode.startswith(_FUSED))
            lengths = dict.fromkeys((self.names.loop(one.loop), str(one.length)) for one in same)
            gaps: dict[str, Gap] = {
                "loop": tuple(dict.fromkeys(loop for loop, _ in lengths)),
                "count": ", ".join(length for _, length in lengths),
            }
            yield Statement(f"sum-{form}", gaps, lines, (fused or lines)[:3])

    def shared(self) -> Iterator[Statement]:
        lines = self.analysis.shared
        barriers = tuple(one for one in self.analysis.warm if one.opcode == "BAR")
        counts = Counter(one.opcode for one in (*lines, *barriers))
        what = ", ".join(f"{count} {opcode}" for opcode, count in counts.items())
        if lines:
            yield Statement("shared", {"what": what}, (*lines, *barriers))
        else:
            yield Statement("shared-barriers" if barriers else "shared-none", {}, barriers)
        yield from self._transfers()
        groups: dict[tuple[object, ...], list[Reduction]] = {}
        for one in self.analysis.reductions:
            groups.setdefault((one.form, one.operations, one.distances), []).append(one)
        for same in groups.values():
            first = same[0]
            kind = f"reduction-{first.form}"
            kind += "" if first.distances or first.form == "redux" else "-loop"
            gaps: dict[str, Gap] = {
                "what": ", ".join(first.operations),
                "steps": ", ".join(map(str, first.distances)),
                "count": len(same),
            }
            moves = tuple(move for one in same for move in one.moves)
            yield Statement(kind, gaps, moves, first.moves[:1])
        local = [one.instruction for one in self.analysis.accesses if one.space == "local"]
        spills = self.analysis.spills
        arrays = tuple(one for one in local if one not in spills)
        unsure = "spills" if self.analysis.marks_spills else "local"
        for name, lines in ((unsure, spills), ("local-array", arrays)):
            if lines:
                yield Statement(name, {"count": len(lines)}, lines, lines[:1])

    def _transfers(self) -> Iterator[Statement]:
        """Tell of atomics, and of copies past the registers."""
        groups: dict[tuple[str, bool], list[Transfer]] = {}
        for one in self.analysis.transfers:
            groups.setdefault((one.kind, "global" in one.spaces), []).append(one)
        for (kind, is_global), same in groups.items():
            place = ("-global" if is_global else "-shared") if kind == "atomic" else ""
            names = dict.fromkeys(one.operation or one.instruction.opcode for one in same)
            gaps: dict[str, Gap] = {"what": ", ".join(names), "count": len(same)}
            lines = tuple(one.instruction for one in same)
            yield Statement(f"{kind}{place}", gaps, lines, lines[:1])

    def _atomics(self, *operations: str) -> Iterator[Statement]:
        """Tell of what loops gather in memory by atomics, of some operations or of all."""
        groups: dict[str, dict[str, list[Instruction]]] = {}
        for one in self.analysis.transfers:
            loop = self.analysis.loop_of(one.instruction)
            if loop and one.operation and (not operations or one.operation in operations):
                places = groups.setdefault(one.operation, {})
                places.setdefault(self.names.loop(loop), []).append(one.instruction)
        for operation, places in groups.items():
            lines = tuple(line for found in places.values() for line in found)
            yield Statement("gathered", {"what": operation, "loop": tuple(places)}, lines)

    def unrolling(self) -> Iterator[Statement]:
        if not self.analysis.ladders:
            yield Statement("unrolling-none")
        for one in self.analysis.ladders:
            rungs = ", ".join(f"{rung.elements}{' (L)' if rung.loop else ''}" for rung in one.rungs)
            lines = tuple(access.instruction for rung in one.rungs for access in rung.accesses)
            widest = max(one.rungs, key=lambda rung: rung.elements)
            gaps: dict[str, Gap] = {
                "line": one.line or 0,
                "rungs": rungs,
                "what": "__shared__"
                if one.space == "shared"
                else self.names.parameter(one.parameter),
            }
            kind = "unrolled" if widest.elements > 1 else "not-unrolled"
            quotes = tuple(access.instruction for access in widest.accesses)
            yield Statement(f"{kind}-{'line' if one.line else 'somewhere'}", gaps, lines, quotes)

    def normalisation(self) -> Iterator[Statement]:
        found = self.analysis.divisions
        functions = self._functions()
        if not found and "RCP64H" not in functions:
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
            repeated = tuple(one for one in lines if self.analysis.is_repeated(one))
            if repeated and form != "integer":
                yield Statement("division-repeated", {"count": len(repeated)}, repeated)
        for name, lines in functions.items():
            yield Statement("function", {"what": name, "count": len(lines)}, lines, lines[:1])

    def _functions(self) -> Mapping[str, tuple[Instruction, ...]]:
        """Return what MUFU takes but powers of two and reciprocals."""
        found: dict[str, tuple[Instruction, ...]] = {}
        for one in self.analysis.warm:
            if one.opcode == "MUFU" and not one.has("EX2", "RCP"):
                found[one.modifiers[0]] = (*found.get(one.modifiers[0], ()), one)
        return found


def _name(one: Accumulator) -> str:
    """Return the id of the sentence about an accumulator."""
    kind = "rescaled-sum" if one.kind == "sum" and one.rescales else one.kind
    return f"{kind}-shared" if one.is_shared else f"{kind}-register"
