"""A listing turned into instructions.

Knows the notation and the layout of the control bits; knows no opcode beyond which may jump.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from oneread.sass.decode.effects import effects
from oneread.sass.decode.instruction import (
    ALWAYS_TRUE,
    Control,
    Guard,
    Instruction,
    Program,
    Register,
)
from oneread.sass.decode.operands import parse_operand, split_operands
from oneread.sass.errors import MachineCodeError
from oneread.sass.read.listing import ListedInstruction, Listing
from oneread.source.errors import quoted

#: The oldest target that is read. Instructions are of 128 bits since sm_70, the rules are tested
#: from here on.
OLDEST: Final = 75
#: Where the control bits begin.
_CONTROL_BIT: Final = 105
_NO_BARRIER: Final = 7

_FORM: Final = re.compile(r"(?:@(!?)(UP|P)(\d|T)\s+)?([A-Z]\w*)((?:\.[\w&]+)*)\s*(.*)", re.ASCII)
_TABLE: Final = re.compile(r'\(\*"BRANCH_TARGETS\s+(.*?)"\*\)')
#: What else a disassembler notes behind an instruction.
_NOTE: Final = re.compile(r'\(\*"(.*?)"\*\)')
_SPILL: Final = "SpillRefill"
_LABEL: Final = re.compile(r"`?\(([^()+]+)\)", re.ASCII)
_JUMPS: Final = frozenset({"BRA", "JMP", "CALL", "BSSY", "WARPSYNC", "BRX", "BRXU", "JMX", "JMXU"})


def decode(listing: Listing) -> Program:
    """Turn a listing into instructions.

    Parameters
    ----------
    listing : Listing
        What a disassembler printed of one kernel.

    Returns
    -------
    Program
        Its instructions.

    Raises
    ------
    MachineCodeError
        When the target is older than sm_75, a line is no instruction, or a jump leads to a label
        that is not there.
    """
    program = Program(listing.name, listing.arch, (), listing.resources)
    if program.target < OLDEST:
        raise MachineCodeError(
            f"{listing.name} is for {listing.arch}; machine code is read from sm_{OLDEST} on"
        )
    instructions = tuple(
        _instruction(index, one, listing) for index, one in enumerate(listing.instructions)
    )
    return Program(listing.name, listing.arch, instructions, listing.resources)


def control_bits(encoding: int) -> Control:
    """Return the control bits of an instruction's encoding.

    Parameters
    ----------
    encoding : int
        All 128 bits.

    Returns
    -------
    Control
        From the lowest bit up: 4 of stall, 1 of yield (0 is yes), 3 and 3 of the barriers that are
        set (7 is none), 6 of those that are waited for, 4 of operands that stay.
    """
    bits = encoding >> _CONTROL_BIT
    write, read, waits = bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 0x3F
    return Control(
        stall=bits & 0xF,
        yields=not bits >> 4 & 1,
        write_barrier=None if write == _NO_BARRIER else write,
        read_barrier=None if read == _NO_BARRIER else read,
        waits=tuple(barrier for barrier in range(6) if waits >> barrier & 1),
        reuse=bits >> 17 & 0xF,
    )


def _instruction(index: int, listed: ListedInstruction, listing: Listing) -> Instruction:
    found = _FORM.fullmatch(listed.text)
    if found is None:
        raise MachineCodeError(
            f"{listing.name}, {listed.address:#06x}: no instruction: {quoted(listed.text)!r}"
        )
    negated, bank, number, opcode, dotted, rest = found.groups()
    guard = _guard(bank, number, bool(negated))
    modifiers = tuple(dotted.split(".")[1:])
    table = _TABLE.search(rest)
    notes = _NOTE.findall(rest)
    operands = tuple(parse_operand(one) for one in split_operands(_NOTE.sub("", rest).strip()))
    outputs, reads, writes = effects(opcode, modifiers, operands, guard)
    targets: tuple[int, ...] = ()
    if opcode in _JUMPS:
        words = table[1].split(",") if table else [one.text for one in operands]
        targets = tuple(_targets(words, listed, listing.labels))
    return Instruction(
        index,
        listed.address,
        guard,
        opcode,
        modifiers,
        operands,
        outputs,
        reads,
        writes,
        None if listed.encoding is None else control_bits(listed.encoding),
        listed.line,
        targets,
        _SPILL in notes,
    )


def _guard(bank: str | None, number: str | None, negated: bool) -> Guard | None:
    if number is None or (number == "T" and not negated):
        return None
    if number == "T":
        return Guard(ALWAYS_TRUE, True)
    return Guard(Register("UP" if bank == "UP" else "P", int(number)), negated)


def _targets(words: list[str], listed: ListedInstruction, labels: Mapping[str, int]) -> list[int]:
    """Return the addresses that a jump names by number or by label."""
    found = []
    for word in map(str.strip, words):
        label = _LABEL.fullmatch(word)
        name = label[1] if label else word
        if name in labels:
            found.append(labels[name])
        elif re.fullmatch(r"0x[0-9a-f]+", name):
            found.append(int(name, 16))
        elif name.startswith(".L_"):
            raise MachineCodeError(
                f"{listed.text!r} leads to a label that is not there; is the text cut off?"
            )
    return found
