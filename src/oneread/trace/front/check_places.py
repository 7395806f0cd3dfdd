"""Places: what is assigned to, counted up or has its address taken; and values made to fit them.

Knows which types meet; knows no name and no call.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Final

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_literals import LiteralChecker
from oneread.trace.front.names import Constant
from oneread.trace.front.report import all_of
from oneread.trace.types import (
    BOOL,
    INT,
    PTRDIFF_T,
    Array,
    Pointer,
    Scalar,
    Type,
    Void,
    common,
    promote,
)

_OF_INTEGERS: Final = frozenset({"%", "&", "|", "^", "<<", ">>"})


class PlaceChecker(LiteralChecker):
    """Checks places in the scopes of one function or of the file."""

    @abstractmethod
    def made_variable(self, kind: Type, where: Position) -> tree.Variable:
        """Return a new variable of local memory that the source does not name."""

    def value(self, node: syntax.Expr) -> tree.Expr:
        return nodes.loaded(self.checked(node))

    def values(self, *wanted: syntax.Expr) -> list[tree.Expr]:
        """Check expressions beside each other and return their values."""
        return all_of(*(partial(self.value, node) for node in wanted))

    def unused(self, node: syntax.Expr) -> tree.Expr:
        """Check an expression whose value nobody uses: a place is not read."""
        found = self.checked(node)
        return nodes.loaded(found) if isinstance(found.type, Array) else found

    def temporary(self, value: tree.Expr, where: Position) -> tree.Expr:
        """Return a place of its own for a value."""
        return tree.Temporary(where, value.type, self.made_variable(value.type, where), value)

    def constant_variable(self, node: syntax.Expr) -> str:
        """Return the name of the const variable that stands here for its value, if one does."""
        if isinstance(node, syntax.Name):
            meaning = self.names.find(node.name)
            if isinstance(meaning, Constant) and meaning.is_variable:
                return node.name
        return ""

    def address(self, node: syntax.Prefix) -> tree.Expr:
        place = self.checked(node.value)
        if self.constant_variable(node.value):
            kind = Pointer(place.type, const=True)
            place = self.temporary(place, node.position)
            return tree.AddressOf(node.position, kind, place)
        if not isinstance(place, tree.Lvalue):
            raise self.report.error("address", node.position)
        kind = nodes.pointer_to(place)
        return tree.AddressOf(node.position, kind, nodes.in_memory(place))

    def target(self, node: syntax.Expr, where: Position) -> tree.Expr:
        """Check the left side of an assignment."""
        place = self.checked(node)
        if name := self.constant_variable(node):
            raise self.report.error("assign-const", where, what=f"'{name}'")
        if not isinstance(place, tree.Lvalue):
            raise self.report.error("assign-value", where)
        if nodes.qualifiers(place)[0]:
            variable = nodes.root(place)
            what = f"'{variable.name}'" if variable else "what this points to"
            raise self.report.error("assign-const", where, what=what)
        if isinstance(place.type, Array):
            raise self.report.error("assign-array", where)
        if nodes.has_const(place.type):
            raise self.report.error("assign-const", where, what=f"a member of {place.type}")
        return place

    def stepped(self, where: Position, sign: str, operand: syntax.Expr, postfix: bool) -> tree.Expr:
        """Check ``++`` and ``--``."""
        place = self.target(operand, where)
        kind = place.type
        if isinstance(kind, Pointer):
            self.pointed(place, where, "star")
            one: tree.Expr = tree.Literal(where, PTRDIFF_T, 1)
            return tree.Update(where, kind, sign, place, one, kind, postfix)
        if not isinstance(kind, Scalar) or kind is BOOL:
            raise self.report.error("sign", where, operator=sign * 2, type=str(kind))
        compute = promote(kind)
        one = nodes.converted(tree.Literal(where, INT, 1), compute)
        return tree.Update(where, kind, sign, place, one, compute, postfix)

    def assignment(self, node: syntax.Infix) -> tree.Expr:
        where = node.position
        if isinstance(node.right, syntax.Braces):
            place = self.target(node.left, where)
            value = self.initialiser(node.right, place.type)
        else:
            place, value = self.both_sides(node)
            value = self.fitting(value, place.type, node.right.position)
        return tree.Assign(where, place.type, place, value)

    def both_sides(self, node: syntax.Infix) -> list[tree.Expr]:
        return all_of(lambda: self.target(node.left, node.position), lambda: self.value(node.right))

    @abstractmethod
    def initialiser(self, node: syntax.Expr, kind: Type) -> tree.Expr:
        """Check what a variable of a type is set to."""

    def update(self, node: syntax.Infix) -> tree.Expr:
        operator, where = node.operator[:-1], node.position
        place, value = self.both_sides(node)
        kind = place.type
        if isinstance(kind, Pointer):
            self.pointed(place, where, "star")
            if operator not in ("+", "-") or not nodes.is_index(value):
                self.check_operands(where, node.operator, kind, value.type)
            steps = nodes.converted(value, PTRDIFF_T)
            return tree.Update(where, kind, operator, place, steps, kind, False)
        self.check_operands(where, node.operator, kind, value.type)
        other = value.type
        assert isinstance(kind, Scalar)
        assert isinstance(other, Scalar)
        if operator in ("<<", ">>"):
            compute = promote(kind)
            value = nodes.converted(value, promote(other))
        else:
            compute = common(kind, other)
            value = nodes.converted(value, compute)
        return tree.Update(where, kind, operator, place, value, compute, False)

    def pointed(self, pointer: tree.Expr, where: Position, message: str) -> Pointer:
        """Return the type of a pointer to something with a size, or raise."""
        kind = pointer.type
        if not isinstance(kind, Pointer):
            raise self.report.error(message, where, type=str(kind))
        if isinstance(kind.target, Void):
            raise self.report.error("void-pointer", where, type=str(kind))
        return kind

    def check_operands(self, where: Position, operator: str, left: Type, right: Type) -> None:
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            of_integers = operator.rstrip("=") in _OF_INTEGERS
            if not of_integers or "float" not in (left.kind, right.kind):
                return
        raise self.report.error(
            "operands", where, operator=operator, left=str(left), right=str(right)
        )

    def as_bool(self, value: tree.Expr) -> tree.Expr:
        """Return a condition as a bool."""
        condition = nodes.implicit(value, BOOL)
        if condition is None:
            raise self.report.error("condition", value.position, type=str(value.type))
        return condition

    def fitting(self, value: tree.Expr, kind: Type, where: Position) -> tree.Expr:
        """Return a value as one of a type, or raise where C++ does not convert by itself."""
        found = nodes.implicit(value, kind)
        if found is not None:
            return found
        have = value.type
        if isinstance(have, Pointer) and isinstance(kind, Pointer) and have.target == kind.target:
            raise self.report.error("drops-const", where, left=str(have), right=str(kind))
        hint = "cast-hint" if nodes.castable(have, kind) and not isinstance(have, Void) else ""
        raise self.report.error("convert", where, hint, left=str(have), right=str(kind))
