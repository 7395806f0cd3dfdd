"""The words of a type and what stands around a declared name.

Knows which words make which type; knows no value of a dimension.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Final

from oneread.source.tokens import Token
from oneread.trace.front.cursor import TYPE_WORDS, Cursor
from oneread.trace.front.precedence import ASSIGNMENT, COMMA
from oneread.trace.front.report import Refused
from oneread.trace.front.syntax import Declarator, Expr, TypeId, TypeWords
from oneread.trace.refusals import REFUSED_WORDS

_BASE_WORDS: Final = frozenset(
    {
        "unsigned", "signed", "short", "long", "int", "char", "float", "double", "bool", "void",
        "auto",
    }
)  # fmt: skip
_QUALIFIERS: Final = frozenset({"const", "volatile"})

#: Words of a declaration that mean something here.
FLAGS: Final = frozenset(
    {
        "static", "extern", "constexpr", "__shared__", "__constant__", "__device__", "__host__",
        "__global__", "typedef",
    }
)  # fmt: skip

#: Words of a declaration that change nothing that a tracer sees.
IGNORED: Final = frozenset(
    {
        "inline", "__inline__", "__forceinline__", "__noinline__", "register", "__restrict__",
        "__restrict", "restrict", "typename", "__grid_constant__", "noexcept",
    }
)  # fmt: skip

_KEYWORDS: Final = _BASE_WORDS | _QUALIFIERS | FLAGS | frozenset(
    {
        "if", "else", "for", "while", "do", "return", "break", "continue", "struct", "enum",
        "sizeof", "alignof", "true", "false", "nullptr", "static_assert", "template", "using",
    }
)  # fmt: skip
_STORAGE: Final = frozenset({"static", "constexpr", "extern", "typedef"})
_BESIDE_STARS: Final = IGNORED | _QUALIFIERS

#: Each spelling of a type, its words in the order of the alphabet.
_SPELLINGS: Final = {
    "": "int", "signed": "int", "int": "int", "int signed": "int",
    "unsigned": "unsigned int", "int unsigned": "unsigned int",
    "short": "short", "int short": "short", "short signed": "short", "int short signed": "short",
    "short unsigned": "unsigned short", "int short unsigned": "unsigned short",
    "long": "long", "int long": "long", "long signed": "long", "int long signed": "long",
    "long unsigned": "unsigned long", "int long unsigned": "unsigned long",
    "long long": "long long", "int long long": "long long", "long long signed": "long long",
    "int long long signed": "long long",
    "long long unsigned": "unsigned long long", "int long long unsigned": "unsigned long long",
    "char": "char", "char signed": "signed char", "char unsigned": "unsigned char",
    "float": "float", "double": "double", "bool": "bool", "void": "void", "auto": "auto",
}  # fmt: skip


@dataclass(slots=True)
class Specifiers:
    """The words before the names of a declaration."""

    words: TypeWords
    flags: set[str] = field(default_factory=set)
    align: Expr | None = None
    max_threads: Expr | None = None


class SpecifierParser(Cursor, ABC):
    """Parses types and declarators at the cursor."""

    @abstractmethod
    def expression(self, least: int = COMMA, in_angles: bool = False) -> Expr:
        """Parse an expression; here for dimensions and alignments."""

    def begins_type(self, ahead: int) -> bool:
        """Say whether a type stands so many tokens ahead."""
        token = self.ahead(ahead)
        if token.kind != "name":
            return False
        text = token.text
        if text in ("std", "struct", "enum", "typename"):
            after = self.ahead(ahead + (2 if text == "std" else 1))
            return text != "std" or (self.is_type(after.text) and after.text != "numeric_limits")
        return text in _BASE_WORDS or text in _QUALIFIERS or self.is_type(text)

    def specifiers(self) -> Specifiers:
        """Parse the words of a declaration, up to its first star, name or mark."""
        start = self.token
        found = Specifiers(TypeWords(start.position, ""))
        base: list[str] = []
        named = ""
        while self.token.kind == "name" or self.sees("::") or self.begins_attribute():
            token = self.token
            if token.first and (base or named) and token.text in _STORAGE:
                break  # the declaration before has no semicolon
            if self.begins_attribute():
                self.attribute()
            elif token.text in _QUALIFIERS:
                self.next()
                found.words.const |= token.text == "const"
                found.words.volatile |= token.text == "volatile"
            elif token.text in FLAGS:
                found.flags.add(self.next().text)
                if token.text == "extern" and self.token.kind == "string":
                    self.next()
            elif token.text in IGNORED:
                self.next()
            elif token.text in ("__align__", "alignas"):
                found.align = self.bracketed()
            elif token.text == "__launch_bounds__":
                found.max_threads = self.bracketed()
            elif token.text in _BASE_WORDS:
                if named:
                    break
                base.append(self.next().text)
            elif not base and not named and self.begins_type(0):
                named = self.named_type()
            elif base and self.ahead().kind == "name" and self.mends("type-unknown", *_BASE_WORDS):
                continue  # `unsigned itn n`
            elif base or named or not self.is_mistyped():
                break
            else:
                named = self.mistyped()
        found.words.name = named or self.spelled(base, start)
        return found

    def is_mistyped(self) -> bool:
        """Say whether a word stands where a type has to, and is none."""
        token, after = self.token, self.ahead()
        behind = after.kind == "name" or after.text in ("*", "&", ")", ">")
        return token.kind == "name" and behind and not self.is_refused(token)

    def mistyped(self) -> str:
        """Mend a word that should be a type, or take it; return it where it is one that is lost."""
        word = self.token.text
        if self.mends_type(*TYPE_WORDS):
            return ""
        self.next()
        # Before a type it was no type itself, but a word beside it.
        return "" if self.begins_type(0) or self.token.text in FLAGS | IGNORED else word

    def begins_attribute(self) -> bool:
        return self.sees("[") and self.ahead().text == "[" and not self.ahead().spaced

    def attribute(self) -> None:
        """Skip ``[[...]]``."""
        opening = self.next()
        while not self.sees("]") and self.token.kind != "end":
            self.next()
        self.expect("]", opening)
        self.expect("]", opening)

    def bracketed(self) -> Expr:
        """Parse the number in ``__align__(16)``; further numbers are left aside."""
        self.next()
        opening = self.opened()
        value = self.expression(ASSIGNMENT)
        while self.take(","):
            self.expression(ASSIGNMENT)
        self.expect(")", opening)
        return value

    def named_type(self) -> str:
        """Take the name of a type, ``struct`` and ``std::`` before it left aside."""
        if self.sees("struct", "enum", "typename"):
            self.next()
        if self.sees("std"):
            self.next()
            self.expect("::")
        if self.token.kind != "name":
            raise self.expected("the name of a type")
        if not self.is_type(self.token.text):
            self.mends_type()
        return self.next().text

    def spelled(self, words: list[str], start: Token) -> str:
        if words:
            spelling = _SPELLINGS.get(" ".join(sorted(words)))
            if spelling is None:
                raise self.report.error("type-words", start, words=" ".join(words))
            return spelling
        if self.is_refused(self.token):
            raise self.refused(self.token)
        if self.token.kind == "name" and self.ahead().text == "::":
            raise self.scope_refused()
        if self.token.kind == "name":
            self.mends_type(*TYPE_WORDS)
            raise Refused
        raise self.expected("a type")

    def scope_refused(self) -> Refused:
        """Report ``name::`` of a namespace or class that is not in the subset."""
        token = self.token
        if self.is_refused(token):
            return self.refused(token)
        return self.report.outside("a name within a namespace or class", token)

    def declarator(self, abstract: bool = False) -> Declarator:
        """Parse stars, a reference, the name and dimensions."""
        start = self.token
        pointers: list[tuple[bool, bool]] = []
        reference = False
        while self.sees("*", "&", "&&") or self.token.text in _BESIDE_STARS:
            token = self.next()
            if token.text == "*":
                if reference:
                    raise self.report.outside("a pointer to a reference", token)
                pointers.append((False, False))
            elif token.text == "&&":
                raise self.report.outside("an rvalue reference", token)
            elif token.text == "&":
                reference = True
            elif token.text in _QUALIFIERS and pointers:
                const, volatile = pointers[-1]
                pointers[-1] = (const or token.text == "const", volatile or token.text != "const")
        return self.named(start, pointers, reference, abstract)

    def named(
        self, start: Token, pointers: list[tuple[bool, bool]], reference: bool, abstract: bool
    ) -> Declarator:
        """Parse the name of a declarator and the dimensions behind it."""
        if self.sees("("):
            if self.ahead().text in ("*", "&"):
                raise self.report.outside("a pointer to a function or array", self.ahead())
            if not abstract:
                raise self.expected("a name")
        name, position = "", start.position
        if self.token.kind == "name" and not abstract:
            if self.token.text in REFUSED_WORDS:
                raise self.refused(self.token)
            if self.token.text in _KEYWORDS:
                raise self.expected("a name")
            name, position = self.token.text, self.next().position
        dimensions: list[Expr | None] = []
        while self.sees("[") and not self.begins_attribute():
            opening = self.next()
            dimensions.append(None if self.sees("]") else self.expression(ASSIGNMENT))
            self.expect("]", opening)
        return Declarator(position, name, tuple(pointers), reference, tuple(dimensions))

    def type_id(self) -> TypeId:
        """Parse a type that names nothing, as in a cast."""
        found = self.specifiers()
        # const may stand behind: `float const*`.
        return TypeId(found.words, self.declarator(abstract=True))
