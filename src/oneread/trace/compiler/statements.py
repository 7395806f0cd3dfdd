"""Statements of the tree as closures that change which lanes take part.

Knows every kind of statement. One that can reach a barrier is a generator that yields it; all
others are plain functions, which are faster.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from oneread.trace.compiler.barriers import Hoister, arrival
from oneread.trace.compiler.context import Context
from oneread.trace.compiler.expressions import Expressions
from oneread.trace.compiler.layout import chooser, scalars_of, shape, zero
from oneread.trace.compiler.loops import Loop
from oneread.trace.compiler.waiting import Code, waiting_choice, waiting_sequence
from oneread.trace.machine import integers
from oneread.trace.machine.launch import SWITCH
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import (
    ArrayValue,
    Assign,
    Block,
    Break,
    BuiltinCall,
    Continue,
    Declare,
    DoWhile,
    Evaluate,
    Expr,
    For,
    Function,
    If,
    Return,
    Statement,
    Storage,
    Update,
    Variable,
    While,
)
from oneread.trace.types import Array, Type
from oneread.trace.walking import under

Plain = Callable[[Warp], Any]


class Statements:
    """Makes closures of the statements of one function.

    Parameters
    ----------
    context : Context
        Of the kernel.
    expressions : Expressions
        Of the kernel.
    function : Function
        Whose statements they are.
    hoister : Hoister
        Of the kernel.
    """

    def __init__(
        self,
        context: Context,
        expressions: Expressions,
        function: Function,
        hoister: Hoister,
    ) -> None:
        self._context, self._expressions = context, expressions
        self._function, self._hoister = function, hoister
        # A function that could wait could not be called everywhere: only barriers are worth that.
        self._switching = context.switching and (
            function.is_kernel or hoister.reaches_barrier(function)
        )

    def code(self, node: Statement) -> Code:
        """Return the closure of a statement."""
        make: Callable[[Any], Code] = getattr(self, "_" + type(node).__name__.lower())
        return make(node)

    def _step(
        self, node: Statement | Expr, parts: Sequence[Expr], make: Callable[[], Plain]
    ) -> Code:
        """Return a step: what waits in its parts, then the closure that `make` returns."""
        clock, line, column = self._context.clock, node.position.line, node.position.column
        before = self._hoister.before(parts)
        run = make()

        def step(warp: Warp) -> Any:
            value = run(warp)
            clock.tick(warp, line, column)
            return value

        switches = self._switching and any(map(self._hoister.touches_memory, parts))
        if not before and not switches:
            return Code(step)

        def wait(warp: Warp) -> Generator[Any, None, Any]:
            if switches:
                yield SWITCH
            for call in before:
                yield from call(warp)
            return step(warp)

        return Code(wait, True)

    # ---- simple statements

    def _evaluate(self, node: Evaluate) -> Code:
        value = node.value
        if isinstance(value, BuiltinCall) and value.builtin.kind == "barrier":
            return self._barrier(value)
        with self._context.within(node.position):
            if self._switching and isinstance(value, Assign | Update):
                read = value if isinstance(value, Update) else value.value
                if all(map(self._hoister.touches_memory, (read, value.target))):
                    return self._two_steps(value)
            return self._step(node, [value], lambda: self._expressions.unused(value))

    def _two_steps(self, node: Assign | Update) -> Code:
        """Return an assignment before whose store another warp may go on."""
        clock, line, column = self._context.clock, node.position.line, node.position.column
        before = self._hoister.before([node])
        take, put = self._expressions.halves(node)

        def wait(warp: Warp) -> Generator[Any, None, None]:
            yield SWITCH
            for call in before:
                yield from call(warp)
            take(warp)
            clock.tick(warp, line, column)
            yield SWITCH
            put(warp)
            clock.tick(warp, line, column)

        return Code(wait, True)

    def _barrier(self, node: BuiltinCall) -> Code:
        arrive = arrival(self._context, node)

        def wait(warp: Warp) -> Generator[Any, None, Any]:
            yield arrive(warp)

        return Code(wait, True)

    def _declare(self, node: Declare) -> Code:
        places, variable, value = self._expressions.places, node.variable, node.value
        if value is None:
            return Code(places.forget(variable))
        with self._context.within(node.position):
            if isinstance(value, ArrayValue):
                return self._step(node, [value], lambda: self._array(variable, value))
            return self._step(node, [value], lambda: self._first_value(node, value))

    def _first_value(self, node: Declare, value: Expr) -> Plain:
        places, closure = self._expressions.places, self._expressions.value(value)
        if node.variable.storage is Storage.REGISTER:
            put = places.declare(node.variable)
        else:
            put = places.put(places.of_variable(node.variable), node)
        note = self._expressions.watchers.of(node)

        def run(warp: Warp) -> None:
            new = closure(warp)
            put(warp, new)
            if note is not None:
                note(warp, new)

        return run

    def _array(self, variable: Variable, value: ArrayValue) -> Plain:
        address = self._expressions.places.local(variable)
        site, device = self._context.site(value.position, "write"), self._context.device
        parts = [
            (at, shape(kind), closure)
            for at, kind, closure in self._elements(variable.type, value, 0)
        ]

        def run(warp: Warp) -> None:
            base = address(warp)
            for at, where, closure in parts:
                device.store(warp, site, integers.add(base, at), where, scalars_of(closure(warp)))

        return run

    def _elements(
        self, kind: Type, value: Expr | None, at: int
    ) -> Iterator[tuple[int, Type, Plain]]:
        """Yield offset, type and closure of every element; those not given are zero."""
        if isinstance(kind, Array):
            given = value.values if isinstance(value, ArrayValue) else ()
            for place in range(kind.length or 0):
                inner = given[place] if place < len(given) else None
                yield from self._elements(kind.element, inner, at + place * kind.element.size)
        elif value is None:
            empty = zero(kind)
            yield at, kind, lambda _: empty
        else:
            yield at, kind, self._expressions.value(value)

    # ---- order and choice

    def _block(self, node: Block) -> Code:
        codes = [self.code(one) for one in node.statements]
        leaves = [_leaves(one) for one in node.statements]
        parts = [(code.run, code.waits, leave) for code, leave in zip(codes, leaves, strict=True)]
        if any(code.waits for code in codes):
            return Code(waiting_sequence(parts), True)
        if len(codes) == 1:
            return codes[0]
        runs = [code.run for code in codes]
        if not any(leaves[:-1]):

            def straight(warp: Warp) -> None:
                for run in runs:
                    run(warp)

            return Code(straight)

        def sequence(warp: Warp) -> None:
            for run in runs:
                run(warp)
                if not warp.mask:
                    return

        return Code(sequence)

    def _if(self, node: If) -> Code:
        with self._context.within(node.position):
            test = self._condition(node.condition, node)
            then = self.code(node.then)
            otherwise = self.code(node.otherwise) if node.otherwise is not None else None
        recorder = self._context.recorder
        if test.waits or then.waits or (otherwise is not None and otherwise.waits):
            return Code(waiting_choice(test, then, otherwise), True)
        condition, first = test.run, then.run
        second = otherwise.run if otherwise is not None else None

        def choose(warp: Warp) -> None:
            mask = warp.mask
            yes = condition(warp) & mask
            no = mask ^ yes
            if recorder is not None and yes and no:
                recorder.mark(warp, "branch", "if")
            if yes:
                warp.mask = yes
                first(warp)
                yes = warp.mask
            if no and second is not None:
                warp.mask = no
                second(warp)
                no = warp.mask
            warp.mask = yes | no

        return Code(choose)

    def _condition(self, condition: Expr, node: Statement) -> Code:
        return self._step(condition, [condition], lambda: self._expressions.value(condition))

    # ---- loops

    def _for(self, node: For) -> Code:
        starts = [self.code(one) for one in node.start]
        with self._context.within(None):
            test = None if node.condition is None else self._condition(node.condition, node)
            body = self.code(node.body)
            step = node.step
            after = None
            if step is not None:
                after = self._step(step, [step], lambda: self._expressions.unused(step))
        loop = self._loop(node, test, body, after)
        if not starts:
            return loop
        parts = [(one.run, one.waits, False) for one in [*starts, loop]]
        if any(one.waits for one in [*starts, loop]):
            return Code(waiting_sequence(parts), True)
        runs = [one.run for one in [*starts, loop]]

        def run(warp: Warp) -> None:
            for one in runs:
                one(warp)

        return Code(run)

    def _while(self, node: While) -> Code:
        with self._context.within(None):
            test = self._condition(node.condition, node)
            return self._loop(node, test, self.code(node.body), None)

    def _dowhile(self, node: DoWhile) -> Code:
        with self._context.within(None):
            body = self.code(node.body)
            return self._loop(node, self._condition(node.condition, node), body, None, False)

    def _loop(
        self,
        node: Statement,
        test: Code | None,
        body: Code,
        after: Code | None,
        test_first: bool = True,
    ) -> Code:
        if test is None:
            test = self._step(node, [], lambda: lambda warp: warp.mask)
        loop = Loop(test, body, after, test_first)
        waits = test.waits or body.waits or (after is not None and after.waits)
        return Code(loop.waiting if waits else loop.plain, waits)

    # ---- leaving

    def _break(self, node: Break) -> Code:
        def leave(warp: Warp) -> None:
            warp.mask = 0

        return self._left(node, leave)

    def _continue(self, node: Continue) -> Code:
        def leave(warp: Warp) -> None:
            warp.continued |= warp.mask
            warp.mask = 0

        return self._left(node, leave)

    def _left(self, node: Statement, leave: Plain) -> Code:
        clock, line, column = self._context.clock, node.position.line, node.position.column

        def run(warp: Warp) -> None:
            clock.tick(warp, line, column)
            leave(warp)

        return Code(run)

    def _return(self, node: Return) -> Code:
        is_kernel, value = self._function.is_kernel, node.value
        pick = chooser(self._function.return_type)

        def leave(warp: Warp) -> None:
            warp.returned |= warp.mask
            if is_kernel:
                warp.live &= ~warp.mask
            warp.mask = 0

        if value is None:
            return self._left(node, leave)
        with self._context.within(node.position):
            code = self._step(node, [value], lambda: self._expressions.value(value))

        def give(warp: Warp, result: Any) -> None:
            # Lanes that returned before keep what they returned.
            if warp.returned and warp.result is not None:
                result = pick(warp.mask, result, warp.result)
            warp.result = result
            leave(warp)

        if not code.waits:
            return Code(lambda warp: give(warp, code.run(warp)))

        def wait(warp: Warp) -> Generator[Any, None, Any]:
            give(warp, (yield from code.run(warp)))

        return Code(wait, True)


def _leaves(node: Statement) -> bool:
    """Say whether lanes may leave for elsewhere than the next statement."""
    return any(isinstance(one, Break | Continue | Return) for one in under(node))
