"""Calls and initialisers: overloads chosen, templates' arguments deduced, references bound.

Knows built-ins and functions of the file; knows no statement.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat, takewhile

from oneread.source.text import Position
from oneread.spec.words import plural
from oneread.trace import tree
from oneread.trace.builtins import FUNCTIONS, HINTED_LOADS, HINTED_STORES, Builtin
from oneread.trace.front import nodes, syntax
from oneread.trace.front.check_expressions import ExpressionChecker
from oneread.trace.front.matching import Arguments, best, distance
from oneread.trace.front.names import BUILT_IN, Lost
from oneread.trace.front.report import Refused, all_of, guess
from oneread.trace.types import (
    SCALARS,
    VECTORS,
    Array,
    Pointer,
    Scalar,
    Struct,
    Type,
    Void,
)


class CallChecker(ExpressionChecker):
    """Checks calls in the scopes of one function or of the file."""

    @abstractmethod
    def instance(
        self, node: syntax.Apply, arguments: Arguments
    ) -> tuple[tree.Function, tuple[bool, ...]]:
        """Return the function that a call means, and which of its parameters are references."""

    @abstractmethod
    def least_distance(self, node: syntax.Apply, arguments: Arguments) -> int | None:
        """Return how far a call is from the nearest function of the file; None if from all."""

    @abstractmethod
    def is_function(self, name: str) -> bool:
        """Say whether the file has a function of that name."""

    def call(self, node: syntax.Apply) -> tree.Expr:
        name, where = node.function.name, node.position
        meaning = self.names.find(name)
        if isinstance(meaning, Lost):
            raise self.lost_call(node, Refused())
        # A function of the file hides what headers define; a name further in hides the function.
        if meaning is not None and not (self.is_function(name) and meaning is BUILT_IN.get(name)):
            raise self.lost_call(node, self.report.error("call-of-value", where, name=name))
        if self.is_function(name):
            return self.call_function(node)
        if name.startswith("make_") and name[5:] in VECTORS:
            return self.vector(node, VECTORS[name[5:]])
        if name in HINTED_LOADS or name in HINTED_STORES:
            return self.hinted(node)
        if name in FUNCTIONS:
            return self.call_builtin(node)
        refused = Refused() if name in self.lost else self.unknown_function(name, where)
        self.lost |= {name}  # said once for each function
        raise self.lost_call(node, refused)

    def lost_call(self, node: syntax.Apply, refused: Refused) -> Refused:
        """Check what is passed in a call of which no more is known."""
        for argument in node.arguments:
            self.check_lost(argument)
        return refused

    def check_lost(self, node: syntax.Expr | None) -> None:
        """Check what something is given that is not known, for its own errors."""
        if node is not None and not isinstance(node, syntax.Braces):
            with suppress(Refused):
                self.value(node)

    def unknown_function(self, name: str, where: Position) -> Refused:
        vectors = [f"make_{vector}" for vector in VECTORS]
        known = [*FUNCTIONS, *HINTED_LOADS, *HINTED_STORES, *vectors, *self.function_names()]
        known += [*self.known_names(), *(kind.name for kind in SCALARS)]
        close = guess(name, known)
        hint = "did-you-mean" if close else "function-hint"
        missing = self.report.missing
        if missing and not close:
            hint = "header-hint"
        header = ", ".join(missing)
        return self.report.error(
            "function-unknown", where, hint, name=name, guess=close, header=header
        )

    def arguments(self, node: syntax.Apply) -> list[tree.Expr]:
        """Check the arguments of a built-in."""
        found = self.values(*node.arguments)
        for value in found:
            if isinstance(value.type, Void):
                raise self.report.error("void-value", value.position)
        return found

    def counted(self, node: syntax.Apply, low: int, high: int) -> None:
        given = len(node.arguments)
        if not low <= given <= high:
            wanted = plural(low, "argument") if low == high else f"{low} to {high} arguments"
            refused = self.report.error(
                "argument-count", node.position,
                name=node.function.name, wanted=wanted, given=given,
            )  # fmt: skip
            raise self.lost_call(node, refused)

    def vector(self, node: syntax.Apply, kind: Struct) -> tree.Expr:
        self.counted(node, len(kind.fields), len(kind.fields))
        values = [
            self.fitting(value, field.type, value.position)
            for value, field in zip(self.values(*node.arguments), kind.fields, strict=True)
        ]
        return tree.Construct(node.position, kind, tuple(values))

    def hinted(self, node: syntax.Apply) -> tree.Expr:
        """Check a load or store with a cache hint: it is a plain one here."""
        stores = node.function.name in HINTED_STORES
        self.counted(node, 1 + stores, 1 + stores)
        (pointer, *stored), where = self.values(*node.arguments), node.position
        kind = self.pointed(pointer, where, "star")
        place = tree.Deref(where, kind.target, pointer)
        if not stores:
            return nodes.loaded(place)
        if kind.const:
            raise self.report.error("assign-const", where, what="what this points to")
        value = self.fitting(stored[0], kind.target, node.arguments[1].position)
        return tree.Assign(where, kind.target, place, value)

    def call_builtin(self, node: syntax.Apply) -> tree.Expr:
        name, where = node.function.name, node.position
        overloads = FUNCTIONS[name]
        most = max(len(one.parameters) for one in overloads)
        least = min(len(one.parameters) - len(one.defaults) for one in overloads)
        self.counted(node, least, most)
        arguments = self.arguments(node)
        chosen = best(overloads, arguments)
        if chosen is None:
            raise self.no_overload(name, where, overloads, arguments)
        values = [
            self.fitting(argument, kind, argument.position)
            for argument, kind in zip(arguments, chosen.parameters, strict=False)
        ]
        missing = len(chosen.parameters) - len(values)
        for kind, default in zip(
            chosen.parameters[len(values) :], chosen.defaults[len(chosen.defaults) - missing :],
            strict=True,
        ):  # fmt: skip
            assert isinstance(kind, Scalar)
            values.append(tree.Literal(where, kind, default))
        return tree.BuiltinCall(where, chosen.result, chosen, tuple(values))

    def no_overload(
        self,
        name: str,
        where: Position,
        overloads: Sequence[Builtin],
        arguments: Sequence[tree.Expr],
    ) -> Refused:
        given = ", ".join(str(argument.type) for argument in arguments)
        at = 0
        if len(overloads) == 1:
            # The one that there is says which argument does not fit.
            for argument, kind in zip(arguments, overloads[0].parameters, strict=False):
                self.fitting(argument, kind, argument.position)
        if name.endswith("_sync") and arguments:
            at = 1
        wanted = ", ".join(
            dict.fromkeys(
                str(one.parameters[min(at, len(one.parameters) - 1)]) for one in overloads
            )
        )
        return self.report.error(
            "no-overload", where, "no-overload-hint", name=name, given=given, wanted=wanted
        )

    def call_function(self, node: syntax.Apply) -> tree.Expr:
        # Braces get their type from the parameter, so they wait for it.
        arguments = all_of(*(partial(self.argument, one) for one in node.arguments))
        if self.prefers_builtin(node, arguments):
            return self.call_builtin(node)
        function, references = self.instance(node, arguments)
        values = all_of(*(
            partial(self.passed, *parts)
            for parts in zip(
                node.arguments, arguments, function.parameters, references, strict=True
            )
        ))  # fmt: skip
        return tree.Call(node.position, function.return_type, function, tuple(values))

    def argument(self, node: syntax.Expr) -> tree.Expr | None:
        return None if isinstance(node, syntax.Braces) else self.checked(node)

    def passed(
        self, node: syntax.Expr, value: tree.Expr | None, parameter: tree.Variable, reference: bool
    ) -> tree.Expr:
        """Return what a parameter gets of an argument; braces have no value of their own yet."""
        kind = parameter.type
        if value is None:
            target = kind.target if reference and isinstance(kind, Pointer) else kind
            value = self.initialiser(node, target)
        if reference:
            assert isinstance(kind, Pointer)
            return self.bound(value, kind, node.position)
        return self.fitting(nodes.loaded(value), kind, node.position)

    def prefers_builtin(self, node: syntax.Apply, arguments: Arguments) -> bool:
        """Say whether a built-in of the name is nearer to a call than the file's functions."""
        overloads = FUNCTIONS.get(node.function.name, ())
        given = [nodes.loaded(one) for one in arguments if one is not None]
        if not overloads or len(given) < len(arguments):
            return False
        chosen = best(overloads, given)
        far = None if chosen is None else distance(chosen, given)
        least = self.least_distance(node, arguments)
        return far is not None and (least is None or far < least)

    def bound(self, node: tree.Expr, kind: Pointer, where: Position) -> tree.Expr:
        """Return the address that a reference of this pointer's type holds for a value."""
        if isinstance(node, tree.Lvalue) and node.type == kind.target:
            have = nodes.pointer_to(node)
            if not nodes.gains(have, kind):
                raise self.report.error("drops-const-reference", where, type=str(kind.target))
            return tree.AddressOf(where, kind, nodes.in_memory(node))
        if not kind.const:
            raise self.report.error("reference", where, type=str(kind.target))
        value = self.fitting(nodes.loaded(node), kind.target, where)
        return tree.AddressOf(where, kind, self.temporary(value, where))

    def made(self, node: syntax.Make) -> tree.Expr:
        kind = self.type_id(node.type)
        if isinstance(kind, Struct):
            single = node.items[0] if len(node.items) == 1 else None
            if single is not None and not isinstance(single, syntax.Braces):
                value = self.value(single)
                if value.type == kind:
                    return value  # a copy
            if node.items and not node.braces:
                raise self.report.outside("a constructor", node.position)
            return self.aggregate(node.position, node.items, kind)
        if len(node.items) > 1 or isinstance(kind, Array | Void):
            raise self.report.error("cast", node.position, left="these values", right=str(kind))
        if not node.items:
            return nodes.zero(node.position, kind)
        value = self.value(node.items[0])
        if node.braces:
            return self.fitting(value, kind, node.position)
        if not nodes.castable(value.type, kind):
            raise self.report.error("cast", node.position, left=str(value.type), right=str(kind))
        return nodes.converted(value, kind)

    def initialiser(self, node: syntax.Expr, kind: Type) -> tree.Expr:
        if not isinstance(node, syntax.Braces):
            return self.fitting(self.value(node), kind, node.position)
        if isinstance(kind, Struct | Array):
            return self.aggregate(node.position, node.items, kind)
        if len(node.items) > 1:
            raise self.report.error("too-many-values", node.position, type=str(kind), limit=1)
        if not node.items:
            return nodes.zero(node.position, kind)
        return self.initialiser(node.items[0], kind)

    def aggregate(
        self, where: Position, items: Sequence[syntax.Expr], kind: Struct | Array
    ) -> tree.Expr:
        """Check the values in braces for a struct or an array."""
        left = deque(items)
        found = self.filled(where, left, kind)
        if left:
            limit = _places(kind, any(isinstance(item, syntax.Braces) for item in items))
            raise self.report.error("too-many-values", where, type=str(kind), limit=limit)
        return found

    def filled(self, where: Position, items: deque[syntax.Expr], kind: Struct | Array) -> tree.Expr:
        """Take the values of a struct or array; what lies in it may have left out its braces."""
        if isinstance(kind, Array):
            kinds: Iterable[Type] = repeat(kind.element, kind.length or 0)
        else:
            kinds = [field.type for field in kind.fields]
        values: list[tree.Expr] = []
        failed = False
        for one in takewhile(lambda _: items, kinds):
            count = len(items)
            try:
                values.append(self.taken(where, items, one))
            except Refused:
                failed = True
                if len(items) == count:
                    items.popleft()
        if failed:
            raise Refused
        if isinstance(kind, Array):
            return tree.ArrayValue(where, kind, tuple(values))
        values += [nodes.zero(where, field.type) for field in kind.fields[len(values) :]]
        return tree.Construct(where, kind, tuple(values))

    def taken(self, where: Position, items: deque[syntax.Expr], kind: Type) -> tree.Expr:
        """Take the value of one element or member."""
        item = items[0]
        if not isinstance(kind, Struct | Array) or isinstance(item, syntax.Braces):
            return self.initialiser(items.popleft(), kind)
        if isinstance(kind, Struct):
            value = self.value(item)
            if value.type == kind:
                items.popleft()
                return value
        return self.filled(where, items, kind)


def _places(kind: Type, in_braces: bool) -> int:
    """Return how many values a type takes: of its parts in braces, or of the numbers in it."""
    if isinstance(kind, Array):
        return (kind.length or 0) * (1 if in_braces else _places(kind.element, False))
    if isinstance(kind, Struct):
        return sum(1 if in_braces else _places(field.type, False) for field in kind.fields)
    return 1
