"""What `oneread sass` shows on a terminal.

Returns lines and prints nothing.
"""

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from oneread.cli._console import styled

if TYPE_CHECKING:
    from oneread.sass.aligning import Form, Pair
    from oneread.sass.checking import Checked, Tried
    from oneread.sass.claims import Claim
    from oneread.sass.facts.roles import Role
    from oneread.sass.read.opening import Code
    from oneread.sass.story.statements import Section
    from oneread.sass.summary import Summary

_WIDTH = 96
_SIGNS = {"holds": "✔", "otherwise": "≈", "fails": "✘"}


def story(code: "Code", sections: "Sequence[Section]", language: str) -> Iterator[str]:
    """Yield a kernel's story: a headline a section, sentences, the instructions that they quote."""
    from oneread.sass.story.words import catalogue, citation, place, sentence

    words = catalogue(language)
    if code.skipped:
        line = words["parts"]["line"]
        left_out = [
            f"{one.what} {one.name} ({line.format(lines=one.line)})".replace("  ", " ")
            for one in code.skipped
        ]
        yield words["parts"]["left-out"].format(what=", ".join(left_out))
    for number, section in enumerate(sections, 1):
        yield ""
        yield styled(f"{number}. {words['headings'][section.id]}", "bold")
        for statement in section.statements:
            yield from textwrap.wrap(sentence(statement, language), _WIDTH)
            if cited := citation(statement.cites, language):
                yield styled(f"    {cited}", "dim")
            for one in statement.quotes:
                where = place(one, language)
                yield f"    {one.address:#06x}  {one.text:<56} {where}".rstrip()
        if section.table:
            names = tuple(words["columns"][name] for name in section.table.columns)
            rows = (names, *section.table.rows)
            widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = zip(row, widths, strict=True)
                yield "    " + "  ".join(" " * (width - _cells(c)) + c for c, width in cells)


def matrix(columns: "Mapping[tuple[str, str], Summary]", as_markdown: bool) -> Iterator[str]:
    """Yield what all builds agree in, and a table of the rest: builds that agree share a row."""
    groups: dict[Summary, list[tuple[str, str]]] = {}
    for build, summary in columns.items():
        groups.setdefault(summary, []).append(build)
    names = [field.name for field in fields(next(iter(groups)))]
    values = {name: [_shown(getattr(summary, name)) for summary in groups] for name in names}
    same = [name for name in names if len(set(values[name])) == 1]
    other = [name for name in names if name not in same]
    if len(groups) > 1:
        yield "In every build: " + ", ".join(f"{_word(name)} {values[name][0]}" for name in same)
        yield ""
    rows = [("", *map(_word, other or names))]
    for nth, builds in enumerate(groups.values()):
        maths = " ".join(dict.fromkeys(math for _, math in builds))
        targets = " ".join(dict.fromkeys(arch.removeprefix("sm_") for arch, _ in builds))
        rows.append((f"sm_{targets} {maths}", *(values[name][nth] for name in other or names)))
    if len(groups) == 1:  # which would be one very long line
        rows = [*zip(*rows, strict=True)]
    yield from _table(rows, as_markdown)


def diff(
    summaries: "Sequence[tuple[str, Summary]]",
    costs: "Sequence[tuple[str, Mapping[Role, float]]]",
    pairs: "Sequence[Pair]",
    as_markdown: bool,
) -> Iterator[str]:
    """Yield in what kernels differ, what an element costs by role, and their loops side by side."""
    heads = [name for name, _ in summaries]
    rows = [("", *heads)]
    for field in fields(summaries[0][1]):
        values = [_shown(getattr(summary, field.name)) for _, summary in summaries]
        if len(set(values)) > 1:
            rows.append((_word(field.name), *values))
    yield from _table(rows, as_markdown) if len(rows) > 1 else ["They agree in every property."]
    roles = dict.fromkeys(role for _, cost in costs for role, each in cost.items() if each)
    if roles:
        yield ""
        yield "Instructions an element, in the widest loops:"
        yield ""
        counts = [(role, *(f"{cost.get(role, 0):.2f}" for _, cost in costs)) for role in roles]
        sums = tuple(f"{sum(cost.values()):.2f}" for _, cost in costs)
        yield from _table([("", *heads), *counts, ("all", *sums)], as_markdown)
    for pair in pairs:
        yield from _pair(pair, heads, as_markdown)


def _pair(pair: "Pair", heads: Sequence[str], as_markdown: bool) -> Iterator[str]:
    """Yield two loops side by side: for each role how many an element, and the first of them."""
    there = [
        f"{head} at {loop.instructions[0].address:#06x}"
        for head, loop in zip(heads, pair.loops, strict=True)
        if loop
    ]
    yield ""
    yield f"The loop of {' beside that of '.join(there)}: how many an element, and the first"
    yield ""
    rows = [("", *heads)]
    role = ""
    for row in pair.rows:
        cells = (_form(one, as_markdown) if one else "" for one in row.forms)
        rows.append((row.role if row.role != role else "", *cells))
        role = row.role
    yield from _table(rows, as_markdown)


