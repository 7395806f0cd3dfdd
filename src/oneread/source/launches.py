"""Launches in the host code of a file: what it says of blocks, threads, shared bytes, arguments.

Works on the text before any macro is expanded: macros stay names, and so does what only a run of
the host would know. Evaluates nothing and knows no compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from oneread.source.host import split_directives
from oneread.source.outline import outline
from oneread.source.text import SourceText
from oneread.source.tokens import Token

#: Tokens of the longest template arguments, and of what else stands between two brackets.
_LONGEST_TEMPLATE: Final = 200
_LONGEST: Final = 500

#: Variables that are replaced in one launch: what is made of more is longer than an expression.
_MOST_VARIABLES: Final = 50

#: What changes the variable on its left.
_WRITES: Final = frozenset(
    {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^=", "++", "--"}
)

#: Types in brackets, which a value is cast to, and the bytes of those that arrays are made of.
_SIZES: Final = {
    "char": 1, "short": 2, "int": 4, "unsigned": 4, "unsigned int": 4, "uint": 4, "int32_t": 4,
    "uint32_t": 4, "long": 8, "unsigned long": 8, "long long": 8, "int64_t": 8, "uint64_t": 8,
    "size_t": 8, "std :: size_t": 8, "float": 4, "double": 8, "float2": 8, "float4": 16,
}  # fmt: skip

#: What may stand behind the name of a variable that is declared.
_BEHIND: Final = frozenset({"=", "(", "{", ";", ",", ")", ":", "[", ">"})

#: What ends the value of a variable.
_ENDS: Final = frozenset({",", ";", ")", "}"})

_AXES: Final = ("x", "y", "z")

_CLOSING: Final = {"(": ")", "{": "}"}

_NOTHING: Final[list[list[Token]]] = [[], [], []]

_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|[1-9][0-9]*|0)[uUlLzZ]*")


@dataclass(frozen=True, slots=True)
class HostLaunch:
    """A launch: sizes as `oneread.source.arithmetic` reads them, as far as it does.

    Variables that are set once are replaced by what they are set to. Names that the launch also
    passes to the kernel stay: they are what the kernel's parameters are.
    """

    template: tuple[str, ...]
    """Template arguments, without spaces."""
    line: int
    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared_bytes: str
    arguments: tuple[str, ...]
    """As they are written."""
    written: tuple[str, ...]
    """What stands between ``<<<`` and ``>>>``, at its commas."""
    zeroed: tuple[bool, ...] = ()
    """Of each argument, whether the last thing that the host does to it before is to zero it."""


def find_launches(source: SourceText, kernel: str) -> list[HostLaunch]:
    """Return the launches of a kernel in order, those in all branches of conditions.

    Parameters
    ----------
    source : SourceText
        The file.
    kernel : str
        Its name, without template arguments.

    Returns
    -------
    list of HostLaunch
        One for each ``name<<<grid, block>>>(...)``.

    Examples
    --------
    >>> from oneread.source.text import SourceText
    >>> text = "int main() { const int threads = 256; twice<<<4, threads>>>(x, y, n); }"
    >>> find_launches(SourceText("twice.cu", text), "twice")[0].block
    ('256',)
    """
    tokens, _ = split_directives(source)
    pieces, _ = outline(tokens)
    of_file = _Scope(
        token
        for piece in pieces
        if piece.kind in ("value", "type")
        for token in tokens[piece.start : piece.stop]
    )
    found: list[HostLaunch] = []
    for piece in pieces:
        inside = tokens[piece.start : piece.stop]
        places = _places(inside, kernel)
        scopes = (_Scope(inside), of_file) if places else ()
        found += (_launch(inside, at, scopes) for at in places)
    return found


def _places(tokens: Sequence[Token], kernel: str) -> list[int]:
    """Return where ``<<<`` stands behind a kernel's name and template arguments."""
    return [
        at
        for at in range(1, len(tokens) - 1)
        if tokens[at].text == "<<"
        and tokens[at + 1].text == "<"
        and not tokens[at + 1].spaced
        and tokens[_name(tokens, at)].text == kernel
    ]


