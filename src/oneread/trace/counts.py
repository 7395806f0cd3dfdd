"""What a run counted, gathered for whoever shows it: by line, buffer, element and pass.

Knows no machine beyond the sites and buffers that it left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from oneread.trace.machine.cache import Traffic, interleave, traffic
from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.sites import BarrierSite, Site, Tally
from oneread.trace.machine.warp import Block

#: Blocks that share the modelled cache, unless told otherwise.
RESIDENT_BLOCKS = 8

#: Modelled cache of each resident block, in kB: the 50 MB of an H200's L2 over 132 SMs of 8 blocks.
CACHE_KB_A_BLOCK = 48


@dataclass(frozen=True, slots=True)
class Spread:
    """How often the elements of a buffer were touched: fewest, most, on average."""

    min: int
    max: int
    mean: float


@dataclass(frozen=True, slots=True)
class BufferCounts:
    """Accesses of one buffer in global memory."""

    name: str
    elements: int
    loads: Spread
    """Loads an element, as issued."""
    stores: Spread
    reused: int
    """Loads that repeat one of the same lane with no store, barrier or round of a loop between."""
    issued_bytes: int
    """Bytes that loads and stores asked for."""
    after_reuse_bytes: int
    """The same without the repeated loads."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """Accesses of one line to one buffer."""

    line: int
    column: int
    buffer: str
    space: str
    kind: str
    """``read``, ``write`` or ``atomic``."""
    requests: int
    elements: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int


@dataclass(frozen=True, slots=True)
class Pass:
    """One sweep over a buffer: a place in the source that loads it."""

    buffer: str
    line: int
    first_step: int
    last_step: int
    elements: int


@dataclass(frozen=True)
class Counts:
    """All that was counted in a run."""

    buffers: dict[str, BufferCounts]
    lines: list[LineCounts]
    passes: list[Pass]
    steps: int
    barriers: int
    """Barriers that blocks passed, all blocks together."""
    exps: int
    """Exponentials of warps: calls of `expf` and its like."""
    lane_exps: int
    """Exponentials of lanes."""
    shared_requests: int
    wavefronts: int
    global_requests: int
    sectors: int
    ideal_sectors: int
    barrier_lines: dict[int, int] = field(default_factory=dict)
    """How often blocks passed the barrier of each line."""
    _blocks: Sequence[Block] = ()

    @property
    def issued_bytes(self) -> int:
        """Bytes of global memory that the source asks for."""
        return sum(buffer.issued_bytes for buffer in self.buffers.values())

    @property
    def after_reuse_bytes(self) -> int:
        """The same, without loads that a lane repeats."""
        return sum(buffer.after_reuse_bytes for buffer in self.buffers.values())

    def dram(
        self, resident_blocks: int = RESIDENT_BLOCKS, cache_kb: float | None = None
    ) -> Traffic:
        """Return what passes between DRAM and a cache: a model, see `oneread.trace.machine.cache`.

        Parameters
        ----------
        resident_blocks : int
            Blocks that run at the same time and take turns, one request each.
        cache_kb : float, optional
            The cache that they share, in units of 1024 bytes; 48 for each resident block.
        """
        size = CACHE_KB_A_BLOCK * resident_blocks if cache_kb is None else cache_kb
        requests = interleave([block.requests for block in self._blocks], resident_blocks)
        return traffic(requests, int(size * 1024))


def gather(
    buffers: Iterable[Buffer],
    sites: Iterable[Site],
    barriers: Iterable[BarrierSite],
    blocks: Sequence[Block],
    steps: int,
    exps: tuple[int, int],
) -> Counts:
    """Return the counts of a run from what its parts have noted."""
    placed = [(site, tally) for site in sites for tally in site.tallies.values()]
    lines = [_line(site, tally) for site, tally in placed if tally.space != "local"]
    lines.sort(key=lambda one: (one.line, one.column, one.buffer))
    shared = [one for one in lines if one.space == "shared"]
    outer = [one for one in lines if one.space == "global"]
    passed: dict[int, int] = {}
    for barrier in barriers:
        passed[barrier.line] = passed.get(barrier.line, 0) + barrier.times
    tallies = [tally for _, tally in placed]
    return Counts(
        buffers={buffer.name: _buffer(buffer, tallies) for buffer in buffers},
        lines=lines,
        passes=_passes(placed),
        steps=steps,
        barriers=sum(passed.values()),
        exps=exps[0],
        lane_exps=exps[1],
        shared_requests=sum(one.requests for one in shared),
        wavefronts=sum(one.wavefronts for one in shared),
        global_requests=sum(one.requests for one in outer),
        sectors=sum(one.sectors for one in outer),
        ideal_sectors=sum(one.ideal_sectors for one in outer),
        barrier_lines=passed,
        _blocks=blocks,
    )


def _line(site: Site, tally: Tally) -> LineCounts:
    return LineCounts(
        line=site.line,
        column=site.column,
        buffer=tally.buffer,
        space=tally.space,
        kind=tally.kind,
        requests=tally.requests,
        elements=tally.elements,
        sectors=tally.sectors,
        ideal_sectors=tally.ideal_sectors,
        wavefronts=tally.wavefronts,
        ideal_wavefronts=tally.ideal_wavefronts,
    )


def _spread(times: Sequence[int]) -> Spread:
    if not times:
        return Spread(0, 0, 0.0)
    return Spread(min(times), max(times), sum(times) / len(times))


def _buffer(buffer: Buffer, tallies: Iterable[Tally]) -> BufferCounts:
    ours = [one for one in tallies if one.space == "global" and one.buffer == buffer.name]
    issued = sum(one.size_bytes for one in ours)
    scalar = buffer.period // len(buffer.layout)
    reused = sum(one.reused for one in ours)
    return BufferCounts(
        name=buffer.name,
        elements=buffer.count,
        loads=_spread(buffer.loads),
        stores=_spread(buffer.stores),
        reused=reused,
        issued_bytes=issued,
        after_reuse_bytes=issued - reused * scalar,
    )


def _passes(placed: Iterable[tuple[Site, Tally]]) -> list[Pass]:
    found = [
        Pass(tally.buffer, site.line, tally.first_step, tally.last_step, tally.elements)
        for site, tally in placed
        if tally.space == "global" and tally.kind == "read"
    ]
    return sorted(found, key=lambda one: (one.first_step, one.line))


__all__ = ["BufferCounts", "Counts", "LineCounts", "Pass", "Spread", "gather"]
