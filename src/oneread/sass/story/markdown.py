"""The story as a Markdown note.

Knows the layout of the SASS note; draws no conclusions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oneread.sass.decode.instruction import Instruction
from oneread.sass.read.opening import Code
from oneread.sass.story.statements import Section
from oneread.sass.story.words import catalogue, citation, sentence
from oneread.source.excerpts import excerpt


def markdown(code: Code, kernel: str, sections: Sequence[Section], language: str = "en") -> str:
    """Return the note about a kernel.

    Parameters
    ----------
    code : Code
        Where the kernel comes from.
    kernel : str
        Its name.
    sections : sequence of Section
        Its story.
    language : str
        ``en`` or ``ko``.

    Returns
    -------
    str
        Markdown, a newline at its end. Each sentence is followed by where it can be seen.
    """
    return "\n".join(_lines(code, kernel, sections, language)) + "\n"


def quoted(instructions: Sequence[Instruction]) -> Iterator[str]:
    """Yield instructions as a disassembler prints them."""
    for one in instructions:
        yield f"/*{one.address:04x}*/ {one.text} ;"


def _lines(code: Code, kernel: str, sections: Sequence[Section], language: str) -> Iterator[str]:
    words = catalogue(language)
    yield f"# {kernel}"
    for number, section in enumerate(sections, 1):
        yield ""
        yield f"## {number}. {words['headings'][section.id]}"
        for statement in section.statements:
            cited = citation(statement.cites, language)
            yield ""
            yield sentence(statement, language) + (f" [{cited}]" if cited else "")
            if statement.quotes:
                yield from ("", "```sass", *quoted(statement.quotes), "```")
        if section.table:
            names = [words["columns"][name] for name in section.table.columns]
            rows = [names, ["---"] * len(names), *section.table.rows]
            yield from ("", *(f"| {' | '.join(row)} |" for row in rows))
        if section.id == "source":
            yield from _source(code, kernel)


def _source(code: Code, kernel: str) -> Iterator[str]:
    """Yield what a kernel was compiled from, with its macros, so that the note can be checked."""
    text = excerpt(code.source, kernel) if code.source else ""
    if text:
        defines = code.build.defines if code.build else {}
        macros = [f"#define {name} {value}" for name, value in defines.items() if name in text]
        yield from ("", "```cuda", *macros, *text.splitlines(), "```")
