"""Built-in functions in which lanes meet: shuffles, votes, reductions, atomics.

Knows lanes and masks; knows no tree. Which lanes a mask names is checked here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from oneread.trace.faults import lane_list
from oneread.trace.machine import floats, integers
from oneread.trace.machine.reporting import Reporter
from oneread.trace.machine.values import (
    BITS,
    WARP,
    active,
    bits_of,
    look,
    spread,
    uniform,
)
from oneread.trace.machine.warp import Warp
from oneread.trace.recording import Recorder
from oneread.trace.types import Scalar


class Meetings:
    """What lanes do together, with its checks.

    Parameters
    ----------
    report : Reporter
        Where faults go.
    clock : object
        With `step`.
    recorder : Recorder or None
        Where shuffles go.
    """

    def __init__(self, report: Reporter, clock: Any, recorder: Recorder | None) -> None:
        self._report, self._clock, self._recorder = report, clock, recorder

    def _named(self, warp: Warp, name: str, place: Any, mask: Any) -> None:
        """Check that the mask names the lanes that are here, and no others."""
        bits = warp.mask
        named = uniform(mask, bits)
        if named is None:  # lanes may each name their own group
            for group in set(active(mask, bits)):
                members = bits_of(lane == group for lane in spread(mask)) & bits
                self._group(warp, name, place, group, members)
        elif named != bits:
            self._group(warp, name, place, named, bits)

    def _group(self, warp: Warp, name: str, place: Any, named: int, here: int) -> None:
        unnamed, absent = here & ~named, named & warp.live & ~here
        if unnamed:
            self._report.add(
                "shuffle-mask",
                place,
                warp,
                self._clock.step,
                unnamed,
                name=name,
                unnamed=lane_list(unnamed),
                mask=hex(named),
            )
        if absent:
            identifier = "syncwarp-absent" if name == "__syncwarp" else "shuffle-absent"
            self._report.add(
                identifier,
                place,
                warp,
                self._clock.step,
                absent,
                name=name,
                absent=lane_list(absent),
            )

    def syncwarp(self, warp: Warp, place: Any, mask: Any) -> None:
        """Order what lanes did before with what they do after."""
        self._named(warp, "__syncwarp", place, mask)
        groups = set(active(mask, warp.mask))
        for group in sorted(groups):
            warp.syncs.append(warp.mask & group)

    def shuffle(
        self, warp: Warp, name: str, place: Any, mask: Any, value: Any, by: Any, width: Any
    ) -> Any:
        """Return each lane's value from the lane that it asks for."""
        self._named(warp, name, place, mask)
        sources = _sources(name, by, width)
        self._check_sources(warp, name, place, mask, sources)
        wrong = [one for one in set(active(width, warp.mask)) if one not in _WIDTHS]
        if wrong:
            self._report.add(
                "shuffle-width", place, warp, self._clock.step, warp.mask, name=name, width=wrong[0]
            )
        got = value
        if type(value) is tuple or type(value) is range:
            first = sources[0]
            alike = sources == (first,) * WARP
            got = value[first] if alike else tuple([value[source] for source in sources])
        if self._recorder is not None:
            self._recorder.shuffle(warp, name, sources, got, value)
        return got

    def _check_sources(
        self, warp: Warp, name: str, place: Any, mask: Any, sources: tuple[int, ...]
    ) -> None:
        """Check that lanes take values from lanes that are here and that their mask names."""
        bits = warp.mask
        missing = bits & ~bits_of(bits & BITS[source] for source in sources)
        if missing:
            lane = look(missing).first
            self._report.add(
                "shuffle-inactive",
                place,
                warp,
                self._clock.step,
                missing,
                name=name,
                lane=lane,
                source=sources[lane],
            )
        named = uniform(mask, bits)
        if named is not None and not bits & ~named:
            return
        masks = spread(mask)
        inside = bits_of(map(operator.and_, masks, [BITS[source] for source in sources]))
        unnamed = bits & ~inside & ~missing
        if unnamed:
            lane = look(unnamed).first
            self._report.add(
                "shuffle-unnamed",
                place,
                warp,
                self._clock.step,
                unnamed,
                name=name,
                lane=lane,
                source=sources[lane],
                mask=hex(masks[lane]),
            )

    def vote(self, warp: Warp, name: str, place: Any, mask: Any, value: Any) -> Any:
        """Return what the lanes say together: a mask, or whether all or any say yes."""
        if name == "__activemask":
            return warp.mask
        self._named(warp, name, place, mask)
        bits = warp.mask
        yes = integers.nonzero(value) & bits
        groups = uniform(mask, bits)
        if groups is None:
            return tuple([self._voted(name, yes, bits & group) for group in spread(mask)])
        return self._voted(name, yes, bits & groups)

    def _voted(self, name: str, yes: int, members: int) -> int:
        if name == "__ballot_sync":
            return yes & members
        if name == "__any_sync":
            return int(bool(yes & members))
        return int(yes & members == members)

    def combine(
        self, warp: Warp, name: str, place: Any, mask: Any, value: Any, kind: Scalar
    ) -> Any:
        """Return the sum, maximum or the like of the lanes that the mask names."""
        self._named(warp, name, place, mask)
        op = _REDUCTIONS[name.removeprefix("__reduce_").removesuffix("_sync")]
        bits = warp.mask

        def of(members: int) -> Any:
            total = reduce(op, active(value, members)) if members else 0
            return integers.wrap(total, 8 * kind.size, kind.signed)

        named = uniform(mask, bits)
        if named is not None:
            return of(bits & named)
        return tuple([of(bits & group) for group in spread(mask)])


_REDUCTIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "max": max,
    "min": min,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}


_SHUFFLES = {
    "__shfl_sync": "any",
    "__shfl_up_sync": "up",
    "__shfl_down_sync": "down",
    "__shfl_xor_sync": "xor",
}


#: Lanes of the groups that a shuffle may have.
_WIDTHS = frozenset({1, 2, 4, 8, 16, 32})


def _sources(name: str, by: Any, width: Any) -> tuple[int, ...]:
    """Return the lane that each lane takes its value from."""
    kind = _SHUFFLES[name]
    out = []
    for lane, (asked, groups) in enumerate(zip(spread(by), spread(width), strict=True)):
        size = groups if groups in _WIDTHS else WARP
        step = asked if kind == "any" else asked & (WARP - 1)
        start = lane - lane % size
        if kind == "up":
            source = lane - step if lane - step >= start else lane
        elif kind == "down":
            source = lane + step if lane + step < start + size else lane
        elif kind == "xor":
            source = lane ^ step
            # A partner in a later group is not reached; in an earlier one it is.
            source = source if source < start + size else lane
        else:
            source = start + step % size
        out.append(source)
    return tuple(out)


def atomic_update(name: str, kind: Scalar, operands: tuple[Any, ...]) -> Callable[[Any, int], Any]:
    """Return what an atomic does to the old number, for a lane."""
    values = [spread(operand) for operand in operands]
    if name == "atomicCAS":
        return lambda old, lane: values[1][lane] if old == values[0][lane] else old
    if name == "atomicExch":
        return lambda old, lane: values[0][lane]
    if kind.kind == "float":
        if kind.size == 4:
            return lambda old, lane: floats.add32(old, values[0][lane])
        return lambda old, lane: old + values[0][lane]
    op = _ATOMICS[name]
    bits, signed = 8 * kind.size, kind.signed
    return lambda old, lane: integers.wrap(op(old, values[0][lane]), bits, signed)


_ATOMICS: dict[str, Callable[[int, int], int]] = {
    "atomicAdd": operator.add,
    "atomicSub": operator.sub,
    "atomicMax": max,
    "atomicMin": min,
    "atomicAnd": operator.and_,
    "atomicOr": operator.or_,
    "atomicXor": operator.xor,
}

__all__ = ["Meetings", "atomic_update"]
