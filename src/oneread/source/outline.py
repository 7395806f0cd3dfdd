"""The outline of a file: its functions, types and constants, found by their braces.

Works on tokens, before or after macros are expanded. Knows where a declaration begins and ends and
what its first words say; what lies inside is not read, so that host code of any kind may stand
beside a kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.source.errors import Diagnostic
from oneread.source.tokens import Token

#: ``text`` is what stands before a kernel and is no part of it, such as the words of a web page.
PieceKind: TypeAlias = Literal[
    "kernel", "device", "host", "type", "alias", "value", "assert", "text"
]

#: Words followed by brackets that are no parameters.
_ATTRIBUTES: Final = frozenset(
    {"__launch_bounds__", "__align__", "alignas", "__attribute__", "decltype", "__cluster_dims__"}
)

#: Words of a kernel that stand before its `__global__`.
_BEFORE_GLOBAL: Final = frozenset(
    {
        "extern",
        "static",
        "inline",
        "void",
        "const",
        "__forceinline__",
        "__host__",
        "__device__",
        "template",
    }
)
#: Tokens of the longest ``template <...>`` before a kernel.
_LONGEST_TEMPLATE: Final = 200
#: Words that begin a declaration and nothing else.
_BEGINNING: Final = frozenset(
    {"__global__", "__device__", "template", "struct", "constexpr", "static", "extern", "using"}
)
_TYPE_WORDS: Final = frozenset({"struct", "class", "union", "enum"})

#: Marks around template arguments: how many levels each opens.
_ANGLES: Final = {"<": 1, ">": -1, ">>": -2}


@dataclass(frozen=True, slots=True)
class Piece:
    """A declaration at file level: tokens ``start`` up to ``stop``, its body's braces included.

    Of a function without a body, ``body`` is `stop`; ``parameters`` is where its bracket opens.
    """

    kind: PieceKind
    name: str
    start: int
    stop: int
    body: int
    parameters: int
    is_template: bool


def outline(tokens: Sequence[Token]) -> tuple[list[Piece], list[Diagnostic]]:
    """Cut the tokens of a file into its declarations.

    Parameters
    ----------
    tokens : sequence of Token
        All tokens, without directives; one of kind ``end`` last.

    Returns
    -------
    list of Piece
        The declarations in order; ``namespace`` and ``extern "C"`` blocks are looked through.
    list of Diagnostic
        Braces without a partner.
    """
    return _Outline(tokens).run()


def reached(pieces: Iterable[Piece], tokens: Sequence[Token], name: str) -> set[int]:
    """Return what a kernel may reach: all that is named in it, and in that, and so on.

    Parameters
    ----------
    pieces : iterable of Piece
        The outline.
    tokens : sequence of Token
        What it was made from.
    name : str
        The kernel.

    Returns
    -------
    set of int
        Where the pieces start; a `static_assert` is among them unless it names what is not.
    """
    homes: dict[str, list[Piece]] = {}
    asserts: list[Piece] = []
    for piece in pieces:
        if piece.kind == "assert":
            asserts.append(piece)
            continue
        for one in declared(piece, tokens):
            homes.setdefault(one, []).append(piece)
    found: set[int] = set()
    waiting = [name]
    while waiting:
        for piece in homes.pop(waiting.pop(), ()):
            found.add(piece.start)
            words = {token.text for token in tokens[piece.start : piece.stop]}
            waiting += [word for word in words if word in homes]
    for piece in asserts:
        words = {token.text for token in tokens[piece.start : piece.stop]}
        if all(home.start in found for word in words for home in homes.get(word, ())):
            found.add(piece.start)
    return found


def declared(piece: Piece, tokens: Sequence[Token]) -> set[str]:
    """Return the names that a declaration brings, perhaps a few more."""
    if piece.kind in ("kernel", "device", "host", "text"):
        return {piece.name} - {""}
    # An enumeration brings its items; of a struct only what stands around its braces counts.
    inside = tokens[piece.body].text == "{"
    is_enum = any(token.text == "enum" for token in tokens[piece.start : piece.body])
    names = {piece.name}
    depth = 0
    for at in range(piece.start, piece.stop - 1):
        token, after = tokens[at], tokens[at + 1].text
        if token.kind == "mark":
            depth += (token.text == "{") - (token.text == "}")
        elif (
            token.kind == "name"
            and after in ("=", ";", ",", "[", "{", "}", "(")
            and (depth == 0 or is_enum or not inside)
        ):
            names.add(token.text)
    return names - {""}


class _Outline:
    """One run over the tokens of a file."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.pieces: list[Piece] = []
        self.problems: list[Diagnostic] = []
        self.at = 0

    def run(self) -> tuple[list[Piece], list[Diagnostic]]:
        blocks: list[Token] = []
        while (token := self.tokens[self.at]).kind != "end":
            if token.text == ";":
                self.at += 1
            elif token.text == "}" and token.kind == "mark":
                if not blocks:
                    self.problem("bracket-lost", token, bracket="}")
                else:
                    blocks.pop()
                self.at += 1
            elif (inside := self.opens_block()) is not None:
                blocks.append(self.tokens[inside])
                self.at = inside + 1
            else:
                self.piece()
        for token in blocks:
            self.problem("bracket-open", token, bracket="{")
        return self.pieces, self.problems

    def problem(self, message: str, token: Token, bracket: str) -> None:
        self.problems.append(Diagnostic(message, token.position, {"bracket": bracket}))

    def opens_block(self) -> int | None:
        """Return where the brace of a namespace or linkage block is, if one begins here."""
        at, tokens = self.at, self.tokens
        if tokens[at].text == "extern" and tokens[at + 1].kind == "string":
            at += 2
        elif tokens[at].text in ("namespace", "inline") and tokens[at + 1].kind != "end":
            at += 1
            while tokens[at].kind == "name" or tokens[at].text == "::":
                at += 1
            if "namespace" not in (token.text for token in tokens[self.at : at]):
                return None
        else:
            return None
        return at if tokens[at].text == "{" and tokens[at].kind == "mark" else None

    def piece(self) -> None:
        start = self.at
        body = self.head_end(start)
        start = self.kernel_start(start, body)
        head = self.tokens[start:body]
        words = {token.text for token in head}
        skipped = _template_head(head)
        is_function, name, parameters = _name(head[skipped:], start + skipped)
        if self.tokens[body].text == "{":
            stop = self.closing(body)
            if not is_function:
                # The declarators behind a struct, and the semicolon that some forget.
                stop = self.semicolon(stop)
        else:
            stop = min(body + 1, len(self.tokens) - 1)
        self.at = max(stop, start + 1)
        kind = _kind(words, is_function)
        self.pieces.append(Piece(kind, name, start, self.at, body, parameters, "template" in words))

    def kernel_start(self, start: int, body: int) -> int:
        """Return where the words of a kernel begin; what stands before becomes a piece."""
        at = next((p for p in range(start, body) if self.tokens[p].text == "__global__"), start)
        while at > start:
            before = self.tokens[at - 1]
            if before.text == ">":
                near = range(at - 1, max(start, at - _LONGEST_TEMPLATE) - 1, -1)
                opening = next((p for p in near if self.tokens[p].text == "template"), -1)
                if opening < 0:
                    break
                at = opening
            elif before.text in _BEFORE_GLOBAL or before.kind == "string":
                at -= 1
            else:
                break
        if at > start:
            self.pieces.append(Piece("text", "", start, at, at, at, False))
        return at

    def head_end(self, at: int) -> int:
        """Return where the first `{`, `;` or `}` outside of round brackets stands."""
        depth, has_value = 0, False
        for place in range(at, len(self.tokens)):
            token = self.tokens[place]
            if token.kind == "end":
                return place
            if has_value and token.first and depth == 0 and token.text in _BEGINNING:
                return place - 1  # the semicolon of the declaration before is missing
            if token.kind != "mark":
                continue
            has_value |= token.text == "="
            if token.text in "{}" or (
                token.text == ";" and (depth <= 0 or self.tokens[place + 1].first)
            ):
                return place
            depth += (token.text == "(") - (token.text == ")")
            after = self.tokens[place + 1]
            if self.tokens[at].text == "static_assert" and after.first and depth == 0:
                return place  # its semicolon is missing
        return len(self.tokens) - 1

    def closing(self, opening: int) -> int:
        """Return the place behind the brace that closes this one."""
        depth = 0
        for place in range(opening, len(self.tokens)):
            token = self.tokens[place]
            if token.text == "__global__" or token.kind == "end":
                # No kernel begins inside of anything: a brace was forgotten.
                self.problem("bracket-open", self.unclosed(opening, place), bracket="{")
                return self.line_start(place)
            if token.kind == "mark":
                depth += (token.text == "{") - (token.text == "}")
                if depth == 0:
                    return place + 1
        return len(self.tokens) - 1

    def unclosed(self, opening: int, stop: int) -> Token:
        """Return the brace that was probably forgotten: its partner is not as far indented."""
        stack: list[tuple[Token, int]] = []
        indent = 0
        for token in self.tokens[opening:stop]:
            if token.first or token is self.tokens[opening]:
                indent = token.position.column
            if token.text == "{" and token.kind == "mark":
                stack.append((token, indent))
            elif token.text == "}" and token.kind == "mark" and stack:
                brace, wanted = stack.pop()
                if token.first and token.position.column < wanted:
                    return brace
        return stack[-1][0] if stack else self.tokens[opening]

    def line_start(self, place: int) -> int:
        """Return where the declaration around a `__global__` begins: behind `;` or a brace."""
        if self.tokens[place].kind == "end":
            return place
        while self.tokens[place - 1].text not in (";", "{", "}"):
            place -= 1
        return place

    def semicolon(self, at: int) -> int:
        """Return the place behind the next semicolon, if it ends this declaration."""
        place = at
        while self.tokens[place].kind != "end" and self.tokens[place].text not in (";", "{", "}"):
            place += 1
        return place + 1 if self.tokens[place].text == ";" else at


