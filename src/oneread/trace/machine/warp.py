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
        self.acquired: dict[int, Any] = {}
        """What other blocks have published and this one has seen."""
        self.requests: list[Request] = []
        """Sectors of global memory asked for, in order, and by whom."""
        self.rows: frozenset[int] | None = None
        """Rows that it may touch; None for all."""

    def barrier_idle(self, epoch: int) -> bool:
        """Return whether the barrier after this epoch has not been needed yet."""
        site = self.barriers[epoch]
        return site is not None and not site.used

    def barrier_used(self, epoch: int) -> None:
        """Note that two accesses needed the barrier after this epoch."""
        site = self.barriers[epoch]
        if site is not None:
            site.used = True

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
        "depth",
        "fence",
        "first_thread",
        "index",
        "known",
        "live",
        "locals",
        "mask",
        "order",
        "recent",
        "registers",
        "result",
        "returned",
        "sub",
        "waiting",
    )

    def __init__(self, block: Block, index: int, threads: int) -> None:
        self.block, self.index = block, index
        self.first_thread = index * WARP
        self.live = (1 << min(WARP, threads - self.first_thread)) - 1
        """Lanes that exist and have not left the kernel."""
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
        self.depth = 0
        self.sub = 0
        """How many `__syncwarp` have been passed."""
        self.fence: tuple[int, int] | None = None
        """Epoch and step of the last `__threadfence`."""
        self.recent: dict[Any, int] = {}
        """Addresses loaded since the last store, barrier or round of a loop, and by which lanes."""
        self.order: dict[Any, int] = {}
        """Places that have touched memory since the last barrier, and when they did so first."""
        self.locals = Space("local")
        self.built: dict[Any, int] = {}
        """Addresses of the arrays in local memory, by the declaration that made them."""
        self.waiting: BarrierSite | None = None
