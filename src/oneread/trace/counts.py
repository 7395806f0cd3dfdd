"""What a run counted, gathered for whoever shows it: by line, buffer, element and pass.

Knows no machine beyond the sites and buffers that it left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    issued_bytes: int
    after_reuse_bytes: int
    """Without loads that a lane repeats, as in `BufferCounts`."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One sweep over a buffer: a place in the source that loads it."""

    buffer: str
    line: int
    first_step: int
    last_step: int
    elements: int
    issued_bytes: int
    after_reuse_bytes: int


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
    _line_tallies: Sequence[Tally] = ()
    _pass_tallies: Sequence[Tally] = ()

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

    def sweeps(self, buffer: str, scalars: int) -> int:
        """Return how often a buffer of so many scalars is loaded as a whole.

        Once by each place that loads all of it; and by places that load parts, such as the vectors
        of a row and its ends, as often as their parts make the whole.
        """
        loaded = [one.elements for one in self.passes if one.buffer == buffer]
        whole = sum(elements >= scalars for elements in loaded)
        parts = sum(elements for elements in loaded if elements < scalars) // max(1, scalars)
        return whole + min(parts, max(0, self.buffers[buffer].loads.min - whole))

    def of_lines(self, traffic: Traffic) -> list[int]:
        """Return the bytes of DRAM that each of `lines` accounts for, of what `dram` returned."""
        return [traffic.of.get(tally, 0) for tally in self._line_tallies]

    def of_passes(self, traffic: Traffic) -> list[int]:
        """Return the bytes of DRAM that each of `passes` accounts for."""
        return [traffic.of.get(tally, 0) for tally in self._pass_tallies]


def gather(
    buffers: Collection[Buffer],
    sites: Iterable[Site],
    barriers: Iterable[BarrierSite],
    blocks: Sequence[Block],
    steps: int,
    exps: tuple[int, int],
) -> Counts:
    """Return the counts of a run from what its parts have noted."""
    placed = [(site, tally) for site in sites for tally in site.tallies.values()]
    shown = [(site, tally) for site, tally in placed if tally.space != "local"]
    shown.sort(key=lambda one: (one[0].line, one[0].column, one[1].buffer))
    swept = [(s, tally) for s, tally in shown if (tally.space, tally.kind) == ("global", "read")]
    swept.sort(key=lambda one: (one[1].first_step, one[0].line))
    scalars = {buffer.name: buffer.period // len(buffer.layout) for buffer in buffers}
    lines = [_line(site, tally, scalars) for site, tally in shown]
    shared = [one for one in lines if one.space == "shared"]
    outer = [one for one in lines if one.space == "global"]
    passed: dict[int, int] = {}
    for barrier in barriers:
        passed[barrier.line] = passed.get(barrier.line, 0) + barrier.times
    tallies = [tally for _, tally in placed]
    return Counts(
        buffers={buffer.name: _buffer(buffer, tallies) for buffer in buffers},
        lines=lines,
        passes=[_pass(site, tally, scalars) for site, tally in swept],
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
        _line_tallies=[tally for _, tally in shown],
        _pass_tallies=[tally for _, tally in swept],
    )


def _after_reuse(tally: Tally, scalars: Mapping[str, int]) -> int:
    """Return the bytes of a place without the loads that a lane repeats."""
    return tally.size_bytes - tally.reused * scalars.get(tally.buffer, 0)


def _line(site: Site, tally: Tally, scalars: Mapping[str, int]) -> LineCounts:
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
        issued_bytes=tally.size_bytes,
        after_reuse_bytes=_after_reuse(tally, scalars),
    )


def _pass(site: Site, tally: Tally, scalars: Mapping[str, int]) -> Pass:
    return Pass(
        tally.buffer,
        site.line,
        tally.first_step,
        tally.last_step,
        tally.elements,
        tally.size_bytes,
        _after_reuse(tally, scalars),
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


__all__ = ["BufferCounts", "Counts", "LineCounts", "Pass", "Spread", "gather"]
