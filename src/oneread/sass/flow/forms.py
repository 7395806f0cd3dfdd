"""Values of registers as linear forms, so that two addresses can be compared.

A form is a sum of atoms with factors and a number: what adding, shifting and multiplying by
constants makes of special registers, parameters, and values that cannot be followed further. It
does not matter whether a step is done in a thread's registers or in a warp's. Knows no memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Final

from oneread.sass.decode.instruction import Instruction, Operand, Register
from oneread.sass.decode.opcodes import PIPES
from oneread.sass.flow.graph import Graph
from oneread.sass.flow.reaching import ENTRY, Reaching

#: Deepest expression that is followed.
_DEPTH: Final = 24
_PURE_PIPES: Final = ("alu", "fma", "uniform", "half")
_PURE: Final = frozenset({"S2R", "S2UR", "CS2R", "LDC", "LDCU", "ULDC"})
_IMPURE: Final = frozenset({"VOTE", "VOTEU", "REDUX", "CREDUX"})
_MOVES: Final = frozenset({"MOV", "R2UR", "LDC"})
_ADDS: Final = frozenset({"IADD", "IADD3", "VIADD"})
_NOT_LOW: Final = ("X", "HI", "64", "WIDE")


@dataclass(frozen=True, slots=True)
class Form:
    """A sum: atoms with their factors, and a number.

    ``varying`` are the definitions that may give it another value when they run again.
    """

    terms: frozenset[tuple[Hashable, int]] = frozenset()
    offset: int = 0
    varying: frozenset[int] = frozenset()

    def plus(self, other: Form) -> Form:
        """Return the sum of two forms."""
        terms = dict(self.terms)
        for atom, factor in other.terms:
            terms[atom] = terms.get(atom, 0) + factor
        kept = frozenset((atom, factor) for atom, factor in terms.items() if factor)
        return Form(kept, self.offset + other.offset, self.varying | other.varying)

    def times(self, factor: int) -> Form:
        """Return a multiple of the form."""
        terms = frozenset((atom, times * factor) for atom, times in self.terms if factor)
        return Form(terms, self.offset * factor, self.varying)

    @property
    def constant(self) -> int | None:
        """Return the number, if there is nothing else."""
        return None if self.terms else self.offset


class Forms:
    """The values of a kernel's registers where they are read."""

    def __init__(self, graph: Graph, reaching: Reaching) -> None:
        self._program = graph.program
        self._reaching = reaching
        self._known: dict[tuple[int, Register], Form] = {}

    def of(self, index: int, register: Register, depth: int = 0) -> Form:
        """Return the value that an instruction reads from a register."""
        definitions = self._reaching.of(index, register)
        if len(definitions) != 1 or ENTRY in definitions or depth > _DEPTH:
            return _atom((register, definitions), definitions - {ENTRY})
        (definition,) = definitions
        key = definition, register
        if key not in self._known:
            self._known[key] = self._written(definition, register, depth)
        return self._known[key]

    def operand(self, one: Instruction, operand: Operand, depth: int = 0) -> Form:
        """Return the value of an operand that an instruction reads."""
        sign = -1 if operand.negative else 1
        if operand.kind == "zero":
            return Form()
        if operand.kind == "number" and operand.number == int(operand.number or 0):
            return Form(offset=int(operand.number or 0))
        if operand.register and not operand.absolute and not operand.inverted:
            return self.of(one.index, operand.register, depth + 1).times(sign)
        parts = [self.of(one.index, named.register, depth + 1) for named in operand.names]
        atom = (_shape(operand), *((part.terms, part.offset) for part in parts))
        return _atom(atom, _varying(parts))

    def _written(self, index: int, register: Register, depth: int) -> Form:
        """Return the value that an instruction writes to a register."""
        one = self._program.instructions[index]
        if one.opcode in _IMPURE or not (
            one.opcode in _PURE or PIPES.get(one.opcode) in _PURE_PIPES
        ):
            return _atom((index, register), frozenset({index}))
        parts = [self.operand(one, operand, depth) for operand in one.inputs]
        form = _linear(one, parts) if register == one.operands[0].register else None
        if form is not None:
            return form
        place = sorted(one.writes).index(register)
        name = _plain(one.opcode)
        atom = (name, one.modifiers, place, *((part.terms, part.offset) for part in parts))
        return _atom(atom, _varying(parts))


def _atom(atom: Hashable, varying: frozenset[int]) -> Form:
    return Form(frozenset({(atom, 1)}), 0, varying)


def _varying(parts: Iterable[Form]) -> frozenset[int]:
    return frozenset().union(*(part.varying for part in parts))


def _plain(opcode: str) -> str:
    """Return the name of an operation that a warp's registers have as well."""
    if opcode in ("S2UR", "LDCU", "ULDC"):
        return "S2R" if opcode == "S2UR" else "LDC"
    return opcode.removeprefix("U")


def _linear(one: Instruction, parts: list[Form]) -> Form | None:
    """Return the form of a copy, a sum, or a multiple by a constant."""
    name = _plain(one.opcode)
    if name in _MOVES and len(parts) == 1 and "64" not in one.modifiers:
        return parts[0]
    if one.has(*_NOT_LOW):
        return None
    if name in _ADDS:
        return _sum(parts[:3])
    if name == "IMAD" and len(parts) >= 3:
        for factor, other in ((parts[0], parts[1]), (parts[1], parts[0])):
            if factor.constant is not None:
                return other.times(factor.constant).plus(parts[2])
    if name == "LEA" and len(parts) >= 3 and parts[2].constant is not None:
        return parts[0].times(1 << parts[2].constant).plus(parts[1])
    if name == "SHF" and one.has("L") and parts[1].constant is not None:
        return parts[0].times(1 << (parts[1].constant & 31))
    return None


def _sum(parts: Iterable[Form]) -> Form:
    total = Form()
    for part in parts:
        total = total.plus(part)
    return total


def _shape(operand: Operand) -> str:
    """Return an operand's text with the numbers of its registers taken out."""
    text = operand.text
    for named in operand.names:
        text = text.replace(str(named.register), named.register.bank, 1)
    return text
