"""What a request costs: sectors of global memory, wavefronts of shared memory.

Knows no buffer and no warp; works on byte offsets of the active lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from oneread.trace.machine.cache import SECTOR

#: Banks of shared memory, and bytes that each gives at a time.
BANKS = 32
BANK_BYTES = 4


def sectors(offsets: Sequence[int], size: int) -> Sequence[int]:
    """Return the sectors that lanes with `size` bytes at these offsets touch, each once."""
    if type(offsets) is range and -SECTOR <= offsets.step <= SECTOR:
        low, high = offsets[0], offsets[-1]
        if low > high:
            low, high = high, low
        return range(low // SECTOR, (high + size - 1) // SECTOR + 1)
    found = {offset // SECTOR for offset in offsets}
    if size > 1:
        found |= {(offset + size - 1) // SECTOR for offset in offsets}
    return sorted(found)


def ideal_sectors(offsets: Sequence[int], size: int) -> int:
    """Return the fewest sectors that could hold the bytes asked for."""
    distinct = len(offsets) if type(offsets) is range else len(set(offsets))
    return -(-distinct * size // SECTOR)


def phases(size: int) -> int:
    """Return in how many parts a warp's request of `size` bytes a lane is served."""
    return 4 if size >= 16 else 2 if size >= 8 else 1


def wavefronts(offsets: Sequence[int], lanes: Sequence[int], size: int) -> int:
    """Return the wavefronts of a request of shared memory.

    Lanes that want different words of one bank wait for each other; lanes that want the same word
    share it. Requests of 8 bytes a lane are served by halves of the warp, of 16 by quarters.
    """
    if type(offsets) is range:
        step = offsets.step
        if step % BANK_BYTES == 0 and offsets.start % BANK_BYTES == 0:
            return _of_stride(step, size, tuple(lanes))
    return _count(offsets, lanes, size)


@lru_cache(maxsize=1024)
def _of_stride(step: int, size: int, lanes: tuple[int, ...]) -> int:
    # Moving all lanes by some words turns the banks and changes nothing.
    offsets = [place * step for place in range(len(lanes))]
    low = min(offsets)
    return _count([offset - low for offset in offsets], lanes, size)


def _count(offsets: Sequence[int], lanes: Sequence[int], size: int) -> int:
    per_phase = 32 // phases(size)
    total = 0
    for phase in range(phases(size)):
        banks: dict[int, set[int]] = {}
        for lane, offset in zip(lanes, offsets, strict=True):
            if lane // per_phase == phase:
                first, last = offset // BANK_BYTES, (offset + size - 1) // BANK_BYTES
                for word in range(first, last + 1):
                    banks.setdefault(word % BANKS, set()).add(word)
        total += max(map(len, banks.values()), default=0)
    return total


def ideal_wavefronts(lanes: Sequence[int], size: int) -> int:
    """Return the wavefronts that the request would take without conflicts."""
    if size < 8:
        return 1
    per_phase = 32 // phases(size)
    return len({lane // per_phase for lane in lanes})
