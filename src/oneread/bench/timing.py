"""Timing: jobs in turn, samples, medians and quartiles.

Knows no op and no library: a job is something to call.
"""

from __future__ import annotations

import resource
import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

Job: TypeAlias = Callable[[], Any]

#: A sample is at least this long: calls that are shorter are timed several at once, so that the
#: clock's own 0.1 us does not count.
_SAMPLE_S: Final = 20e-6
#: Longer calls have no warm-up but in the first round: nothing that a call of this length leaves
#: in caches or threads still matters at its end.
_LONG_S: Final = 0.1
#: Fewest samples, whatever a call takes.
LEAST: Final = 3
#: Threads are idle when none of them ran at this many looks in a row, so far apart.
_QUIET_LOOKS: Final = 3
_PAUSE_S: Final = 0.001
_PATIENCE_S: Final = 0.5
_THREADS: Final = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is timed: rounds, the length of a batch, and the most that one job may take."""

    rounds: int = 5
    batch_s: float = 0.03
    budget_s: float = 1.5


FULL: Final = Effort()
QUICK: Final = Effort(rounds=3, batch_s=0.008, budget_s=0.12)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds a call: median, quartiles, how many samples and how many were left out."""

    median_s: float
    p25_s: float
    p75_s: float
    n: int
    dropped: int

    @classmethod
    def of(cls, samples: list[float], dropped: int = 0) -> Times:
        """Summarise samples, at least one."""
        if len(samples) == 1:
            return cls(samples[0], samples[0], samples[0], 1, dropped)
        low, middle, high = statistics.quantiles(samples, n=4, method="inclusive")
        return cls(middle, low, high, len(samples), dropped)


class Machine:
    """The clock, and what tells whether the machine did something else meanwhile."""

    def now(self) -> float:
        """Return the time in seconds."""
        return time.perf_counter()

    def interruptions(self) -> int:
        """Count how often a thread of this process had to give up its core."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

    def settle(self) -> None:
        """Wait until no other thread of this process works.

        Libraries let their threads spin for a while after a call; they would take the core of the
        next one's. The process's CPU time does not tell: that of a thread on another core is
        brought up to date every few milliseconds only.
        """
        end = time.perf_counter() + _PATIENCE_S
        quiet = 0
        while quiet < _QUIET_LOOKS and time.perf_counter() < end:
            time.sleep(_PAUSE_S)
            quiet = 0 if self.others_run() else quiet + 1

    def others_run(self) -> bool:
        """Say whether another thread of this process runs or waits for a core."""
        own = str(threading.get_native_id())
        try:
            others = [thread for thread in _THREADS.iterdir() if thread.name != own]
        except OSError:  # not Linux
            used = time.process_time()
            time.sleep(_PAUSE_S)
            return time.process_time() - used > _PAUSE_S / 4
        return any(_state(thread) == "R" for thread in others)


def _state(thread: Path) -> str:
    """Return the letter that Linux has for what a thread does."""
    try:
        return (thread / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:  # it has ended
        return ""


@dataclass
class _Turn:
    """One job with what is known of it so far."""

    job: Job
    samples: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    call_s: float = 0.0
    rounds: int = 0

    def times(self) -> Times:
        """Summarise, with disturbed samples only where too few are left without."""
        if len(self.samples) < LEAST:
            return Times.of(self.samples + self.disturbed)
        return Times.of(self.samples, len(self.disturbed))


def contest(
    jobs: Mapping[str, Job], effort: Effort = FULL, machine: Machine | None = None
) -> dict[str, Times]:
    """Time jobs in turn, so that what the machine does meanwhile meets all of them.

    Parameters
    ----------
    jobs : mapping of str to callable
        What is timed; each was called before. What a call returns is dropped inside the time of
        the call: memory that it made is also given back.
    effort : Effort
        How much is timed.
    machine : Machine, optional
        The clock.

    Returns
    -------
    dict of str to Times
        In the order of `jobs`.

    Notes
    -----
    Each round goes through the jobs, starting with another one each time. A job gets a warm-up
    call and then a batch of timed ones; before that, the threads of the job before fall idle.
    Samples in which a thread of the process was preempted are dropped, unless fewer than three
    are left.
    """
    machine = machine or Machine()
    turns = {name: _Turn(job) for name, job in jobs.items()}
    names = list(turns)
    for turn in turns.values():
        machine.settle()
        turn.call_s = _sample(turn, 1, machine)
        turn.rounds = _rounds(turn.call_s, effort)
        if turn.call_s > _LONG_S:
            turn.rounds -= 1  # that was one
        else:
            turn.samples, turn.disturbed = [], []
    for round_ in range(max((turn.rounds for turn in turns.values()), default=0)):
        at = round_ % len(names)
        for name in names[at:] + names[:at]:
            turn = turns[name]
            if round_ < turn.rounds:
                machine.settle()
                _batch(turn, effort, machine)
    return {name: turn.times() for name, turn in turns.items()}


def _rounds(call_s: float, effort: Effort) -> int:
    calls = 1 if call_s > _LONG_S else 2
    wanted = int(effort.budget_s / max(calls * call_s, 1e-9))
    return max(LEAST, min(effort.rounds, wanted))


def _batch(turn: _Turn, effort: Effort, machine: Machine) -> None:
    """Warm up, then add a batch of samples."""
    if turn.call_s <= _LONG_S:
        for _ in range(2):  # the first wakes the job's threads
            start = machine.now()
            turn.job()
            turn.call_s = min(turn.call_s, machine.now() - start)
    call_s = max(turn.call_s, 1e-7)
    repeats = max(1, round(_SAMPLE_S / call_s))
    for _ in range(max(1, int(effort.batch_s / (call_s * repeats)))):
        _sample(turn, repeats, machine)


def _sample(turn: _Turn, repeats: int, machine: Machine) -> float:
    """Add the mean time of some calls to the samples, and return it."""
    job, calls = turn.job, range(repeats)
    before = machine.interruptions()
    start = machine.now()
    for _ in calls:
        job()
    took = (machine.now() - start) / repeats
    kept = turn.samples if machine.interruptions() == before else turn.disturbed
    kept.append(took)
    return took
