"""A place in a list of tokens: looking ahead, taking, expecting, giving up and going on.

Knows which words are types at the moment; knows no grammar.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from oneread.source.errors import Diagnostic
from oneread.source.text import Position
from oneread.source.tokens import Token
from oneread.trace.front.report import Refused, Report, guess, nearest
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
        self.tokens = list(tokens)
        self.report = report
        self.at = 0
        self.depth = 0
        #: Names declared in each open scope: whether they are types.
        self.scopes: list[dict[str, bool]] = [{}]
        self.templates: set[str] = set()
        #: Names in code of the file, and of what is being read of it, that could not be read.
        self.lost_of_file: set[str] = set()
        self.lost = self.lost_of_file
        #: Whether this statement has an error of grammar: a second one may follow from it.
        self.astray = False
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

    def correct(self, text: str) -> None:
        """Put the word that was meant in the place of the next token."""
        self.tokens[self.at] = self.token._replace(text=text)

    def expect(self, text: str, opening: Token | None = None, what: str = "") -> Token:
        """Take this token, or raise; for a bracket, show where it was opened.

        Where a bracket is never closed, that is reported and reading goes on as if it were.
        """
        if self.sees(text):
            return self.next()
        notes = self.opened_here(opening) if text in _OPENERS else ()
        refused = self.expected(what or f"'{text}'", notes)
        if text not in _OPENERS or self.closes_later(text):
            raise refused
        return self.token

    def opened_here(self, opening: Token | None) -> tuple[Diagnostic, ...]:
        """Return the note that shows a bracket, if there is one."""
        if opening is None:
            return ()
        return (Diagnostic("opened-here", opening.position, {"open": opening.text}, "note"),)

    def opened(self) -> Token | None:
        """Take the round bracket of a head; where it is missing, report that and go on."""
        if self.sees("("):
            return self.next()
        self.expected("'('")
        return None

    def closes_later(self, bracket: str) -> bool:
        """Say whether this statement has a bracket further on that closes an earlier one."""
        depth = 0
        for place in range(self.at, len(self.tokens)):
            text, where, *_ = self.tokens[place][1:]
            if text == ";" and where not in self.report.uses:
                return False
            depth += (text == _OPENERS[bracket]) - (text == bracket)
            if depth < 0:
                return True
        return False

    def expected(self, what: str, notes: tuple[Diagnostic, ...] = ()) -> Refused:
        """Report that something else should stand here."""
        token = self.token
        if token.kind == "bad":
            return self.unreadable(token)
        before = self.tokens[self.at - 1] if self.at else token
        if token.kind == "end":
            return self.grammar("expected-end", before.behind, notes, what=what)
        if token.first and self.at:
            # Whoever forgets the end of a line looks there, not at the start of the next.
            return self.grammar("expected-line", before.behind, notes, what=what)
        if self.is_refused(token):
            return self.refused(token)
        return self.grammar("expected", token.position, notes, what=what, found=token.text)

    def grammar(
        self, message: str, where: Position, notes: tuple[Diagnostic, ...] = (), **parameters: str
    ) -> Refused:
        """Report an error of grammar, the first of a statement only."""
        if self.astray:
            return Refused()
        self.astray = True
        return self.report.error(message, where, notes=notes, **parameters)

    def semicolon(self) -> None:
        """Take a `;`; where it is missing, report it behind the last token and go on."""
        if self.take(";"):
            return
        token, before = self.token, self.tokens[self.at - 1]
        if token.kind == "bad":
            raise self.unreadable(token)
        notes = self.report.came_from(before.position)
        astray = self.astray
        refused = self.grammar("semicolon", before.behind, notes, before=before.text)
        if self.sees(")", "]") and self.ahead().text == ";":
            self.at += 2  # one bracket too many, or one too few before the last name
            self.lost |= {before.text} if before.kind == "name" else set()
        elif not (token.first or self.sees("}", "else")) and (
            self.closes_later(")") or not self.begins_statement()
        ):
            raise refused
        else:
            self.astray = astray  # what was read is all of it

    def begins_statement(self) -> bool:
        """Say whether a statement begins here, as far as its first two tokens tell."""
        token = self.token
        return token.kind == "name" and (
            token.text in _BEGINNERS
            or self.is_type(token.text)
            or (self.is_declared(token.text) and self.ahead().text in _BEHIND_NAMES)
        )

    def mends(self, message: str, *words: str) -> bool:
        """Say whether one of these words stands here misspelt; it is reported and mended."""
        token = self.token
        if token.kind != "name" or token.text in words or self.is_declared(token.text):
            return False
        close = guess(token.text, words)
        if close:
            self.report.error(message, token, "did-you-mean", name=token.text, guess=close)
            self.correct(close)
        return bool(close)

    def unreadable(self, token: Token) -> Refused:
        """Report a token that is none."""
        shown = ""
        if token.text == "stray":
            file = self.report.files.get(token.position.file)
            line = file.line(token.position.line) if file else ""
            char = line[token.position.column - 1 : token.position.column]
            shown = f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}" if char else ""
        return self.report.error(token.text, token, shown=shown, bracket="}")

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

    def types(self) -> list[str]:
        """Return the names of types here, those of one word that C++ has too."""
        known = [word for scope in self.scopes for word, is_type in scope.items() if is_type]
        return [*known, "float", "int", "unsigned", "bool", "char", "double", "short", "long"]

    def mends_type(self, *words: str) -> bool:
        """Report a word that is no type; say whether what was meant is sure, and so mended.

        Parameters
        ----------
        *words : str
            What may stand here besides the names of types.

        Returns
        -------
        bool
            False where the word stays as it is: a name that is lost.
        """
        token = self.token
        close, is_sure = nearest(token.text, [*self.types(), *words])
        if close or token.text not in self.lost | self.lost_of_file:
            hint = "did-you-mean" if close else ""
            self.report.error("type-unknown", token, hint, name=token.text, guess=close)
        if is_sure:
            self.correct(close)
        else:
            self.lost.add(token.text)
            self.astray = True
        return is_sure

    def ends_whole(self, place: int) -> bool:
        """Say whether a statement with blocks ends before this place."""
        return self.tokens[place].text not in ("catch", ";", ")", ",")

    def skip_to_statement(self, start: int) -> None:
        """Go on behind a statement that began at `start` and could not be read."""
        failed = max(self.at, start)
        whole, self.whole = self.whole, False
        depth = {"(": 0, "[": 0, "{": 0}
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
            if place >= failed and text == ";" and (flat or self.tokens[place + 1].first):
                place += 1
                break
            if whole and text == "}" and depth["{"] == 1 and self.ends_whole(place + 1):
                place += 1
                break
            if text in depth:
                depth[text] += 1
            elif text in _OPENERS:
                depth[_OPENERS[text]] = max(0, depth[_OPENERS[text]] - 1)
            place += 1
        self.skip_to(place, start)

    def skip_parameter(self, start: int) -> None:
        """Go to the comma or bracket behind a parameter that could not be read."""
        self.skip_to(self.closing(self.at, commas=True), start)

    def skip_head(self, opening: int) -> None:
        """Go on behind the head of a loop, condition or function that could not be read."""
        place = self.closing(opening, commas=False)
        while self.tokens[place].text == ")":
            after = self.tokens[place + 1]
            further = self.closing(place + 1, commas=False)  # a bracket more, or the rest of a for
            closes = self.tokens[further].text == ")" and after.text in (")", ";")
            if not closes or self.tokens[further].position.line != after.position.line:
                place += 1
                break
            place = further
        self.skip_to(place, opening)

    def closing(self, start: int, commas: bool) -> int:
        """Return where the next bracket closes that is not opened behind `start`, or a comma is."""
        depth, last, values = 0, 0, 0
        for place in range(start, len(self.tokens) - 1):
            text = self.tokens[place].text
            if text == "{" and self.tokens[place - 1].text in ("=", ",", "(", ":"):
                values += 1
            elif text == "}" and values:
                values -= 1
                continue
            if values:
                continue
            depth += (text == "(") - (text == ")")
            if depth < 0 or (commas and text == "," and not depth):
                return place
            if text in ("{", "}") or (text == ";" and self.tokens[place + 1].first):
                return last or place  # none closes: the last one has to
            last = place if text == ")" and not commas else last
        return len(self.tokens) - 1

    def skip_to(self, place: int, start: int) -> None:
        """Go to a place; what is declared between, as it seems, counts as lost."""
        self.at = place
        depth = 0
        for at in range(max(1, start), place):
            before, token, after = self.tokens[at - 1 : at + 2]
            depth += (token.text == "(") - (token.text == ")")
            if token.kind == "name" and (
                before.kind == "name"
                or before.text in ("*", "&", ">", "}")
                or (not depth and (before.text == "," or after.text in ("=", "[")))
            ):
                self.lost.add(token.text)


#: Words that may be meant where a type is expected.
TYPE_WORDS: Final = frozenset(
    {
        "float", "int", "unsigned", "bool", "char", "double", "short", "long", "void", "const",
        "auto", "constexpr", "static", "extern", "volatile", "inline", "struct", "typename",
    }
)  # fmt: skip

#: What may follow a name at the beginning of a statement.
_BEHIND_NAMES: Final = frozenset(
    {
        "=", "[", "(", ".", "->", "++", "--", "+=", "-=", "*=", "/=", "&=", "|=", "^=", "<<=",
        ">>=", "<", ">", "<=", ">=", "==", "!=",
    }
)  # fmt: skip

#: Refused words that have blocks of their own behind them.
_WITH_BLOCKS: Final = frozenset({"switch", "try", "class", "union"})

_BEGINNERS: Final = frozenset(
    {
        "if", "for", "while", "do", "return", "break", "continue", "__shared__", "const",
        "float", "int", "unsigned", "bool", "size_t", "auto", "double", "float4", "char",
        "short", "long", "constexpr", "static", "__syncthreads",
    }
)  # fmt: skip
