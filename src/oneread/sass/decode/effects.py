"""Registers that an instruction reads and writes, from its opcode and operands.

The rules follow the notation: results stand first, wide values are named by their first register.
`nvdisasm -plr` says the same where it can; tests compare the two. Knows no control flow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from oneread.sass.decode.instruction import ALWAYS_TRUE, Bank, Guard, Operand, Register
from oneread.sass.decode.tiles import tile_widths


class Effects(NamedTuple):
    """How many operands are results, and all registers read and written."""

    outputs: int
    reads: frozenset[Register]
    writes: frozenset[Register]


#: Opcodes without a result, by their beginnings.
_NO_RESULT: Final = re.compile(
    r"ST[GSLT]?|STAS|STSM|STTM|SUST|SURED|RED|REDG|REDAS|LDGSTS|LDGDEPBAR|DEPBAR|UTMA\w*|UBLK\w*"
    r"|USTGR|UREDGR|UMEMSETS|UTC(?!ATOMSWS)\w*|BRA|BRXU?|JMP|JMXU?|CALL|RET|EXIT|KILL|BAR|BSYNC"
    r"|BPT|NOP|YIELD|WARPSYNC|WARPGROUP|NANOSLEEP|MEMBAR|ERRBAR|FENCE|CCTL[LT]?|ACQBULK|PREEXIT"
    r"|ARRIVES|ENDCOLLECTIVE|CGAERRBAR|UCGABAR_\w+|R2B|PMTRIG|U?SETMAXREG|ACQSHMINIT|CSMTEST"
)
#: Opcodes whose results are two predicates.
_TWO_PREDICATES: Final = frozenset(
    {"DSETP", "FSETP", "HSETP2", "ISETP", "PLOP3", "PSETP", "UFSETP", "UISETP", "UPLOP3", "UPSETP"}
)
#: Opcodes with one result and predicates among what they read right behind it.
_ONE_RESULT: Final = frozenset({"BREAK", "BSSY", "FCHK"})
_FP64: Final = frozenset({"DADD", "DFMA", "DMNMX", "DMUL", "DSETP"})
#: Opcodes whose 64 bits are named half by half.
_SHIFTS: Final = frozenset({"SHF", "USHF"})
_CONVERSIONS: Final = frozenset({"F2F", "F2I", "FRND", "I2F"})
_MEMORY: Final = re.compile(r"(LD|ST|ATOM|RED|SULD|SUST|SUATOM|SURED|UREDG|USTG)\w*")
#: Opcodes whose addresses are of 64 bits even where the notation does not say so.
_WIDE_ADDRESS: Final = frozenset({"ATOM", "ATOMG", "CCTL", "LD", "LDG", "RED", "REDG", "ST", "STG"})
_WIDE_JUMPS: Final = frozenset({"BRX", "BRXU", "CALL", "JMX", "JMXU", "RET"})
_ALL_PREDICATES: Final = {"P2R": "P", "R2P": "P", "UP2UR": "UP", "UR2UP": "UP"}


def effects(
    opcode: str, modifiers: Sequence[str], operands: Sequence[Operand], guard: Guard | None
) -> Effects:
    """Return what an instruction reads and writes.

    Parameters
    ----------
    opcode : str
        Without modifiers.
    modifiers : sequence of str
        In their order.
    operands : sequence of Operand
        In their order.
    guard : Guard or None
        The predicate that it runs under.

    Returns
    -------
    Effects
        An opcode that is not known is taken to have its first operand as result; what stands
        under ``@!PT`` reads and writes nothing.
    """
    outputs = _count_outputs(opcode, modifiers, operands)
    if guard and guard.register == ALWAYS_TRUE:
        return Effects(outputs, frozenset(), frozenset())
    reads = {guard.register} if guard else set()
    writes: set[Register] = set()
    widths = _Widths(opcode, modifiers, operands, outputs)
    for place, operand in enumerate(operands):
        is_result = place < outputs and operand.kind in ("register", "predicate")
        for nth, (register, suffixes) in enumerate(operand.names):
            width = widths.of(place, operand, nth, register.bank, suffixes)
            span = {Register(register.bank, register.number + more) for more in range(width)}
            (writes if is_result else reads).update(span)
    _predicate_file(opcode, operands, reads, writes)
    return Effects(outputs, frozenset(reads), frozenset(writes))


def _count_outputs(opcode: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> int:
    """Return how many operands at the front are results."""
    if _NO_RESULT.fullmatch(opcode) or not operands:
        return 0
    if opcode in _TWO_PREDICATES:
        return 2
    if opcode in _ONE_RESULT:
        return 1
    at = 0
    while at < len(operands) and _is_plain_predicate(operands[at]):
        at += 1
    if opcode in ("VOTE", "VOTEU"):
        # VOTE R, P, condition or VOTE P, condition; the condition may be plain, too.
        return 1 if at else 2
    if at < len(operands) and operands[at].kind in ("register", "zero"):
        at += 1
        if "256" in modifiers:
            return at + 1
        # Carries and overflows.
        while at < len(operands) and _is_plain_predicate(operands[at]):
            at += 1
    return max(at, 1)


def _is_plain_predicate(operand: Operand) -> bool:
    return operand.kind in ("predicate", "true") and operand.is_plain


def _predicate_file(
    opcode: str, operands: Sequence[Operand], reads: set[Register], writes: set[Register]
) -> None:
    """Add the predicates that are packed into a register or unpacked from one, by the mask."""
    if opcode not in _ALL_PREDICATES or not operands:
        return
    bank: Bank = "P" if _ALL_PREDICATES[opcode] == "P" else "UP"
    mask = operands[-1].number
    bits = int(mask) if operands[-1].kind == "number" and mask is not None else 0x7F
    named = {Register(bank, bit) for bit in range(7) if bits >> bit & 1}
    (reads if opcode in ("P2R", "UP2UR") else writes).update(named)


class _Widths:
    """How many registers each name of an instruction stands for."""

    def __init__(
        self, opcode: str, modifiers: Sequence[str], operands: Sequence[Operand], outputs: int
    ) -> None:
        self.opcode = opcode
        self.modifiers = modifiers
        self.outputs = outputs
        self.is_memory = _MEMORY.fullmatch(opcode) is not None
        self.is_described = any(operand.base == "desc" for operand in operands)
        self.last_register = max(
            (at for at, operand in enumerate(operands) if operand.kind in ("register", "zero")),
            default=-1,
        )
        self.data = data_width(opcode, modifiers)
        self.result, self.source = _value_widths(opcode, modifiers)
        self.tiles = tile_widths(opcode, modifiers)

    def of(
        self, place: int, operand: Operand, nth: int, bank: Bank, suffixes: Sequence[str]
    ) -> int:
        """Return the registers that the nth name of an operand stands for."""
        if bank in ("P", "UP", "B"):
            return 1
        if "64" in suffixes:
            return 2
        if self.opcode in _WIDE_JUMPS:
            return 2
        if operand.kind == "address":
            return self._address(operand, nth, suffixes)
        if operand.kind != "register":
            return 2 if operand.text.lstrip("-|").startswith("cx[") else 1
        if self.is_memory:
            return self.data
        if self.tiles and place < len(self.tiles):
            return self.tiles[place]
        if place < self.outputs:
            return self.result
        if "WIDE" in self.modifiers or (self.opcode == "IMAD" and "HI" in self.modifiers):
            return 2 if place == self.last_register and place > self.outputs + 1 else 1
        return self.source

    def _address(self, operand: Operand, nth: int, suffixes: Sequence[str]) -> int:
        if operand.base == "desc":
            return 2 if nth == 0 else 1
        if operand.base:
            return 2 if operand.base == "gdesc" else 1
        is_wide = self.opcode in _WIDE_ADDRESS and not self.is_described
        return 2 if is_wide and "U32" not in suffixes and "32" not in suffixes else 1


def data_width(opcode: str, modifiers: Sequence[str]) -> int:
    """Return the registers of what a memory instruction moves, for each operand."""
    if opcode in ("LDSM", "STSM"):
        return next((int(one) for one in modifiers if one in ("2", "4")), 1)
    for modifier in modifiers:
        if modifier in ("64", "F64", "128", "256"):
            return 2 if modifier.endswith("64") else 4
        if opcode in ("LDTM", "STTM") and re.fullmatch(r"x\d+", modifier):
            return int(modifier[1:])
    return 1


def _value_widths(opcode: str, modifiers: Sequence[str]) -> tuple[int, int]:
    """Return the registers of a result and of a source outside of memory."""
    if opcode in _CONVERSIONS:
        return _conversion(opcode, modifiers)
    is_wide = any(one in ("64", "S64", "U64") for one in modifiers) and opcode not in _SHIFTS
    if opcode in _FP64 or is_wide or opcode == "LEPC":
        return 2, 2
    if "WIDE" in modifiers or (opcode == "CS2R" and "32" not in modifiers):
        return 2, 1
    return 1, 1


def _conversion(opcode: str, modifiers: Sequence[str]) -> tuple[int, int]:
    """Return the registers of the two sides of a conversion; types are named result first."""
    wide = ("F64", "S64", "U64")
    types = [one for one in modifiers if re.fullmatch(r"[FSU](8|16|32|64)", one)]
    if opcode == "FRND":
        return (2, 2) if "F64" in types else (1, 1)
    if opcode == "F2F":
        result, source = types[0] if types else "", types[-1] if types else ""
    elif opcode == "F2I":
        source = "F64" if "F64" in types else ""
        result = next((one for one in types if one in ("S64", "U64")), "")
    else:
        result = "F64" if "F64" in types else ""
        source = next((one for one in types if one in ("S64", "U64")), "")
    return 2 if result in wide else 1, 2 if source in wide else 1
