"""The launches that find the usual faults of a kernel, as data: a pairwise cover of what varies.

Runs nothing. Knows how a kernel may be launched; knows no fault.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from oneread.source.errors import SourceError
from oneread.trace.arguments import SIZE_NAMES
from oneread.trace.case import Case, extent
from oneread.trace.covering import Choice, Value, pairwise
from oneread.trace.shape import BLOCK_NAMES, shape_of
from oneread.trace.subject import Subject
from oneread.trace.tree import Program
from oneread.trace.types import Pointer, Scalar

TILES = (32, 64, 128, 48)
#: For blocks that are squares of them, where the others have too many threads.
SMALL_TILES = (16, 8)
#: ``tile-1`` is one less than the tile of the same launch.
VOCABS = (256, 250, 1, "tile-1")
INPUTS = ("normal", "inf-first-tile", "all-inf", "plus-inf", "nan", "large")
THREADS = ("same", "half", "double")
#: Columns of a block where several share a row: as few as this make more parts than threads.
SPANS = (4,)
SCHEDULES = ("in-order", "reverse", "random:1", "switch:1")

#: Rows of each launch: the last one ends at the end of the buffer, and 3 is no multiple of 2.
ROWS = 3

#: Wall clock of one launch.
SECONDS = 5.0


@dataclass(frozen=True)
class Plan:
    """The launches of a probe, as data."""

    base: Case
    macro: str | None
    """What a tile is called in the source."""
    threads: int
    """Threads of a block where neither a macro nor the launch says how many."""
    factors: Mapping[str, tuple[Value, ...]]
    """What is varied, the value of the base first; what the kernel lacks is left out."""
    choices: tuple[Choice, ...]

    @property
    def launches(self) -> list[Case]:
        """Every launch, the base first."""
        return [self.case(choice) for choice in self.choices]

    def tile(self, choice: Choice) -> int:
        """Return the columns that a launch takes at a time."""
        return self.threads if self.macro is None else int(choice["tile"])

    def case(self, choice: Choice) -> Case:
        """Return the launch of a choice."""
        base, tile = self.base, self.tile(choice)
        vocab = choice.get("vocab", base.vocab)
        vocab = max(1, tile - 1) if vocab == "tile-1" else int(vocab)
        defines = dict(base.defines)
        if self.macro is not None and tile != self.factors["tile"][0]:
            defines[self.macro] = str(tile)
        if "span" in choice and choice["span"] != self.factors["span"][0]:
            defines["SPAN"] = str(choice["span"])
        pattern = str(choice.get("input", base.input))
        # A buffer that is said to have the usual pattern follows when it is varied.
        usual = re.compile(f":{re.escape(base.input)}$")
        arguments = {
            name: usual.sub(f":{pattern}", said) if isinstance(said, str) else said
            for name, said in base.arguments.items()
        }
        blocks = {"half": max(1, tile // 2), "double": min(2 * tile, base.limits.threads)}
        return replace(
            base,
            vocab=vocab,
            k=min(int(choice["k"]), vocab) if "k" in choice else base.k,
            defines=defines,
            block=blocks.get(str(choice.get("threads")), base.block),
            arguments=arguments,
            input=pattern,
            schedule=str(choice.get("schedule", base.schedule)),
        )

    def simpler(self, name: str, value: Value) -> list[Value]:
        """Return the values of a factor that are tried in place of one, the simplest first."""
        base, *others = self.factors[name]
        if value == base:
            return []
        if name == "tile" and _is_power(value):
            smaller = (other for other in others if _is_power(other) and int(other) < int(value))
            return [base, *sorted(smaller, key=int)]
        if name == "vocab":
            shorter: dict[Value, tuple[Value, ...]] = {250: (1, "tile-1"), "tile-1": (1,)}
            return [base, *(one for one in shorter.get(value, ()) if one in others)]
        return [base]


def _is_power(value: Value) -> bool:
    return isinstance(value, int) and value & (value - 1) == 0


def plan(subject: Subject, case: Case | None = None) -> Plan:
    """List the launches that find the usual faults of a kernel.

    Parameters
    ----------
    subject : Subject
        The kernel.
    case : Case, optional
        The launch to start from. What it settles is left alone: a block, numbers of an input.

    Returns
    -------
    Plan
        A pairwise cover of tile sizes, lengths, inputs, threads and orders of warps.

    Raises
    ------
    SourceError
        When the text cannot be read.
    UsageError
        When nothing says the block of a kernel that needs it.
    """
    case = case or Case()
    limits = replace(case.limits, seconds=min(SECONDS, case.limits.seconds))
    rows = case.rows if case.data else min(case.rows, ROWS)
    base = replace(case, rows=rows, record=False, limits=limits)
    base = _with_tile(subject, base)
    full = subject.complete(base)
    loaded = subject.source(full).loaded
    program, names = loaded.program, full.names(loaded)
    macro = next((name for name in BLOCK_NAMES if name in loaded.macros), None)
    shape = shape_of(loaded, full)
    threads, *_ = extent(shape.block.value, names)
    if macro is not None and shape.settles_block:
        # A block of a fixed size does not follow the tile.
        macro = macro if re.search(rf"\b{macro}\b", str(shape.block.value)) else None
    tiles: tuple[Value, ...] = ()
    if macro is not None:
        sizes = [math.prod(extent(shape.block.value, {**names, macro: one})) for one in TILES]
        fit = [one for one, size in zip(TILES, sizes, strict=True) if size <= limits.threads]
        many = len({*fit} - {loaded.macros[macro]}) > 0
        tiles = _first(loaded.macros[macro], tuple(fit) if many else SMALL_TILES)
    fixed = shape.settles_block or (macro is not None and _is_stated(subject.text, macro))
    span, other_threads = names.get("SPAN"), None if fixed else threads
    factors = _factors(replace(full, k=base.k), program, tiles, span, other_threads)
    return Plan(base, macro, threads, factors, tuple(pairwise(factors)))


def _with_tile(subject: Subject, case: Case) -> Case:
    """Return the launch with the tile that the source uses and defines nowhere."""
    try:
        subject.source(subject.complete(case))
    except SourceError as error:
        for one in error.diagnostics:
            if one.id == "unknown" and one.parameters["name"] in BLOCK_NAMES:
                defines = {**case.defines, str(one.parameters["name"]): str(TILES[0])}
                return replace(case, defines=defines)
    return case


def _is_stated(text: str, macro: str) -> bool:
    """Say whether a text says that a block has the threads of a macro, in code or a comment."""
    equal = rf"blockDim(\.x)?\s*[!=]?=\s*{macro}\b|\b{macro}\s*[!=]=\s*blockDim"
    return re.search(rf"{equal}|<<<[^;>]*,\s*{macro}\s*(,[^;>]*)?>>>", text) is not None


def _factors(
    case: Case,
    program: Program,
    tiles: tuple[Value, ...],
    span: int | None,
    threads: int | None,
) -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    if tiles:
        found["tile"] = tiles
    if span is not None:
        found["span"] = _first(span, SPANS)
    if not case.data:
        if any(isinstance(one.type, Scalar) for one in program.kernel.parameters):
            found["vocab"] = _first(case.vocab, VOCABS)
        if any(isinstance(one.type, Pointer) for one in program.kernel.parameters):
            found["input"] = _first(case.input, INPUTS)
    if threads is not None and program.kernel.max_threads is None:
        fit = 2 * threads <= case.limits.threads
        found["threads"] = THREADS if fit else THREADS[:2]
    if any(SIZE_NAMES.get(one.name.lower()) == "k" for one in program.kernel.parameters):
        found["k"] = _first(case.k, (1,))
    found["schedule"] = _first(case.schedule, SCHEDULES)
    return found


def _first(value: Value, values: tuple[Value, ...]) -> tuple[Value, ...]:
    return (value, *(other for other in values if other != value))
