"""How many blocks of a kernel fit on an SM at once.

Limits are those of the CUDA programming guide, "Technical specifications per compute capability".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from oneread.sass.decode.instruction import Resources

_LANES: Final = 32
#: Registers are given to warps in pieces of this many, shared memory to blocks in bytes.
_REGISTER_PIECE: Final = 256
_SHARED_PIECE: Final = 128
#: Bytes of each block that the system takes, from sm_80 on.
_RESERVED: Final = 1024


class Limits(NamedTuple):
    """What an SM has: threads, blocks, registers, bytes of shared memory."""

    threads: int
    blocks: int
    registers: int
    shared_bytes: int


#: By the first target that has them.
LIMITS: Final = {
    75: Limits(1024, 16, 65536, 64 << 10),
    80: Limits(2048, 32, 65536, 164 << 10),
    86: Limits(1536, 16, 65536, 100 << 10),
    87: Limits(1536, 16, 65536, 164 << 10),
    89: Limits(1536, 24, 65536, 100 << 10),
    90: Limits(2048, 32, 65536, 228 << 10),
    120: Limits(1536, 24, 65536, 100 << 10),
}


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Blocks on an SM; ``limit`` says what does not allow more."""

    blocks: int
    warps: int
    limit: str


def occupancy(target: int, resources: Resources, block: int, dynamic_bytes: int = 0) -> Occupancy:
    """Return how many blocks fit on an SM.

    Parameters
    ----------
    target : int
        Such as 86.
    resources : Resources
        What the kernel takes; the registers must be known.
    block : int
        Threads of a block.
    dynamic_bytes : int
        Shared memory that the launch adds.

    Returns
    -------
    Occupancy
        The blocks, the warps in them, and the first limit that is met: ``threads``, ``blocks``,
        ``registers`` or ``shared memory``.

    Examples
    --------
    >>> occupancy(86, Resources(registers=40, shared_bytes=0), 256)
    Occupancy(blocks=6, warps=48, limit='threads')
    """
    limits = LIMITS[max(first for first in LIMITS if first <= max(target, 75))]
    warps = -(-block // _LANES)
    # A warp's registers come in pieces.
    registers = _rounded((resources.registers or 1) * _LANES, _REGISTER_PIECE) * warps
    # The reserved bytes are in the kernel's own count already from sm_90 on.
    reserved = _RESERVED if 80 <= target < 90 else 0
    shared = _rounded((resources.shared_bytes or 0) + dynamic_bytes + reserved, _SHARED_PIECE)
    fits = {
        "threads": limits.threads // (warps * _LANES),
        "blocks": limits.blocks,
        "registers": limits.registers // registers,
        "shared memory": limits.shared_bytes // shared if shared else limits.blocks,
    }
    limit = min(fits, key=lambda name: fits[name])
    return Occupancy(fits[limit], fits[limit] * warps, limit)


def _rounded(number: int, piece: int) -> int:
    return -(-number // piece) * piece