def _launch(tokens: Sequence[Token], at: int, scopes: Sequence[_Scope]) -> HostLaunch:
    name = _name(tokens, at)
    config, end = _parts(tokens, at + 2, ">>")
    arguments, _ = _parts(tokens, end + 3, ")")  # behind `>>`, `>` and the bracket
    passed = frozenset(one[0].text for one in arguments if len(one) == 1)
    reader = _Reader(scopes, passed)
    template, _ = _parts(tokens[:at], name + 2, ">")
    grid, block, third = [*config, *_NOTHING][:3]
    return HostLaunch(
        tuple(reader.text(one).replace(" ", "").strip("()") for one in template),
        tokens[at].position.line,
        reader.extent(grid),
        reader.extent(block),
        reader.text(third) if third else "0",
        tuple(map(_written, arguments)),
        tuple(map(_written, config)),
        tuple(_is_zeroed(tokens[:name], one) for one in arguments),
    )


def _is_zeroed(tokens: Sequence[Token], argument: Sequence[Token]) -> bool:
    """Say whether a buffer is set to zero by ``cudaMemset`` before a launch, and not filled then.

    How much of it is zeroed is not looked at: most often that is all.
    """
    if len(argument) != 1:
        return False
    for at in range(len(tokens) - 3, -1, -1):
        if not tokens[at].text.startswith(("cudaMemset", "cudaMemcpy")):
            continue
        parts, _ = _parts(tokens, at + 2, ")")
        filled = parts[0] if tokens[at + 1].text == "(" and parts else []
        if [one.text for one in filled[-1:]] == [argument[0].text]:
            is_set = tokens[at].text.startswith("cudaMemset") and len(parts) > 1
            return is_set and _written(parts[1]) == "0"
    return False


def _name(tokens: Sequence[Token], at: int) -> int:
    """Return where the kernel's name stands before ``<<<``."""
    name, depth = at - 1, 0
    last = max(0, at - _LONGEST_TEMPLATE)
    while name > last and (depth or tokens[name].text == ">"):
        depth += (tokens[name].text == ">") - (tokens[name].text == "<")
        name -= 1
    return name


def _parts(tokens: Sequence[Token], at: int, closing: str) -> tuple[list[list[Token]], int]:
    """Return what stands at the commas outside of brackets, and where the closing mark is."""
    parts: list[list[Token]] = [[]]
    depth, last = 0, at + _LONGEST
    while at < min(last, len(tokens)):
        token = tokens[at]
        if depth == 0 and token.text in (closing, ";"):
            break
        depth += _step(token)
        if depth < 0:
            break
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
        at += 1
    return (parts if parts != [[]] else []), at


def _step(token: Token) -> int:
    """Return by how much a token leads into brackets."""
    return (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))


def _written(tokens: Sequence[Token]) -> str:
    return "".join(" " * (at > 0 and one.spaced) + one.text for at, one in enumerate(tokens))


