"""What `oneread inspect` shows: the table by line, loops, times, and why one kernel costs more.

Returns lines and prints nothing.
"""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oneread.cli._console import styled

if TYPE_CHECKING:
    from oneread.report.autopsy import Autopsy, Line, Loop, Took

_HEADS = ("line", "reads", "writes", "shared", "barriers", "code", "each", "mostly", "source")
_ISSUED = (
    "Issued, by the tracer: reads, writes: elements of global memory for each of the problem's; "
    "shared: requests of warps for 32 elements; barriers: of a block, a row."
)
_COMPILED = (
    "Compiled: code: instructions; each: those that warps run for 32 elements, at most, as in long "
    "rows; mostly: what most of them are for."
)
_OF_LOOPS = (
    "elements: of a trip; ceiling: elements a clock that an SM cannot exceed, and what limits; "
    "alone: cycles an element of a warp that has an SM to itself, estimated."
)
_LEAST_WIDTH = 100
#: Roles that a comparison names.
_NAMED = 5


def autopsy(one: "Autopsy", as_markdown: bool) -> Iterator[str]:
    """Yield a kernel's lines, loops and times."""
    flags = " ".join(one.flags) or "default maths"
    defines = "".join(f", {name}={value}" for name, value in one.defines.items())
    rows = f"{one.rows} row{'s' * (one.rows != 1)}"
    head = (
        f"{one.name}: compiled for {one.arch}, {flags}{defines}; traced with {rows} x {one.vocab}"
    )
    yield from (f"## {head}", "") if as_markdown else (styled(head, "bold"), "")
    yield from table(_HEADS, [*map(_cells, one.lines), _sums(one)], as_markdown)
    yield from _legend((_ISSUED, _COMPILED), as_markdown)
    yield ""
    heads = ("loop", "lines", "elements", "each", "MUFU", "ceiling", "alone")
    yield from table(heads, list(map(_loop, one.loops)), as_markdown)
    yield from _legend((_OF_LOOPS,), as_markdown)
    yield ""
    yield from _times_taken(one)
    yield ""


def comparison(found: "Sequence[Autopsy]", as_markdown: bool) -> Iterator[str]:
    """Yield kernels side by side, and in what each costs more or less than the first."""
    names = [one.name for one in found]
    rows = [
        ("reads of an element", *(_number(one.reads) for one in found)),
        ("writes of an element", *(_number(one.writes) for one in found)),
        ("instructions for 32 elements", *(_number(one.each) for one in found)),
        ("MUFU for 32 elements", *(_number(one.mufu) for one in found)),
        ("barriers a row", *(f"{one.barriers:g}" for one in found)),
        ("cycles an element, a warp alone", *(_number(one.alone) for one in found)),
    ]
    roles = dict.fromkeys(role for one in found for role in one.roles)
    rows += [(role, *(_number(one.roles.get(role, 0.0)) for one in found)) for role in roles]
    shapes = dict.fromkeys((took.rows, took.vocab) for one in found for took in one.took)
    for rows_, vocab in shapes:
        times = (_time(one, rows_, vocab) for one in found)
        shown = ("-" if took is None else f"{took.microseconds:.1f}" for took in times)
        rows.append((f"us, {rows_} x {vocab}", *shown))
    yield "## Side by side" if as_markdown else styled("side by side", "bold")
    yield ""
    yield from table(("", *names), rows, as_markdown)
    for other in found[1:]:
        yield ""
        yield from _against(other, found[0])


def _cells(line: "Line") -> tuple[str, ...]:
    most, count = next(iter(line.roles.items()), ("", 0.0))
    return (
        str(line.number),
        _some(line.reads),
        _some(line.writes),
        _some(line.shared),
        f"{line.barriers:g}" if line.barriers else "",
        str(line.compiled or ""),
        "?" if line.each is None else _some(line.each),
        most if count else "",
        line.text,
    )


def _sums(one: "Autopsy") -> tuple[str, ...]:
    """Return the last row; it says what the kernel took with rows as long as the traced ones."""
    same = [took for took in one.took if took.vocab == one.vocab]
    return (
        "all",
        _some(one.reads),
        _some(one.writes),
        _some(sum(line.shared for line in one.lines)),
        f"{one.barriers:g}" if one.barriers else "",
        str(sum(line.compiled for line in one.lines)),
        f"{one.each:.2f}{'+?' * bool(one.unknown)}",
        next(iter(one.roles), ""),
        f"took {same[0].microseconds:.1f} us for {same[0].rows} rows" if same else "",
    )


