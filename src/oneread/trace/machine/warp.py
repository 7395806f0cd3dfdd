"""A warp and a block while they run.

Knows neither the source nor memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

from oneread.trace.machine.cache import SECTOR, Request
from oneread.trace.machine.memory import Space
from oneread.trace.machine.sites import BarrierSite, Tally
from oneread.trace.machine.values import WARP


class Block:
    """A block: its place in the grid, and how many barriers it has passed."""

    def __init__(self, index: int, place: tuple[int, int, int]) -> None:
        self.index, self.place = index, place
        self.epoch = 0
        self.barriers: list[BarrierSite | None] = []
        """The barrier that ended each epoch; None where warps waited at several."""
        self.votes: dict[int, tuple[int, int]] = {}
        """Threads that said yes to the barrier that ends an epoch, and threads that were asked."""
        self.taken: dict[Any, list[Any]] = {}
        """What its lanes have seen of what others published."""
        self.requests: list[Request] = []
        """Sectors of global memory asked for, in order, and by whom."""
        self.rows: frozenset[int] | None = None
        """Rows that it may touch; None for all."""

    def vote(self, yes: int, asked: int) -> None:
        """Add what the lanes of a warp say to the barrier that they come to."""
        before = self.votes.get(self.epoch, (0, 0))
        self.votes[self.epoch] = before[0] + yes, before[1] + asked
        self.votes.pop(self.epoch - 2, None)  # every warp has seen that one

    def ask(self, base: int, sectors: Sequence[int], stores: bool, tally: Tally) -> None:
        """Note a request of global memory: sectors of the buffer at `base`."""
        first = base // SECTOR
        if type(sectors) is range:
            where: Sequence[int] = range(first + sectors.start, first + sectors.stop)
        else:
            where = array("q", [first + sector for sector in sectors])
        self.requests.append((where, stores, tally))


class Warp:
    """The state of 32 lanes."""

    __slots__ = (
        "block",
        "built",
        "continued",
        "fences",
        "first_thread",
        "index",
        "known",
        "lanes",
        "live",
        "locals",
        "mask",
        "order",
        "placed",
        "recent",
        "registers",
        "result",
        "returned",
        "rows",
        "syncs",
        "waiting",
    )

    def __init__(self, block: Block, index: int, threads: int, memory: Space) -> None:
        self.block, self.index = block, index
        self.first_thread = index * WARP
        self.lanes = (1 << min(WARP, threads - self.first_thread)) - 1
        """Lanes that exist."""
        self.live = self.lanes
        """Lanes that have not left the kernel."""
        self.mask = self.live
        """Lanes that take part in what is done now."""
        self.returned = 0
        """Lanes that have left the function that runs."""
        self.continued = 0
        """Lanes that wait for the next round of the innermost loop."""
        self.registers: list[Any] = []
        self.known: list[int] = []
        """For each register, the lanes in which it has a value."""
        self.result: Any = None
        self.syncs: list[int] = []
        """Lanes that met at each `__syncwarp`."""
        self.fences: list[Any] = []
        """The last fences of its lanes."""
        self.recent: dict[Any, int] = {}
        """Addresses loaded since the last store, barrier or round of a loop, and by which lanes."""
        self.order: dict[Any, int] = {}
        """Places that have touched memory since the last barrier, and when they did so first."""
        self.rows: dict[int, int] = {}
        """Rows that its lanes have come to be in, where the kernel says so, and which lanes."""
        self.placed = 0
        """Lanes that are in some row."""
        self.locals = memory
        """Its local memory."""
        self.built: dict[Any, int] = {}
        """Addresses of the arrays in local memory, by the declaration that made them."""
        self.waiting: BarrierSite | None = None

    def place(self, row: int, lanes: int) -> None:
        """Note that a row is that of some lanes."""
        self.rows[row] = self.rows.get(row, 0) | lanes
        self.placed |= lanes

    def astray(self, row: int, lanes: int) -> int:
        """Return those of some lanes that have no part in a row."""
        own = self.block.rows
        if own is not None and row not in own:
            return lanes
        return lanes & self.placed & ~self.rows.get(row, 0)

    def told(self, bits: int, since: int, until: int) -> int:
        """Return the lanes that know what these ones did before some `__syncwarp`."""
        for place in range(since, until):
            met = self.syncs[place]
            if met & bits:
                bits |= met
                if bits == self.lanes:
                    break
        return bits

    def all_told(self, bits: int, since: int) -> bool:
        """Return whether one `__syncwarp` since then was for all of these lanes."""
        return any(not bits & ~self.syncs[place] for place in range(since, len(self.syncs)))
