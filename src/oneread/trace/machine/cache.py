"""A model of DRAM traffic behind one cache: least recently used sectors of 32 bytes.

Knows only sector numbers. It is a model: one cache, no sets, no prefetch, blocks interleaved one
request at a time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

#: Bytes of a sector, the unit of traffic between cache and DRAM.
SECTOR = 32

#: One request of a warp: the sectors it touches, and whether it stores to them.
Request = tuple[Sequence[int], bool]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between a cache and DRAM."""

    read_bytes: int
    written_bytes: int


def interleave(blocks: Sequence[Sequence[Request]], resident: int) -> Iterator[Request]:
    """Yield the requests of blocks that take turns; a block that ends makes room for the next."""
    waiting = iter(blocks)
    running: list[Iterator[Request]] = []
    while True:
        while len(running) < resident:
            block = next(waiting, None)
            if block is None:
                break
            running.append(iter(block))
        if not running:
            return
        left: list[Iterator[Request]] = []
        for block_left in running:
            request = next(block_left, None)
            if request is not None:
                yield request
                left.append(block_left)
        running = left


def traffic(requests: Iterable[Request], cache_bytes: int) -> Traffic:
    """Return what passes between DRAM and a cache of this size.

    A store does not fetch its sector; a changed sector is written when it leaves the cache or at
    the end.
    """
    room = cache_bytes // SECTOR
    held: OrderedDict[int, bool] = OrderedDict()
    read = written = 0
    for sectors, stores in requests:
        for sector in sectors:
            changed = held.pop(sector, None)
            if changed is None:
                read += not stores
                changed = False
                if len(held) >= room > 0:
                    written += held.popitem(last=False)[1]
            if room > 0:
                held[sector] = changed or stores
            else:
                written += stores
    written += sum(held.values())
    return Traffic(read * SECTOR, written * SECTOR)
