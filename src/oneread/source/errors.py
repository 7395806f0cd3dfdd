"""What is wrong with a source text, as data, and the error that carries it.

A diagnostic is the id of a message with its parameters; the words come from a catalogue when it is
shown. Knows no message of its own.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from oneread.source.text import Position, SourceText, show
from oneread.spec import OneReadError

Severity: TypeAlias = Literal["error", "warning", "note"]

#: Longest piece of source that a message quotes, in characters.
QUOTED_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding: which message, where, with what in its gaps.

    ``hint`` is the id of an advice with the same parameters, or empty. ``notes`` are shown below.
    """

    id: str
    position: Position
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    severity: Severity = "error"
    hint: str = ""
    notes: tuple[Diagnostic, ...] = ()

    def text(self, catalogue: Mapping[str, str]) -> str:
        """Return the message in one line, the advice in brackets behind it."""
        words = {name: quoted(value) for name, value in self.parameters.items()}
        message = catalogue[self.id].format(**words)
        return f"{message} ({catalogue[self.hint].format(**words)})" if self.hint else message


class SourceError(OneReadError, ValueError):
    """CUDA C text that cannot be read: ``diagnostics`` says all that is wrong with it.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What was found, in the order of the text.
    catalogue : mapping of str to str
        The words of each message.
    files : iterable of SourceText
        The texts that the positions are in, to show their lines.
    """

    def __init__(
        self,
        diagnostics: Iterable[Diagnostic],
        catalogue: Mapping[str, str],
        files: Iterable[SourceText] = (),
    ) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(render(self.diagnostics, catalogue, files))


def quoted(value: str | int) -> str:
    """Return a piece of source fit for one line: no control characters, not too long."""
    if isinstance(value, int):
        return f"{value:,}"
    line = "".join(
        "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char)[0] == "C" else char
        for char in value[: QUOTED_CHARACTERS + 1]
    )
    return line if len(line) <= QUOTED_CHARACTERS else line[: QUOTED_CHARACTERS - 3] + "..."


def render(
    diagnostics: Iterable[Diagnostic], catalogue: Mapping[str, str], files: Iterable[SourceText]
) -> str:
    """Return diagnostics as a compiler prints them, each with its line and a caret.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What to show.
    catalogue : mapping of str to str
        The words of each message.
    files : iterable of SourceText
        Where the lines come from; a position in another file is shown without its line.

    Returns
    -------
    str
        Lines ``file:line:column: severity: message``, the source line, the caret.
    """
    texts = {file.name: file for file in files}
    lines: list[str] = []
    for diagnostic in diagnostics:
        for one in (diagnostic, *diagnostic.notes):
            at = one.position
            place = at._replace(file=quoted(at.file))
            lines.append(f"{place}: {one.severity}: {one.text(catalogue)}")
            if at.file in texts and at.line <= texts[at.file].lines:
                lines.append(show(texts[at.file].line(at.line), at.column, at.length))
    return "\n".join(lines)
