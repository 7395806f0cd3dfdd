"""Registers of the tiles that tensor instructions multiply.

A tile is spread over the lanes of a warp, or of four: rows times columns times bits, divided by
lanes of 32 bits. Knows the notation of shapes and types.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_SHAPE: Final = re.compile(r"(8|16)(8)(\d+)|(\d+)x(\d+)x(\d+)")
#: Bits of an element of A and B, and of C and D, where no modifier says otherwise.
_BITS: Final = {
    "BMMA": (1, 32), "DMMA": (64, 64), "HGMMA": (16, 32), "HMMA": (16, 32), "IGMMA": (8, 32),
    "IMMA": (8, 32), "QGMMA": (8, 32), "QMMA": (8, 32),
}  # fmt: skip
_NARROW: Final = {"TF32": 32, "BF16": 16, "S4": 4, "U4": 4}
_WARP: Final = 32
_WARP_GROUP: Final = 128


def tile_widths(opcode: str, modifiers: Sequence[str]) -> tuple[int, ...]:
    """Return the registers of D, A, B and C of a tensor instruction, nothing of others.

    Parameters
    ----------
    opcode : str
        Without modifiers.
    modifiers : sequence of str
        A shape such as ``16816`` or ``64x64x16`` among them.

    Returns
    -------
    tuple of int
        In the order of the operands.

    Examples
    --------
    >>> tile_widths("HMMA", ["16816", "F32"])
    (4, 4, 2, 4)
    """
    shape = next((found for one in modifiers if (found := _SHAPE.fullmatch(one))), None)
    if opcode not in _BITS or shape is None:
        return ()
    rows, columns, depth = (int(number) for number in shape.groups() if number)
    factor, total = _BITS[opcode]
    factor = next((_NARROW[one] for one in modifiers if one in _NARROW), factor)
    if opcode in ("HMMA", "HGMMA") and "F32" not in modifiers:
        total = 16
    lanes = _WARP_GROUP if "GMMA" in opcode else _WARP
    sizes = (rows * columns * total, rows * depth * factor, depth * columns * factor)
    result, left, right = (max(1, size // (lanes * 32)) for size in sizes)
    return result, left, right, result
