"""Known repairs made one by one, each kept only if the launches say that it helps.

Knows faults and their repairs; knows no machine.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from oneread.source.text import split_lines
from oneread.trace.case import Case
from oneread.trace.faults import Fault, Repair, order
from oneread.trace.probing import Outcome, launched, must_run
from oneread.trace.repairs import apply
from oneread.trace.subject import Subject


@dataclass(frozen=True)
class Exclusion:
    """A repair that mends nothing in the launch that was asked for: it rules that launch out."""

    fault: Fault
    """What it is for."""
    diff: str
    """From the text as far as it was mended, as a unified diff."""
    why: str
    """What the compiler says of the launch then."""


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
    exclusions: tuple[Exclusion, ...] = ()
    """Repairs that were not made, since they rule out the first launch."""

    @property
    def remaining(self) -> list[Fault]:
        """What is still found, the worst first, notes without a known repair left out."""
        return self._distinct(fault for one in reversed(self.after) for fault in _counted(one))

    @property
    def notes(self) -> list[Fault]:
        """The notes without a known repair that are left, in order of lines."""
        faults = [fault for one in reversed(self.after) for fault in one.faults]
        return self._distinct(one for one in faults if one.severity == "note" and not one.repair)

    def _distinct(self, faults: Iterable[Fault]) -> list[Fault]:
        return sorted({_key(fault): fault for fault in faults}.values(), key=order)


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
    exclusions: list[Exclusion] = []
    while (fault := next(_repairable(after, tried), None)) is not None:
        assert fault.repair is not None
        tried.add(_name(fault.repair))
        trial = now.with_text(apply(now.text, [fault.repair]))
        outcomes = _improved(trial, after)
        if outcomes is not None:
            now, after = trial, outcomes
            mended.append(fault)
            # What did not help before may do so now, and lines have moved.
            tried.clear()
            exclusions.clear()
        elif (why := _excluded(trial, fault.repair, before[0])) is not None:
            exclusions.append(Exclusion(fault, _diff(now, trial), why))
    return Fix(now, _diff(subject, now), tuple(mended), before, after, tuple(exclusions))


def _excluded(trial: Subject, repair: Repair, first: Outcome) -> str | None:
    """Return what the compiler says where an assertion rules out the first launch."""
    if "static_assert(" not in str(repair.parameters.get("text")):
        return None
    said = launched(trial, first.case).refused
    return said.splitlines()[0] if said else None


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


__all__ = ["Exclusion", "Fix", "fix"]
