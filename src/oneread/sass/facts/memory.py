"""Bytes of global memory an element, and the elements a clock that DRAM allows with them.

Bytes are those that lanes ask for; what a cache keeps and what an access fetches besides is left
out. Knows no instruction's meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.accesses import Access
from oneread.sass.facts.transfers import Transfer


class Card(NamedTuple):
    """A card of a target, by its data sheet: GB/s of DRAM, SMs, their clock in MHz."""

    name: str
    gigabytes: int
    multiprocessors: int
    megahertz: int

    @property
    def rate(self) -> float:
        """Return the bytes of DRAM a clock of an SM."""
        return self.gigabytes * 1000 / self.multiprocessors / self.megahertz


#: One card of each target; other cards of it may have another memory.
CARDS: Final = {
    75: Card("T4", 320, 40, 1590),
    80: Card("A100 40 GB", 1555, 108, 1410),
    86: Card("GeForce RTX 3090", 936, 82, 1695),
    89: Card("GeForce RTX 4090", 1008, 128, 2520),
    90: Card("H200", 4800, 132, 1980),
    100: Card("B200", 8000, 148, 1965),
    120: Card("GeForce RTX 5090", 1792, 170, 2407),
}


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of global memory that a lane reads and writes for an element."""

    read: float
    written: float

    @property
    def total(self) -> float:
        return self.read + self.written


def traffic(
    instructions: Iterable[Instruction],
    accesses: Iterable[Access],
    transfers: Iterable[Transfer],
    elements: int,
) -> Traffic | None:
    """Return the traffic of instructions.

    Parameters
    ----------
    instructions : iterable of Instruction
        Each counted once.
    accesses, transfers : iterable of Access, of Transfer
        Those of the kernel.
    elements : int
        How many elements a lane is done with after them; at least 1.

    Returns
    -------
    Traffic or None
        None where a copy is among them that does not say how much it moves.
    """
    indices = {one.index for one in instructions}
    read = written = 0
    for one in accesses:
        if one.instruction.index in indices and one.space == "global":
            read += 0 if one.is_store else one.lane_bytes
            written += one.lane_bytes if one.is_store else 0
    for move in transfers:
        if move.instruction.index in indices and "global" in move.spaces:
            if not move.lane_bytes:
                return None
            read += move.lane_bytes if move.kind == "copy" else 0
            written += 0 if move.kind == "copy" else move.lane_bytes
    return Traffic(read / elements, written / elements)
