"""One request of a warp: which lanes touch which cells of a buffer, and when.

Knows no hazard and no value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.values import look


class Access:
    """A load, a store or an atomic of the active lanes."""

    __slots__ = (
        "bits",
        "buffer",
        "cells",
        "epoch",
        "kind",
        "offsets",
        "origin",
        "per",
        "site",
        "size",
        "step",
        "sub",
        "warp",
    )

    def __init__(
        self, warp: Any, site: Any, kind: str, step: int, buffer: Buffer, bits: int
    ) -> None:
        self.warp, self.site, self.kind, self.step = warp, site, kind, step
        self.buffer, self.bits = buffer, bits
        self.epoch: int = warp.block.epoch
        self.sub: int = len(warp.syncs)

    def touch(self, offsets: Sequence[int], size: int, together: bool) -> None:
        """Say which bytes are touched.

        Parameters
        ----------
        offsets : sequence of int
            Of each active lane in order, or the one that they share.
        size : int
            Bytes of each lane.
        together : bool
            Whether all lanes touch the same bytes.
        """
        self.offsets, self.size = offsets, size
        self.cells: Sequence[int] = self.buffer.indices(offsets, size)
        #: Cells of each lane; 0 when all lanes touch the same ones.
        self.per = 0 if together else max(1, len(self.cells) // len(offsets))
        #: Byte of lane 0, step to the next lane's and size, where every lane has its own.
        self.origin: tuple[int, int, int] | None = None
        if not together and type(offsets) is range and abs(offsets.step) >= size:
            mask = look(self.bits)
            if mask.solid:
                self.origin = (offsets.start - mask.first * offsets.step, offsets.step, size)

    def lanes_at(self, cell: int) -> Sequence[int]:
        """Return the lanes that touch this cell."""
        lanes = look(self.bits).lanes
        cells = self.cells
        if self.per == 0:
            return lanes if cell in cells else ()
        if type(cells) is range:
            return (lanes[cells.index(cell) // self.per],) if cell in cells else ()
        return [lanes[i // self.per] for i, at in enumerate(cells) if at == cell]

    def thread(self, lane: int) -> int:
        """Return the number of a lane's thread in its block."""
        return int(self.warp.first_thread) + lane


def same_lanes(one: Access, other: Access) -> bool:
    """Return whether each cell of both is of the same lane, for accesses of one warp."""
    return one.origin is not None and one.origin == other.origin
