"""Known repairs made one by one, each kept only if the launches say that it helps.

Knows faults and their repairs; knows no machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oneread.source.text import split_lines
from oneread.trace.case import Case
from oneread.trace.faults import Fault, Repair, order
from oneread.trace.probing import Outcome, launched, must_run
from oneread.trace.repairs import apply
from oneread.trace.subject import Subject


@dataclass(frozen=True)
class Fix:
    """A source, the repairs that were made, and what the same launches show afterwards."""

    subject: Subject
    """With the mended text."""
    diff: str
    """From the text that it was to the mended one, as a unified diff; empty if nothing helped."""
    mended: tuple[Fault, ...]
    """What each repair was made for, in order; lines are those of the text at that moment."""
    before: tuple[Outcome, ...]
    after: tuple[Outcome, ...]

    @property
    def remaining(self) -> list[Fault]:
        """What is still found, the worst first, notes without a known repair left out."""
        found = {_key(fault): fault for one in reversed(self.after) for fault in _counted(one)}
        return sorted(found.values(), key=order)


def fix(subject: Subject, cases: Sequence[Case]) -> Fix:
    """Mend a kernel as far as repairs are known.

    A repair is kept if, over all launches, fewer faults are found than before, no launch shows a
    kind of error or warning that it did not show, and every launch that was clean still is.

    Parameters
    ----------
    subject : Subject
        The kernel.
    cases : sequence of Case
        Launches that show the faults, and others that must stay as good as they are: `Probe.cases`
        for all that a probe knows. The first one has to be possible, also afterwards.

    Returns
    -------
    Fix
        The mended kernel, and what remains.

    Raises
    ------
    SourceError
        When the text cannot be read.
    UsageError
        When the first launch is not possible.
    LimitError
        When it meets a limit.

    Examples
    --------
    >>> from oneread.trace.fixing import fix
    >>> from oneread.trace.probing import probe
    >>> from oneread.trace.subject import Subject
    >>> kernel = Subject.of_gallery("zoo_stray_tail")
    >>> mended = fix(kernel, probe(kernel).cases)
    >>> [line for line in mended.diff.splitlines() if line.startswith("+ ")]
    ['+        const float v = (t + lane < vocab ? x_row[t + lane] : -INFINITY);']
    >>> mended.remaining
    []
    """
    before = tuple(launched(subject, case) for case in cases)
    must_run(subject, before[0])
    now, after = subject, before
    mended: list[Fault] = []
    tried: set[str] = set()
    while (fault := next(_repairable(after, tried), None)) is not None:
        assert fault.repair is not None
        tried.add(_name(fault.repair))
        trial = now.with_text(apply(now.text, [fault.repair]))
        outcomes = _improved(trial, after)
        if outcomes is not None:
            now, after = trial, outcomes
            mended.append(fault)
            tried.clear()  # what did not help before may do so now, and lines have moved
    return Fix(now, _diff(subject, now), tuple(mended), before, after)


def _diff(old: Subject, new: Subject) -> str:
    lines, others = (split_lines(one.text) for one in (old, new))
    names = old.called, f"{old.called} (mended)"
    return "".join(difflib.unified_diff(lines, others, *names))


def _repairable(outcomes: Sequence[Outcome], tried: set[str]) -> Iterator[Fault]:
    """Yield faults with a repair, the worst first; wrong results last, others may cause them."""
    faults = [fault for one in outcomes for fault in one.faults if fault.repair is not None]
    for fault in sorted(faults, key=lambda one: (one.id == "wrong-result", order(one))):
        if fault.repair is not None and _name(fault.repair) not in tried:
            yield fault


def _name(repair: Repair) -> str:
    return f"{repair.kind} {repair.line} {repair.column} {repair.parameters}"


def _key(fault: Fault) -> tuple[object, ...]:
    return fault.id, fault.line, fault.column, fault.with_line, fault.buffer


def _counted(outcome: Outcome) -> list[Fault]:
    """Return what a repair is judged by: errors, warnings, and notes that can be mended."""
    return [one for one in outcome.faults if one.severity != "note" or one.repair is not None]


def _serious(outcome: Outcome) -> set[str]:
    return {fault.id for fault in outcome.faults if fault.severity != "note"}


def _improved(trial: Subject, before: Sequence[Outcome]) -> tuple[Outcome, ...] | None:
    """Return how the launches end with another text, None if that is no better."""
    wrong = [one.case.defines for one in before if any(f.severity == "error" for f in one.faults)]
    after: list[Outcome] = []
    for old in before:
        new = launched(trial, old.case)
        if _serious(new) - _serious(old) or (new.stopped and not old.stopped):
            return None
        # An assertion may rule out macros that are wrong for some launch, but never the first one.
        if new.refused and not old.refused and (not after or old.case.defines not in wrong):
            return None
        after.append(new)
    return tuple(after) if _total(after) < _total(before) else None


def _total(outcomes: Sequence[Outcome]) -> int:
    return sum(len({_key(fault) for fault in _counted(one)}) for one in outcomes)


__all__ = ["Fix", "fix"]