def _form(form: "Form", as_markdown: bool) -> str:
    text = _code(form.first.text) if as_markdown else form.first.text
    return f"{form.each:.2f} {form.first.address:#06x} {text}"


def _code(text: str) -> str:
    """Return machine code for a table of Markdown: labels have a back quote of their own."""
    quotes = "``" if "`" in text else "`"
    return f"{quotes}{text}{quotes}".replace("|", "\\|")


def check(checked: "Checked", as_markdown: bool) -> Iterator[str]:
    """Yield how many quotes each build has, and for each quote the builds that have it."""
    whole = [one for one in checked.quotes if not one.is_elided]
    parts = [one for one in checked.quotes if one.is_elided]
    rows = [("", f"lines of {len(whole)}", f"patterns of {len(parts)}")]
    for tried in checked.tried:
        counts = [sum(one in tried.found for one in kind) for kind in (whole, parts)]
        mark = " <-" if tried.build in checked.best else ""
        rows.append((_builds([tried], checked), str(counts[0]), f"{counts[1]}{mark}"))
    yield from _table(rows, as_markdown)
    yield ""
    lines = [("line", "quoted", "builds that have it")]
    for one in checked.quotes:
        having = [tried for tried in checked.tried if one in tried.found]
        text = _code(one.text) if as_markdown else one.text
        lines.append((str(one.line), text, _builds(having, checked)))
    yield from _table(lines, as_markdown)
    for one in checked.missing:
        yield styled(f"in no build: line {one.line}: {one.text}", "red")


def claims(checked: "Checked", given: "Sequence[Claim]", as_markdown: bool) -> Iterator[str]:
    """Yield each claim with where it holds, where in other words, and where it fails."""
    yield ""
    if as_markdown:
        yield from _verdicts(checked, given)
        return
    for number, claim in enumerate(given, 1):
        verdicts = [(one, one.verdict(claim)) for one in checked.tried]
        failing = [one for one, verdict in verdicts if verdict == "fails"]
        holds = len(checked.tried) - len(failing)
        style = "red" if failing else "green"
        verdict = styled(f"holds for {holds} of {len(checked.tried)} builds", style)
        yield f"{number}. {claim.sentence} {verdict}"
        if otherwise := [one for one, verdict in verdicts if verdict == "otherwise"]:
            yield f"   not as {claim.quote}: {_builds(otherwise, checked)}"
        values: dict[str, list[Tried]] = {}
        for one in failing:
            for name in claim.failing(one.summary):
                shown = f"{_word(name)} {_shown(getattr(one.summary, name))}"
                values.setdefault(shown, []).append(one)
        for shown, builds in values.items():
            yield f"   {shown}: {_builds(builds, checked)}"


def _verdicts(checked: "Checked", given: "Sequence[Claim]") -> Iterator[str]:
    """Yield claims and builds as a table; builds with the same verdicts share a column."""
    columns: dict[tuple[str, ...], list[Tried]] = {}
    for one in checked.tried:
        verdicts = tuple(_SIGNS[one.verdict(claim)] for claim in given)
        columns.setdefault(verdicts, []).append(one)
    rows = [("", *(_builds(builds, checked) for builds in columns.values()))]
    for nth, claim in enumerate(given):
        rows.append((f"{nth + 1}. {claim.sentence}", *(signs[nth] for signs in columns)))
    yield from _table(rows, as_markdown=True)


def _builds(builds: "Sequence[Tried]", checked: "Checked") -> str:
    """Return some of the builds in one line: targets, flags, and compilers if there are several."""
    if len(builds) == len(checked.tried) > 1:
        return "all"
    targets: dict[tuple[str, str], list[str]] = {}
    for one in builds:
        how = " ".join(one.build.flags) or "default", one.compiler
        targets.setdefault(how, []).append(one.build.arch or "")
    compilers: dict[str, list[str]] = {}
    for (flags, compiler), archs in targets.items():
        compilers.setdefault(f"{' '.join(archs)} {flags}", []).append(compiler)
    several = len(checked.compilers) > 1
    words = (
        f"{what} by NVRTC {', '.join(by)}" if several else what for what, by in compilers.items()
    )
    return "; ".join(words) or "none"


def _table(rows: Sequence[tuple[str, ...]], as_markdown: bool) -> Iterator[str]:
    if as_markdown:
        ruled = [rows[0], ("---",) * len(rows[0]), *rows[1:]]
        yield from (f"| {' | '.join(row)} |" for row in ruled)
    else:
        yield from _aligned(rows)


def _word(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: object) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, tuple):
        return "; ".join(map(str, value))
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield rows with their columns under each other, the first to the left."""
    widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{one}{' ' * (width - _cells(one))}" for one, width in zip(row, widths, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _cells(text: str) -> int:
    """Return the cells of a terminal that a text takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
