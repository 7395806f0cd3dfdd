"""Slips that hide what a file declares: words of CUDA misspelt, braces without a partner.

Works on tokens before the outline is made of them; of braces it goes by how the lines are indented.
Knows no grammar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from oneread.source.errors import Diagnostic
from oneread.source.text import Position
from oneread.source.tokens import Token
from oneread.trace.front.report import guess

_WORDS: Final = frozenset(
    {
        "__global__", "__device__", "__shared__", "__constant__", "__host__", "__restrict__",
        "__forceinline__", "__noinline__", "__grid_constant__",
    }
)  # fmt: skip
_WITH_NUMBERS: Final = frozenset({"__launch_bounds__", "__align__"})
_WITH_BLOCKS: Final = frozenset({"struct", "enum", "union", "class", "namespace"})
#: Names between which and a block nothing else stands.
_BEFORE_BLOCKS: Final = frozenset({"else", "do", "try", "const", "noexcept", "return"})
_KNOWN: Final = _WORDS | _WITH_NUMBERS | {"__restrict", "__inline__"}

#: Behind these stands the name of a type, which is nobody's slip.
_NAMING: Final = frozenset({"struct", "enum", "union", "class", "typename", "using"})

#: More slips than these are no slips: the text is indented in a way of its own.
_MOST_BRACES: Final = 3

#: Tokens of the longest head of a block that is looked through.
_LONGEST_HEAD: Final = 1000


def mend_words(tokens: list[Token]) -> dict[Position, str]:
    """Put what was meant in the place of misspelt words that declarations begin with.

    Parameters
    ----------
    tokens : list of Token
        Of a file, one of kind ``end`` last; changed in place.

    Returns
    -------
    dict of Position to str
        What stood at each place that was changed.
    """
    named = {after.text for token, after in pairwise(tokens) if token.text in _NAMING}
    found: dict[Position, str] = {}
    for at, token in enumerate(tokens):
        if token.kind == "name" and (words := _candidates(tokens, at)):
            meant = guess(token.text, words)
            if meant and token.text not in named and token.text.lower() != meant:
                found[token.position] = token.text
                tokens[at] = token._replace(text=meant)
    return found


def _candidates(tokens: Sequence[Token], at: int) -> frozenset[str]:
    """Return the words one of which may be meant by a name."""
    text, after = tokens[at].text, tokens[at + 1]
    if text[0] == "_" or text[-1] == "_":
        if text in _KNOWN:
            return frozenset()
        return _WITH_NUMBERS if after.text == "(" else _WORDS if after.kind == "name" else _NONE
    before = tokens[at - 1].text if at else ";"
    if before in ("<", ",") and after.kind == "name":
        return frozenset({"typename"})
    if before not in (";", "{", "}", ">"):
        return _NONE
    if after.text == "<":
        return frozenset({"template"})
    if after.kind == "string":
        return frozenset({"extern"})
    if after.text in ("{", "__align__", "alignas") or (
        after.kind == "name" and tokens[at + 2].text in ("{", ":")
    ):
        return _WITH_BLOCKS
    return frozenset({"typedef"}) if after.kind == "name" else _NONE


_NONE: Final[frozenset[str]] = frozenset()


@dataclass(slots=True)
class _Open:
    """An open brace and the column where the line of its head begins; 0 for a whole namespace."""

    token: Token
    column: int
    #: Of a value in braces, the round brackets around it that are open; of others -1.
    around: int = -1


def mend_braces(tokens: Sequence[Token]) -> tuple[list[Token], list[Diagnostic]]:
    """Add the braces that are missing and leave out those too many, as the indentation shows them.

    Parameters
    ----------
    tokens : sequence of Token
        Of a file whose braces do not match.

    Returns
    -------
    list of Token
        The tokens with all braces matched; none where the indentation tells too little.
    list of Diagnostic
        What was missing or too much, each at its place.
    """
    mender = _Braces(tokens)
    mender.run()
    if mender.is_unclear or len(mender.problems) > _MOST_BRACES:
        return [], []
    return mender.out, mender.problems


class _Braces:
    """One run over the tokens of a file."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.out: list[Token] = []
        #: Of each of them, the column in which its line begins.
        self.columns: list[int] = []
        self.problems: list[Diagnostic] = []
        self.open: list[_Open] = []
        #: Where in `out` the last line of each column begins, columns further right left out.
        self.lines: dict[int, int] = {}
        #: Braces that end a line of something else, and what they closed.
        self.suspects: list[tuple[Token, _Open]] = []
        self.column = 0
        #: Whether the text ends within a statement, or blocks are not indented.
        self.is_unclear = False
        #: Round brackets that are open.
        self.round = 0

    def run(self) -> None:
        for token in self.tokens:
            if len(self.problems) > _MOST_BRACES:
                return
            if token.kind == "end":
                last = self.out[-1] if self.out else token
                complete = last.text in (";", "}", ")", "]") or last.kind in ("name", "number")
                self.is_unclear |= bool(self.open) and not complete
                self.close_beyond(0)
                self.put(token)
                return
            if token.first:
                self.column = token.position.column
            mark = token.text if token.kind == "mark" else ""
            if mark == "}":
                self.closing(token)
                continue
            self.close_values(token)
            self.round += (mark == "(") - (mark == ")")
            if token.first and mark != "{":
                self.begin_line()
            elif token.text == "else":
                self.lines[self.column] = len(self.out)  # of a line that a brace begins
            if mark == "{":
                self.opening(token)
            self.put(token)

    def put(self, token: Token) -> None:
        self.out.append(token)
        self.columns.append(self.column)

    def head(self) -> int:
        """Return the column of the line with the word whose brace is to come."""
        depth = 0
        for place in range(len(self.out) - 1, max(-1, len(self.out) - _LONGEST_HEAD), -1):
            text = self.out[place].text
            depth += (text == ")") - (text == "(")
            if depth == 0:
                return self.columns[place - (text == "(" and place > 0)]
        return self.column

    def begin_line(self) -> None:
        """Close what should have been closed before a line, and note where it begins."""
        self.close_beyond(self.column)
        self.lines = {at: place for at, place in self.lines.items() if at < self.column}
        self.lines[self.column] = len(self.out)

    def opening(self, token: Token) -> None:
        if self.is_value():
            self.open.append(_Open(token, self.column, self.round))
        else:
            self.open.append(_Open(token, 0 if self.is_whole() else self.head()))
            self.round = 0  # one that is open still was never closed

    def is_value(self) -> bool:
        """Say whether the brace to come is that of a value, and not of a block."""
        if len(self.out) < 2:
            return False
        named, before = self.out[-2:]
        if before.kind == "name" and before.text not in _BEFORE_BLOCKS:
            return named.text not in _WITH_BLOCKS | {":", "::", ")"}
        return before.text in ("=", ",", "(", "return") or (before.text == ":" and self.round > 0)

    def close_values(self, token: Token) -> None:
        """Close the values in braces before a mark that cannot stand in them."""
        while self.open and self.open[-1].around >= 0:
            ends = token.text == ")" and self.round == self.open[-1].around
            if token.kind != "mark" or not (ends or token.text == ";"):
                return
            opened = self.open.pop().token
            note = Diagnostic("opened-here", opened.position, {"open": "{"}, "note")
            parameters = {"what": "',' or '}'", "found": token.text}
            self.problems.append(Diagnostic("expected", token.position, parameters, notes=(note,)))
            self.put(Token("mark", "}", self.out[-1].behind))

    def is_whole(self) -> bool:
        """Say whether the brace to come is that of a namespace or of a linkage block."""
        before = self.out[-4:]
        linkage = bool(before) and before[-1].kind == "string"
        return linkage or any(one.text == "namespace" for one in before)

    def close_beyond(self, column: int) -> None:
        """Close what should have been closed before a line that begins at a column."""
        while self.open and (self.open[-1].column >= column > 0 or column == 0):
            self.add_closing(self.open.pop())

    def add_closing(self, one: _Open) -> None:
        self.problem("bracket-open", one.token.position, bracket="{")
        self.is_unclear |= self.out[-1] is one.token
        # Behind a struct a semicolon stands, which looks like one too many within it.
        place = len(self.out) - ([one.text for one in self.out[-2:]] == [";", ";"])
        self.out.insert(place, Token("mark", "}", self.out[place - 1].behind, first=True))
        self.columns.insert(place, self.column)

    def problem(self, message: str, where: Position, **parameters: str) -> None:
        self.problems.append(Diagnostic(message, where, parameters))

    def closing(self, token: Token) -> None:
        """Take a closing brace, with what is missing before it, or leave it out."""
        if not token.first:
            self.closing_inline(token)
            return
        column = token.position.column
        while self.open and self.open[-1].column > column:
            self.add_closing(self.open.pop())
        if self.open and self.open[-1].column == column:
            self.open.pop()
        elif not self.opened_before(column):
            if self.open and not self.open[-1].column:
                self.open.pop()
            elif not self.closed_early(column):
                self.problem("bracket-lost", token.position, bracket="}")
                return
        self.put(token)

    def closing_inline(self, token: Token) -> None:
        """Take a closing brace behind something else in its line."""
        partner = self.open[-1] if self.open else None
        here = partner is not None and partner.token.position.line == token.position.line
        if partner is not None and (here or partner.around >= 0):
            self.open.pop()
        elif self.out and self.out[-1].text not in (";", "{", "}"):
            # Of a value whose opening brace is missing: whoever reads it tells what is wrong.
            token = token._replace(kind="bad", text="bracket-lost")
        elif partner is not None:
            self.suspects.append((token, self.open.pop()))
        elif not self.opened_in_line(len(self.out)):
            self.problem("bracket-lost", token.position, bracket="}")
            return
        self.put(token)

    def opened_before(self, column: int) -> bool:
        """Say whether the head that a closing brace belongs to lacks its brace; it is added."""
        place = self.lines.get(column)
        return place is not None and self.add_opening(place, len(self.out), in_line=False)

    def opened_in_line(self, stop: int) -> bool:
        """Say whether a head in the line that ends here lacks its brace; it is added."""
        start = next((at for at in range(stop - 1, -1, -1) if self.out[at].first), stop)
        return self.add_opening(start, stop, in_line=True)

    def add_opening(self, start: int, stop: int, in_line: bool) -> bool:
        """Add the brace behind the head that begins here, unless it has one or is none."""
        depth, is_type = 0, stop > start and self.out[start].text in _WITH_BLOCKS
        for at in range(start, stop - 1):
            text, after = self.out[at].text, self.out[at + 1]
            depth += (text == "(") - (text == ")")
            word = self.out[at - 1].text if at > start else ""
            names = word in _WITH_BLOCKS and text not in ("__align__", "alignas")  # `struct MD`
            names |= word == ")" and is_type
            ends = (text == ")" and not depth and not is_type) or text in ("else", "do") or names
            if text in ("{", ";") and not depth:
                return False
            if ends and after.text not in ("{", ";") and after.first != in_line:
                message, found = ("expected", after.text) if in_line else ("expected-line", "")
                where = after.position if in_line else self.out[at].behind
                self.problem(message, where, what="'{'", found=found)
                self.out.insert(at + 1, Token("mark", "{", self.out[at].behind))
                self.columns.insert(at + 1, self.columns[at])
                return True
        return False

    def closed_early(self, column: int) -> bool:
        """Say whether a brace at the end of some line closed what this one should.

        It goes, unless a head in its line lacks the brace that it closes.
        """
        for at in range(len(self.suspects) - 1, -1, -1):
            token, one = self.suspects[at]
            if one.column == column:
                del self.suspects[at]
                place = self.out.index(token)
                if not self.opened_in_line(place):
                    del self.out[place], self.columns[place]
                    self.problem("bracket-lost", token.position, bracket="}")
                return True
        return False