class _Reader:
    """Reads the expressions of a launch in the function that it stands in."""

    def __init__(self, scopes: Sequence[_Scope], passed: frozenset[str]) -> None:
        self.scopes, self.passed = scopes, passed
        self.left = _MOST_VARIABLES

    def extent(self, tokens: Sequence[Token]) -> tuple[str, ...]:
        """Return a grid or a block: up to three expressions."""
        if len(tokens) == 1 and tokens[0].kind == "name" and tokens[0].text not in self.passed:
            tokens = self.value(tokens[0].text) or tokens
        if len(tokens) > 1 and (tokens[0].text == "dim3" or tokens[0].text == "{"):
            opening = int(tokens[0].text == "dim3")
            parts, end = _parts(tokens, opening + 1, _CLOSING.get(tokens[opening].text, ""))
            if end == len(tokens) - 1:
                return tuple(map(self.text, parts))
        parts, _ = _parts(tokens, 0, "")
        return tuple(map(self.text, parts))

    def text(self, tokens: Sequence[Token]) -> str:
        """Return an expression with casts left out, sizes of types and known variables put in."""
        words: list[str] = []
        at = 0
        while at < len(tokens):
            token, after = tokens[at], tokens[at + 1].text if at + 1 < len(tokens) else ""
            kind, end = _bracketed(tokens, at + (token.text in ("sizeof", "static_cast")))
            if token.text == "sizeof" and kind in _SIZES:
                words.append(str(_SIZES[kind]))
                at = end
            elif token.text in ("(", "static_cast") and kind in _SIZES:
                at = end  # a cast
            elif token.text == "std" and after == "::":
                at += 2
            elif after == "." and (axis := self.axis(token.text, tokens[at + 2 : at + 3])):
                words.append(f"({axis})")
                at += 3
            else:
                words.append(self.word(token, after))
                at += 1
        return " ".join(words)

    def axis(self, name: str, member: Sequence[Token]) -> str:
        """Return x, y or z of a ``dim3`` that is set once, or nothing."""
        value = self.value(name) if member and member[0].text in _AXES else None
        if not value or value[0].text in self.passed:
            return ""
        sizes = (*self.extent(value), "1", "1")
        return sizes[_AXES.index(member[0].text)]

    def word(self, token: Token, after: str) -> str:
        if token.kind == "number":
            found = _NUMBER.fullmatch(token.text.replace("'", ""))
            return str(int(found[1], 0)) if found else token.text
        if token.kind != "name" or token.text in self.passed:
            return token.text
        if after == "(":
            return "ceil_div" if token.text.lower() == "ceil_div" else token.text
        value = self.value(token.text)
        return token.text if value is None else f"({self.text(value)})"

    def value(self, name: str) -> Sequence[Token] | None:
        """Return what a variable of the function, or else of the file, is set to, if one thing."""
        self.left -= 1
        scope = next((one for one in self.scopes if one.touched(name)), None)
        return scope.initial(name) if scope is not None and self.left >= 0 else None


class _Scope:
    """Variables of a function, or of the file outside of functions."""

    def __init__(self, tokens: Iterable[Token]) -> None:
        self.tokens = list(tokens)
        self._places: dict[str, list[int]] = {}
        for at in range(1, len(self.tokens) - 1):
            if self.tokens[at].kind == "name":
                self._places.setdefault(self.tokens[at].text, []).append(at)
        self._touched: dict[str, list[int]] = {}

    def touched(self, name: str) -> list[int]:
        """Return where a variable is declared, set, or has its address taken."""
        if name not in self._touched:
            self._touched[name] = list(filter(self._touches, self._places.get(name, ())))
        return self._touched[name]

    def _touches(self, at: int) -> bool:
        before, after = self.tokens[at - 1], self.tokens[at + 1]
        if before.text in (".", "->", "::"):
            return False
        member = self.tokens[min(at + 3, len(self.tokens) - 1)]
        return (
            (before.kind == "name" and before.text != "return" and after.text in _BEHIND)
            or (before.text == "," and after.text in ("(", "{") and self._listed(at))
            or after.text in _WRITES
            or before.text in ("++", "--", "&")
            or (after.text == "." and member.text in _WRITES)
        )

    def _listed(self, at: int) -> bool:
        """Say whether a name behind a comma is declared: ``dim3 grid(4), block(32, 8);``."""
        depth = 0
        for before in range(at - 1, max(0, at - _LONGEST), -1):
            text = self.tokens[before].text
            depth -= _step(self.tokens[before])
            if depth < 0 or (depth == 0 and text == ";"):
                return False
            if depth == 0 and text == "dim3":
                return True
        return False

    def initial(self, name: str) -> Sequence[Token] | None:
        """Return what a variable is set to where it is declared, if it is never set again."""
        if len(self.touched(name)) != 1:
            return None
        start = self.touched(name)[0] + 1
        if self.tokens[start].text in _CLOSING:
            _, end = _parts(self.tokens, start + 1, _CLOSING[self.tokens[start].text])
        elif self.tokens[start].text == "=":
            depth, end = 0, start + 1
            while end < len(self.tokens) and (depth or self.tokens[end].text not in _ENDS):
                depth += _step(self.tokens[end])
                end += 1
        else:
            return None
        return self.tokens[start + 1 : end]


def _bracketed(tokens: Sequence[Token], at: int) -> tuple[str, int]:
    """Return the words in the bracket that opens here, and the place behind it."""
    opening = tokens[at].text if at < len(tokens) else ""
    for end in range(at + 1, min(at + 5, len(tokens))):
        if tokens[end].text == {"(": ")", "<": ">"}.get(opening):
            return " ".join(one.text for one in tokens[at + 1 : end]), end + 1
    return "", at
