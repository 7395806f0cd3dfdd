"""Calls that reach a barrier: made before the expression that they stand in.

Knows the tree. Only statements can wait, so such a call becomes a step of its own, and its result
waits in a slot.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from oneread.trace.compiler.waiting import Waiting
from oneread.trace.errors import UsageError
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import (
    BuiltinCall,
    Call,
    Conditional,
    Deref,
    Expr,
    Function,
    Index,
    Logical,
    Storage,
    VariableRef,
)
from oneread.trace.walking import Node, children, under

if TYPE_CHECKING:
    from oneread.trace.compiler.expressions import Expressions


def touches_memory(node: Node) -> bool:
    """Say whether an expression may touch memory that other threads see."""
    return any(
        isinstance(one, Deref | Index)
        or (isinstance(one, BuiltinCall) and one.builtin.kind == "atomic")
        or (
            isinstance(one, VariableRef)
            and one.variable.storage in {Storage.SHARED, Storage.EXTERN_SHARED}
        )
        for one in under(node)
    )


class Hoister:
    """Finds the calls in expressions that wait, and makes their closures.

    Parameters
    ----------
    expressions : Expressions
        Of the kernel.
    bodies : dict
        Code of the functions that wait, callees before callers.
    """

    def __init__(self, expressions: Expressions, bodies: dict[Function, Waiting]) -> None:
        self._expressions, self._bodies = expressions, bodies

    def before(self, parts: Sequence[Expr]) -> list[Waiting]:
        """Return what has to run before these expressions are evaluated, in order."""
        if not self._bodies:
            return []
        return [self._call(call) for part in parts for call in self._calls(part)]

    def _calls(self, node: Node) -> Iterator[Call]:
        for child in children(node):
            yield from self._calls(child)
        if isinstance(node, Call) and node.function in self._bodies:
            yield node
        if isinstance(node, Logical | Conditional):
            optional = (node.right,) if isinstance(node, Logical) else (node.then, node.otherwise)
            for call in (one for part in optional for one in self._calls(part)):
                raise UsageError(
                    f"line {call.position.line}: {call.function.name} reaches a barrier, so it "
                    "cannot be called in &&, || or ?:; call it in a statement before"
                )

    def _call(self, node: Call) -> Waiting:
        bind, end = self._expressions.bind(node), self._expressions.context.end(node.function)
        body = self._bodies[node.function]
        slot = self._expressions.context.extra_slot()
        self._expressions.stored[id(node)] = slot

        def run(warp: Warp) -> Generator[Any, None, None]:
            bind(warp)
            mask, returned, result = warp.mask, warp.returned, warp.result
            continued = warp.continued
            warp.returned, warp.result = 0, None
            yield from body(warp)
            end(warp)
            warp.registers[slot] = warp.result
            warp.mask, warp.returned, warp.result = mask, returned, result
            warp.continued = continued

        return run
