"""Expressions: from tokens to the syntax tree.

Knows how tightly operators bind and where a type may stand; knows no meaning of a name.
"""

from __future__ import annotations

from typing import Final, TypeVar

from oneread.source.tokens import Token
from oneread.trace.front.precedence import ASSIGNMENT, BINDS, CHOICE, COMMA
from oneread.trace.front.report import Refused, guess
from oneread.trace.front.specifiers import SpecifierParser
from oneread.trace.front.syntax import (
    Access,
    Apply,
    Braces,
    Cast,
    Character,
    Choice,
    Declarator,
    Expr,
    Infix,
    Limit,
    Make,
    Name,
    Number,
    Postfix,
    Prefix,
    SizeOf,
    Subscript,
    TypeId,
)

#: What ends the arguments of a template.
_CLOSING: Final = frozenset({">", ">>"})
_PREFIXES: Final = frozenset({"-", "+", "!", "~", "*", "&", "++", "--"})
SIZES: Final = frozenset({"sizeof", "alignof"})
_CASTS: Final = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
_Made = TypeVar("_Made", bound=Expr)


class ExpressionParser(SpecifierParser):
    """Parses expressions at the cursor."""

    def made(self, node: _Made, *parts: Expr) -> _Made:
        """Return a node with its height, refused when that is beyond the limit of nesting."""
        node.height = 1 + max((part.height for part in parts), default=0)
        # A long chain of operators is as deep as brackets: it leans to the left.
        if node.height + self.depth > self.report.limits.nesting:
            limit = self.report.limits.nesting
            raise self.report.error("nesting", node.position, limit=limit)
        return node

    def expression(self, least: int = COMMA, in_angles: bool = False) -> Expr:
        """Parse an expression whose operators bind at least so tightly.

        In angles, as an argument of a template is, a ``>`` outside of brackets ends it.
        """
        self.depth += 1
        try:
            if self.depth > self.report.limits.nesting:
                raise self.report.error("nesting", self.token, limit=self.report.limits.nesting)
            left = self.unary()
            while (operator := self.token).kind == "mark":
                binds = BINDS.get(operator.text, 0)
                if binds < least or not binds or (in_angles and operator.text in _CLOSING):
                    break
                self.at += 1
                left = self.infix(operator, binds, left, in_angles)
            return left
        finally:
            self.depth -= 1

    def infix(self, operator: Token, binds: int, left: Expr, in_angles: bool) -> Expr:
        where = operator.position
        if binds == CHOICE:
            then = self.expression()
            self.expect(":")
            otherwise = self.expression(ASSIGNMENT, in_angles)
            return self.made(Choice(where, left, then, otherwise), left, then, otherwise)
        if binds == ASSIGNMENT:
            right = self.braces() if self.sees("{") else self.expression(ASSIGNMENT)
        else:
            if operator.text == "<<" and self.sees("<") and not self.token.spaced:
                raise self.report.outside("a kernel launch", operator)
            right = self.expression(binds + 1, in_angles)
        return self.made(Infix(where, operator.text, left, right), left, right)

    def unary(self) -> Expr:
        # Signs in a row are taken in a loop: only brackets and operators make the stack deeper.
        signs: list[Token | tuple[Token, TypeId]] = []
        while True:
            token = self.token
            if token.kind == "mark" and token.text in _PREFIXES:
                signs.append(self.next())
            elif token.text == "(" and self.opens_cast():
                opening = self.next()
                kind = self.type_id()
                self.expect(")", opening)
                signs.append((opening, kind))
            elif token.text in SIZES and not (self.ahead().text == "(" and self.begins_type(2)):
                signs.append(self.next())
            else:
                break
        value = self.postfix()
        for sign in reversed(signs):
            if isinstance(sign, Token) and sign.text in SIZES:
                value = self.made(SizeOf(sign.position, sign.text, value), value)
            elif isinstance(sign, Token):
                value = self.made(Prefix(sign.position, sign.text, value), value)
            else:
                value = self.made(Cast(sign[0].position, "", sign[1], value), value)
        return value

    def opens_cast(self) -> bool:
        """Say whether a round bracket holds a type, and so is a cast."""
        if not self.begins_type(1):
            return self.opens_mistyped_cast()
        after = 2
        while self.ahead(after).kind == "name" or self.ahead(after).text in ("::", "*", "&"):
            after += 1
        return self.ahead(after).text == ")"

    def opens_mistyped_cast(self) -> bool:
        """Say whether a round bracket holds a name that can only be meant as a type."""
        word, after = self.ahead(), 2
        if word.kind != "name" or self.is_declared(word.text) or self.is_refused(word):
            return False
        while self.ahead(after).text == "*":
            after += 1
        behind = self.ahead(after + 1)
        has_value = behind.kind in ("name", "number") and not behind.first
        if behind.text in ("(", "-", "!"):
            has_value = bool(guess(word.text, self.types()))
        return self.ahead(after).text == ")" and (after > 2 or has_value)

    def postfix(self) -> Expr:
        value = self.primary()
        while (token := self.token).kind == "mark":
            if token.text == "[":
                self.next()
                index = self.expression()
                self.expect("]", token)
                value = self.made(Subscript(value.position, value, index), value, index)
            elif token.text == "(":
                arguments = self.arguments(token)
                if not isinstance(value, Name):
                    raise self.report.outside("a call through a pointer", token)
                value = self.made(Apply(value.position, value, arguments), value, *arguments)
            elif token.text in (".", "->"):
                self.next()
                if self.token.kind != "name":
                    raise self.expected("the name of a member")
                if self.sees("operator") or self.ahead().text == "(":
                    raise self.report.outside("a member function", self.token)
                member = self.next()
                arrow = token.text == "->"
                # The position is that of the member: a wrong name is marked where it stands.
                value = self.made(Access(member.position, value, member.text, arrow), value)
            elif token.text in ("++", "--"):
                self.next()
                value = self.made(Postfix(token.position, token.text, value), value)
            else:
                break
        return value

    def arguments(self, opening: Token) -> tuple[Expr, ...]:
        """Parse ``(a, b)``, the opening bracket included."""
        self.expect("(")
        items: list[Expr] = []
        while not self.sees(")"):
            items.append(self.braces() if self.sees("{") else self.expression(ASSIGNMENT))
            if not self.take(","):
                break
        self.expect(")", opening, "',' or ')'")
        return tuple(items)

    def braces(self) -> Braces:
        """Parse ``{a, {b, c}}``."""
        opening = self.expect("{")
        with self.deeper():
            items: list[Expr] = []
            while not self.sees("}"):
                if self.sees(".") and self.ahead().kind == "name":
                    raise self.report.outside("a designated initialiser", self.token)
                items.append(self.braces() if self.sees("{") else self.expression(ASSIGNMENT))
                if not self.take(","):
                    break
            self.expect("}", opening, "',' or '}'")
        return self.made(Braces(opening.position, tuple(items)), *items)

    def primary(self) -> Expr:
        token = self.token
        if token.kind == "number":
            return Number(self.next().position, token.text)
        if token.kind == "character":
            return Character(self.next().position, token.text)
        if token.kind == "mark" and token.text == "(":
            self.next()
            value = self.expression()
            self.expect(")", token)
            return value
        if token.kind == "mark" and token.text == "[" and self.ahead().text in ("]", "&", "="):
            self.whole = True
            raise self.report.outside("a lambda", token)
        if token.kind == "string":
            raise self.report.outside("a string", token)
        if token.kind == "mark" and token.text == "{":
            raise self.expected("a value")
        if token.kind == "name" or token.text == "::":
            return self.word()
        raise self.expected("a value")

    def word(self) -> Expr:
        """Parse what begins with a name."""
        token = self.token
        if token.text in _CASTS:
            return self.cast()
        if token.text in SIZES:
            return self.size_of()
        if self.is_refused(token):
            raise self.refused(token)
        if self.begins_type(0):
            return self.make()
        if token.text in self.lost_of_file and (self.ahead().text == "{" or self.begins_type(2)):
            raise Refused  # a type or template that could not be read
        if self.ahead().text == "{" and self.begins_mistyped_value():
            return self.make()
        name = self.qualified()
        if isinstance(name, Limit):
            return name
        if name.name in self.templates and self.sees("<"):
            name.arguments = self.template_arguments()
        return name

    def begins_mistyped_value(self) -> bool:
        """Say whether the name before a brace can only be meant as a type; it is mended then."""
        return self.mends("type-unknown", *self.types())

    def cast(self) -> Expr:
        form = self.next()
        opening = self.expect("<")
        kind = self.type_id()
        self.expect(">", opening)
        bracket = self.expect("(")
        value = self.expression()
        self.expect(")", bracket)
        return self.made(Cast(form.position, form.text, kind, value), value)

    def size_of(self) -> Expr:
        """Parse ``sizeof(T)``."""
        token = self.next()
        opening = self.expect("(")
        kind = self.type_id()
        self.expect(")", opening)
        return SizeOf(token.position, token.text, kind)

    def make(self) -> Expr:
        """Parse ``T(a)`` or ``T{a, b}``."""
        start = self.token
        kind = TypeId(self.specifiers().words, Declarator(start.position, ""))
        if self.sees("{"):
            braces = self.braces()
            return self.made(Make(start.position, kind, braces.items, True), *braces.items)
        if not self.sees("("):
            raise self.grammar("type-as-value", start.position, name=kind.words.name)
        items = self.arguments(self.token)
        return self.made(Make(start.position, kind, items, False), *items)

    def qualified(self) -> Name | Limit:
        """Parse a name; ``std::`` and ``::`` before a built-in change nothing."""
        start = self.token
        self.take("::")
        if self.sees("std") and self.ahead().text == "::":
            known = self.ahead(2).text == "numeric_limits"
            if self.ahead(3).text == "<" and self.begins_type(4) and not known:
                raise self.scope_refused()  # a container, most often
            self.at += 2
        if self.sees("numeric_limits"):
            return self.limit(start)
        if self.token.kind != "name":
            raise self.expected("a name")
        if self.ahead().text == "::":
            raise self.scope_refused()
        name = self.next()
        return Name(name.position, name.text)

    def limit(self, start: Token) -> Limit:
        self.next()
        opening = self.expect("<")
        kind = self.type_id()
        self.expect(">", opening)
        self.expect("::")
        if self.token.kind != "name":
            raise self.expected("max, lowest, infinity or the like")
        member = self.next()
        bracket = self.expect("(")
        self.expect(")", bracket)
        return Limit(start.position, kind, member.text)

    def template_arguments(self) -> tuple[TypeId | Expr, ...]:
        """Parse ``<int, 32>``."""
        opening = self.expect("<")
        items: list[TypeId | Expr] = []
        while not self.sees(">"):
            items.append(self.type_id() if self.begins_type(0) else self.expression(CHOICE, True))
            if not self.take(","):
                break
        self.expect(">", opening)
        return tuple(items)