def _loop(loop: "Loop") -> tuple[str, ...]:
    return (
        f"{loop.at:#06x}",
        _span(loop.lines),
        str(loop.elements or "-"),
        "?" if loop.each is None else f"{loop.each:.2f}",
        _number(loop.mufu_each),
        "-" if loop.ceiling is None else f"{loop.ceiling:.2f} {loop.limit}",
        _number(loop.alone),
    )


def _times_taken(one: "Autopsy") -> Iterator[str]:
    """Yield what is not known, and what launches took."""
    if one.unknown:
        places = ", ".join(f"{at:#06x}" for at in one.unknown)
        yield f"Left out, since nothing tells how often they go round: the loops at {places}."
    if not one.took:
        yield "Took: no time is known; those of the gallery's kernels are."
        return
    first = one.took[0]
    shapes = ", ".join(
        f"{took.microseconds:.1f} us for {took.rows} x {took.vocab} ({took.share_of_copy:.0%} of a "
        "copy's bandwidth)"
        for took in one.took
    )
    yield from _wrapped(f"Took, on an {first.device}: {shapes}.")
    if not one.is_measured_as_built(first):
        defines = "".join(f", {name}={value}" for name, value in first.defines.items())
        yield f"That is another build: for {first.target}, default maths{defines}."


def _against(other: "Autopsy", first: "Autopsy") -> Iterator[str]:
    """Yield sentences about what a kernel costs more than another, and less."""
    yield from _wrapped(
        f"{other.name} against {first.name}: {other.reads:.2f} reads of an element for "
        f"{first.reads:.2f}, {_times(other.each, first.each)} the instructions, "
        f"{_times(other.mufu, first.mufu)} the MUFU, {other.barriers:g} barriers a row for "
        f"{first.barriers:g}, {_times(other.alone, first.alone)} the cycles of a warp alone."
    )
    changes = {
        role: other.roles.get(role, 0.0) - first.roles.get(role, 0.0)
        for role in {**first.roles, **other.roles}
    }
    largest = sorted(changes.items(), key=lambda one: -abs(one[1]))[:_NAMED]
    said = ", ".join(f"{role} {change:+.1f}" for role, change in largest if abs(change) >= 0.05)
    yield f"Most of the difference: {said or 'none'} for 32 elements."
    for took in other.took:
        base = _time(first, took.rows, took.vocab)
        if base is not None:
            times = _times(took.microseconds, base.microseconds)
            yield f"It took {times} the time for {took.rows} x {took.vocab}."


def _time(one: "Autopsy", rows: int, vocab: int) -> "Took | None":
    return next((took for took in one.took if (took.rows, took.vocab) == (rows, vocab)), None)


def _times(value: float, base: float) -> str:
    return f"{value / base:.2f} times" if base else f"{value:.2f} against 0 of"


def _span(lines: Sequence[int]) -> str:
    return "-".join(map(str, dict.fromkeys((lines[0], lines[-1])))) if lines else "-"


def _some(value: float) -> str:
    if not value:
        return ""
    return f"{value:.2f}" if value >= 0.005 else "<.01"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _legend(texts: Sequence[str], as_markdown: bool) -> Iterator[str]:
    if as_markdown:
        yield ""
        yield " ".join(texts)
    else:
        yield from (styled(line, "dim") for text in texts for line in _wrapped(text))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _LEAST_WIDTH)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], as_markdown: bool) -> Iterator[str]:
    """Yield a table; on a terminal numbers stand to the right and a long last cell is cut."""
    if as_markdown:
        ruled = [heads, ["---"] * len(heads), *rows]
        yield from (f"| {' | '.join(_in_a_cell(one) for one in row)} |" for row in ruled)
        return
    width = max(shutil.get_terminal_size((_LEAST_WIDTH, 24)).columns, _LEAST_WIDTH)
    is_text = heads[-1] == "source"
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    for number, row in enumerate([heads, *rows]):
        *cells, last = row if is_text else (*row, "")
        shown = "  ".join(
            cell.ljust(size) if heads[0] == "" and place == 0 else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(cells, widths, strict=False))
        )
        line = f"{shown}  {last.expandtabs(4)}"[:width].rstrip()
        yield styled(line, "bold") if number == 0 else line


def _in_a_cell(text: str) -> str:
    code = text.strip()
    shown = text.replace("|", "\\|")
    return f"`{code}`".replace("|", "\\|") if any(char in code for char in "(;{=") else shown
