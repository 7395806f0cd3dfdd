"""What `oneread sass explain` shows on a terminal.

Returns lines and prints nothing.
"""

import textwrap
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

    headings = catalogue(language)["headings"]
    if code.skipped:
        yield in_one_line(code.skipped)
    for number, section in enumerate(sections, 1):
        yield ""
        yield styled(f"{number}. {headings[section.id]}", "bold")
        for statement in section.statements:
            yield from textwrap.wrap(sentence(statement, language), _WIDTH)
            if cited := citation(statement.cites, language):
                yield styled(f"    {cited}", "dim")
            for one in statement.quotes:
                place = f"line {one.line.line}" if one.line else ""
                yield f"    {one.address:#06x}  {one.text:<56} {place}".rstrip()
