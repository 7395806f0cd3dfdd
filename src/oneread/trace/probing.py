"""Many launches of one kernel: which ones, and the smallest that shows each fault.

`plan` only lists launches; `probe` runs them. Knows runs by their faults; knows no machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from oneread.source.errors import SourceError
from oneread.spec.errors import OneReadError
from oneread.trace.arguments import SIZE_NAMES
from oneread.trace.case import BLOCK_MACROS, Case
from oneread.trace.covering import Choice, Value, pairwise
from oneread.trace.errors import LimitError
from oneread.trace.faults import Fault, order
from oneread.trace.subject import Subject
from oneread.trace.tree import Program
from oneread.trace.types import Pointer, Scalar

TILES = (32, 64, 128, 48)
#: ``tile-1`` is one less than the tile of the same launch.
VOCABS = (256, 250, 1, "tile-1")
INPUTS = ("normal", "inf-first-tile", "all-inf", "plus-inf", "nan", "large")
THREADS = ("same", "half", "double")
SCHEDULES = ("in-order", "reverse", "random:1", "switch:1")

#: Rows of each launch: the last one ends at the end of the buffer, and 3 is no multiple of 2.
ROWS = 3

#: Wall clock of one launch.
SECONDS = 5.0


@dataclass(frozen=True)
class Plan:
    """The launches of a probe, as data."""

    base: Case
    macro: str | None
    """What a tile is called in the source."""
    threads: int
    """Threads of a block where neither a macro nor the launch says how many."""
    ranked: bool
    """Whether the kernel takes a k."""
    factors: Mapping[str, tuple[Value, ...]]
    """What is varied, the value of the base first; what the kernel lacks is left out."""
    choices: tuple[Choice, ...]

    @property
    def launches(self) -> list[Case]:
        """Every launch, the base first."""
        return [self.case(choice) for choice in self.choices]

    def tile(self, choice: Choice) -> int:
        """Return the columns that a launch takes at a time."""
        if self.macro is None:
            return self.threads
        return int(choice.get("tile", self.base.defines.get(self.macro, self.threads)))

    def case(self, choice: Choice) -> Case:
        """Return the launch of a choice."""
        base, tile = self.base, self.tile(choice)
        vocab = choice.get("vocab", base.vocab)
        vocab = max(1, tile - 1 if vocab == "tile-1" else int(vocab))
        defines = dict(base.defines)
        if self.macro is not None and choice.get("tile", tile) != self.factors["tile"][0]:
            defines[self.macro] = str(tile)
        blocks = {"half": max(1, tile // 2), "double": min(2 * tile, base.limits.threads)}
        return replace(
            base,
            vocab=vocab,
            k=min(base.k, vocab) if self.ranked else base.k,
            defines=defines,
            block=blocks.get(str(choice.get("threads")), base.block),
            input=str(choice.get("input", base.input)),
            schedule=str(choice.get("schedule", base.schedule)),
        )

    def simpler(self, name: str, value: Value) -> list[Value]:
        """Return the values of a factor that are tried in place of one, the simplest first."""
        base, *others = self.factors[name]
        if value == base:
            return []
        if name == "tile" and _is_power(value):
            smaller = (other for other in others if _is_power(other) and int(other) < int(value))
            return [base, *sorted(smaller, key=int)]
        if name == "vocab":
            shorter = {250: [1, "tile-1"], "tile-1": [1]}
            return [base, *(one for one in shorter.get(value, []) if one in others)]
        return [base]


def _is_power(value: Value) -> bool:
    return isinstance(value, int) and value & (value - 1) == 0


def plan(subject: Subject, case: Case | None = None) -> Plan:
    """List the launches that find the usual faults of a kernel.

    Parameters
    ----------
    subject : Subject
        The kernel.
    case : Case, optional
        The launch to start from. What it settles is left alone: a block, numbers of an input.

    Returns
    -------
    Plan
        A pairwise cover of tile sizes, lengths, inputs, threads and orders of warps.

    Raises
    ------
    SourceError
        When the text cannot be read.
    """
    case = case or Case()
    limits = replace(case.limits, seconds=min(SECONDS, case.limits.seconds))
    base = replace(case, rows=min(case.rows, ROWS), record=False, limits=limits)
    base = _with_tile(subject, base)
    full = subject.complete(base)
    program = subject.source(full).loaded.program
    names = full.names(subject.text)
    macro = next((name for name in BLOCK_MACROS if name in names), None)
    threads = full.block_shape(names, program)
    if macro is not None and full.block is not None:
        # A block of a fixed size does not follow the tile.
        macro = macro if re.search(rf"\b{macro}\b", str(full.block)) else None
    factors = _factors(full, program, macro and names[macro], threads[0])
    ranked = any(SIZE_NAMES.get(one.name.lower()) == "k" for one in program.kernel.parameters)
    return Plan(base, macro, threads[0], ranked, factors, tuple(pairwise(factors)))


def _with_tile(subject: Subject, case: Case) -> Case:
    """Return the launch with the tile that the source uses and defines nowhere."""
    try:
        subject.source(subject.complete(case))
    except SourceError as error:
        for one in error.diagnostics:
            if one.id == "unknown" and one.parameters["name"] in BLOCK_MACROS:
                defines = {**case.defines, str(one.parameters["name"]): str(TILES[0])}
                return replace(case, defines=defines)
    return case


def _factors(
    case: Case, program: Program, tile: int | None, threads: int
) -> dict[str, tuple[Value, ...]]:
    found: dict[str, tuple[Value, ...]] = {}
    if tile is not None:
        found["tile"] = _first(tile, TILES)
    if not case.data:
        if any(isinstance(one.type, Scalar) for one in program.kernel.parameters):
            found["vocab"] = _first(case.vocab, VOCABS)
        if any(isinstance(one.type, Pointer) for one in program.kernel.parameters):
            found["input"] = _first(case.input, INPUTS)
    if case.block is None and program.kernel.max_threads is None:
        fit = 2 * threads <= case.limits.threads
        found["threads"] = THREADS if fit else THREADS[:2]
    found["schedule"] = _first(case.schedule, SCHEDULES)
    return found


def _first(value: Value, values: tuple[Value, ...]) -> tuple[Value, ...]:
    return (value, *(other for other in values if other != value))


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
    """The worst first."""
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

    def worst(self) -> str | None:
        """Return the severity of the worst fault, None where there is none."""
        return self.findings[0].fault.severity if self.findings else None


def probe(subject: Subject, case: Case | None = None) -> Probe:
    """Run the launches of a plan, and shrink each fault to its smallest launch.

    Parameters
    ----------
    subject : Subject
        The kernel.
    case : Case, optional
        The launch to start from.

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

    Examples
    --------
    >>> from oneread.trace.probing import Subject, probe
    >>> outcome = probe(Subject.of_gallery("zoo_stray_tail"))
    >>> for finding in outcome.findings:
    ...     print(finding.fault.id, "-", finding.command)
    out-of-bounds - oneread trace zoo_stray_tail --rows 1 --vocab 1
    wrong-result - oneread trace zoo_stray_tail --rows 2 --vocab 1
    stray-row - oneread trace zoo_stray_tail --rows 2 --vocab 1
    """
    return _Prober(subject, plan(subject, case)).probe()


#: What makes two faults the same one: its kind, and its lines or the threads that it needs.
Key = tuple[str, object]


def _key(fault: Fault) -> Key:
    if fault.id == "wrong-result":
        # Its line is that of the last store, whatever the cause; but NaN has causes of its own.
        return fault.id, fault.parameters["got"] == "nan"
    return fault.id, frozenset([fault.line, fault.with_line])


def launched(subject: Subject, case: Case) -> Outcome:
    """Run a launch, and say so if it cannot be made."""
    try:
        run = subject.launch(case)
    except LimitError as error:
        return Outcome(case, stopped=str(error))
    except OneReadError as error:
        return Outcome(case, refused=str(error))
    return Outcome(case, tuple(run.faults), frozenset(run.counts.barrier_lines))


class _Prober:
    """One probe."""

    def __init__(self, subject: Subject, plan: Plan) -> None:
        self.subject, self.plan = subject, plan
        self.known: dict[str, Outcome] = {}

    def probe(self) -> Probe:
        outcomes = [self.outcome(case) for case in self.plan.launches]
        if outcomes[0].refused:
            self.subject.launch(outcomes[0].case)  # raises: the caller asked for this launch
        findings = list(self.notes(outcomes)) + list(self.shrunk(outcomes))
        findings.sort(key=lambda finding: order(finding.fault))
        return Probe(self.plan, tuple(outcomes), tuple(findings), len(self.known))

    def outcome(self, case: Case) -> Outcome:
        command = self.subject.command(case)
        if command not in self.known:
            self.known[command] = launched(self.subject, case)
        return self.known[command]

    def finding(self, fault: Fault, case: Case) -> Finding:
        return Finding(fault, case, self.subject.command(case))

    def notes(self, outcomes: list[Outcome]) -> Iterator[Finding]:
        """Yield each note with the first launch that shows it, of those with the right threads."""
        usual = [one for one in outcomes if one.case.block == self.plan.base.block]
        seen: set[Key] = set()
        for outcome in usual:
            for fault in outcome.faults:
                if fault.severity == "note" and _key(fault) not in seen:
                    seen.add(_key(fault))
                    if fault.id != "barrier-idle" or _is_idle(fault, usual):
                        yield self.finding(fault, outcome.case)

    def shrunk(self, outcomes: list[Outcome]) -> Iterator[Finding]:
        """Yield each error and warning with its smallest launch."""
        showing: dict[Key, list[Choice]] = {}
        for choice, outcome in zip(self.plan.choices, outcomes, strict=True):
            for key in {_key(one): None for one in outcome.faults if one.severity != "note"}:
                showing.setdefault(key, []).append(choice)
        told: set[Key] = set()
        for key, choices in showing.items():
            for cause in self.causes(key, sorted(choices, key=self.distance)):
                # What a block of another size does is told once a kind of fault.
                threads = cause.get("threads", "same")
                once = (key[0], threads) if threads != "same" else (key[0], (key[1], str(cause)))
                if once not in told:
                    told.add(once)
                    yield self.smallest(key, cause)

    def causes(self, key: Key, choices: list[Choice]) -> list[Choice]:
        """Return what a fault needs: the simplest choice, or each that leads to a wrong result."""
        found: list[Choice] = []
        for choice in choices:
            if not any(self.explains(one, choice) for one in found):
                found.append(self.simplified(key, choice))
                if key[0] != "wrong-result":
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
        for name in reversed(self.plan.factors):
            for value in self.plan.simpler(name, choice[name]):
                trial = {**choice, name: value}
                if self.shown(key, self.plan.case(trial)) is not None:
                    choice = trial
                    break
        return choice

    def smallest(self, key: Key, choice: Choice) -> Finding:
        """Return the fault in as few rows and columns as show it without showing another."""
        case = self.plan.case(choice)
        fault = self.shown(key, case)
        assert fault is not None
        tile = self.plan.tile(choice)
        sizes = [("rows", rows) for rows in (1, 2)]
        if "vocab" in self.plan.factors:
            # Where whole tiles show it, a tail would only bring faults of its own.
            whole = choice["vocab"] == self.plan.factors["vocab"][0]
            columns = (tile, 2 * tile) if whole else (1, 2, tile - 1, tile + 1, 2 * tile + 1)
            sizes += [("vocab", number) for number in columns]
        for name, size in sizes:
            if 0 < size < getattr(case, name):
                trial = replace(case, **{name: size})
                found = self.shown(key, trial)
                if found is not None and self.ids(trial) <= self.ids(case):
                    fault, case = found, trial
        return self.finding(fault, case)

    def ids(self, case: Case) -> set[str]:
        return {fault.id for fault in self.outcome(case).faults if fault.severity != "note"}

    def shown(self, key: Key, case: Case) -> Fault | None:
        faults = self.outcome(case).faults
        return next((one for one in faults if _key(one) == key and one.severity != "note"), None)


def _is_idle(fault: Fault, outcomes: list[Outcome]) -> bool:
    """Say whether a barrier orders nothing in every launch that passes it."""
    return all(
        any(_key(one) == _key(fault) for one in outcome.faults)
        for outcome in outcomes
        if fault.line in outcome.barriers
    )


__all__ = ["Finding", "Outcome", "Plan", "Probe", "Subject", "launched", "plan", "probe"]
