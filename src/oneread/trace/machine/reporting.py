"""What the machine finds, made into faults: each kind at each place once, then counted.

Knows no value beyond those that a message shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneread.trace.faults import Fault, Faults, Repair
from oneread.trace.machine.access import Access
from oneread.trace.machine.hazards import Race
from oneread.trace.machine.memory import Buffer
from oneread.trace.machine.sites import Site
from oneread.trace.machine.values import BITS, look
from oneread.trace.machine.warp import Warp
from oneread.trace.messages import FAULTS

_SCOPES = {"blocks": "race-blocks", "warps": "race-warps", "warp": "race-warp"}
#: What is missing between two accesses.
_BARRIERS = {"race-warps": "__syncthreads();", "race-warp": "__syncwarp();"}
_VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}
_ACTS = {"read": "read of", "write": "write to", "atomic": "atomic on"}


class Reporter:
    """Makes the faults of a run."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults

    def add(
        self, identifier: str, site: Any, warp: Warp, step: int, lanes: int, **more: Any
    ) -> None:
        """Report a fault at one place.

        Parameters
        ----------
        identifier : str
            Of the catalogue.
        site : object
            With `line` and `column`.
        warp : Warp
            Which met it.
        step, lanes : int
            When, and the mask of the lanes.
        **more
            `buffer`, `index`, `with_line`, `repair`; the rest are parameters of the text.
        """
        named = {name: more.pop(name, None) for name in ("buffer", "index", "with_line", "repair")}
        severity = more.pop("severity", None) or FAULTS[identifier].severity
        key = (identifier, severity, site.line, site.column, named["with_line"], named["buffer"])
        self.faults.add(
            key,
            lambda: Fault(
                identifier,
                severity,
                site.line,
                site.column,
                step,
                warp.block.index,
                warp.index,
                lanes,
                parameters=more,
                **named,
            ),
        )

    def races(self, races: Sequence[Race]) -> None:
        """Report accesses that nothing orders."""
        for race in races:
            self._race(race)

    def _race(self, race: Race) -> None:
        before, after = race.before, race.after
        identifier, severity = _SCOPES.get(race.scope, "race-lanes"), None
        if race.same_value:
            # One statement that many threads execute alike is a habit; two are hidden by luck.
            if before.site is after.site:
                identifier = "race-same-value"
            elif identifier != "race-warp":
                severity = "warning"
        repair = None
        if identifier in _BARRIERS and not _at_once(race):
            start = _first_of(race).statement
            text = {"text": _BARRIERS[identifier]}
            repair = Repair("insert-after", start.line, start.column, text)
        first, second = race.lanes
        self.add(
            identifier,
            after.site,
            after.warp,
            after.step,
            BITS[second],
            with_line=before.site.line,
            buffer=after.buffer.name,
            index=element(after.buffer, race.cell),
            repair=repair,
            severity=severity,
            hazard=race.hazard,
            first_thread=before.thread(first),
            thread=after.thread(second),
            first_lane=first,
            lane=second,
            first_block=before.warp.block.index,
            with_column=before.site.column,
            first_verb=_VERBS[before.kind],
            verb=_VERBS[after.kind],
            first_step=before.step,
        )

    def outside(
        self,
        warp: Warp,
        site: Site,
        step: int,
        buffer: Buffer | None,
        lanes: int,
        address: int,
    ) -> None:
        """Report lanes whose address lies outside the buffer that is nearest."""
        act = _ACTS[site.verb]
        if buffer is None:
            self.add("no-buffer", site, warp, step, lanes, verb=act, address=hex(address))
            return
        base, count = buffer.base, buffer.count
        if buffer.lane_bytes:
            base += look(lanes).first * buffer.lane_bytes
            count = buffer.lane_bytes // buffer.period
        index = (address - base) // buffer.period
        self.add(
            "out-of-bounds",
            site,
            warp,
            step,
            lanes,
            buffer=buffer.name,
            index=index,
            verb=act,
            count=count,
            load=site.verb == "read" and buffer.space == "global",
        )

    def misaligned(
        self,
        warp: Warp,
        site: Site,
        step: int,
        buffer: Buffer,
        lanes: int,
        offset: int,
        size: int,
    ) -> None:
        """Report lanes whose address is no multiple of the size."""
        act = _ACTS[site.verb]
        self.add(
            "misaligned",
            site,
            warp,
            step,
            lanes,
            buffer=buffer.name,
            verb=act,
            size=size,
            offset=offset,
        )

    def unset(self, access: Access, cells: Sequence[int]) -> None:
        """Report cells that are read though nothing was stored there."""
        bits = sum(BITS[lane] for lane in access.lanes_at(cells[0]))
        index = element(access.buffer, cells[0])
        if access.buffer.lane_bytes:
            index %= access.buffer.lane_bytes // access.buffer.period
        self.add(
            "uninitialised",
            access.site,
            access.warp,
            access.step,
            bits,
            buffer=access.buffer.name,
            index=index,
        )

    def stray(self, access: Access) -> None:
        """Report an access outside the rows of its block, or of its threads."""
        warp, width = access.warp, access.buffer.width
        if warp.block.rows is None and not warp.placed:
            return
        cells, lanes = access.cells, look(access.bits).lanes
        alone = type(cells) is range and cells[0] // width == cells[-1] // width
        if alone and not warp.astray(cells[0] // width, access.bits):
            return
        for place, cell in enumerate(cells):
            mine = BITS[lanes[place // access.per]] if access.per else access.bits
            astray = warp.astray(cell // width, mine)
            if astray:
                self._stray(access, cell, look(astray).first)
                return

    def _stray(self, access: Access, cell: int, lane: int) -> None:
        warp = access.warp
        row, who, own = cell // access.buffer.width, f"block {warp.block.index}", warp.block.rows
        if own is None:
            who = f"thread {access.thread(lane)} of {who}"
            own = frozenset(one for one, lanes in warp.rows.items() if lanes & BITS[lane])
        few = sorted(own)[:4]
        self.add(
            "stray-row",
            access.site,
            warp,
            access.step,
            sum(BITS[one] for one in access.lanes_at(cell)),
            buffer=access.buffer.name,
            index=element(access.buffer, cell),
            verb=_VERBS[access.kind],
            load=access.kind == "load",
            row=row,
            who=who,
            own=f"row is {few[0]}" if len(own) == 1 else f"rows are {', '.join(map(str, few))}",
        )


def _at_once(race: Race) -> bool:
    """Say whether two threads meet in one statement that each runs for the first time.

    Behind it a barrier comes too late: ``y[0] += x[i]``. In a loop it may lie between two rounds.
    """
    return race.before.site.statement == race.after.site.statement and all(
        one.warp.order.get(one.site, one.step) == one.step for one in (race.before, race.after)
    )


def _first_of(race: Race) -> Any:
    """Return the place after which a barrier belongs: that which each warp comes to first."""
    order = race.before.warp.order
    sites = (race.before.site, race.after.site)
    if all(site in order for site in sites):
        return min(sites, key=lambda site: order[site])
    return min(sites, key=lambda site: (site.line, site.column))


def element(buffer: Buffer, cell: int) -> int:
    """Return the number of the element that a cell belongs to."""
    return cell // len(buffer.layout)
