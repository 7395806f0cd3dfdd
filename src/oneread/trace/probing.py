"""Many launches of one kernel, and the smallest of them that shows each fault.

Knows runs by their faults; knows no machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from oneread.spec.errors import OneReadError
from oneread.trace.case import Case
from oneread.trace.covering import Choice
from oneread.trace.errors import LimitError
from oneread.trace.faults import Fault, order
from oneread.trace.planning import Plan, plan
from oneread.trace.shrinking import Size, smallest
from oneread.trace.subject import Subject


@dataclass(frozen=True)
class Outcome:
    """How a launch ended."""

    case: Case
    faults: tuple[Fault, ...] = ()
    barriers: frozenset[int] = frozenset()
    """Lines of the barriers that were passed."""
    refused: str = ""
    """Why the source or the launch rules this case out, as a static_assert does."""
    stopped: str = ""
    """The limit that ended it."""


@dataclass(frozen=True)
class Finding:
    """A fault, and the smallest launch that shows it."""

    fault: Fault
    case: Case
    command: str
    """The same launch as a command line."""


@dataclass(frozen=True)
class Probe:
    """What the launches of a plan have shown."""

    plan: Plan
    outcomes: tuple[Outcome, ...]
    findings: tuple[Finding, ...]
    """The worst first, those that take a block of another size behind all others."""
    tried: int
    """Launches that were made in all, to shrink faults too."""

    @property
    def refused(self) -> list[Outcome]:
        """Launches that the source itself rules out."""
        return [one for one in self.outcomes if one.refused]

    @property
    def stopped(self) -> list[Outcome]:
        """Launches that met a limit."""
        return [one for one in self.outcomes if one.stopped]

    @property
    def cases(self) -> list[Case]:
        """All launches that tell something: the plan's, then those that faults were shrunk to."""
        return [*self.plan.launches, *(finding.case for finding in self.findings)]

    def worst(self) -> str | None:
        """Return the severity of the worst fault, None where there is none."""
        return (
            min((one.fault for one in self.findings), key=order).severity if self.findings else None
        )

    def is_of_other_block(self, finding: Finding) -> bool:
        """Say whether a fault takes a block of a size that the source does not speak of."""
        return finding.case.block != self.plan.base.block


def probe(subject: Subject, case: Case | None = None, launches: slice | None = None) -> Probe:
    """Run the launches of a plan, and shrink each fault to its smallest launch.

    Parameters
    ----------
    subject : Subject
        The kernel.
    case : Case, optional
        The launch to start from.
    launches : slice, optional
        Of the launches after the first, which to run; all of them if left out. Notes of a part are
        not those of the whole: a barrier may order something in another part.

    Returns
    -------
    Probe
        Every fault with its smallest launch, and the launches that could not be made.

    Raises
    ------
    SourceError
        When the text cannot be read.
    UsageError
        When the kernel cannot be launched as the case says.
    LimitError
        When the launch to start from meets a limit.

    Examples
    --------
    >>> from oneread.trace.probing import probe
    >>> from oneread.trace.subject import Subject
    >>> outcome = probe(Subject.of_gallery("zoo_stray_tail"))
    >>> for finding in outcome.findings:
    ...     print(finding.fault.id, "-", finding.command)
    out-of-bounds - oneread trace zoo_stray_tail --rows 1 --vocab 1
    stray-row - oneread trace zoo_stray_tail --rows 2 --vocab 1
    wrong-result - oneread trace zoo_stray_tail --rows 1 --vocab 1
    """
    whole = plan(subject, case)
    if launches is not None:
        first, *others = whole.choices
        whole = replace(whole, choices=(first, *others[launches]))
    return _Prober(subject, whole).probe()


class Key(NamedTuple):
    """What makes two faults the same one."""

    id: str
    where: frozenset[int | str | None]
    """Its lines; of a wrong result what class of number it is."""
    note: bool


def _key(fault: Fault) -> Key:
    where: frozenset[int | str | None] = frozenset([fault.line, fault.with_line])
    if fault.id == "wrong-result":
        # Its line is that of the last store, whatever the cause; but NaN has causes of its own.
        where = frozenset(["nan" if fault.parameters["got"] == "nan" else "number"])
    return Key(fault.id, where, fault.severity == "note")


def launched(subject: Subject, case: Case) -> Outcome:
    """Run a launch, and say so if it cannot be made."""
    try:
        run = subject.launch(case)
    except LimitError as error:
        return Outcome(case, stopped=str(error))
    except OneReadError as error:
        return Outcome(case, refused=str(error))
    return Outcome(case, tuple(run.faults), frozenset(run.counts.barrier_lines))


def must_run(subject: Subject, outcome: Outcome) -> None:
    """Raise what ended a launch that the caller asked for, if something did."""
    if outcome.refused:
        subject.launch(outcome.case)
    if outcome.stopped:
        raise LimitError(outcome.stopped)


