"""Places: registers, and addresses of memory. How a value is taken from one and put there.

Knows no operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneread.trace.compiler.layout import (
    assemble,
    base_element,
    chooser,
    lane_value,
    layout,
    leaves,
    scalars_of,
    shape,
    zero,
)
from oneread.trace.machine import integers
from oneread.trace.machine.values import WARP, look, spread
from oneread.trace.machine.warp import Warp
from oneread.trace.tree import (
    Declare,
    Deref,
    Expr,
    Index,
    Member,
    Storage,
    Temporary,
    Variable,
    VariableRef,
)
from oneread.trace.types import Pointer, Struct, Type

if TYPE_CHECKING:
    from oneread.trace.compiler.expressions import Expressions

Value = Callable[[Warp], Any]
Put = Callable[[Warp, Any], None]


@dataclass(frozen=True, slots=True)
class Register:
    """A variable without an address, or a member of one."""

    variable: Variable
    path: tuple[int, ...]
    """Numbers of the fields on the way to the member."""
    type: Type
    name: str


@dataclass(frozen=True, slots=True)
class Memory:
    """A place with an address."""

    address: Value
    type: Type


class Places:
    """Makes the closures that find, load and store."""

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._context = expressions.context
        self.may_be_unset: frozenset[Variable] = frozenset()
        """Register variables that some statement declares without a value."""
        self._member_slots: dict[Variable, dict[tuple[int, ...], int]] = {}

    def find(self, node: Expr) -> Register | Memory:
        """Return the place that an expression denotes."""
        if isinstance(node, VariableRef):
            return self.of_variable(node.variable)
        if isinstance(node, Member):
            base = self.find(node.base)
            if isinstance(base, Register):
                assert isinstance(base.type, Struct)
                number = base.type.fields.index(node.field)
                name = f"{base.name}.{node.field.name}"
                return Register(base.variable, (*base.path, number), node.type, name)
            return Memory(_moved(base.address, node.field.offset), node.type)
        if isinstance(node, Deref):
            return Memory(self._expressions.value(node.pointer), node.type)
        if isinstance(node, Index):
            pointer = self._expressions.value(node.pointer)
            index = self._expressions.value(node.index)
            return Memory(_indexed(pointer, index, node.type.size), node.type)
        if isinstance(node, Temporary):
            return self._temporary(node)
        raise AssertionError(type(node).__name__)

    def of_variable(self, variable: Variable) -> Register | Memory:
        """Return the place of a variable."""
        if variable.storage is Storage.REGISTER:
            return Register(variable, (), variable.type, variable.name)
        if variable.storage is Storage.LOCAL:
            return Memory(self.local(variable), variable.type)
        address = self._context.shared_address(variable)
        return Memory(lambda _: address, variable.type)

    def local(self, variable: Variable) -> Value:
        """Return the address of a variable in local memory; it comes to be where first used."""
        element = base_element(variable.type)
        cells, size = layout(element), variable.type.size
        per_lane, line = size // element.size, variable.position.line
        limits, name = self._context.limits, variable.name

        def address(warp: Warp) -> Any:
            base = warp.built.get(variable)
            if base is None:
                limits.check_local(warp.locals.used + size * WARP, line)
                made = warp.locals.allocate(name, per_lane * WARP, cells, element.size)
                made.lane_bytes = size
                base = warp.built[variable] = made.base
            return range(base, base + WARP * size, size)

        return address

    def _temporary(self, node: Temporary) -> Memory:
        place = self.of_variable(node.variable)
        assert isinstance(place, Memory)
        value = self._expressions.value(node.value)
        put, address = self.put(place, node), place.address

        def find(warp: Warp) -> Any:
            put(warp, value(warp))
            return address(warp)

        return Memory(find, node.type)

    # ---- taking and putting

    def load(self, node: Expr) -> Value:
        """Return the closure of the value that a place holds."""
        place = self.find(node)
        if isinstance(place, Memory):
            return self.fetch(place, node)
        slot, path = self._context.slot(place.variable), place.path
        if place.variable in self.may_be_unset:
            return self._checked(place, node)
        if not path:
            return lambda warp: warp.registers[slot]

        def take(warp: Warp) -> Any:
            value = warp.registers[slot]
            for number in path:
                value = value[number]
            return value

        return take

    def _checked(self, place: Register, node: Expr) -> Value:
        slot, path, name = self._context.slot(place.variable), place.path, place.name
        position, device, empty = node.position, self._context.device, zero(place.type)
        # A struct may be copied while some of its members are unset, but none of them read.
        members = [] if isinstance(place.type, Struct) else self._members(place)
        known = members[0] if members else slot

        def take(warp: Warp) -> Any:
            unset = warp.mask & ~warp.known[known]
            if unset:
                device.report.add(
                    "uninitialised-variable", position, warp, device.step, unset, variable=name
                )
                if not warp.known[slot]:
                    return empty
            value = warp.registers[slot]
            for number in path:
                value = value[number]
            return value

        return take

    def fetch(self, place: Memory, node: Expr) -> Value:
        """Return the closure that loads from memory."""
        device, kind, where = self._context.device, place.type, shape(place.type)
        site, address = self._context.site(node.position, "read"), place.address
        site.volatile = _volatile(node)
        if not isinstance(kind, Struct):
            return lambda warp: device.load(warp, site, address(warp), where)[0]
        return lambda warp: assemble(kind, iter(device.load(warp, site, address(warp), where)))

    def put(self, place: Register | Memory, node: Any) -> Put:
        """Return the closure that puts a value of the place's type there."""
        if isinstance(place, Register):
            return self._set(place)
        device, where = self._context.device, shape(place.type)
        site, address = self._context.site(node.position, "write"), place.address
        if not isinstance(place.type, Struct):
            return lambda warp, value: device.store(warp, site, address(warp), where, [value])
        return lambda warp, value: device.store(warp, site, address(warp), where, scalars_of(value))

    def _set(self, place: Register) -> Put:
        slot, pick = self._context.slot(place.variable), chooser(place.variable.type)
        path, empty = place.path, zero(place.variable.type)
        note, members = self._note(place), self._members(place)

        def put(warp: Warp, value: Any) -> None:
            known = warp.known[slot]
            old = warp.registers[slot] if known else empty
            if path:
                value = _replaced(old, path, value)
            if known & ~warp.mask:
                value = pick(warp.mask, value, old)
            warp.registers[slot] = value
            warp.known[slot] = known | warp.mask
            for member in members:
                warp.known[member] |= warp.mask
            if note is not None:
                note(warp, _part(value, path), _part(old, path))

        return put

    def _note(self, place: Register) -> Callable[[Warp, Any, Any], None] | None:
        """Return what records a new value of a place: each member of a struct by itself."""
        recorder = self._context.recorder
        if recorder is None:
            return None
        members = [(leaf.path, place.name + leaf.name) for leaf in leaves(place.type)]

        def note(warp: Warp, value: Any, old: Any) -> None:
            for path, name in members:
                before = None if old is None else _part(old, path)
                recorder.register(warp, name, _part(value, path), before)

        return note

    def _members(self, place: Register) -> list[int]:
        """Return the slots that say in which lanes each scalar of a variable is set."""
        variable = place.variable
        if variable not in self.may_be_unset or not isinstance(variable.type, Struct):
            return []
        known = self._member_slots.get(variable)
        if known is None:
            known = {one.path: self._context.extra_slot() for one in leaves(variable.type)}
            self._member_slots[variable] = known
        return [slot for path, slot in known.items() if path[: len(place.path)] == place.path]

    def declare(self, variable: Variable) -> Put:
        """Return the closure that gives a new register variable its first value."""
        slot = self._context.slot(variable)
        note = self._note(Register(variable, (), variable.type, variable.name))

        def put(warp: Warp, value: Any) -> None:
            warp.registers[slot] = value
            warp.known[slot] = warp.mask
            if note is not None:
                note(warp, value, None)

        return put

    def forget(self, variable: Variable) -> Callable[[Warp], None]:
        """Return the closure that makes a variable new and unset."""
        if variable.storage is Storage.REGISTER:
            slot = self._context.slot(variable)
            members = self._members(Register(variable, (), variable.type, variable.name))

            def clear(warp: Warp) -> None:
                warp.known[slot] = 0
                for member in members:
                    warp.known[member] = 0

            return clear
        address, size = self.local(variable), variable.type.size

        def unset(warp: Warp) -> None:
            buffer = warp.locals.find(address(warp).start)
            assert buffer is not None
            per = len(buffer.valid) // WARP
            if size:
                for lane in look(warp.mask).lanes:
                    buffer.valid[lane * per : (lane + 1) * per] = bytes(per)

        return unset

    def peek(self, targets: Sequence[Any]) -> Callable[[Warp], Any]:
        """Return what reads a variable for a watch: in the first lane, neither counted nor checked.

        Parameters
        ----------
        targets : sequence
            Places, or declarations, of variables of one name; the first that is set counts.
        """
        readers = [self._peek_one(one) for one in targets]

        def read(warp: Warp) -> Any:
            return next((v for v in (one(warp) for one in readers) if v is not None), None)

        return read

    def _peek_one(self, target: Any) -> Callable[[Warp], Any]:
        place = self.of_variable(target.variable) if isinstance(target, Declare) else None
        place = place or self.find(target)
        if isinstance(place, Register):
            slot, path = self._context.slot(place.variable), place.path
            kind = place.type

            def register(warp: Warp) -> Any:
                lane = look(warp.mask).first
                if not warp.known[slot] >> lane & 1:
                    return None
                return lane_value(kind, _part(warp.registers[slot], path), lane)

            return register
        address, cells = place.address, layout(place.type)
        code = cells[0][1] if len(cells) == 1 else ""

        def memory(warp: Warp) -> Any:
            at = spread(address(warp))[look(warp.mask).first]
            buffer = self._context.device.find(warp, at)
            offset = at - buffer.base if buffer is not None else -1
            if buffer is None or not code or not 0 <= offset < buffer.size:
                return None
            cell = buffer.cell(offset, code)
            return buffer.cells[cell] if cell >= 0 and buffer.valid[cell] else None

        return memory


def _volatile(node: Expr) -> bool:
    """Say whether a place is volatile, by itself or by the pointer that leads there."""
    while isinstance(node, Member):
        node = node.base
    if isinstance(node, VariableRef):
        return node.variable.volatile
    pointer = node.pointer.type if isinstance(node, Deref | Index) else None
    return isinstance(pointer, Pointer) and pointer.volatile


def _moved(address: Value, by: int) -> Value:
    if not by:
        return address
    return lambda warp: integers.add(address(warp), by)


def _indexed(pointer: Value, index: Value, size: int) -> Value:
    add, scale = integers.add, integers.scale
    return lambda warp: add(pointer(warp), scale(index(warp), size))


def _replaced(whole: Any, path: tuple[int, ...], value: Any) -> Any:
    """Return a struct with one member changed."""
    out = list(whole)
    out[path[0]] = _replaced(out[path[0]], path[1:], value) if len(path) > 1 else value
    return out


def _part(value: Any, path: tuple[int, ...]) -> Any:
    for number in path:
        value = value[number]
    return value
