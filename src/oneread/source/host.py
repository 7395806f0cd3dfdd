"""Kernels and signatures of a file, and the file with its host code blanked.

Works on the text as it is, before any macro is expanded, so that a compiler can be given what is
left with every line where it was. Knows no compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from oneread.source.includes import KNOWN_HEADERS
from oneread.source.outline import Piece, outline, reached
from oneread.source.text import SourceText
from oneread.source.tokens import Token, tokenize

#: Words that end a type, so that a parameter which ends with one has no name.
_NEVER_NAMES: Final = frozenset(
    {"const", "bool", "char", "short", "int", "long", "unsigned", "signed", "float", "double"}
)

#: What host code is called where it is listed.
WHAT: Final = {"host": "host function", "value": "variable", "text": "text"}

#: Tokens of the longest template arguments of a launch.
_LONGEST_ARGUMENTS: Final = 200

#: Directives that come in pairs.
_PAIRED: Final = frozenset({"if", "ifdef", "ifndef", "elif", "else", "endif"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel as it is written: its type in one line, and its name."""

    type: str
    name: str

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type or "[" in self.type

    @property
    def is_input(self) -> bool:
        """Say whether it is a pointer to something const."""
        return self.is_pointer and "const" in self.type.partition("*")[0].split()


@dataclass(frozen=True, slots=True)
class Signature:
    """A kernel's name, where it stands, and its parameters."""

    name: str
    line: int
    parameters: tuple[Parameter, ...]
    is_template: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """A piece of a file that was left out: ``what`` it is, its name and its line."""

    what: str
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A file without its host code: every character of that is a space, every line is kept."""

    text: str
    skipped: tuple[Skipped, ...]


def find_kernels(source: SourceText) -> list[Signature]:
    """Return the kernels of a file in order, as far as they have a body.

    Parameters
    ----------
    source : SourceText
        The file.

    Returns
    -------
    list of Signature
        One for each kernel.
    """
    tokens, _ = split_directives(source)
    pieces, _ = outline(tokens)
    return [
        Signature(
            piece.name,
            tokens[piece.start].position.line,
            tuple(_parameters(tokens, piece)),
            piece.is_template,
        )
        for piece in pieces
        if piece.kind == "kernel" and tokens[piece.body].text == "{"
    ]


def device_code(source: SourceText, kernel: str = "") -> DeviceCode:
    """Blank the host code of a file: functions, launches in them, includes of unknown headers.

    Parameters
    ----------
    source : SourceText
        The file.
    kernel : str, optional
        The kernel that is wanted: what it does not reach is blanked too. All, if left out.

    Returns
    -------
    DeviceCode
        The text that is left, and what was left out.
    """
    tokens, directives = split_directives(source)
    pieces, _ = outline(tokens)
    keep = reached(pieces, tokens, kernel) if kernel else None
    skipped: list[Skipped] = []
    spans: list[tuple[Token, Token]] = []
    for line in directives:
        name = _header(line)
        if name and name not in KNOWN_HEADERS:
            skipped.append(Skipped("include", name, line[0].position.line))
            spans.append((line[0], line[-1]))
    for piece in pieces:
        is_host = is_host_code(tokens, piece)
        if not is_host and (keep is None or piece.start in keep):
            continue
        first, last = tokens[piece.start], tokens[piece.stop - 1]
        spans.append((first, last))
        if is_host:
            skipped.append(Skipped(WHAT[piece.kind], piece.name, first.position.line))
    skipped += launches(tokens)
    skipped.sort(key=lambda one: one.line)
    return DeviceCode(_blanked(source, spans, directives), tuple(skipped))


def launches(tokens: Sequence[Token]) -> Iterator[Skipped]:
    """Yield where kernels are launched: ``name<<<`` or ``name<...><<<``."""
    for at in range(1, len(tokens) - 1):
        if tokens[at].text == "<<" and tokens[at + 1].text == "<" and not tokens[at + 1].spaced:
            name = at - 1
            depth = 0
            last = max(0, at - _LONGEST_ARGUMENTS)
            while name > last and (depth or tokens[name].text == ">"):
                depth += (tokens[name].text == ">") - (tokens[name].text == "<")
                name -= 1
            yield Skipped("launch of", tokens[name].text, tokens[at].position.line)


def in_one_line(skipped: Sequence[Skipped]) -> str:
    """Return what was left out as one line, or an empty string.

    Parameters
    ----------
    skipped : sequence of Skipped
        What was left out.

    Returns
    -------
    str
        For example ``left out: include cub/cub.cuh (line 2), host function main (line 40)``.
    """
    if not skipped:
        return ""
    return "left out: " + ", ".join(
        f"{one.what} {one.name} (line {one.line})".replace("  ", " ") for one in skipped
    )


def split_directives(source: SourceText) -> tuple[list[Token], list[list[Token]]]:
    """Return the tokens of a file without its directives, and the directives.

    Both branches of a condition are there, unless the first opens or closes braces: then a second
    one would do so again, and is left out.
    """
    tokens: list[Token] = []
    directives: list[list[Token]] = []
    lines = _lines(source)
    depth = 0
    conditions: list[tuple[int, bool]] = []  # braces open at the #if; whether a branch is left out
    for line in lines:
        if line[0].text == "#" and line[0].kind == "mark":
            directives.append(line)
            word = line[1].text if len(line) > 1 else ""
            if word in ("if", "ifdef", "ifndef"):
                conditions.append((depth, bool(conditions) and conditions[-1][1]))
            elif word in ("else", "elif") and conditions:
                before, left_out = conditions[-1]
                conditions[-1] = before, left_out or depth != before
            elif word == "endif" and conditions:
                conditions.pop()
        elif line[-1].kind == "end" or not (conditions and conditions[-1][1]):
            tokens += line
            depth += sum((one.text == "{") - (one.text == "}") for one in line)
    return tokens, directives


def _lines(source: SourceText) -> list[list[Token]]:
    """Return the tokens of each line; the last line holds the end alone."""
    lines: list[list[Token]] = []
    for token in tokenize(source):
        if token.first or token.kind == "end" or not lines:
            lines.append([])
        lines[-1].append(token)
    return lines


def _header(line: list[Token]) -> str:
    """Return the header that a directive includes, or an empty string."""
    if len(line) < 3 or line[1].text != "include":
        return ""
    return "".join(token.text for token in line[2:]).strip('<>"')


def is_host_code(tokens: Sequence[Token], piece: Piece) -> bool:
    """Say whether a declaration can only be one of the host."""
    if piece.kind != "value":
        return piece.kind in ("host", "text")
    words = {token.text for token in tokens[piece.start : piece.stop]}
    return not words & {"const", "constexpr", "__constant__", "__device__", "__shared__"}


def _blanked(
    source: SourceText, spans: Sequence[tuple[Token, Token]], directives: Sequence[list[Token]]
) -> str:
    """Return a text with spaces in place of spans, each from a token to another.

    Conditions (`#if` and its kin) stay even within a span: their partner may lie outside.
    """
    kept = {
        line[0].position.line for line in directives if len(line) > 1 and line[1].text in _PAIRED
    }
    lines = source.text.split("\n")
    for first, last in spans:
        for number in range(first.position.line, last.position.line + 1):
            if number in kept:
                continue
            line = lines[number - 1]
            start = first.position.column - 1 if number == first.position.line else 0
            end = len(line)
            if number == last.position.line:
                end = last.position.column - 1 + last.position.length
            blank = "".join(" " if char not in "\r\t" else char for char in line[start:end])
            lines[number - 1] = line[:start] + blank + line[end:]
    return "\n".join(lines)


def _parameters(tokens: Sequence[Token], piece: Piece) -> Iterator[Parameter]:
    """Yield the parameters of a function, split at the commas outside of brackets."""
    depth = 0
    words: list[Token] = []
    for token in tokens[piece.parameters + 1 : piece.body]:
        if token.kind == "mark":
            if (token.text == ")" and depth == 0) or (token.text == "," and depth == 0):
                if words and [word.text for word in words] != ["void"]:
                    yield _parameter(words)
                words = []
                if token.text == ")":
                    return
                continue
            depth += (token.text in "([{<") - (token.text in ")]}>")
        words.append(token)


def _parameter(words: list[Token]) -> Parameter:
    names = [at for at, word in enumerate(words) if word.kind == "name"]
    last = names[-1] if names else 0
    is_named = len(names) > 1 and words[last].text not in _NEVER_NAMES
    rest = [word for at, word in enumerate(words) if not (is_named and at == last)]
    text = ""
    for word in rest:
        glue = " " if text and word.kind == "name" else ""
        text += glue + word.text
    return Parameter(text, words[last].text if is_named else "")
