"""Types as they are written, made types: base words, stars, dimensions.

The lowest layer of the checker. Knows names and layouts; knows no statement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import islice

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.front import syntax
from oneread.trace.front.names import Lost, Named, Names
from oneread.trace.front.report import Refused, Report, guess
from oneread.trace.types import (
    Array,
    Field,
    Pointer,
    Scalar,
    Struct,
    Type,
    Void,
    make_struct,
)
from oneread.trace.walking import under

#: Largest array or struct that is laid out at all, in bytes; what a block may have is the machine's
#: to say.
MAXIMUM_BYTES = 1 << 20

#: Members of a struct, those of its members included: structs of two structs double at each level.
MAXIMUM_MEMBERS = 1024

_MAXIMUM_ALIGN = 128


class TypeChecker(ABC):
    """Resolves types in the scopes of one function or of the file.

    Parameters
    ----------
    names : Names
        What is visible.
    report : Report
        Takes what is wrong.
    lost : frozenset of str
        Names in code that could not be read.
    """

    def __init__(self, names: Names, report: Report, lost: frozenset[str] = frozenset()) -> None:
        self.names = names
        self.report = report
        self.lost = lost

    @abstractmethod
    def value(self, node: syntax.Expr) -> tree.Expr:
        """Check an expression and return its value."""

    def is_later(self, name: str) -> bool:
        """Say whether the file declares a name, further down."""
        return False

    def used_before(self, name: str, where: Position) -> Refused:
        return self.report.error("used-before", where, "used-before-hint", name=name)

    def base_type(self, words: syntax.TypeWords) -> Named:
        """Return the type that words name, ``auto`` aside."""
        meaning = self.names.find(words.name)
        if isinstance(meaning, Named):
            return meaning
        if isinstance(meaning, Lost) or words.name in self.lost:
            raise Refused
        if self.is_later(words.name):
            raise self.used_before(words.name, words.position)
        types = [name for name in self.names.known() if isinstance(self.names.find(name), Named)]
        close = guess(words.name, types)
        hint = "did-you-mean" if close else ""
        raise self.report.error("type-unknown", words.position, hint, name=words.name, guess=close)

    def resolved(
        self, words: syntax.TypeWords, declarator: syntax.Declarator, auto: Named | None = None
    ) -> tuple[Type, bool]:
        """Return the type of a declarator and whether what it declares is const itself.

        Parameters
        ----------
        words : syntax.TypeWords
            Words of the type.
        declarator : syntax.Declarator
            Stars and dimensions.
        auto : Named, optional
            What ``auto`` stands for.

        Returns
        -------
        Type
            The type; a reference's is that of what it stands for.
        bool
            Whether it is const.
        """
        base = auto if words.name == "auto" and auto else self.base_type(words)
        kind, const = base.type, words.const or base.const
        volatile = words.volatile or base.volatile
        for star_const, star_volatile in declarator.pointers:
            kind = Pointer(kind, const, volatile)
            const, volatile = star_const, star_volatile
        for dimension in reversed(declarator.dimensions):
            kind = Array(kind, self.length(dimension, declarator))
        self.check_array(kind, declarator)
        return kind, const

    def check_array(self, kind: Type, declarator: syntax.Declarator) -> None:
        if not isinstance(kind, Array):
            return
        element = kind.element
        while isinstance(element, Array):
            if element.length is None:
                raise self.report.error("dimension-missing", declarator.position)
            element = element.element
        if isinstance(element, Void):
            raise self.report.error("void-variable", declarator.position, name=declarator.name)
        if kind.size > MAXIMUM_BYTES:
            raise self.report.error(
                "array-large", declarator.position, name=declarator.name, size=kind.size,
                limit=MAXIMUM_BYTES,
            )  # fmt: skip

    def length(self, dimension: syntax.Expr | None, declarator: syntax.Declarator) -> int | None:
        if dimension is None:
            return None
        length = self.constant(dimension, "the length of an array")
        if length < 1:
            raise self.report.error(
                "array-length", dimension.position, name=declarator.name, length=length
            )
        return length

    def not_constant(self, value: tree.Expr, where: Position, what: str) -> Refused:
        """Report a value that is not known at compile time."""
        if any(isinstance(one, tree.Call) for one in under(value)):
            return self.report.outside("a call in a constant", where)
        return self.report.error("not-constant", where, "not-constant-hint", what=what)

    def constant(self, node: syntax.Expr, what: str) -> int:
        """Return the value of an integer that has to be known at compile time."""
        value = self.value(node)
        if not isinstance(value, tree.Literal) or not isinstance(value.type, Scalar):
            raise self.not_constant(value, node.position, what)
        if value.type.kind == "float":
            raise self.report.error("not-integer", node.position, what=what, type=str(value.type))
        return int(value.value)

    def type_id(self, node: syntax.TypeId) -> Type:
        """Return the type of a cast."""
        return self.argument_type(node).type

    def argument_type(self, node: syntax.TypeId) -> Named:
        """Return the type of a cast or template argument with its qualifiers."""
        if node.words.name == "auto":
            raise self.report.error("auto-here", node.words.position)
        if node.declarator.reference:
            raise self.report.outside("a cast to a reference", node.words.position)
        return Named(*self.resolved(node.words, node.declarator), self.is_volatile(node))

    def is_volatile(self, node: syntax.TypeId) -> bool:
        return node.words.volatile and not node.declarator.pointers

    def alignment(self, node: syntax.Expr | None) -> int:
        if node is None:
            return 1
        align = self.constant(node, "an alignment")
        if align < 1 or align & (align - 1) or align > _MAXIMUM_ALIGN:
            raise self.report.error("alignment", node.position, align=align, limit=_MAXIMUM_ALIGN)
        return align

    def struct(self, node: syntax.StructType) -> Struct:
        """Lay out a struct of the source."""
        members: list[tuple[str, Type, bool]] = []
        for line in node.members:
            for declarator, default in line.declared:
                if default is not None:
                    raise self.report.outside("a member's default", declarator.position)
                if line.flags:
                    flag = min(line.flags)
                    raise self.report.error("member-flag", line.position, flag=flag)
                members.append(self.member(line.words, declarator, members))
        if not members:
            raise self.report.error("struct-empty", node.position, name=node.name)
        made = make_struct(node.name, members, self.alignment(node.align))
        if made.size > MAXIMUM_BYTES:
            raise self.report.error(
                "struct-large", node.position, name=node.name, size=made.size, limit=MAXIMUM_BYTES
            )
        if sum(1 for _ in islice(_members(made), MAXIMUM_MEMBERS + 1)) > MAXIMUM_MEMBERS:
            raise self.report.error(
                "struct-members", node.position, name=node.name, limit=MAXIMUM_MEMBERS
            )
        return made

    def member(
        self,
        words: syntax.TypeWords,
        declarator: syntax.Declarator,
        members: list[tuple[str, Type, bool]],
    ) -> tuple[str, Type, bool]:
        where = declarator.position
        if declarator.reference or words.name == "auto":
            what = "a member that is a reference or auto"
            raise self.report.outside(what, where)
        kind, const = self.resolved(words, declarator)
        if isinstance(kind, Void) or (isinstance(kind, Array) and kind.length is None):
            raise self.report.error("void-variable", where, name=declarator.name)
        if any(declarator.name == name for name, _, _ in members):
            raise self.report.error("twice", where, name=declarator.name)
        return declarator.name, kind, const


def _members(kind: Type) -> Iterator[Field]:
    """Yield the members of a struct, and those of its members."""
    while isinstance(kind, Array):
        kind = kind.element
    if isinstance(kind, Struct):
        for field in kind.fields:
            yield field
            yield from _members(field.type)
