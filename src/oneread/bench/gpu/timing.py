"""Timing on a GPU: graphs of launches over sets that take turns, jobs in turn, medians.

Knows no op and no library: a job is something to call with the number of a set, and what a GPU can
do comes in as an object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from oneread.bench.timing import Times

Job: TypeAlias = Callable[[int], Any]
#: Gives one sample: the seconds that one call took.
Sample: TypeAlias = Callable[[], float]


class Gpu(Protocol):
    """What timing needs of a GPU."""

    def captured(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
        """Return what replays the launches of some calls, put into a graph."""

    def elapsed_s(self, job: Callable[[], Any]) -> float:
        """Return how long the GPU works on what a job launches."""

    def wall_s(self, job: Callable[[], Any]) -> float:
        """Return how long a job takes until the GPU is done."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is timed: samples, the least time of a graph, and calls of a sample without one."""

    rounds: int = 11
    graph_s: float = 3e-3
    calls: int = 300


FULL: Final = Effort()
QUICK: Final = Effort(rounds=5, graph_s=1e-3, calls=100)

#: Launches of a graph, where sets are few.
_MOST_CALLS: Final = 400
#: Launches before a clock is read for the first time.
_TRIES: Final = 2


def in_graph(job: Job, sets: int, gpu: Gpu, effort: Effort) -> Sample:
    """Return what times one job as launches of a graph: as many turns of the sets as are needed.

    What a call returns lives until its set comes again: results of different sets do not share
    memory.
    """
    call_s = gpu.elapsed_s(lambda: [job(i % sets) for i in range(_TRIES)]) / _TRIES
    turns = max(1, round(effort.graph_s / max(sets * call_s, 1e-9)))
    calls = sets * max(1, min(turns, _MOST_CALLS // sets))
    kept: deque[Any] = deque(maxlen=sets)

    def call(i: int) -> None:
        kept.append(job(i))

    replay = gpu.captured([partial(call, i % sets) for i in range(calls)])
    replay()
    return lambda: gpu.elapsed_s(replay) / calls


def in_calls(job: Job, gpu: Gpu, effort: Effort) -> Sample:
    """Return what times one job as calls from Python, one after the other."""
    calls = range(effort.calls)

    def all_calls() -> None:
        for _ in calls:
            job(0)

    gpu.wall_s(all_calls)
    return lambda: gpu.wall_s(all_calls) / len(calls)


def contest(samples: Mapping[str, Sample], effort: Effort) -> dict[str, Times]:
    """Take samples in turn, starting each round with another one, and return their medians."""
    names = list(samples)
    found: dict[str, list[float]] = {name: [] for name in names}
    for round_ in range(effort.rounds):
        at = round_ % len(names) if names else 0
        for name in names[at:] + names[:at]:
            found[name].append(samples[name]())
    return {name: Times.of(values) for name, values in found.items()}
