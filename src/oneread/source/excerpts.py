"""What of a file a kernel needs: its directives, and the functions and types that it reaches.

Works on the text as it is. Knows no compiler.
"""

from __future__ import annotations

from oneread.source.host import is_host_code, split_directives
from oneread.source.includes import KNOWN_HEADERS
from oneread.source.outline import outline, reached
from oneread.source.text import SourceText
from oneread.source.tokens import Token


def excerpt(source: SourceText, kernel: str) -> str:
    """Return the part of a file that a kernel is compiled from.

    Parameters
    ----------
    source : SourceText
        The file.
    kernel : str
        The kernel.

    Returns
    -------
    str
        Its lines in their order, an empty one between functions; empty without that kernel.
    """
    tokens, directives = split_directives(source)
    pieces, _ = outline(tokens)
    if not any(piece.kind == "kernel" and piece.name == kernel for piece in pieces):
        return ""
    keep = reached(pieces, tokens, kernel)
    spans = [(line[0].position.line, line[-1].position.line) for line in directives if _stays(line)]
    bodies = [
        (tokens[piece.start].position.line, tokens[piece.stop - 1].position.line)
        for piece in pieces
        if piece.start in keep and not is_host_code(tokens, piece)
    ]
    inside = {number for first, last in bodies for number in range(first, last + 1)}
    text: list[str] = []
    for first, last in sorted({*(span for span in spans if span[0] not in inside), *bodies}):
        if (first, last) in bodies and last > first and text:
            text.append("")
        text += [source.line(number) for number in range(first, last + 1)]
    return "\n".join(text) + "\n"


def _stays(line: list[Token]) -> bool:
    """Say whether a directive is no include of what a compiler without a toolkit lacks."""
    words = [token.text for token in line]
    return words[1:2] != ["include"] or "".join(words[2:]).strip('<>"') in KNOWN_HEADERS
