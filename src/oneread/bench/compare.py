"""Two runs side by side.

Knows no op; prints nothing.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from oneread.bench.ours import OURS
from oneread.bench.store import Record, Run


@dataclass(frozen=True, slots=True)
class Change:
    """One contestant of one case in two runs, either of which may lack it."""

    case: str
    contestant: str
    before: Record | None
    after: Record | None

    @property
    def ratio(self) -> float | None:
        """The first time over the second: above 1, the second run was faster."""
        first, second = self.before, self.after
        if not (first and second and first.median_s and second.median_s):
            return None
        return first.median_s / second.median_s

    @property
    def beyond(self) -> bool:
        """Whether the quartiles of the two do not touch."""
        first, second = self.before, self.after
        if self.ratio is None or first is None or second is None:
            return False
        low, high = sorted((first, second), key=lambda record: record.median_s or 0.0)
        return (low.p75_s or 0.0) < (high.p25_s or 0.0)

    @property
    def mark(self) -> str:
        """What the change is, in a word."""
        if self.before is None or self.after is None:
            return "only in the second" if self.before is None else "only in the first"
        if self.ratio is None:
            return f"{self.before.status} / {self.after.status}"
        if not self.beyond:
            return ""
        return "faster" if self.ratio > 1 else "SLOWER"


def changes(before: Run, after: Run) -> list[Change]:
    """Match the records of two runs by case and contestant, in the order of the first."""
    first, second = (
        {(record.case, record.contestant): record for record in run.records}
        for run in (before, after)
    )
    keys = dict.fromkeys((*first, *second))
    return [Change(*key, first.get(key), second.get(key)) for key in keys]


def drift(found: Sequence[Change]) -> float | None:
    """Return by how much the peers changed, as the median of their ratios: the machine's part."""
    ratios = [
        change.ratio
        for change in found
        if change.ratio is not None and not change.contestant.startswith(OURS)
    ]
    return statistics.median(ratios) if ratios else None


def cells(found: Sequence[Change]) -> list[list[str]]:
    """Return the table of the changes, its head first."""
    head = ["case", "contestant", "first us", "second us", "first/second", "beyond quartiles"]
    return [head, *(_line(change) for change in found)]


def _line(change: Change) -> list[str]:
    times = [
        f"{record.median_s * 1e6:.1f}" if record and record.median_s else "-"
        for record in (change.before, change.after)
    ]
    ratio = f"{change.ratio:.3f}" if change.ratio is not None else "-"
    return [change.case, change.contestant, *times, ratio, change.mark]
