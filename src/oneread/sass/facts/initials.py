"""What an accumulator begins with.

Knows no loop but the accumulator's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from oneread.sass.decode.instruction import Instruction, Register
from oneread.sass.facts.constants import Constants, as_float
from oneread.sass.flow.reaching import ENTRY, Reaching
from oneread.sass.flow.recurrences import Recurrence, is_move
from oneread.sass.flow.words import Words

_LOWEST: Final = 0xFF7FFFFF
_SIGN: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Initial:
    """A constant that an accumulator begins with: its bits, and the instruction that writes it.

    ``type`` is what the accumulator takes them as.
    """

    instruction: Instruction
    bits: int
    type: Literal["float", "int", "unsigned"] = "float"

    @property
    def text(self) -> str:
        """Return the constant as CUDA C has it."""
        if self.type != "float":
            return str(self.bits if self.type == "unsigned" else (self.bits ^ _SIGN) - _SIGN)
        if self.bits == _LOWEST:
            return "-FLT_MAX"
        value = as_float(self.bits)
        if value in (float("inf"), float("-inf")):
            return "INFINITY" if value > 0 else "-INFINITY"
        return f"{value:g}"


def initial_of(
    recurrence: Recurrence, reaching: Reaching, words: Words, constants: Constants
) -> Initial | None:
    """Return the constant that a loop begins a value with.

    Parameters
    ----------
    recurrence : Recurrence
        What the loop carries.
    reaching : Reaching
        Where values come from, in the whole kernel.
    words : Words
        The words of shared memory.
    constants : Constants
        What instructions write.

    Returns
    -------
    Initial or None
        None where it begins with no constant, such as what an earlier loop left.
    """
    program = constants.program
    steps = {one.index for one in recurrence.steps}
    seen: set[tuple[int, Register]] = set()
    found: dict[int, Instruction] = {}
    waiting = [
        (one.index, register)
        for one in recurrence.steps
        for register in recurrence.inputs[one.index]
    ]
    while waiting:
        reader, register = waiting.pop()
        for definition in reaching.of(reader, register):
            if definition == ENTRY or definition in steps or (definition, register) in seen:
                continue
            seen.add((definition, register))
            source = program.instructions[definition]
            if constants.written(source) is not None:
                found[definition] = source
            elif is_move(source):
                waiting += [(definition, one) for one in words.sources(source, register)]
    values = {constants.written(one) for one in found.values()}
    bits = values.pop() if len(values) == 1 else None
    return None if bits is None else Initial(found[min(found)], bits)
