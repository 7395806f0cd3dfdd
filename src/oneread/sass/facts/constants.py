"""Constants in registers: which bits an instruction writes, and as which number they are read.

The compiler writes a constant with whatever pipe is free: by `MOV`, by an integer multiply-add, or
as two halves of `HFMA2`. Knows no algorithm.
"""

from __future__ import annotations

import struct
from typing import Final

from oneread.sass.decode.instruction import Instruction, Operand, Program
from oneread.sass.flow.reaching import Reaching

_INFINITIES: Final = {"+INF": 0x7F800000, "INF": 0x7F800000, "-INF": 0xFF800000}
_HALF_NANS: Final = {"+QNAN": 0x7FFF, "-QNAN": 0xFFFF, "+SNAN": 0x7DFF, "-SNAN": 0xFDFF}


class Constants:
    """The constants of a kernel."""

    def __init__(self, program: Program, reaching: Reaching) -> None:
        self.program = program
        self._reaching = reaching

    def number(self, one: Instruction, operand: Operand) -> float | None:
        """Return the float32 that an operand of an arithmetic instruction is, if it is constant."""
        if operand.kind == "number":
            value = operand.number
            if value is not None and operand.text.lstrip("-").startswith("0x"):
                return as_float(int(value) & 0xFFFFFFFF)
            return value
        bits = self.bits(one, operand)
        if bits is None:
            return None
        value = as_float(bits)
        return -value if operand.negative else value

    def bits(self, one: Instruction, operand: Operand) -> int | None:
        """Return the 32 bits that an operand is, if they are constant."""
        if operand.kind == "zero":
            return 0
        if operand.register is None:
            return _immediate(operand)
        definitions = self._reaching.of(one.index, operand.register)
        if len(definitions) != 1 or min(definitions) < 0:
            return None
        return self.written(self.program.instructions[min(definitions)])

    def written(self, one: Instruction) -> int | None:
        """Return the constant that an instruction writes, None where it writes no constant."""
        inputs = one.inputs
        if one.opcode in ("MOV", "UMOV", "MOV32I") and inputs:
            return self.bits(one, inputs[0]) if inputs[0].register else _immediate(inputs[0])
        if one.opcode == "CS2R" and inputs and inputs[0].text == "SRZ":
            return 0
        if not inputs or any(operand.kind != "zero" for operand in inputs[:2]):
            return None
        if one.opcode == "IMAD" and len(inputs) == 3:
            return self.bits(one, inputs[2])
        if one.opcode == "HFMA2" and len(inputs) == 4:
            high, low = (_half(operand) for operand in inputs[2:])
            return None if high is None or low is None else high << 16 | low
        return None


def as_float(bits: int) -> float:
    """Return the float32 that 32 bits are."""
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    return value


def _immediate(operand: Operand) -> int | None:
    if operand.kind == "zero":
        return 0
    if operand.kind != "number":
        return None
    if operand.text in _INFINITIES:
        return _INFINITIES[operand.text]
    if operand.number is None:
        return None
    if operand.text.lstrip("-+").startswith("0x"):
        return int(operand.number) & 0xFFFFFFFF
    packed: int = struct.unpack("<I", struct.pack("<f", operand.number))[0]
    return packed


def _half(operand: Operand) -> int | None:
    """Return the 16 bits of a constant of an instruction on halves."""
    if operand.kind == "zero":
        return 0
    if operand.text in _HALF_NANS:
        return _HALF_NANS[operand.text]
    if operand.kind != "number" or operand.number is None:
        return None
    packed: int = struct.unpack("<H", struct.pack("<e", operand.number))[0]
    return packed
