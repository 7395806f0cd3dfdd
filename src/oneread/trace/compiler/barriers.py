"""Barriers, and calls that reach one: made before the expression that they stand in.

Knows the tree. Only statements can wait, so such a call becomes a step of its own, and its result
waits in a slot.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from oneread.trace.compiler.context import Context
from oneread.trace.compiler.layout import zero
from oneread.trace.compiler.waiting import Code, Waiting
from oneread.trace.errors import UsageError
from oneread.trace.machine.integers import nonzero
from oneread.trace.machine.sites import BarrierSite
from oneread.trace.machine.values import look
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import (
    BuiltinCall,
    Call,
    Comma,
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


def _later(node: Node) -> tuple[Expr, ...]:
    """Return the parts that run after others, or not at all: no call can be moved before them."""
    if isinstance(node, Logical | Comma):
        return (node.right,)
    return (node.then, node.otherwise) if isinstance(node, Conditional) else ()


def arrival(context: Context, node: BuiltinCall) -> Callable[[Warp], BarrierSite]:
    """Return what a warp does when it comes to a barrier; it has to wait at what that returns."""
    line, column = node.position.line, node.position.column
    site = BarrierSite(line, column)
    site.used = node.builtin.kind == "poll"
    context.barriers.append(site)
    device, clock, recorder = context.device, context.clock, context.recorder

    def arrive(warp: Warp) -> BarrierSite:
        if warp.mask != warp.live:
            device.report.add(
                "barrier-divergence",
                site,
                warp,
                device.step,
                warp.live & ~warp.mask,
                arrived=look(warp.mask).size,
                live=look(warp.live).size,
            )
        if recorder is not None:
            recorder.mark(warp, "barrier", node.builtin.name)
        clock.tick(warp, line, column)
        return site

    return arrive


class Hoister:
    """Finds the calls in expressions that wait, and makes their closures.

    Parameters
    ----------
    expressions : Expressions
        Of the kernel.
    polls : bool
        Whether there are barriers with a vote, whose result waits as that of such a call.
    """

    def __init__(self, expressions: Expressions, polls: bool) -> None:
        self._expressions, self._polls = expressions, polls
        self._bodies: dict[Function, Waiting] = {}
        self._touching: set[Function] = set()

    def add(self, function: Function, code: Code) -> None:
        """Take in a compiled function; callees come before their callers."""
        bodies = self._bodies if code.waits else self._expressions.bodies
        bodies[function] = code.run
        if self.touches_memory(function.body):
            self._touching.add(function)

    def reaches_barrier(self, function: Function) -> bool:
        """Say whether a function has a barrier, or calls one that has."""
        return any(
            (isinstance(one, BuiltinCall) and one.builtin.kind in {"barrier", "poll"})
            or (isinstance(one, Call) and one.function in self._bodies)
            for one in under(function.body)
        )

    def touches_memory(self, node: Node) -> bool:
        """Say whether this may touch memory that other threads see."""
        return any(
            isinstance(one, Deref | Index)
            or (isinstance(one, BuiltinCall) and one.builtin.kind == "atomic")
            or (isinstance(one, Call) and one.function in self._touching)
            or (
                isinstance(one, VariableRef)
                and one.variable.storage in {Storage.SHARED, Storage.EXTERN_SHARED}
            )
            for one in under(node)
        )

    def before(self, parts: Sequence[Expr]) -> list[Waiting]:
        """Return what has to run before these expressions are evaluated, in order."""
        if not self._bodies and not self._polls:
            return []
        return [
            self._call(call) if isinstance(call, Call) else self._poll(call)
            for part in parts
            for call in self._calls(part)
        ]

    def _calls(self, node: Node) -> Iterator[Call | BuiltinCall]:
        for child in children(node):
            yield from self._calls(child)
        if isinstance(node, Call) and node.function in self._bodies:
            yield node
        if isinstance(node, BuiltinCall) and node.builtin.kind == "poll":
            yield node
        for call in (one for part in _later(node) for one in self._calls(part)):
            name = call.function.name if isinstance(call, Call) else call.builtin.name
            raise UsageError(
                f"line {call.position.line}: {name} reaches a barrier, so it cannot be called in "
                "&&, || or ?:, nor behind a comma; call it in a statement before"
            )

    def _poll(self, node: BuiltinCall) -> Waiting:
        arrive = arrival(self._expressions.context, node)
        predicate, name = self._expressions.value(node.arguments[0]), node.builtin.name
        slot = self._expressions.context.extra_slot()
        self._expressions.stored[id(node)] = slot

        def run(warp: Warp) -> Generator[Any, None, None]:
            block, epoch = warp.block, warp.block.epoch
            yes = nonzero(predicate(warp)) & warp.mask
            block.vote(yes.bit_count(), warp.mask.bit_count())
            yield arrive(warp)
            said, of = block.votes[epoch]
            results = {"count": said, "and": int(said == of), "or": int(said > 0)}
            warp.registers[slot] = results[name.removeprefix("__syncthreads_")]

        return run

    def _call(self, node: Call) -> Waiting:
        bind, end = self._expressions.bind(node), self._expressions.context.end(node.function)
        body = self._bodies[node.function]
        context, position = self._expressions.context, node.position
        slot = context.extra_slot()
        # Another warp may go on in the body: what the arguments did is a step before.
        steps = context.switching and any(map(self.touches_memory, node.arguments))
        self._expressions.stored[id(node)] = slot
        empty = zero(node.function.return_type)

        def run(warp: Warp) -> Generator[Any, None, None]:
            bind(warp)
            if steps:
                context.clock.tick(warp, position.line, position.column)
            mask, returned, result = warp.mask, warp.returned, warp.result
            continued = warp.continued
            warp.returned, warp.result = 0, None
            yield from body(warp)
            end(warp)
            warp.registers[slot] = empty if warp.result is None else warp.result
            warp.mask, warp.returned, warp.result = mask, returned, result
            warp.continued = continued

        return run
