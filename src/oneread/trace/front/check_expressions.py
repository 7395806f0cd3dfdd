"""Expressions: from syntax to typed nodes.

Knows operators and places; calls are a layer above.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Final

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.builtins import FUNCTIONS, GEOMETRY
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_literals import LiteralChecker
from oneread.trace.front.names import Bound, Constant, Lost, Named
from oneread.trace.front.report import Refused, guess
from oneread.trace.types import (
    BOOL,
    INT,
    PTRDIFF_T,
    UINT,
    VOID,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    Void,
    common,
    promote,
)

_OF_INTEGERS: Final = frozenset({"%", "&", "|", "^", "<<", ">>"})


class ExpressionChecker(LiteralChecker):
    """Checks expressions in the scopes of one function or of the file."""

    @abstractmethod
    def call(self, node: syntax.Apply) -> tree.Expr:
        """Check a call."""

    @abstractmethod
    def made(self, node: syntax.Make) -> tree.Expr:
        """Check ``T{...}`` or ``T(...)``."""

    @abstractmethod
    def made_variable(self, kind: Type, where: Position) -> tree.Variable:
        """Return a new variable of local memory that the source does not name."""

    @abstractmethod
    def known_names(self) -> Iterable[str]:
        """Return the names of macros and of declarations that were not needed so far."""

    @abstractmethod
    def function_names(self) -> list[str]:
        """Return the names of the file's functions."""

    def value(self, node: syntax.Expr) -> tree.Expr:
        return nodes.loaded(self.checked(node))

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

    def checked(self, node: syntax.Expr) -> tree.Expr:
        """Check an expression; what comes back may be a place."""
        match node:
            case syntax.Name():
                return self.name(node)
            case syntax.Number():
                return self.number(node)
            case syntax.Infix():
                return self.infix(node)
            case syntax.Apply():
                return self.call(node)
            case syntax.Subscript():
                return self.subscript(node)
            case syntax.Access():
                return self.access(node)
            case syntax.Prefix():
                return self.prefix(node)
            case syntax.Postfix(position, value=operand):
                return self.stepped(position, node.operator[0], operand, postfix=True)
            case syntax.Cast():
                return self.cast(node)
            case syntax.Choice():
                return self.choice(node)
            case syntax.Make():
                return self.made(node)
            case syntax.SizeOf():
                return self.size_of(node)
            case syntax.Limit():
                return self.limit(node)
            case syntax.Character():
                return self.character(node)
        raise self.report.error("braces-here", node.position)

    def name(self, node: syntax.Name) -> tree.Expr:
        name, where = node.name, node.position
        meaning = self.names.find(name)
        match meaning:
            case Bound(variable, False):
                return tree.VariableRef(where, variable.type, variable)
            case Bound(variable, True):
                assert isinstance(variable.type, Pointer)
                place = tree.VariableRef(where, variable.type, variable)
                return tree.Deref(where, variable.type.target, nodes.loaded(place))
            case Constant(kind, value):
                return tree.Literal(where, kind, value)
            case Named():
                raise self.report.error("type-as-value", where, name=name)
            case Lost():
                raise Refused
        if name in ("true", "false"):
            return tree.Literal(where, BOOL, int(name == "true"))
        if name == "nullptr":
            return tree.Literal(where, Pointer(VOID), 0)
        if name == "warpSize":
            return tree.Special(where, INT, name)
        if name in self.lost:
            raise Refused
        if self.is_later(name):
            raise self.used_before(name, where)
        if name in GEOMETRY:
            raise self.report.error("geometry", where, name=name)
        raise self.unknown(name, where)

    def unknown(self, name: str, where: Position) -> Refused:
        functions = [*FUNCTIONS, *self.function_names()]
        if name in functions:
            return self.report.error("function-as-value", where, name=name)
        self.lost |= {name}  # said once for each function
        known = [*self.names.known(), *GEOMETRY, *self.known_names(), "warpSize", "true", "false"]
        close = guess(name, known)
        hint = "did-you-mean" if close else "unknown-hint"
        return self.report.error("unknown", where, hint, name=name, guess=close)

    def subscript(self, node: syntax.Subscript) -> tree.Expr:
        base, index = self.value(node.base), self.value(node.index)
        where = node.position
        kind = self.pointed(base, where, "subscript")
        if not isinstance(index.type, Scalar) or index.type.kind == "float":
            raise self.report.error("index", node.index.position, type=str(index.type))
        return tree.Index(where, kind.target, base, nodes.converted(index, PTRDIFF_T))

    def pointed(self, pointer: tree.Expr, where: Position, message: str) -> Pointer:
        """Return the type of a pointer to something with a size, or raise."""
        kind = pointer.type
        if not isinstance(kind, Pointer):
            raise self.report.error(message, where, type=str(kind))
        if isinstance(kind.target, Void):
            raise self.report.error("void-pointer", where, type=str(kind))
        return kind

    def access(self, node: syntax.Access) -> tree.Expr:
        base = node.base
        if isinstance(base, syntax.Name) and base.name in GEOMETRY and not node.arrow:
            return self.geometry(base, node)
        value = self.checked(base)
        where = node.position
        if node.arrow:
            pointer = nodes.loaded(value)
            kind = self.pointed(pointer, base.position, "arrow")
            value = tree.Deref(base.position, kind.target, pointer)
        if isinstance(value.type, Pointer) and isinstance(value.type.target, Struct):
            raise self.report.error("dot-of-pointer", where, member=node.member)
        if not isinstance(value.type, Struct):
            raise self.report.error(
                "member-of-scalar", where, member=node.member, type=str(value.type)
            )
        field = value.type.field(node.member)
        if field is None:
            names = [field.name for field in value.type.fields]
            close = guess(node.member, names)
            raise self.report.error(
                "member-unknown", where, "did-you-mean" if close else "members-hint",
                type=str(value.type), name=node.member, guess=close, known=", ".join(names),
            )  # fmt: skip
        if isinstance(field.type, Array) and not isinstance(value, tree.Lvalue):
            value = self.temporary(value, base.position)
        if isinstance(value, tree.Lvalue):
            return tree.Member(base.position, field.type, value, field)
        return tree.Extract(base.position, field.type, value, field)

    def geometry(self, base: syntax.Name, node: syntax.Access) -> tree.Expr:
        if node.member not in ("x", "y", "z"):
            raise self.report.error(
                "member-unknown", node.position, "members-hint",
                type=base.name, name=node.member, known="x, y, z",
            )  # fmt: skip
        return tree.Special(base.position, UINT, f"{base.name}.{node.member}")

    def prefix(self, node: syntax.Prefix) -> tree.Expr:
        operator, where = node.operator, node.position
        if operator == "&":
            return self.address(node)
        if operator in ("++", "--"):
            return self.stepped(where, operator[0], node.value, postfix=False)
        value = self.value(node.value)
        if operator == "*":
            kind = self.pointed(value, where, "star")
            return tree.Deref(where, kind.target, value)
        if operator == "!":
            return nodes.sign(where, "!", self.as_bool(value))
        kind_of = value.type
        if not isinstance(kind_of, Scalar) or (operator == "~" and kind_of.kind == "float"):
            raise self.report.error("sign", where, operator=operator, type=str(kind_of))
        value = nodes.converted(value, promote(kind_of))
        return value if operator == "+" else nodes.sign(where, operator, value)

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

    def infix(self, node: syntax.Infix) -> tree.Expr:
        operator = node.operator
        if operator == "=":
            return self.assignment(node)
        if operator[-1] == "=" and operator not in ("==", "!=", "<=", ">="):
            return self.update(node)
        if operator == ",":
            left, right = self.unused(node.left), self.value(node.right)
            return tree.Comma(node.position, right.type, left, right)
        left, right = self.value(node.left), self.value(node.right)
        if operator in ("&&", "||"):
            return nodes.logical(node.position, operator, self.as_bool(left), self.as_bool(right))
        return self.operation(node.position, operator, left, right)

    def operation(
        self, where: Position, operator: str, left: tree.Expr, right: tree.Expr
    ) -> tree.Expr:
        if isinstance(left.type, Pointer) or isinstance(right.type, Pointer):
            return self.of_pointers(where, operator, left, right)
        self.check_operands(where, operator, left.type, right.type)
        return nodes.arithmetic(where, operator, left, right)

    def check_operands(self, where: Position, operator: str, left: Type, right: Type) -> None:
        if isinstance(left, Scalar) and isinstance(right, Scalar):
            of_integers = operator.rstrip("=") in _OF_INTEGERS
            if not of_integers or "float" not in (left.kind, right.kind):
                return
        raise self.report.error(
            "operands", where, operator=operator, left=str(left), right=str(right)
        )

    def of_pointers(
        self, where: Position, operator: str, left: tree.Expr, right: tree.Expr
    ) -> tree.Expr:
        """Check an operator with a pointer on one side at least."""
        if operator == "+" and isinstance(right.type, Pointer):
            left, right = right, left
        if operator in ("+", "-") and nodes.is_index(right):
            self.pointed(left, where, "star")
            return nodes.moved(where, operator, left, right)
        if isinstance(left.type, Pointer) and isinstance(right.type, Pointer):
            same = left.type.target == right.type.target
            if operator == "-" and same:
                self.pointed(left, where, "star")
                return tree.PointerDifference(where, PTRDIFF_T, left, right)
        if operator in ("==", "!=", "<", ">", "<=", ">="):
            pair = nodes.alike(left, right)
            if pair is not None:
                return tree.Binary(where, BOOL, operator, *pair)
        raise self.report.error(
            "operands", where, operator=operator, left=str(left.type), right=str(right.type)
        )

    def assignment(self, node: syntax.Infix) -> tree.Expr:
        where = node.position
        place = self.target(node.left, where)
        if isinstance(node.right, syntax.Braces):
            value = self.initialiser(node.right, place.type)
        else:
            value = self.fitting(self.value(node.right), place.type, node.right.position)
        return tree.Assign(where, place.type, place, value)

    @abstractmethod
    def initialiser(self, node: syntax.Expr, kind: Type) -> tree.Expr:
        """Check what a variable of a type is set to."""

    def update(self, node: syntax.Infix) -> tree.Expr:
        operator, where = node.operator[:-1], node.position
        place, value = self.target(node.left, where), self.value(node.right)
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

    def choice(self, node: syntax.Choice) -> tree.Expr:
        condition = self.as_bool(self.value(node.condition))
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        pair = nodes.alike(then, otherwise)
        if pair is None:
            raise self.report.error(
                "choice", node.position, left=str(then.type), right=str(otherwise.type)
            )
        if isinstance(condition, tree.Literal):
            return pair[0] if condition.value else pair[1]
        return tree.Conditional(node.position, pair[0].type, condition, *pair)

    def cast(self, node: syntax.Cast) -> tree.Expr:
        kind, form = self.type_id(node.type), node.form
        value = self.unused(node.value) if isinstance(kind, Void) else self.value(node.value)
        if not (
            nodes.castable(value.type, kind, form)
            or (form == "static_cast" and nodes.implicit(value, kind) is not None)
        ):
            raise self.report.error(
                "cast-form" if form else "cast", node.position,
                left=str(value.type), right=str(kind), form=form,
            )  # fmt: skip
        return nodes.converted(value, kind)

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
