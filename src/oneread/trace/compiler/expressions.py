"""Expressions of the tree as closures: each takes a warp and returns the value of 32 lanes.

Knows every kind of expression; statements are elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneread.trace.compiler.builtin_calls import Builtins
from oneread.trace.compiler.context import Context
from oneread.trace.compiler.layout import chooser, zero
from oneread.trace.compiler.operators import convert
from oneread.trace.compiler.places import Memory, Places, Register
from oneread.trace.compiler.watchers import Watchers, placing
from oneread.trace.machine import integers
from oneread.trace.machine.values import FULL, WARP
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import (
    AddressOf,
    ArrayValue,
    Assign,
    Binary,
    BuiltinCall,
    Call,
    Comma,
    Conditional,
    Construct,
    Convert,
    Decay,
    Expr,
    Extract,
    Function,
    Literal,
    Load,
    Logical,
    Lvalue,
    PointerAdd,
    PointerDifference,
    Special,
    Unary,
    Update,
)
from oneread.trace.types import Array, Pointer, Scalar, Struct, Void

Value = Callable[[Warp], Any]
Body = Callable[[Warp], Any]


class Expressions:
    """Makes closures of expressions.

    Parameters
    ----------
    context : Context
        Of the kernel.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self._builtins = Builtins(context)
        self.places = Places(self)
        self.watchers = Watchers(context, self.places)
        self.bodies: dict[Function, Body] = {}
        """Device functions that reach no barrier; callees come before their callers."""
        self.stored: dict[int, int] = {}
        """Slots of calls that were made before their statement, by the node."""

    def value(self, node: Expr) -> Value:
        """Return the closure of an expression's value."""
        make: Callable[[Any], Value] = getattr(self, "_" + type(node).__name__.lower())
        closure = make(node)
        if id(node) in self.context.rows:
            closure = placing(closure)
        note = self.watchers.of(node)
        if note is None:
            return closure

        def evaluate(warp: Warp) -> Any:
            value = closure(warp)
            note(warp, value)
            return value

        return evaluate

    def unused(self, node: Expr) -> Value:
        """Return the closure of an expression whose value nobody uses: a place is not read."""
        if isinstance(node, BuiltinCall) and node.builtin.kind == "atomic":
            return self._builtincall(node, used=False)
        if not isinstance(node, Lvalue):
            return self.value(node)
        place = self.places.find(node)
        return place.address if isinstance(place, Memory) else lambda _: None

    # ---- what is there

    def _literal(self, node: Literal) -> Value:
        constant: Any = node.value
        if isinstance(node.type, Scalar) and node.type.kind == "bool":
            constant = FULL if constant else 0
        elif isinstance(node.type, Scalar) and node.type.kind == "float":
            constant = float(constant)
        else:
            constant = int(constant)
        return lambda _: constant

    def _special(self, node: Special) -> Value:
        if node.name == "warpSize":
            return lambda _: WARP
        what, axis = node.name.split(".")
        number = "xyz".index(axis)
        if what == "blockIdx":
            return lambda warp: warp.block.place[number]
        if what == "threadIdx":
            return self._thread(number)
        size = (self.context.block if what == "blockDim" else self.context.grid)[number]
        return lambda _: size

    def _thread(self, number: int) -> Value:
        across, down, deep = self.context.block
        if number == 0 and down == deep == 1:
            return lambda warp: range(warp.first_thread, warp.first_thread + WARP)
        below, size = ((1, across), (across, down), (across * down, deep))[number]
        if number and below * size == below:
            return lambda _: 0

        def evaluate(warp: Warp) -> Any:
            threads = range(warp.first_thread, warp.first_thread + WARP)
            return integers.modulo(integers.divide(threads, below), size)

        return evaluate

    def _load(self, node: Load) -> Value:
        return self.places.load(node.place)

    def _addressof(self, node: AddressOf | Decay) -> Value:
        place = self.places.find(node.place)
        assert isinstance(place, Memory)
        return place.address

    _decay = _addressof

    def _extract(self, node: Extract) -> Value:
        assert isinstance(node.value.type, Struct)
        number, value = node.value.type.fields.index(node.field), self.value(node.value)
        return lambda warp: value(warp)[number]

    def _construct(self, node: Construct) -> Value:
        values = [self.value(part) for part in node.values]
        return lambda warp: [value(warp) for value in values]

    def _arrayvalue(self, node: ArrayValue) -> Value:
        assert isinstance(node.type, Array)
        values = [self.value(part) for part in node.values]
        rest = [zero(node.type.element)] * ((node.type.length or 0) - len(values))
        return lambda warp: [*(value(warp) for value in values), *rest]

    # ---- operators

    def _convert(self, node: Convert) -> Value:
        if isinstance(node.type, Void):
            return self.unused(node.value)
        return convert(node.value.type, node.type, self.value(node.value))

    def _unary(self, node: Unary) -> Value:
        return self.context.operators.unary(
            node.operator, node.type, self.value(node.value), node.position
        )

    def _binary(self, node: Binary) -> Value:
        return self.context.operators.binary(
            node.operator,
            node.left.type,
            self.value(node.left),
            self.value(node.right),
            node.position,
        )

    def _logical(self, node: Logical) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        both = node.operator == "&&"

        def evaluate(warp: Warp) -> int:
            mask = warp.mask
            first: int = left(warp)
            matters = mask & (first if both else ~first)
            if not matters:
                return first
            warp.mask = matters
            second: int = right(warp) & matters
            warp.mask = mask
            return second if both else (first | second)

        return evaluate

    def _conditional(self, node: Conditional) -> Value:
        condition = self.value(node.condition)
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        pick = chooser(node.type)

        def evaluate(warp: Warp) -> Any:
            mask = warp.mask
            yes = condition(warp) & mask
            if yes == mask:
                return then(warp)
            if not yes:
                return otherwise(warp)
            warp.mask = yes
            first = then(warp)
            warp.mask = mask ^ yes
            second = otherwise(warp)
            warp.mask = mask
            return pick(yes, first, second)

        return evaluate

    def _comma(self, node: Comma) -> Value:
        left, right = self.unused(node.left), self.value(node.right)

        def evaluate(warp: Warp) -> Any:
            left(warp)
            return right(warp)

        return evaluate

    def _pointeradd(self, node: PointerAdd) -> Value:
        assert isinstance(node.type, Pointer)
        pointer, index = self.value(node.pointer), self.value(node.index)
        size = node.type.target.size
        return lambda warp: integers.add(pointer(warp), integers.scale(index(warp), size))

    def _pointerdifference(self, node: PointerDifference) -> Value:
        assert isinstance(node.left.type, Pointer)
        left, right = self.value(node.left), self.value(node.right)
        size = node.left.type.target.size
        return lambda warp: integers.divide(integers.sub(left(warp), right(warp)), size)

    # ---- changes

    def _assign(self, node: Assign) -> Value:
        value = self.value(node.value)
        put = self.places.put(self.places.find(node.target), node.target)

        def evaluate(warp: Warp) -> Any:
            new = value(warp)
            put(warp, new)
            return new

        return evaluate

    def _update(self, node: Update) -> Value:
        take, change = self._parts(node)
        postfix = node.postfix

        def evaluate(warp: Warp) -> Any:
            old = take(warp)
            new = change(warp)
            return old if postfix else new

        return evaluate

    def _parts(self, node: Update) -> tuple[Value, Value]:
        """Return the closure that takes the old number, and the one that stores the new one."""
        place, value = self.places.find(node.target), self.value(node.value)
        value_slot, old_slot = self.context.extra_slot(), self.context.extra_slot()
        if isinstance(place, Memory):
            find, place = self._found_once(place)
            current = self.places.fetch(place, node.target)
        else:
            find, current = None, self.places.load(node.target)
        put = self.places.put(place, node.target)
        result = self._change(node, value_slot, old_slot)

        def take(warp: Warp) -> Any:
            registers = warp.registers
            registers[value_slot] = value(warp)
            if find is not None:
                find(warp)
            old = registers[old_slot] = current(warp)
            return old

        def change(warp: Warp) -> Any:
            new = result(warp)
            put(warp, new)
            return new

        return take, change

    def halves(self, node: Assign | Update) -> tuple[Value, Value]:
        """Return an assignment whose value nobody uses, what it reads apart from what it stores."""
        note = self.watchers.of(node)
        if isinstance(node, Update):
            take, change = self._parts(node)
        else:
            slot, value = self.context.extra_slot(), self.value(node.value)
            put = self.places.put(self.places.find(node.target), node.target)

            def take(warp: Warp) -> None:
                warp.registers[slot] = value(warp)

            def change(warp: Warp) -> Any:
                put(warp, warp.registers[slot])
                return warp.registers[slot]

        if note is None:
            return take, change

        def noted(warp: Warp) -> None:
            note(warp, change(warp))

        return take, noted

    def _found_once(self, place: Memory) -> tuple[Value, Memory]:
        """Return a closure that finds the address, and the place at the address last found."""
        slot, address = self.context.extra_slot(), place.address

        def find(warp: Warp) -> None:
            warp.registers[slot] = address(warp)

        return find, Memory(lambda warp: warp.registers[slot], place.type)

    def _change(self, node: Update, value_slot: int, old_slot: int) -> Value:
        """Return the closure of what is stored, from the old number and the operand."""

        def old(warp: Warp) -> Any:
            return warp.registers[old_slot]

        def value(warp: Warp) -> Any:
            return warp.registers[value_slot]

        if isinstance(node.compute, Pointer):
            size = node.compute.target.size * (1 if node.operator == "+" else -1)
            return lambda warp: integers.add(old(warp), integers.scale(value(warp), size))
        kind = node.target.type
        computed = self.context.operators.binary(
            node.operator, node.compute, convert(kind, node.compute, old), value, node.position
        )
        return convert(node.compute, kind, computed)

    # ---- calls

    def _call(self, node: Call) -> Value:
        stored = self.stored.get(id(node))
        if stored is not None:
            return lambda warp: warp.registers[stored]
        body = self.bodies[node.function]
        bind, end = self.bind(node), self.context.end(node.function)
        empty = zero(node.function.return_type)

        def evaluate(warp: Warp) -> Any:
            bind(warp)
            mask, returned, result = warp.mask, warp.returned, warp.result
            continued = warp.continued
            warp.returned, warp.result = 0, None
            body(warp)
            end(warp)
            value = empty if warp.result is None else warp.result
            warp.mask, warp.returned, warp.result = mask, returned, result
            warp.continued = continued
            return value

        return evaluate

    def bind(self, node: Call) -> Callable[[Warp], None]:
        """Return the closure that gives a function's parameters their values."""
        values = [self.value(argument) for argument in node.arguments]
        puts = [self.parameter(parameter) for parameter in node.function.parameters]

        def evaluate(warp: Warp) -> None:
            found = [value(warp) for value in values]
            for put, value in zip(puts, found, strict=True):
                put(warp, value)

        return evaluate

    def parameter(self, variable: Any) -> Any:
        """Return the closure that gives a parameter its value; some lie in local memory."""
        place = self.places.of_variable(variable)
        if isinstance(place, Register):
            return self.places.declare(variable)
        return self.places.put(place, variable)

    def _builtincall(self, node: BuiltinCall, used: bool = True) -> Value:
        stored = self.stored.get(id(node))
        if stored is not None:
            return lambda warp: warp.registers[stored]
        values = [self.value(argument) for argument in node.arguments]
        return self._builtins.call(node, values, used)
