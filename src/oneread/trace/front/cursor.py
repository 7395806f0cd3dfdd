"""A place in a list of tokens: looking ahead, taking, expecting, giving up and going on.

Knows which words are types at the moment; knows no grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from oneread.source.errors import Diagnostic
from oneread.source.tokens import Token
from oneread.trace.front.report import Refused, Report, guess
from oneread.trace.refusals import REFUSED_NAMES, REFUSED_WORDS

_OPENERS: Final = {")": "(", "]": "[", "}": "{"}


class Cursor:
    """A parser's place among the tokens.

    Parameters
    ----------
    tokens : sequence of Token
        All of a file, one of kind ``end`` last.
    report : Report
        Takes what is wrong.
    """

    def __init__(self, tokens: Sequence[Token], report: Report) -> None:
        self.tokens = tokens
        self.report = report
        self.at = 0
        self.depth = 0
        #: Names declared in each open scope: whether they are types.
        self.scopes: list[dict[str, bool]] = [{}]
        self.templates: set[str] = set()
        #: Names in code of this function, and of the file, that could not be read.
        self.lost: set[str] = set()
        self.lost_of_file: set[str] = set()
        #: Whether all of a refused statement is to be skipped, the blocks in it too.
        self.whole = False

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def ahead(self, count: int = 1) -> Token:
        """Return a token further on; beyond the last, the last."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Take a token; the last is never passed."""
        token = self.tokens[self.at]
        if token.kind == "bad":
            raise self.unreadable(token)
        if token.kind != "end":
            self.at += 1
        return token

    def sees(self, *texts: str) -> bool:
        """Say whether the next token is one of these marks or words."""
        token = self.tokens[self.at]
        return token.text in texts and token.kind in ("mark", "name")

    def take(self, text: str) -> bool:
        """Take the next token if it is this one."""
        if self.sees(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str, opening: Token | None = None, what: str = "") -> Token:
        """Take this token, or raise; for a bracket, show where it was opened."""
        if self.sees(text):
            return self.next()
        notes: tuple[Diagnostic, ...] = ()
        if opening is not None and text in _OPENERS:
            parameters = {"open": _OPENERS[text]}
            notes = (Diagnostic("opened-here", opening.position, parameters, "note"),)
        raise self.expected(what or f"'{text}'", notes)

    def expected(self, what: str, notes: tuple[Diagnostic, ...] = ()) -> Refused:
        """Report that something else should stand here."""
        token = self.token
        if token.kind == "bad":
            return self.unreadable(token)
        before = self.tokens[self.at - 1] if self.at else token
        if token.kind == "end":
            return self.report.error("expected-end", before.behind, notes=notes, what=what)
        if token.first and self.at:
            # Whoever forgets the end of a line looks there, not at the start of the next.
            return self.report.error("expected-line", before.behind, notes=notes, what=what)
        if self.is_refused(token):
            return self.refused(token)
        return self.report.error("expected", token, notes=notes, what=what, found=token.text)

    def semicolon(self) -> None:
        """Take a `;`; where it is missing, report it behind the last token and go on."""
        if self.take(";"):
            return
        token, before = self.token, self.tokens[self.at - 1]
        if token.kind == "bad":
            raise self.unreadable(token)
        notes = self.report.came_from(before.position)
        self.report.error("semicolon", before.behind, notes=notes, before=before.text)
        if not token.first and not self.sees("}"):
            raise Refused

    def unreadable(self, token: Token) -> Refused:
        """Report a token that is none."""
        shown = ""
        if token.text == "stray":
            file = self.report.files.get(token.position.file)
            line = file.line(token.position.line) if file else ""
            char = line[token.position.column - 1 : token.position.column]
            shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}" if char else ""
        return self.report.error(token.text, token, shown=shown)

    def refused(self, token: Token) -> Refused:
        """Report a word that begins something outside the subset."""
        self.whole = token.text in _WITH_BLOCKS
        what = REFUSED_WORDS.get(token.text) or REFUSED_NAMES[token.text]
        return self.report.outside(what, token)

    def is_refused(self, token: Token) -> bool:
        """Say whether a word begins something outside the subset."""
        return token.text in REFUSED_WORDS or (
            token.text in REFUSED_NAMES and not self.is_declared(token.text)
        )

    def is_declared(self, name: str) -> bool:
        """Say whether a name is declared here, as a type or anything else."""
        return any(name in scope for scope in self.scopes)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Count a level of nesting, within the limit."""
        self.depth += 1
        try:
            if self.depth > self.report.limits.nesting:
                raise self.report.error("nesting", self.token, limit=self.report.limits.nesting)
            yield
        finally:
            self.depth -= 1

    def is_type(self, name: str) -> bool:
        """Say whether a name is that of a type here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return False

    def closest_type(self, name: str) -> str:
        """Return the type that was probably meant."""
        known = [word for scope in self.scopes for word, is_type in scope.items() if is_type]
        return guess(name, [*known, *_WORDS])

    def ends_whole(self, place: int) -> bool:
        """Say whether a statement with blocks ends before this place."""
        return self.tokens[place].text not in ("catch", ";", ")", ",")

    def skip_to_statement(self, start: int) -> None:
        """Go on behind a statement that began at `start` and could not be read.

        Its names are remembered: what it would have declared is not missed later.
        """
        failed = max(self.at, start)
        whole, self.whole = self.whole, False
        depth = {"(": 0, "[": 0, "{": 0}
        in_for = self.tokens[start].text == "for"
        place = start
        while (token := self.tokens[place]).kind != "end":
            text = token.text if token.kind == "mark" else ""
            flat = not any(depth.values())
            if place >= failed and text == "}" and not depth["{"]:
                break
            begins = token.first and token.text in _BEGINNERS and not depth["{"]
            if place > failed and begins and not whole:
                break
            opens = text == "{" and not depth["{"] and not whole
            if place >= failed and opens and self.tokens[place - 1].text in (")", "else", "do"):
                break
            # The header of a for has semicolons of its own.
            heads = in_for and not self.tokens[place + 1].first
            if place >= failed and text == ";" and flat and not heads:
                place += 1
                break
            if whole and text == "}" and depth["{"] == 1 and self.ends_whole(place + 1):
                place += 1
                break
            if text in depth:
                depth[text] += 1
            elif text in _OPENERS:
                depth[_OPENERS[text]] = max(0, depth[_OPENERS[text]] - 1)
            if token.kind == "name":
                self.lost.add(token.text)
            place += 1
        self.at = place


#: Words that may be meant where a type is expected.
_WORDS: Final = frozenset(
    {
        "float", "int", "unsigned", "bool", "char", "double", "short", "long", "void", "const",
        "auto", "return", "if", "else", "for", "while", "do", "break", "continue", "__shared__",
        "constexpr", "static_assert",
    }
)  # fmt: skip

#: Refused words that have blocks of their own behind them.
_WITH_BLOCKS: Final = frozenset({"switch", "try", "class", "union"})

_BEGINNERS: Final = frozenset(
    {
        "if", "for", "while", "do", "return", "break", "continue", "__shared__", "const",
        "float", "int", "unsigned", "bool", "size_t", "auto", "double", "float4",
        "__syncthreads",
    }
)  # fmt: skip
