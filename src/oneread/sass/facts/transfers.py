"""What else touches memory than plain loads and stores: atomics, and copies past the registers.

Knows no loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import Space

#: ``atomic`` changes a word where it lies, ``copy`` moves between global and shared memory,
#: ``matrix`` moves tiles between shared memory and registers, ``barrier`` waits on a word.
TransferKind: TypeAlias = Literal["atomic", "copy", "matrix", "barrier"]

_KINDS: Final[dict[str, tuple[TransferKind, tuple[Space, ...]]]] = {
    "ATOM": ("atomic", ("global",)),
    "ATOMG": ("atomic", ("global",)),
    "RED": ("atomic", ("global",)),
    "REDG": ("atomic", ("global",)),
    "UREDGR": ("atomic", ("global",)),
    "ATOMS": ("atomic", ("shared",)),
    "REDAS": ("atomic", ("shared",)),
    "LDGSTS": ("copy", ("global", "shared")),
    "UBLKCP": ("copy", ("global", "shared")),
    "UBLKRED": ("copy", ("global", "shared")),
    "UTMALDG": ("copy", ("global", "shared")),
    "UTMASTG": ("copy", ("global", "shared")),
    "UTMAREDG": ("copy", ("global", "shared")),
    "STAS": ("copy", ("shared",)),
    "LDSM": ("matrix", ("shared",)),
    "STSM": ("matrix", ("shared",)),
    "SYNCS": ("barrier", ("shared",)),
}
#: What an atomic does, as its modifiers say it.
_OPERATIONS: Final = frozenset(
    {"ADD", "AND", "CAS", "CAST", "DEC", "EXCH", "INC", "MAX", "MIN", "OR", "XOR"}
)
_BYTES: Final = {"64": 8, "128": 16, "256": 32}


@dataclass(frozen=True, slots=True)
class Transfer:
    """An atomic or a copy.

    ``spaces`` are the memories that it touches. ``operation`` is of an atomic: ``ADD``, ``MAX``;
    empty of a copy. ``lane_bytes`` is what a lane moves or changes, 0 of a copy that one thread
    starts for all.
    """

    kind: TransferKind
    instruction: Instruction
    spaces: tuple[Space, ...]
    operation: str
    lane_bytes: int


def transfers(instructions: Iterable[Instruction]) -> list[Transfer]:
    """Return the atomics and copies among instructions, in their order."""
    found = []
    for one in instructions:
        if one.opcode in _KINDS:
            kind, spaces = _KINDS[one.opcode]
            names = [word for word in one.modifiers if word in _OPERATIONS]
            operation = names[0].replace("CAST", "CAS") if names and kind == "atomic" else ""
            is_bulk = one.opcode.startswith("U") and kind == "copy"
            width = next((_BYTES[word] for word in one.modifiers if word in _BYTES), 4)
            found.append(Transfer(kind, one, spaces, operation, 0 if is_bulk else width))
    return found
