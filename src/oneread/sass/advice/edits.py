"""Edits of a source, and what of its tokens they are found by.

An edit keeps the number of lines, so that facts about lines stay true. Knows C as far as brackets,
statements and loops; knows no machine code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from oneread.source.text import SourceText, split_lines
from oneread.source.tokens import Token, tokenize

_OPENING: Final = {"(": ")", "[": "]", "{": "}"}
_CLOSING: Final = frozenset(_OPENING.values())
#: Where an expression ends, to either side.
ENDS: Final = frozenset({";", ",", "{", "}", "?", ":", "return", "=", "+=", "-=", "*=", "/="})


class Edit(NamedTuple):
    """Columns ``start`` up to ``stop`` of a line, from 1, and what takes their place."""

    line: int
    start: int
    stop: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """One idea: its edits, and the lines that they are about."""

    id: str
    edits: tuple[Edit, ...]

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(sorted({edit.line for edit in self.edits}))


def tokens_of(source: SourceText) -> list[Token]:
    """Return the tokens of a source, directives left out."""
    found: list[Token] = []
    directive = 0
    for token in tokenize(source):
        if token.first and token.text == "#":
            directive = token.position.line
        if token.position.line != directive:
            found.append(token)
    return found


def applied(source: SourceText, edits: Iterable[Edit]) -> SourceText:
    """Return a source with edits made; they do not overlap."""
    lines = split_lines(source.text)
    for edit in sorted(edits, key=lambda one: (one.line, one.start), reverse=True):
        text = lines[edit.line - 1]
        lines[edit.line - 1] = text[: edit.start - 1] + edit.text + text[edit.stop - 1 :]
    return SourceText(source.name, "".join(lines))


def replaced(tokens: Sequence[Token], text: str) -> Edit | None:
    """Return the edit that puts a text in the place of tokens, None if they stand on two lines."""
    first, last = tokens[0].position, tokens[-1].behind
    if first.line != last.line:
        return None
    return Edit(first.line, first.column, last.column, text)


def text_of(tokens: Sequence[Token]) -> str:
    """Return tokens as they would be written."""
    first, *rest = tokens
    return first.text + "".join(" " * one.spaced + one.text for one in rest)


def same(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """Say whether two pieces of text are the same tokens."""
    return [one.text for one in left] == [one.text for one in right]


def closing(tokens: Sequence[Token], opening: int) -> int:
    """Return where the bracket that opens at a place closes; the end where it does not."""
    depth = 0
    for at in range(opening, len(tokens)):
        depth += (tokens[at].text in _OPENING) - (tokens[at].text in _CLOSING)
        if depth == 0:
            return at
    return len(tokens) - 1


def expression(tokens: Sequence[Token], at: int, step: int) -> int:
    """Return where the expression around a place ends, going right (1) or left (-1)."""
    depth = 0
    opening, shut = (_OPENING, _CLOSING) if step > 0 else (_CLOSING, _OPENING)
    while 0 <= at < len(tokens):
        text = tokens[at].text
        if depth == 0 and (text in shut or text in ENDS or tokens[at].kind == "end"):
            return at
        depth += (text in opening) - (text in shut)
        at += step
    return at


def top_level(tokens: Sequence[Token], texts: Iterable[str]) -> list[int]:
    """Return where marks stand that are in no bracket."""
    wanted, depth, found = set(texts), 0, []
    for at, token in enumerate(tokens):
        if depth == 0 and token.text in wanted:
            found.append(at)
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
    return found


class LoopText(NamedTuple):
    """A loop of the source: tokens ``start`` up to ``stop``."""

    start: int
    stop: int


def loops_of(tokens: Sequence[Token]) -> Iterator[LoopText]:
    """Yield the loops of a source that stand where another statement may stand before them."""
    for at, token in enumerate(tokens):
        is_loop = token.text in ("for", "while") and tokens[at - 1].text in (";", "{", "}")
        if is_loop and tokens[at + 1].text == "(":
            yield LoopText(at, _statement(tokens, at))


def _statement(tokens: Sequence[Token], at: int) -> int:
    """Return where a statement ends: behind its semicolon or brace."""
    text = tokens[at].text
    if text in ("for", "while", "if", "switch"):
        stop = _statement(tokens, closing(tokens, at + 1) + 1)
        return _statement(tokens, stop + 1) if tokens[stop].text == "else" else stop
    if text == "{":
        return closing(tokens, at) + 1
    while at < len(tokens) - 1 and tokens[at].text != ";":
        at = closing(tokens, at) + 1 if tokens[at].text in _OPENING else at + 1
    return at + 1
