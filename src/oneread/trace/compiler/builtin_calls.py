"""Calls of built-in functions as closures.

Knows each kind of built-in; what they compute is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneread.trace.compiler.context import Context
from oneread.trace.compiler.functions import EXPONENTIALS, function_of
from oneread.trace.compiler.layout import shape
from oneread.trace.compiler.warps import atomic_update
from oneread.trace.errors import UsageError
from oneread.trace.machine.ordering import fence
from oneread.trace.machine.values import look
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import BuiltinCall
from oneread.trace.types import Scalar

Value = Callable[[Warp], Any]


class Builtins:
    """Makes closures of calls of built-in functions.

    Parameters
    ----------
    context : Context
        Of the kernel.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def call(self, node: BuiltinCall, values: list[Value], used: bool = True) -> Value:
        """Return the closure of a call, from those of its arguments."""
        if node.builtin.kind == "atomic":
            return self._atomic(node, values, used)
        make: Callable[[BuiltinCall, list[Value]], Value]
        make = getattr(self, "_of_" + node.builtin.kind)
        return make(node, values)

    def _of_maths(self, node: BuiltinCall, values: list[Value]) -> Value:
        kind = node.type
        if node.builtin.name == "abs" and isinstance(kind, Scalar) and kind.kind == "int":
            return self.context.operators.absolute(kind, values[0], node.position)
        apply = function_of(node.builtin)
        if self.context.find_nan:
            closure = self._nan_finder(node, apply, values)
        elif len(values) == 1:
            (only,) = values
            closure = lambda warp: apply(only(warp))  # noqa: E731
        elif len(values) == 2:
            first, second = values
            closure = lambda warp: apply(first(warp), second(warp))  # noqa: E731
        else:
            closure = lambda warp: apply(*[value(warp) for value in values])  # noqa: E731
        return self._counted(closure) if node.builtin.name in EXPONENTIALS else closure

    _of_bits = _of_maths

    def _counted(self, closure: Value) -> Value:
        exps = self.context.exps

        def evaluate(warp: Warp) -> Any:
            exps[0] += 1
            exps[1] += look(warp.mask).size
            return closure(warp)

        return evaluate

    def _nan_finder(self, node: BuiltinCall, apply: Any, values: list[Value]) -> Value:
        operators, name, place = self.context.operators, node.builtin.name, node.position
        floating = isinstance(node.type, Scalar) and node.type.kind == "float"

        def evaluate(warp: Warp) -> Any:
            operands = tuple([value(warp) for value in values])
            result = apply(*operands)
            if floating:
                operators.made_nan(warp, name, operands, result, place)
            return result

        return evaluate

    def _of_fence(self, node: BuiltinCall, _: list[Value]) -> Value:
        device, wide = self.context.device, node.builtin.name != "__threadfence_block"

        def evaluate(warp: Warp) -> int:
            fence(warp, device.step, wide)
            return 0

        return evaluate

    def _of_warp(self, node: BuiltinCall, values: list[Value]) -> Value:
        meetings, place, (mask,) = self.context.meetings, node.position, values
        return lambda warp: meetings.syncwarp(warp, place, mask(warp))

    def _of_shuffle(self, node: BuiltinCall, values: list[Value]) -> Value:
        meetings, place, name = self.context.meetings, node.position, node.builtin.name
        mask, value, by, width = values
        return lambda warp: meetings.shuffle(
            warp, name, place, mask(warp), value(warp), by(warp), width(warp)
        )

    def _of_vote(self, node: BuiltinCall, values: list[Value]) -> Value:
        meetings, place, name = self.context.meetings, node.position, node.builtin.name
        if not values:
            return lambda warp: warp.mask
        mask, value = values
        return lambda warp: meetings.vote(warp, name, place, mask(warp), value(warp))

    def _of_reduce(self, node: BuiltinCall, values: list[Value]) -> Value:
        meetings, place, name = self.context.meetings, node.position, node.builtin.name
        (mask, value), kind = values, node.type
        assert isinstance(kind, Scalar)
        return lambda warp: meetings.combine(warp, name, place, mask(warp), value(warp), kind)

    def _atomic(self, node: BuiltinCall, values: list[Value], used: bool) -> Value:
        device, name, kind = self.context.device, node.builtin.name, node.type
        assert isinstance(kind, Scalar)
        site, where = self.context.site(node.position, "atomic"), shape(kind)
        site.observed, site.operation = used, name
        address, *operands = values

        def evaluate(warp: Warp) -> Any:
            update = atomic_update(name, kind, tuple([operand(warp) for operand in operands]))
            return device.atomic(warp, site, address(warp), where, update)

        return evaluate

    def _of_barrier(self, node: BuiltinCall, _: list[Value]) -> Value:
        raise UsageError(
            f"line {node.position.line}: {node.builtin.name}() must be a statement of its own"
        )
