"""A model of DRAM traffic behind one cache: least recently used sectors of 32 bytes.

Knows only sector numbers. It is a model: one cache, no sets, no prefetch, blocks interleaved one
request at a time.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

#: Bytes of a sector, the unit of traffic between cache and DRAM.
SECTOR = 32

#: One request of a warp: the sectors it touches, whether it stores to them, and who asked.
Request = tuple[Sequence[int], bool, Hashable]


_ABSENT = object()


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between a cache and DRAM."""

    read_bytes: int
    written_bytes: int
    of: Mapping[Hashable, int] = field(default_factory=dict, repr=False, compare=False)
    """Both together, by who asked for a sector that had to be read, or stored to it last."""


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
    held: OrderedDict[int, Hashable] = OrderedDict()  # who stored to a sector last, None for none
    read: Counter[Hashable] = Counter()
    written: Counter[Hashable] = Counter()
    for sectors, stores, owner in requests:
        for sector in sectors:
            last = held.pop(sector, _ABSENT)
            if last is _ABSENT:
                read[owner] += not stores
                last = None
                if len(held) >= room > 0:
                    written[held.popitem(last=False)[1]] += 1
            if room > 0:
                held[sector] = owner if stores else last
            else:
                written[owner] += stores
    written.update(held.values())
    del written[None]
    of = {owner: times * SECTOR for owner, times in (read + written).items()}
    return Traffic(read.total() * SECTOR, written.total() * SECTOR, of)
