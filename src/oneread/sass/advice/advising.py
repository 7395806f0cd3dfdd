"""What would make a kernel's code shorter, proved by compiling it.

A change of the source is advised where the facts show what it would do away with, and kept with the
code before and after. What takes another kernel is shown by two of the gallery. Knows no view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from oneread.sass.advice.changes import exponentials, quotients, ternaries
from oneread.sass.advice.edits import Change, applied
from oneread.sass.analysis import Analysis, analyse
from oneread.sass.decode.instruction import Instruction, SourceLine
from oneread.sass.errors import MachineCodeError
from oneread.sass.read.opening import Build, Code, compile_source, open_code
from oneread.sass.summary import roles_each, summarise, widest_loops
from oneread.source.measured import rates
from oneread.source.text import SourceText, split_lines
from oneread.spec import KernelCompileError

#: Advice that is shown by two kernels of the gallery: the second does it, the first does not.
PAIRS: Final = {
    "wide-loads": ("online_softmax_lane", "online_softmax_warp"),
    "one-rescale": ("online_softmax", "online_softmax_warp"),
}
_WIDE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Measures:
    """What is compared: a build in a few numbers, None where it has no such thing.

    ``each`` and ``mufu_each`` are instructions an element, and those of them in that pipe, summed
    over the loops that go over elements; ``alone`` cycles an element of a warp alone.
    """

    instructions: int
    registers: int | None
    each: float | None
    mufu_each: float | None
    alone: float | None
    load_bytes: int
    divisions_in_loops: int


@dataclass(frozen=True, slots=True)
class Proof:
    """A change with the code before and after it; ``diff`` is the lines that it changes.

    ``after`` is None where the compiler refuses the change; `refusal` is what it says.
    """

    id: str
    lines: tuple[int, ...]
    diff: tuple[tuple[str, str], ...]
    before: Measures
    after: Measures | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Took:
    """What both kernels of an example took at one shape, in microseconds."""

    rows: int
    vocab: int
    before_us: float
    after_us: float
    device: str


@dataclass(frozen=True, slots=True)
class Example:
    """Advice that two kernels of the gallery stand for, with their code and what they took.

    They were measured with default maths. ``lines`` are those of the source that it is about, none
    of code without line numbers.
    """

    id: str
    lines: tuple[int, ...]
    kernels: tuple[str, str]
    before: Measures
    after: Measures
    took: tuple[Took, ...]


def measures(analysis: Analysis) -> Measures:
    """Return a build in a few numbers."""
    summary = summarise(analysis)
    works = widest_loops(analysis)
    waits = [work.alone_cycles / work.elements for work in works if work.alone_cycles is not None]
    mufu = [work.cost.pipes.get("mufu", 0) / work.elements for work in works]
    return Measures(
        instructions=summary.instructions,
        registers=summary.registers,
        each=sum(roles_each(analysis).values()) if works else None,
        mufu_each=sum(mufu) if works else None,
        alone=sum(waits) if works and len(waits) == len(works) else None,
        load_bytes=summary.load_bytes,
        divisions_in_loops=summary.divisions_in_loops,
    )


def prove(code: Code, kernel: str | None = None) -> Iterator[Proof]:
    """Yield the changes that the facts about a kernel call for, each compiled.

    Parameters
    ----------
    code : Code
        Compiled from a source.
    kernel : str, optional
        Which kernel of several.

    Yields
    ------
    Proof
        One for each change, whether it helps or not: the numbers say it.

    Raises
    ------
    MachineCodeError
        When there is no source.
    """
    if code.source is None or code.build is None:
        raise MachineCodeError(f"{code.name} is machine code already; advice is for a source")
    program = code.kernel(kernel)
    analysis = analyse(program)
    before = measures(analysis)
    for change in _called_for(code.source, analysis):
        text = applied(code.source, change.edits)
        lines = zip(split_lines(code.source.text), split_lines(text.text), strict=True)
        diff = tuple((old.strip(), new.strip()) for old, new in lines if old != new)
        after, refusal = None, ""
        try:
            changed = compile_source(text, code.build).kernel(program.name)
            after = measures(analyse(changed))
        except KernelCompileError as error:
            refusal = str(error)
        yield Proof(change.id, change.lines, diff, before, after, refusal)


def examples(analysis: Analysis, build: Build) -> Iterator[Example]:
    """Yield the advice that two kernels of the gallery stand for, compiled as the kernel was.

    Those are softmaxes, which say nothing of a kernel that sums up no exponentials.

    Parameters
    ----------
    analysis : Analysis
        The facts about the kernel: what it does already is no advice.
    build : Build
        How the two are compiled; their macros are the catalogue's.

    Yields
    ------
    Example
        With the code of both.
    """
    if not (analysis.exponentials and analysis.accumulators):
        return
    wanted = {"wide-loads": _narrow_loads(analysis), "one-rescale": _rescales(analysis)}
    own = Build(build.arch, build.fast_math, build.options)
    for name, kernels in PAIRS.items():
        if wanted[name] and analysis.program.short_name != kernels[1]:
            first, second = (measures(analyse(open_code(key, own).kernel())) for key in kernels)
            lines = {one.line.outermost.line for one in wanted[name] if one.line}
            took = tuple(_took(*kernels))
            yield Example(name, tuple(sorted(lines)), kernels, first, second, took)


def _took(first: str, second: str) -> Iterator[Took]:
    after = {(one.rows, one.vocab): one for one in rates(second)}
    for one in rates(first):
        other = after[one.rows, one.vocab]
        yield Took(one.rows, one.vocab, one.microseconds, other.microseconds, one.device)


def _called_for(source: SourceText, analysis: Analysis) -> Iterator[Change]:
    """Yield the changes of a source at the lines where facts show what they are against."""
    compared = _lines(
        source,
        (
            step
            for one in analysis.choices
            if one.is_float and one.form.startswith("FSETP+")
            for step in one.steps
        ),
    )
    divided = _lines(
        source,
        (
            one.reciprocal
            for one in analysis.divisions
            if one.form != "integer" and analysis.loop_of(one.reciprocal)
        ),
    )
    raised = _lines(
        source,
        (one.power for one in analysis.exponentials if one.form in ("fast", "guarded", "libm")),
    )
    finders: tuple[tuple[Callable[[SourceText], Iterator[Change]], set[int]], ...] = (
        (ternaries, compared),
        (quotients, divided),
        (exponentials, raised),
    )
    for find, lines in finders:
        yield from (change for change in find(source) if lines & set(_span(change)))


def _span(change: Change) -> range:
    """Return the lines from the first to the last edit: a statement may have several."""
    return range(change.lines[0], change.lines[-1] + 1)


def _lines(source: SourceText, instructions: Iterable[Instruction]) -> set[int]:
    """Return the lines of a source that instructions are from, calls included."""
    found = set()
    for one in instructions:
        place: SourceLine | None = one.line
        while place:
            if PurePath(place.file).name == PurePath(source.name).name:
                found.add(place.line)
            place = place.call
    return found


def _narrow_loads(analysis: Analysis) -> list[Instruction]:
    """Return the loads of elements from global memory, if none brings a lane 16 bytes."""
    loads = [one for one in analysis.accesses if one.space == "global" and not one.is_store]
    widest_load = max((one.lane_bytes for one in loads), default=_WIDE_BYTES)
    if not widest_loops(analysis) or widest_load >= _WIDE_BYTES:
        return []
    return [one.instruction for one in loads if analysis.loop_of(one.instruction)]


def _rescales(analysis: Analysis) -> list[Instruction]:
    """Return what rescales a running sum for each element."""
    elements = {work.loop: work.elements for work in analysis.works}
    return [
        step
        for one in analysis.accumulators
        if one.kind == "sum" and len(one.rescales) >= elements.get(one.loop, 0) > 0
        for step in one.rescales
    ]
