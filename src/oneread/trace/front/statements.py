"""Statements and functions' bodies.

Goes on behind a statement that cannot be read, so that one error does not hide the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from oneread.trace.front.declarations import DeclarationParser
from oneread.trace.front.expressions import SIZES
from oneread.trace.front.report import Refused, guess
from oneread.trace.front.syntax import (
    Body,
    Compound,
    DoLoop,
    Expr,
    ForLoop,
    FunctionHead,
    Jump,
    Number,
    Selection,
    Simple,
    Statement,
    WhileLoop,
)


class Parser(DeclarationParser):
    """Parses the declarations and bodies of a file at the cursor."""

    #: Whether every statement of the body could be read so far.
    reads_all = True

    def body(self, head: FunctionHead) -> Body:
        """Parse the body of a function whose head was read."""
        self.lost, self.reads_all = set(head.lost), True
        self.depth = 0
        assert head.body is not None
        self.at = head.body
        self.scopes.append({p.type.declarator.name: False for p in head.parameters})
        try:
            block = self.compound()
            return Body(block, frozenset(self.lost), self.reads_all)
        finally:
            self.scopes.pop()
            self.lost = self.lost_of_file

    def compound(self) -> Compound:
        """Parse ``{...}``; statements that cannot be read are left out."""
        opening = self.expect("{")
        statements: list[Statement] = []
        self.scopes.append({})
        while not self.sees("}") and self.token.kind != "end":
            start = self.at
            depth, scopes = self.depth, len(self.scopes)
            try:
                found = self.statement()
            except Refused:
                self.depth, self.reads_all = depth, False
                del self.scopes[scopes:]
                self.skip_to_statement(start)
                if self.at == start:  # a brace that stands here by itself
                    self.at += 1
                continue
            if found is not None:
                statements.append(found)
        self.scopes.pop()
        self.take("}")  # where the file ends instead, the outline has said so
        return Compound(opening.position, tuple(statements))

    def statement(self) -> Statement | None:
        """Parse a statement; None for one without effect."""
        outer, self.astray = self.astray, False
        try:
            with self.deeper():
                found = self.parsed()
            if found is not None:
                found.astray = self.astray
            return found
        finally:
            self.astray = outer

    def parsed(self) -> Statement | None:
        token = self.token
        if token.kind == "bad":
            raise self.unreadable(token)
        if token.kind == "mark":
            if token.text == "{":
                return self.compound()
            if self.take(";"):
                return None
            if self.begins_attribute():
                return self.worded()
        if token.kind == "name":
            parse = _STATEMENTS.get(token.text, Parser.worded)
            return parse(self)
        return self.simple()

    def worded(self) -> Statement | None:
        """Parse a statement that begins with no keyword of its own: a declaration or a value."""
        token = self.token
        if token.text in ("case", "default") or (self.ahead().text == ":" and not self.sees("::")):
            raise self.report.outside("a label", token)
        if self.begins_struct():
            return self.struct_or_enum()
        if token.text in ("typedef", "using"):
            return self.alias()
        if token.text == "template":
            self.whole = True
            raise self.report.outside("a local template", token)
        if self.begins_mistyped():
            return _STATEMENTS[self.token.text](self)
        if self.begins_declaration():
            return self.variables()
        if self.is_refused(token):
            raise self.refused(token)
        return self.simple()

    def begins_mistyped(self) -> bool:
        """Say whether a statement's keyword stands here misspelt; it is mended then."""
        after = self.ahead()
        if after.text == "(":
            heads = ("if", "for", "while")
            return (
                bool(guess(self.token.text, heads))
                and self.is_head()
                and self.mends("keyword", *heads)
            )
        if after.text == ";":
            return self.mends("keyword", "return", "break", "continue")
        if after.text == "{":
            return self.mends("keyword", "else", "do")
        is_value = after.kind in ("name", "number", "character") and not after.first
        return is_value and self.mends("keyword", "return")

    def is_head(self) -> bool:
        """Say whether what stands here in brackets governs a statement, and is no call."""
        place = self.closing(self.at + 2, commas=False)
        behind = self.tokens[place + 1] if self.tokens[place].text == ")" else self.tokens[place]
        return self.begins_type(2) or behind.text == "{" or behind.kind == "name"

    def begins_declaration(self) -> bool:
        token, after = self.token, self.ahead()
        if self.begins_attribute() or token.text in _DECLARING:
            return True
        if token.kind != "name" or token.text in SIZES:
            return False
        if self.begins_type(0):
            # `T(x);` and `T{x};` are values.
            is_function_pointer = after.text == "(" and self.ahead(2).text in ("*", "&")
            is_value = after.text in ("(", "{") and token.text not in ("const", "volatile")
            return is_function_pointer or not is_value
        # Two names in a row: the first should have been a type.
        if self.is_refused(token) or self.is_refused(after):
            return False
        if after.text in ("*", "&") and self.ahead(2).kind == "name":
            return not self.is_declared(token.text) and self.ahead(3).text in ("=", ";", ",")
        return after.kind == "name" and not after.first and not self.is_declared(token.text)

    def simple(self) -> Simple:
        start = self.token
        value = self.expression()
        self.semicolon()
        return Simple(start.position, value)

    def condition(self) -> Expr:
        """Parse a condition in its brackets; of one that cannot be read, 1 stays."""
        start = self.token
        opening = self.opened()
        first = self.at
        try:
            if self.begins_declaration():
                raise self.report.outside("a declaration in a condition", self.token)
            value = self.expression()
            if self.sees(";"):
                raise self.report.outside("an initialiser in a condition", self.token)
            self.expect(")", opening)
            return value
        except Refused:
            self.skip_head(first)
            return Number(start.position, "1")

    def inner(self) -> Statement:
        """Parse the statement that a condition or loop governs."""
        where = self.token.position
        self.scopes.append({})
        try:
            return self.statement() or Compound(where, ())
        finally:
            self.scopes.pop()

    def parse_if(self) -> Selection:
        word = self.next()
        settled = self.take("constexpr")
        condition = self.condition()
        then = self.inner()
        if self.ahead().text == "{" or self.ahead().kind == "name":
            self.mends("keyword", "else")
        otherwise = self.inner() if self.take("else") else None
        return Selection(word.position, condition, then, otherwise, settled)

    def parse_else(self) -> Statement:
        raise self.report.error("else-lost", self.next())

    def parse_for(self) -> ForLoop:
        word = self.next()
        opening = self.opened()
        first = self.at
        loop = ForLoop(word.position, None, None, None, Compound(word.position, ()))
        self.scopes.append({})
        try:
            try:
                self.loop_head(loop)
                if self.sees(";"):  # of three
                    raise self.expected("')'")
                self.expect(")", opening)
            except Refused:
                self.skip_head(first)
            if loop.start is not None:
                loop.start.astray = self.astray
            loop.body = self.inner()
            return loop
        finally:
            self.scopes.pop()

    def loop_head(self, loop: ForLoop) -> None:
        """Parse what stands in the brackets of a for."""
        if not self.take(";"):
            loop.start = self.variables() if self.begins_declaration() else self.simple()
        if self.sees(")"):
            raise self.expected("';'")
        loop.condition = None if self.sees(";") else self.expression()
        self.expect(";")
        loop.step = None if self.sees(")") else self.expression()

    def parse_while(self) -> WhileLoop:
        word = self.next()
        condition = self.condition()
        return WhileLoop(word.position, condition, self.inner())

    def parse_do(self) -> DoLoop:
        word = self.next()
        body = self.inner()
        self.mends("keyword", "while")
        self.expect("while")
        condition = self.condition()
        self.semicolon()
        return DoLoop(word.position, body, condition)

    def parse_return(self) -> Jump:
        word = self.next()
        value: Expr | None = None
        if not self.sees(";"):
            value = self.braces() if self.sees("{") else self.expression()
        self.semicolon()
        return Jump(word.position, "return", value)

    def jump(self) -> Jump:
        word = self.next()
        self.semicolon()
        return Jump(word.position, word.text)


_STATEMENTS: Final[dict[str, Callable[[Parser], Statement | None]]] = {
    "if": Parser.parse_if,
    "else": Parser.parse_else,
    "for": Parser.parse_for,
    "while": Parser.parse_while,
    "do": Parser.parse_do,
    "return": Parser.parse_return,
    "break": Parser.jump,
    "continue": Parser.jump,
    "static_assert": Parser.static_assert,
}

_DECLARING = frozenset(
    {
        "extern", "static", "constexpr", "__shared__", "__constant__", "register", "__align__",
        "alignas",
    }
)  # fmt: skip