class _Prober:
    """One probe."""

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self.subject, self.plan = subject, plan
        self.known: dict[str, Outcome] = {}

    def probe(self) -> Probe:
        outcomes = [self.outcome(case) for case in self.plan.launches]
        must_run(self.subject, outcomes[0])
        findings = tuple(self.shrunk(outcomes))
        made = Probe(self.plan, tuple(outcomes), findings, len(self.known))
        ranks = {id(one): (made.is_of_other_block(one), order(one.fault)) for one in findings}
        findings = tuple(sorted(findings, key=lambda one: ranks[id(one)]))
        return replace(made, findings=findings, tried=len(self.known))

    def outcome(self, case: Case) -> Outcome:
        command = self.subject.command(case)
        if command not in self.known:
            self.known[command] = launched(self.subject, case)
        return self.known[command]

    def shrunk(self, outcomes: list[Outcome]) -> Iterator[Finding]:
        """Yield each fault with its smallest launch."""
        told: set[tuple[object, ...]] = set()
        for key, choices in self.showing(outcomes).items():
            causes = self.causes(key, sorted(choices, key=self.distance))
            for cause in causes:
                # What a block of another size does is told once a kind of fault.
                threads = cause.get("threads", "same")
                once = (key.id, threads) if threads != "same" else (*key, str(cause))
                if once not in told:
                    told.add(once)
                    yield self.smallest(key, cause, causes)

    def showing(self, outcomes: list[Outcome]) -> dict[Key, list[Choice]]:
        """Return the choices that show each fault; notes are of those with the usual threads."""
        pairs = list(zip(self.plan.choices, outcomes, strict=True))
        usual = [one for choice, one in pairs if self.is_usual(choice)]
        found: dict[Key, list[Choice]] = {}
        for choice, outcome in pairs:
            for key in dict.fromkeys(map(_key, outcome.faults)):
                if not key.note or self.is_usual(choice):
                    found.setdefault(key, []).append(choice)
        return {k: v for k, v in found.items() if k.id != "barrier-idle" or _is_idle(k, usual)}

    def is_usual(self, choice: Choice) -> bool:
        return choice.get("threads", "same") == "same"

    def causes(self, key: Key, choices: list[Choice]) -> list[Choice]:
        """Return what a fault needs: the simplest choice, or each that leads to a wrong result."""
        found: list[Choice] = []
        for choice in choices:
            if not any(self.explains(one, choice) for one in found):
                found.append(self.simplified(key, choice))
                if key.id != "wrong-result":
                    break
        return found

    def distance(self, choice: Choice) -> tuple[bool, int]:
        """Return how far a choice is from the base; other threads are farther than all else."""
        changed = [name for name, values in self.plan.factors.items() if choice[name] != values[0]]
        return "threads" in changed, len(changed)

    def explains(self, cause: Choice, choice: Choice) -> bool:
        """Say whether a choice has all that a fault was found to need."""
        return all(
            value in (self.plan.factors[name][0], choice[name])
            or value in self.plan.simpler(name, choice[name])
            for name, value in cause.items()
        )

    def simplified(self, key: Key, choice: Choice) -> Choice:
        """Return the choice with every value made as simple as the fault allows."""
        for name in reversed(list(self.plan.factors)):
            for value in self.plan.simpler(name, choice[name]):
                trial = {**choice, name: value}
                if self.shown(key, self.plan.case(trial)) is not None:
                    choice = trial
                    break
        return choice

    def smallest(self, key: Key, choice: Choice, causes: list[Choice]) -> Finding:
        """Return the fault in the smallest launch that shows it and no other kind of fault."""
        case = self.plan.case(choice)
        kinds = self.kinds(case)

        def shows(trial: Case) -> bool:
            return self.shown(key, trial) is not None and self.kinds(trial) <= kinds

        case = smallest(case, self.sizes(key, choice, causes), shows)
        fault = self.shown(key, case)
        assert fault is not None
        return Finding(fault, case, self.subject.command(case))

    def sizes(self, key: Key, choice: Choice, causes: list[Choice]) -> list[Size]:
        """Return the sizes that are made smaller: not those of numbers that are given."""
        factors, tile = self.plan.factors, self.plan.tile(choice)
        found = [] if self.plan.base.data else [Size("rows")]
        if "vocab" in choice:
            # A tail may have wrong results of its own, and those are another cause.
            tails = any(one["vocab"] != factors["vocab"][0] for one in causes)
            whole = choice["vocab"] == factors["vocab"][0] and tails
            likely = (tile - 1, tile, tile + 1, 2 * tile, 2 * tile + 1)
            bounds = "k" if "k" in choice else None
            found.append(Size("vocab", 0, tile if whole else 1, likely, bounds))
        if "k" in choice:
            found.append(Size("k"))
        # A block follows its macro. That fewer threads give wrong results is no smaller launch.
        free = "threads" in choice and (self.plan.macro is None or not self.is_usual(choice))
        if free and key.id != "wrong-result":
            found.append(Size("block", usual=self.plan.threads))
        return found

    def kinds(self, case: Case) -> set[str]:
        return {fault.id for fault in self.outcome(case).faults if fault.severity != "note"}

    def shown(self, key: Key, case: Case) -> Fault | None:
        return next((one for one in self.outcome(case).faults if _key(one) == key), None)


def _is_idle(barrier: Key, outcomes: list[Outcome]) -> bool:
    """Say whether a barrier orders nothing in every launch that passes it."""
    return all(
        barrier in map(_key, outcome.faults)
        for outcome in outcomes
        if not outcome.barriers.isdisjoint(barrier.where)
    )


__all__ = [
    "Finding",
    "Outcome",
    "Plan",
    "Probe",
    "Subject",
    "launched",
    "must_run",
    "plan",
    "probe",
]