def _template_head(head: Sequence[Token]) -> int:
    """Return how many tokens ``template <...>`` takes at the start of a declaration."""
    if not head or head[0].text != "template":
        return 0
    angle = round_ = 0
    for at, token in enumerate(head):
        round_ += (token.text == "(") - (token.text == ")")
        if not round_ and token.text in _ANGLES:
            angle += _ANGLES[token.text]
            if angle <= 0:
                return at + 1
    return 0


def _name(head: Sequence[Token], start: int) -> tuple[bool, str, int]:
    """Return whether a head is that of a function, the name it declares and its bracket's place."""
    last = ""
    depth = angle = 0
    for at, token in enumerate(head):
        mark = token.text if token.kind == "mark" else ""
        if mark == "(":
            if depth == angle == 0 and last and last not in _ATTRIBUTES:
                return last != "static_assert", last, start + at
            depth += 1
        elif mark == ")" and depth == 0 and last:
            # The bracket that opens is missing: two words before the first comma are a parameter.
            names = [place for place in range(at) if head[place].kind == "name"]
            first = next((p for p in range(at) if head[p].text == ","), at)
            named = [place for place in names if place < first and head[place].text != "const"]
            if len(named) > 2:
                return True, head[named[-3]].text, start + named[-3] + 1
            depth -= 1
        elif mark == ")":
            depth -= 1
        elif mark in _ANGLES and depth == 0 and last != "operator":
            # What stands between these is an argument: the name of `f<int>` is f.
            angle = max(0, angle + _ANGLES[mark])
        elif depth or angle:
            continue
        elif mark == "=" or (mark == "[" and last):
            break
        elif token.kind == "name" and token.text != "final":
            last = token.text
    return False, last, start + len(head)


def _kind(words: set[str], is_function: bool) -> PieceKind:
    """Return what a declaration is, by the words before its body."""
    if "__global__" in words:
        return "kernel"
    if is_function and "typedef" not in words:
        return "device" if "__device__" in words else "host"
    if "static_assert" in words:
        return "assert"
    if words & {"typedef", "using", "namespace"}:
        return "alias"
    return "type" if words & _TYPE_WORDS else "value"
