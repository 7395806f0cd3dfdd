"""What the records of a case say: ratios, the best peer, goals met and missed.

Knows no op.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from oneread.bench import cases as cpu
from oneread.bench.cases import (
    AT_MOST,
    BARE,
    BARE_SUFFIX,
    BEST,
    COPY,
    READ,
    ULP,
    Bar,
    Case,
    Goal,
    own_kernel,
)
from oneread.bench.gpu import cases as gpu
from oneread.bench.ours import OURS
from oneread.bench.store import OK, Record

#: Part of its number at which a bar counts as reached: what two runs of one program differ by.
SLACK: Final = 0.95

#: What the goals were set for; other instruction sets are judged by the groups that name them.
_ISA: Final = "x86-64-v4"
_TARGET: Final = "sm_90"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One goal: what it says, what was reached, and whether that is enough; None: not judged."""

    goal: str
    reached: str | None
    met: bool | None
    reason: str | None = None
    part: float | None = None
    """What was reached as a part of the goal."""

    def __str__(self) -> str:
        if self.met is None:
            return f"{self.goal}: not judged, {self.reason}"
        return f"{'met' if self.met else 'MISSED'} {self.reached} ({self.goal})"


@dataclass(frozen=True, slots=True)
class Row:
    """A case with what its records say."""

    case: str
    ours: Record
    others: tuple[Record, ...]
    verdicts: tuple[Verdict, ...]
    aims: tuple[Verdict, ...] = ()

    @property
    def best(self) -> Record | None:
        """The fastest peer that is right."""
        return best_of(self.others)

    def ratio(self, other: Record) -> float | None:
        """Return another's time over ours."""
        if self.ours.median_s is None or other.median_s is None:
            return None
        return other.median_s / self.ours.median_s


def best_of(records: Sequence[Record]) -> Record | None:
    """Return the fastest right result of other libraries that do the whole job."""
    return _fastest([r for r in records if not r.contestant.endswith(BARE_SUFFIX)])


def _fastest(records: Sequence[Record]) -> Record | None:
    peers = [r for r in records if r.status == OK and r.library != "oneread" and r.median_s]
    return min(peers, key=lambda record: record.median_s or 0.0, default=None)


def row(records: Sequence[Record]) -> Row:
    """Return what the records of one case say.

    Parameters
    ----------
    records : sequence of Record
        All of one case, ours among them.

    Returns
    -------
    Row
        Goals are those that the case has in this version.
    """
    (ours,) = (record for record in records if record.contestant == OURS)
    others = tuple(record for record in records if record.contestant != OURS)
    case = case_of(ours)
    goals, aims = (case.goals, case.aims) if case else ((), ())
    verdicts = tuple(_verdict(goal, ours, others) for goal in goals)
    return Row(
        ours.case, ours, others, verdicts, tuple(_verdict(aim, ours, others) for aim in aims)
    )


def case_of(record: Record) -> Case | None:
    """Return the case that a record is of, if this version has it."""
    cases = cpu.CASES if record.device == "cpu" else gpu.CASES
    return cases.get(record.case)


def together(rows: Sequence[Row]) -> list[Verdict]:
    """Judge what all rows of a group are to reach together: a geometric mean for each type."""
    goal = gpu.TOGETHER.get(rows[0].ours.group) if rows[0].ours.device != "cpu" else None
    if goal is None:
        return []
    found: dict[str, list[float]] = {}
    for one in rows:
        value = one.ratio(one.best) if one.best else None
        if value is not None:
            found.setdefault(one.ours.dtype, []).append(value)
    return [_mean_verdict(dtype, values, goal) for dtype, values in found.items()]


def _mean_verdict(dtype: str, values: Sequence[float], least: float) -> Verdict:
    mean = statistics.geometric_mean(values)
    text = f"geometric mean of {dtype}, {least:g}x {BEST}"
    return Verdict(text, f"{mean:.3f}x", mean >= least, part=mean / least)


def _verdict(goal: Goal, ours: Record, others: tuple[Record, ...]) -> Verdict:
    text = " or ".join(map(str, goal))
    if ours.status != OK:
        return Verdict(text, None, None, f"ours is {ours.status}: {ours.reason}")
    if ours.device != "cpu":
        if ours.isa != _TARGET:
            return Verdict(text, None, None, f"the goals are for {_TARGET}, this is {ours.isa}")
    elif not ours.environment and ours.isa != _ISA:
        return Verdict(text, None, None, f"this is {ours.isa}: see the AVX2 groups")
    reached = [(bar, value) for bar in goal if (value := _value(bar, ours, others)) is not None]
    if not reached:
        return Verdict(text, None, None, _why(goal[0], others))
    bar, value = max(reached, key=lambda pair: pair[1] / pair[0].at_least)
    enough = value >= bar.at_least * (1 if bar.firm else SLACK)
    return Verdict(text, _shown(bar, value), enough, part=value / bar.at_least)


def _shown(bar: Bar, value: float) -> str:
    """Return a value in the unit in which its bar is put."""
    if bar.against in AT_MOST:
        return f"{bar.at_least**2 / value:.3g} {bar.against}"
    if bar.against in (READ, COPY):
        return f"{value:.0%}"
    return f"{1 / value:.2f}x" if bar.against.startswith(OURS) else f"{value:.2f}x"


def _value(bar: Bar, ours: Record, others: tuple[Record, ...]) -> float | None:
    """Return what is to be at least the bar's number."""
    if bar.kernel:
        named = next(_named(own_kernel(bar.kernel), others), None)
        if named is None:
            return None
        ours = named
    if bar.against in AT_MOST:
        # The bar is an upper one: turned round so that more is better.
        reached = ours.max_ulp if bar.against == ULP else (ours.median_s or 0.0) * 1e6
        return bar.at_least**2 / reached if reached else None
    if bar.against in (READ, COPY):
        return ours.share
    other = _other(bar.against, others)
    if other is None or not other.median_s or not ours.median_s:
        return None
    return other.median_s / ours.median_s


def _other(against: str, others: tuple[Record, ...]) -> Record | None:
    """Return the contestant that a bar is against."""
    if against == BEST:
        return best_of(others)
    if against == BARE:
        return _fastest([r for r in others if r.contestant.endswith(BARE_SUFFIX)])
    return next(_named(against, others), None)


def _named(name: str, others: tuple[Record, ...]) -> Iterator[Record]:
    return (record for record in others if record.contestant == name and record.status == OK)


def _why(bar: Bar, others: tuple[Record, ...]) -> str:
    if bar.kernel and not any(_named(own_kernel(bar.kernel), others)):
        return f"{bar.kernel} did not take part"
    library = bar.against.split(" ")[0]
    for record in others:
        if record.library == library and record.status != OK:
            return f"{record.contestant} is {record.status}: {record.reason}"
    return f"{bar.against} did not take part"
