"""What `oneread sass explain` shows on a terminal.

Returns lines and prints nothing.
"""

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from oneread.cli._console import styled

if TYPE_CHECKING:
    from oneread.sass.read.opening import Code
    from oneread.sass.story.telling import Section

_WIDTH = 96


def story(code: "Code", sections: "Sequence[Section]", language: str) -> Iterator[str]:
    """Yield a kernel's story: a headline a section, sentences, the instructions that they quote."""
    from oneread.sass.story.words import catalogue, citation, sentence
    from oneread.source.host import in_one_line

    words = catalogue(language)
    if code.skipped:
        yield in_one_line(code.skipped)
    for number, section in enumerate(sections, 1):
        yield ""
        yield styled(f"{number}. {words['headings'][section.id]}", "bold")
        for statement in section.statements:
            yield from textwrap.wrap(sentence(statement, language), _WIDTH)
            if cited := citation(statement.cites, language):
                yield styled(f"    {cited}", "dim")
            for one in statement.quotes:
                place = f"line {one.line.line}" if one.line else ""
                yield f"    {one.address:#06x}  {one.text:<56} {place}".rstrip()
        if section.table:
            names = tuple(words["columns"][name] for name in section.table.columns)
            rows = (names, *section.table.rows)
            widths = [max(map(_cells, column)) for column in zip(*rows, strict=True)]
            for row in rows:
                cells = zip(row, widths, strict=True)
                yield "    " + "  ".join(" " * (width - _cells(c)) + c for c, width in cells)


def _cells(text: str) -> int:
    """Return the cells of a terminal that a text takes."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
