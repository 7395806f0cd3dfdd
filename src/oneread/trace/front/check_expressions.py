"""Expressions: from syntax to typed nodes.

Knows operators and places; calls are a layer above.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.builtins import FUNCTIONS, GEOMETRY
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_places import PlaceChecker
from oneread.trace.front.names import Bound, Constant, Lost, Named
from oneread.trace.front.report import Refused, all_of, guess
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
    promote,
)


class ExpressionChecker(PlaceChecker):
    """Checks expressions in the scopes of one function or of the file."""

    @abstractmethod
    def call(self, node: syntax.Apply) -> tree.Expr:
        """Check a call."""

    @abstractmethod
    def made(self, node: syntax.Make) -> tree.Expr:
        """Check ``T{...}`` or ``T(...)``."""

    @abstractmethod
    def known_names(self) -> Iterable[str]:
        """Return the names of macros and of declarations that were not needed so far."""

    @abstractmethod
    def function_names(self) -> list[str]:
        """Return the names of the file's functions."""

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
        base, index = self.values(node.base, node.index)
        where = node.position
        kind = self.pointed(base, where, "subscript")
        if not isinstance(index.type, Scalar) or index.type.kind == "float":
            raise self.report.error("index", node.index.position, type=str(index.type))
        return tree.Index(where, kind.target, base, nodes.converted(index, PTRDIFF_T))

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

    def infix(self, node: syntax.Infix) -> tree.Expr:
        operator = node.operator
        if operator == "=":
            return self.assignment(node)
        if operator[-1] == "=" and operator not in ("==", "!=", "<=", ">="):
            return self.update(node)
        if operator == ",":
            left, right = all_of(lambda: self.unused(node.left), lambda: self.value(node.right))
            return tree.Comma(node.position, right.type, left, right)
        left, right = self.values(node.left, node.right)
        if operator in ("&&", "||"):
            left, right = all_of(lambda: self.as_bool(left), lambda: self.as_bool(right))
            return nodes.logical(node.position, operator, left, right)
        return self.operation(node.position, operator, left, right)

    def operation(
        self, where: Position, operator: str, left: tree.Expr, right: tree.Expr
    ) -> tree.Expr:
        if isinstance(left.type, Pointer) or isinstance(right.type, Pointer):
            return self.of_pointers(where, operator, left, right)
        self.check_operands(where, operator, left.type, right.type)
        return nodes.arithmetic(where, operator, left, right)

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

    def choice(self, node: syntax.Choice) -> tree.Expr:
        condition, then, otherwise = all_of(
            lambda: self.as_bool(self.value(node.condition)),
            lambda: self.value(node.then),
            lambda: self.value(node.otherwise),
        )
        pair = nodes.alike(then, otherwise)
        if pair is None:
            raise self.report.error(
                "choice", node.position, left=str(then.type), right=str(otherwise.type)
            )
        if isinstance(condition, tree.Literal):
            return pair[0] if condition.value else pair[1]
        return tree.Conditional(node.position, pair[0].type, condition, *pair)

    def cast(self, node: syntax.Cast) -> tree.Expr:
        form, kind, value = node.form, *self.cast_parts(node)
        if not (
            nodes.castable(value.type, kind, form)
            or (form == "static_cast" and nodes.implicit(value, kind) is not None)
        ):
            raise self.report.error(
                "cast-form" if form else "cast", node.position,
                left=str(value.type), right=str(kind), form=form,
            )  # fmt: skip
        return nodes.converted(value, kind)

    def cast_parts(self, node: syntax.Cast) -> tuple[Type, tree.Expr]:
        """Check the type and the value of a cast; what is cast to void is not read."""
        value: tree.Expr | None = None
        with suppress(Refused):
            value = self.unused(node.value)
        kind = self.type_id(node.type)
        if value is None:
            raise Refused
        return kind, value if isinstance(kind, Void) else nodes.loaded(value)
