"""Tokens of C++ text, each with its exact position.

Comments and line splices are white space; directives are left in as tokens, the first of a line
marked. Nothing here fails: what is no token becomes one of kind ``bad`` that names its message, so
that only who needs that piece of the text has to complain. Knows no grammar.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from oneread.source.text import Position, SourceText

TokenKind: TypeAlias = Literal["name", "number", "string", "character", "mark", "bad", "end"]


class Token(NamedTuple):
    """A token; of kind ``bad``, `text` is the id of the message that says why."""

    kind: TokenKind
    text: str
    position: Position
    #: Whether it is the first of its line, where a `#` begins a directive.
    first: bool = False
    #: Whether white space stands before it.
    spaced: bool = False

    @property
    def behind(self) -> Position:
        """Return the position just behind the token."""
        file, line, column, length = self.position
        return Position(file, line, column + length)


_TOKEN: Final = re.compile(
    r"""(?P<newline>\r?\n)
    |(?P<space>(?:[ \t\f\v]|\r(?!\n)|\\\r?\n)+)
    |(?P<comment>//(?:\\\r?\n|[^\n])*)
    |(?P<block>/\*)
    |(?P<raw>(?:u8|[uUL])?R"(?=[^()\\\s"]{0,16}\())
    |(?P<string>(?:u8|[uUL])?"(?:\\[^\r\n]|[^"\\\r\n])*(?P<close>"?))
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\.?[0-9](?:[eEpP][+-]|'?\w|\.)*)
    |(?P<character>'(?:\\[^\r\n]|[^'\\\r\n])*(?P<quote>'?))
    |(?P<mark><<=|>>=|\.\.\.|->\*?|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|::|\#\#
        |[][{}();:,.<>?!~\#+*/%&|^=-])
    |(?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)


#: Words that C++ reads as operators.
_OPERATORS: Final = {
    "and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^",
    "compl": "~", "and_eq": "&=", "or_eq": "|=", "xor_eq": "^=",
}  # fmt: skip


def tokenize(source: SourceText) -> list[Token]:
    """Cut a text into tokens.

    Parameters
    ----------
    source : SourceText
        The text; any characters at all.

    Returns
    -------
    list of Token
        The tokens in order, one of kind ``end`` last.
    """
    return _Scan(source).run()


class _Scan:
    """One run over a text."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.tokens: list[Token] = []
        self.line = 1
        self.line_start = 0
        self.first = True
        self.spaced = False

    def run(self) -> list[Token]:
        text, at, match = self.source.text, 0, _TOKEN.match
        while found := match(text, at):
            kind, end = found.lastgroup, found.end()
            if kind in ("close", "quote"):
                # The group of the closing quote ends last.
                kind = "string" if kind == "close" else "character"
            if kind == "newline":
                self.line, self.line_start, self.first = self.line + 1, end, True
            elif kind in ("space", "comment"):
                self.spaced = True
                self.skip(at, end)
            elif kind == "block":
                end = self.comment(at)
            elif kind == "raw":
                end = self.raw(at, found.end())
            else:
                self.token(kind or "stray", at, found)
            at = end
        self.add("end", "", len(text), 0)
        return self.tokens

    def add(self, kind: TokenKind, text: str, at: int, length: int) -> None:
        position = Position(self.source.name, self.line, at - self.line_start + 1, length)
        self.tokens.append(Token(kind, text, position, self.first, self.spaced))
        self.first = self.spaced = False

    def token(self, kind: str, at: int, found: re.Match[str]) -> None:
        text = found.group()
        if kind == "stray":
            self.add("bad", "stray", at, 1)
        elif text in _OPERATORS:
            self.add("mark", _OPERATORS[text], at, len(text))
        elif kind == "string":
            good = found["close"]
            self.add("string" if good else "bad", text if good else "string-open", at, len(text))
        elif kind == "character":
            good = found["quote"]
            self.add(
                "character" if good else "bad", text if good else "character-open", at, len(text)
            )
        else:
            self.add(kind, text, at, len(text))  # type: ignore[arg-type]

    def skip(self, at: int, end: int) -> None:
        """Count the lines within white space; a splice does not begin a line of its own."""
        text = self.source.text
        feed = text.find("\n", at, end)
        while feed >= 0:
            self.line, self.line_start = self.line + 1, feed + 1
            feed = text.find("\n", feed + 1, end)

    def comment(self, at: int) -> int:
        end = self.source.text.find("*/", at + 2)
        if end < 0:
            self.add("bad", "comment-open", at, 2)
            return len(self.source.text)
        self.spaced = True
        self.skip(at, end)
        return end + 2

    def raw(self, at: int, opening: int) -> int:
        text = self.source.text
        bracket = text.index("(", opening)
        closing = f'){text[opening:bracket]}"'
        end = text.find(closing, bracket)
        if end < 0:
            self.add("bad", "string-open", at, bracket - at)
            return len(text)
        self.add("string", text[at : end + len(closing)], at, bracket - at)
        self.skip(at, end)
        return end + len(closing)
