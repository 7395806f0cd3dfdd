"""Timing on a GPU: graphs of whole turns, samples in turn."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench.gpu.timing import Effort, contest, in_calls, in_graph

EFFORT = Effort(rounds=4, graph_s=1e-3, calls=10)


class Job:
    """Takes the same time at each call, and notes which sets it was called with."""

    def __init__(self, gpu: Any, seconds: float) -> None:
        self.gpu, self.seconds = gpu, seconds
        self.sets: list[int] = []

    def __call__(self, i: int) -> None:
        self.sets.append(i)
        self.gpu.spend(self.seconds)


@pytest.mark.parametrize(("sets", "call_us"), [(1, 10), (7, 10), (1000, 3), (1, 5000), (3, 1)])
def test_graph_has_whole_turns_and_enough_time(gpu: Any, sets: int, call_us: float) -> None:
    job = Job(gpu, call_us * 1e-6)
    sample = in_graph(job, sets, gpu, EFFORT)
    (launches,) = gpu.graphs
    assert launches % sets == 0
    assert launches <= max(sets, 400)
    assert launches == sets or launches * (call_us + 1) * 1e-6 > 0.4 * EFFORT.graph_s
    job.sets.clear()
    assert sample() == pytest.approx((call_us + 1) * 1e-6, rel=0.3)
    assert job.sets == [i % sets for i in range(launches)]


def test_result_of_a_set_lives_until_its_next_turn(gpu: Any) -> None:
    made: list[weakref.ref[Any]] = []
    most = 0

    class Result:
        pass

    def job(i: int) -> Result:
        nonlocal most
        result = Result()
        made.append(weakref.ref(result))
        most = max(most, sum(ref() is not None for ref in made))
        return result

    in_graph(job, 3, gpu, EFFORT)
    assert 3 <= most <= 4


def test_samples_take_turns_and_each_round_begins_with_another() -> None:
    log: list[str] = []

    def sample(name: str, seconds: float) -> Callable[[], float]:
        def take() -> float:
            log.append(name)
            return seconds

        return take

    times = contest({"a": sample("a", 1.0), "b": sample("b", 2.0)}, EFFORT)
    assert "".join(log) == "abbaabba"
    assert {name: (t.median_s, t.n) for name, t in times.items()} == {"a": (1.0, 4), "b": (2.0, 4)}
    assert contest({}, EFFORT) == {}


def test_calls_are_timed_several_at_once(gpu: Any) -> None:
    job = Job(gpu, 5e-6)
    assert in_calls(job, gpu, EFFORT)() == pytest.approx(5.1e-6)
    assert set(job.sets) == {0}
    assert len(job.sets) == 2 * EFFORT.calls
