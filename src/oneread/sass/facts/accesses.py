"""Loads and stores: space, width, and which of the kernel's pointers an address comes from.

Knows no loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction, Operand, Program, Register
from oneread.sass.flow.reaching import ENTRY, Reaching

Space: TypeAlias = Literal["global", "shared", "local"]

_SPACES: Final[dict[str, tuple[Space, bool]]] = {
    "LD": ("global", False),
    "LDG": ("global", False),
    "ST": ("global", True),
    "STG": ("global", True),
    "LDS": ("shared", False),
    "STS": ("shared", True),
    "LDL": ("local", False),
    "STL": ("local", True),
}
#: Bytes that a lane moves, by the modifier; 4 without one.
_BYTES: Final = {
    "U8": 1, "S8": 1, "8": 1, "U16": 2, "S16": 2, "16": 2, "64": 8, "128": 16, "256": 32,
}  # fmt: skip
#: Where the parameters of a kernel begin in the constant bank, by the first target of which so.
_PARAMETERS: Final = ((100, 0x380), (90, 0x210), (70, 0x160))
_CONSTANTS: Final = ("LDC", "LDCU", "ULDC")
_DEPTH: Final = 12


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store.

    ``lane_bytes`` is what a lane moves, ``element_bytes`` the size of what its values are used as.
    ``parameter`` is where the pointer stands among the kernel's parameters, in bytes, None where
    the address comes from none or from several. ``is_read_only`` marks loads that rely on nobody
    writing there.
    """

    instruction: Instruction
    space: Space
    is_store: bool
    lane_bytes: int
    element_bytes: int
    parameter: int | None
    is_read_only: bool


def parameter_base(target: int) -> int:
    """Return where the parameters begin in the constant bank 0 of a target such as 86."""
    return next(base for first, base in _PARAMETERS if target >= first)


def accesses(
    program: Program, instructions: Iterable[Instruction], reaching: Reaching
) -> list[Access]:
    """Return the loads and stores among instructions.

    Parameters
    ----------
    program : Program
        The kernel.
    instructions : iterable of Instruction
        Where to look.
    reaching : Reaching
        Where values come from.

    Returns
    -------
    list of Access
        In the order of the instructions.
    """
    users = reaching.users()
    found = []
    for one in instructions:
        if one.opcode not in _SPACES:
            continue
        space, is_store = _SPACES[one.opcode]
        lane_bytes = next((_BYTES[word] for word in one.modifiers if word in _BYTES), 4)
        uses = [program.instructions[index] for index in users.get(one.index, ())]
        if is_store:
            uses = [program.instructions[index] for index in reaching.feeding(one)]
        parameter = _parameter(program, one, reaching) if space == "global" else None
        found.append(
            Access(
                one,
                space,
                is_store,
                lane_bytes,
                _element_bytes(lane_bytes, uses),
                parameter,
                one.has("CONSTANT", "CI"),
            )
        )
    return found


def _element_bytes(lane_bytes: int, uses: Iterable[Instruction]) -> int:
    """Return the size of the elements that an access moves, by what is done with them."""
    if lane_bytes <= 2:
        return lane_bytes
    kinds = Counter(_kind(one) for one in uses)
    if kinds["half"] and kinds["half"] >= kinds["double"]:
        return 2
    return 8 if kinds["double"] else 4


def _kind(one: Instruction) -> str:
    if one.opcode == "HFMA2" and all(operand.kind == "zero" for operand in one.inputs[:2]):
        return "other"  # a constant of 32 bits, written by a pipe that was free
    if one.opcode.startswith("H") or one.has("H0_H0", "H1_H1"):
        return "half"
    return "double" if one.opcode in ("DADD", "DFMA", "DMNMX", "DMUL", "DSETP") else "other"


def _parameter(program: Program, one: Instruction, reaching: Reaching) -> int | None:
    """Return where the pointer of an address stands among the parameters."""
    address = next((operand for operand in one.operands if operand.kind == "address"), None)
    if address is None:
        return None
    # The descriptor of sm_90 and later is in the address too, and is no pointer.
    names = address.names[1:] if address.base == "desc" else address.names
    base = parameter_base(program.target)
    seen: set[tuple[int, Register]] = set()
    found: set[int] = set()
    waiting = [(one, named.register, 0) for named in names]
    while waiting:
        reader, register, depth = waiting.pop()
        for definition in reaching.of(reader.index, register):
            if definition == ENTRY or depth > _DEPTH or (definition, register) in seen:
                continue
            seen.add((definition, register))
            source = program.instructions[definition]
            # A load of several words puts each into a register of its own.
            nth = sorted(source.writes).index(register) if source.opcode in _CONSTANTS else 0
            for operand in _bases(source):
                if operand.kind == "constant" and operand.base == "0x0":
                    found.add(int(operand.number or 0) + 4 * nth - base)
                waiting += [
                    (source, named.register, depth + 1)
                    for named in operand.names
                    if operand.kind == "register"
                ]
    pointers = {offset for offset in found if offset >= 0}
    return pointers.pop() if len(pointers) == 1 else None


def _bases(one: Instruction) -> Iterator[Operand]:
    """Yield the operands of an instruction that the address it makes starts from."""
    inputs = one.inputs
    if one.opcode in ("IMAD", "UIMAD") and len(inputs) >= 3:
        yield inputs[2]
        if inputs[1].number == 1:  # an addition by the pipe that multiplies
            yield inputs[0]
    elif one.opcode in ("LEA", "ULEA", "UCLEA") and len(inputs) >= 2:
        yield inputs[1]
    elif one.opcode in (
        "IADD", "IADD3", "LDC", "LDCU", "MOV", "R2UR", "SEL", "UIADD3", "ULDC", "UMOV", "USEL",
        "VIADD",
    ):  # fmt: skip
        yield from inputs
