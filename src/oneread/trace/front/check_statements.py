"""Statements and variables: from syntax to typed nodes.

Goes on behind a statement with an error; what it would have declared counts as lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Final

from oneread.source.text import Position
from oneread.trace import tree
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_calls import CallChecker
from oneread.trace.front.matching import shown_by
from oneread.trace.front.names import Bound, Constant, Lost, Named
from oneread.trace.front.report import Refused
from oneread.trace.types import INT, LONG, UINT, ULONG, Array, Pointer, Scalar, Type, Void, may_hold
from oneread.trace.walking import under

_SHARED = "__shared__"

#: Variables that are outside the subset, unless they are constants.
_OUTSIDE: Final = {
    "__constant__": "a __constant__ variable",
    "__device__": "a __device__ variable",
    "static": "a static variable",
    "extern": "an extern variable",
}


class StatementChecker(CallChecker):
    """Checks the statements of one function or the declarations of the file."""

    #: What the function returns; None where that could not be read.
    returns: Type | None
    variables: list[tree.Variable]
    shared: list[tree.Variable]
    loops: int = 0
    has_return: bool = False

    def block(self, node: syntax.Compound) -> tree.Block:
        """Check statements in a scope of their own."""
        with self.names.inner():
            return tree.Block(node.position, tuple(self.statements(node.statements)))

    def statements(self, found: tuple[syntax.Statement, ...]) -> Iterator[tree.Statement]:
        for statement in found:
            try:
                with self.report.of(statement.astray):
                    checked = tuple(self.statement(statement))
                yield from checked
            except Refused:
                self.lose(statement)

    def lose(self, statement: syntax.Statement) -> None:
        """Note the names that a refused statement would have declared."""
        match statement:
            case syntax.Variables(declared=declared):
                for declarator, _ in declared:
                    if not self.names.here(declarator.name):
                        self.names.add(declarator.name, Lost.LOST)
            case syntax.Alias(names=names):
                for _, name, _ in names:
                    self.names.add(name, Lost.LOST)
            case syntax.StructType(name=name):
                self.names.add(name, Lost.LOST)
            case syntax.EnumType(name=name, items=items):
                for item in (name, *(word for _, word, _ in items)):
                    self.names.add(item, Lost.LOST)

    def statement(self, node: syntax.Statement) -> Iterator[tree.Statement]:
        where = node.position
        match node:
            case syntax.Simple(value=value):
                yield tree.Evaluate(where, self.unused(value))
            case syntax.Variables():
                yield from self.declared(node)
            case syntax.Compound():
                yield self.block(node)
            case syntax.Selection():
                yield from self.selection(node)
            case syntax.ForLoop():
                yield self.for_loop(node)
            case syntax.WhileLoop():
                yield self.while_loop(node)
            case syntax.DoLoop(body=body, condition=condition):
                inner = self.loop_body(body)
                yield tree.DoWhile(where, inner, self.condition(condition))
            case syntax.Jump():
                yield self.jump(node)
            case _:
                self.declaration(node)

    def declaration(self, node: syntax.Statement) -> None:
        """Check what brings a name or a demand, but nothing to execute."""
        match node:
            case syntax.Alias(names=names):
                for where, name, kind in names:
                    self.alias(where, name, kind)
            case syntax.StructType(name=name):
                if self.names.here(name):
                    raise self.report.error("twice", node.position, name=name)
                self.names.add(name, Named(self.struct(node)))
            case syntax.EnumType():
                self.enum(node)
            case syntax.StaticAssert():
                self.static_assert(node)

    def alias(self, where: Position, name: str, kind: syntax.TypeId) -> None:
        if kind.declarator.reference:
            raise self.report.error("auto-here", where)
        meaning = Named(*self.resolved(kind.words, kind.declarator), self.is_volatile(kind))
        if self.names.here(name) and self.names.find(name) != meaning:
            raise self.report.error("twice", where, name=name)
        self.names.add(name, meaning)

    def enum(self, node: syntax.EnumType) -> None:
        base = self.type_id(node.base) if node.base else None
        if base is not None and not (isinstance(base, Scalar) and base.kind == "int"):
            raise self.report.error("enum-base", node.position, type=str(base))
        names: dict[str, int] = {}
        following = 0
        kind: Scalar | None = base or INT
        for where, name, value in node.items:
            if self.names.here(name):
                raise self.report.error("twice", where, name=name)
            if value is not None:
                following = self.constant(value, "the value of an enumerator")
            names[name] = following
            kind = _enum_type(names.values(), base)
            if kind is None:
                raise self.report.error("enum-value", where, name=name, value=following)
            self.names.add(name, Constant(kind, following))
            following += 1
        assert kind is not None
        # What the enumerators are is known once all of them are.
        for name, number in names.items():
            self.names.add(name, Constant(kind, number))
        if node.name:
            if self.names.here(node.name):
                raise self.report.error("twice", node.position, name=node.name)
            self.names.add(node.name, Named(kind))

    def static_assert(self, node: syntax.StaticAssert) -> None:
        value = self.as_bool(self.value(node.condition))
        if not isinstance(value, tree.Literal):
            raise self.not_constant(value, node.condition.position, "a static_assert")
        if not value.value:
            message = f": {node.message}" if node.message else ""
            raise self.report.error("static-assert", node.position, text=message)

    def condition(self, node: syntax.Expr) -> tree.Expr:
        return self.as_bool(self.value(node))

    def loop_body(self, node: syntax.Statement, is_open: bool = False) -> tree.Statement:
        """Check the body of a loop; with a scope that is open already, its names are new there."""
        self.loops += 1
        try:
            if is_open and isinstance(node, syntax.Compound):
                return tree.Block(node.position, tuple(self.statements(node.statements)))
            return self.inner(node)
        finally:
            self.loops -= 1

    def inner(self, node: syntax.Statement) -> tree.Statement:
        """Check the statement that a condition or loop governs."""
        if isinstance(node, syntax.Compound):
            return self.block(node)
        with self.names.inner():
            found = tuple(self.statements((node,)))
        return found[0] if len(found) == 1 else tree.Block(node.position, found)

    def selection(self, node: syntax.Selection) -> Iterator[tree.Statement]:
        condition: tree.Expr = tree.Literal(node.position, INT, 0)
        failed = False
        try:
            condition = self.condition(node.condition)
        except Refused:
            failed = True
        if node.settled and not failed:
            if not isinstance(condition, tree.Literal):
                what = "the condition of if constexpr"
                raise self.not_constant(condition, node.condition.position, what)
            taken = node.then if condition.value else node.otherwise
            if taken is not None:
                yield self.inner(taken)
            return
        then = self.inner(node.then)
        otherwise = self.inner(node.otherwise) if node.otherwise else None
        if failed:
            raise Refused
        yield tree.If(node.position, condition, then, otherwise)

    def for_loop(self, node: syntax.ForLoop) -> tree.Statement:
        with self.names.inner():
            start = tuple(self.statements((node.start,))) if node.start else ()
            condition = step = None
            failed = False
            try:
                condition = self.condition(node.condition) if node.condition else None
            except Refused:
                failed = True
            try:
                step = self.unused(node.step) if node.step else None
            except Refused:
                failed = True
            body = self.loop_body(node.body, is_open=True)
            if failed:
                raise Refused
            return tree.For(node.position, start, condition, step, body)

    def while_loop(self, node: syntax.WhileLoop) -> tree.Statement:
        condition: tree.Expr | None = None
        with suppress(Refused):
            condition = self.condition(node.condition)
        body = self.loop_body(node.body)
        if condition is None:
            raise Refused
        return tree.While(node.position, condition, body)

    def jump(self, node: syntax.Jump) -> tree.Statement:
        where = node.position
        if node.word == "return" and node.value and isinstance(self.returns, Void):
            value = self.unused(node.value)
            if not isinstance(value.type, Void):
                raise self.report.error("return-value", where)
            return tree.Block(where, (tree.Evaluate(where, value), tree.Return(where, None)))
        if node.word == "return":
            return tree.Return(where, self.returned(node))
        if not self.loops:
            raise self.report.error("jump", where, word=node.word)
        return tree.Break(where) if node.word == "break" else tree.Continue(where)

    def returned(self, node: syntax.Jump) -> tree.Expr | None:
        self.has_return = True
        if node.value is None:
            if self.returns is not None and not isinstance(self.returns, Void):
                raise self.report.error("return-missing", node.position, type=str(self.returns))
            return None
        if self.returns is None:
            return self.value(node.value)
        return self.initialiser(node.value, self.returns)

    def declared(self, node: syntax.Variables) -> Iterator[tree.Statement]:
        """Check variables declared together, each by itself."""
        for declarator, value in node.declared:
            if self.names.here(declarator.name):
                self.report.error("twice", declarator.position, name=declarator.name)
                continue
            try:
                yield from self.variable(node, declarator, value)
            except Refused:
                self.lose_variable(declarator.name)
                self.check_lost(value)

    def lose_variable(self, name: str) -> None:
        """Note that a declaration has an error; a variable whose type is known stays known."""
        meaning = self.names.find(name) if self.names.here(name) else None
        if not isinstance(meaning, Bound) or (
            meaning.variable.const and isinstance(meaning.variable.type, Scalar)
        ):
            self.names.add(name, Lost.LOST)

    def variable(
        self, node: syntax.Variables, declarator: syntax.Declarator, value: syntax.Expr | None
    ) -> Iterator[tree.Statement]:
        where = declarator.position
        if _SHARED in node.flags:
            self.shared_variable(node, declarator, value)
            return
        for flag, what in _OUTSIDE.items():
            if flag in node.flags and (flag == "extern" or not self.is_settled(node)):
                raise self.report.outside(what, where)
        if declarator.reference:
            yield self.reference(node, declarator, value)
            return
        auto = self.deduced_auto(node, declarator, value)
        kind, const = self.resolved(node.words, declarator, auto)
        const |= "constexpr" in node.flags
        kind = self.counted_array(kind, value)
        self.check_variable(kind, declarator, const, value)
        variable = self.new_variable(declarator.name, kind, where, const)
        variable.volatile = node.words.volatile and not declarator.pointers
        variable.align = self.alignment(node.align)
        self.names.add(declarator.name, Bound(variable))  # its own value may name it
        found = self.initialiser(value, kind) if value is not None else None
        if const and isinstance(found, tree.Literal) and isinstance(kind, Scalar):
            self.variables.remove(variable)
            self.names.add(declarator.name, Constant(kind, found.value, is_variable=True))
        elif found and "constexpr" in node.flags and isinstance(kind, Scalar):
            raise self.not_constant(found, where, f"constexpr '{declarator.name}'")
        elif found and _names(found, variable) and not isinstance(found, tree.ArrayValue):
            # It begins unset, also in a loop's second round.
            yield tree.Declare(where, variable, None)
            place = tree.VariableRef(where, kind, variable)
            yield tree.Evaluate(where, tree.Assign(where, kind, place, found))
        else:
            yield tree.Declare(where, variable, found)

    def is_settled(self, node: syntax.Variables) -> bool:
        """Say whether a declaration can only be of constants."""
        return node.words.const or "constexpr" in node.flags

    def new_variable(self, name: str, kind: Type, where: Position, const: bool) -> tree.Variable:
        storage = tree.Storage.REGISTER if may_hold(kind) else tree.Storage.LOCAL
        variable = tree.Variable(name, kind, storage, where, const)
        self.variables.append(variable)
        return variable

    def made_variable(self, kind: Type, where: Position) -> tree.Variable:
        variable = self.new_variable(f"${len(self.variables)}", kind, where, False)
        variable.storage = tree.Storage.LOCAL
        return variable

    def check_variable(
        self, kind: Type, declarator: syntax.Declarator, const: bool, value: syntax.Expr | None
    ) -> None:
        if isinstance(kind, Void):
            raise self.report.error("void-variable", declarator.position, name=declarator.name)
        if isinstance(kind, Array) and kind.length is None:
            raise self.report.error("dimension-missing", declarator.position)
        if const and value is None:
            raise self.report.error("const-unset", declarator.position, name=declarator.name)
        if isinstance(kind, Array) and not isinstance(value, syntax.Braces | None):
            raise self.report.error("array-value", declarator.position, name=declarator.name)

    def counted_array(self, kind: Type, value: syntax.Expr | None) -> Type:
        """Return an array whose length is that of its values, where none is written."""
        if isinstance(kind, Array) and kind.length is None and isinstance(value, syntax.Braces):
            return Array(kind.element, max(1, len(value.items)))
        return kind

    def deduced_auto(
        self, node: syntax.Variables, declarator: syntax.Declarator, value: syntax.Expr | None
    ) -> Named | None:
        """Return what ``auto`` stands for in a declaration, or None where there is none."""
        if node.words.name != "auto":
            return None
        if value is None or isinstance(value, syntax.Braces):
            raise self.report.error("auto-unset", declarator.position, name=declarator.name)
        found = self.checked(value)
        shown = shown_by(found, syntax.TypeId(node.words, declarator))
        if shown is None:
            kind = nodes.loaded(found).type
            raise self.report.error("auto-pointer", value.position, type=str(kind))
        return shown

    def reference(
        self, node: syntax.Variables, declarator: syntax.Declarator, value: syntax.Expr | None
    ) -> tree.Statement:
        where = declarator.position
        if value is None:
            raise self.report.error("reference-unset", where, name=declarator.name)
        auto = self.deduced_auto(node, declarator, value)
        kind, const = self.resolved(node.words, declarator, auto)
        place = self.checked(value)
        pointer = Pointer(kind, const, node.words.volatile)
        address = self.bound(place, pointer, value.position)
        variable = self.new_variable(declarator.name, pointer, where, True)
        self.names.add(declarator.name, Bound(variable, reference=True))
        return tree.Declare(where, variable, address)

    def shared_variable(
        self, node: syntax.Variables, declarator: syntax.Declarator, value: syntax.Expr | None
    ) -> None:
        where = declarator.position
        if value is not None:
            raise self.report.error("shared-set", where, "shared-set-hint", name=declarator.name)
        if declarator.reference or node.words.name == "auto":
            raise self.report.error("auto-here", where)
        kind, const = self.resolved(node.words, declarator)
        storage = tree.Storage.SHARED
        if "extern" in node.flags:
            storage = tree.Storage.EXTERN_SHARED
            if not isinstance(kind, Array) or kind.length is not None:
                raise self.report.error("extern-shared", where, name=declarator.name)
        else:
            self.check_variable(kind, declarator, False, None)
        variable = tree.Variable(declarator.name, kind, storage, where, const)
        variable.volatile = node.words.volatile and not declarator.pointers
        variable.align = self.alignment(node.align)
        self.shared.append(variable)
        self.names.add(declarator.name, Bound(variable))


def _enum_type(values: Collection[int], base: Scalar | None) -> Scalar | None:
    """Return the type of enumerators: the one that is written, or the first that holds them all."""
    for kind in (base,) if base else (INT, UINT, LONG, ULONG):
        if kind.lowest <= min(values) and max(values) <= kind.highest:
            return kind
    return None


def _names(value: tree.Expr, variable: tree.Variable) -> bool:
    """Say whether a value names a variable."""
    return any(
        isinstance(one, tree.VariableRef) and one.variable is variable for one in under(value)
    )
