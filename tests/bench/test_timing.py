"""Timing, on a clock that the jobs themselves move."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable

import pytest

from oneread.bench.timing import LEAST, Effort, Machine, Times, contest

EFFORT = Effort(rounds=4, batch_s=0.03, budget_s=1.0)


class FakeMachine(Machine):
    """A clock that stands still between jobs, and interruptions when they are asked for."""

    def __init__(self) -> None:
        self.time = 0.0
        self.preempted = 0
        self.log: list[str] = []

    def now(self) -> float:
        return self.time

    def interruptions(self) -> int:
        return self.preempted

    def settle(self) -> None:
        self.log.append("settle")

    def job(
        self, name: str, seconds: float, every: int = 0, lost_s: float = 0.0
    ) -> Callable[[], None]:
        """Return a job; each call whose number `every` divides is preempted for `lost_s`."""
        calls = 0

        def run() -> None:
            nonlocal calls
            calls += 1
            self.log.append(name)
            self.time += seconds
            if every and calls % every == 0:
                self.preempted += 1
                self.time += lost_s

        return run


def test_median_and_quartiles_of_known_samples() -> None:
    times = Times.of([5.0, 1.0, 2.0, 4.0, 3.0], dropped=2)
    assert (times.p25_s, times.median_s, times.p75_s, times.n, times.dropped) == (2, 3, 4, 5, 2)
    assert Times.of([7.0]) == Times(7.0, 7.0, 7.0, 1, 0)


@pytest.mark.parametrize("seconds", [1e-6, 1e-4, 0.01, 0.5])
def test_time_of_a_call_whatever_its_length(seconds: float) -> None:
    machine = FakeMachine()
    times = contest({"a": machine.job("a", seconds)}, EFFORT, machine)["a"]
    assert times.median_s == pytest.approx(seconds)
    assert times.n >= LEAST


def test_jobs_take_turns_and_each_round_starts_with_another() -> None:
    machine = FakeMachine()
    jobs = {name: machine.job(name, 0.02) for name in "abc"}
    contest(jobs, EFFORT, machine)
    calls = [name for name in machine.log if name != "settle"]
    turns = "".join(name for i, name in enumerate(calls) if i == 0 or calls[i - 1] != name)
    assert turns == "abc" + "abc" + "bca" + "cab" + "abc"


def test_threads_are_waited_for_before_each_batch() -> None:
    machine = FakeMachine()
    contest({name: machine.job(name, 0.02) for name in "ab"}, EFFORT, machine)
    for before, after in zip(machine.log, machine.log[1:], strict=False):
        assert before == "settle" or after in (before, "settle")


def test_preempted_samples_are_dropped() -> None:
    machine = FakeMachine()
    times = contest({"a": machine.job("a", 0.001, 5, 0.004)}, EFFORT, machine)["a"]
    assert times.dropped > 0
    assert times.p75_s == pytest.approx(0.001)


def test_samples_are_kept_where_all_were_preempted() -> None:
    machine = FakeMachine()
    times = contest({"a": machine.job("a", 0.02, 1, 0.0)}, EFFORT, machine)["a"]
    assert times.n >= LEAST
    assert times.dropped == 0


def test_long_jobs_get_fewer_samples_but_three() -> None:
    machine = FakeMachine()
    jobs = {"short": machine.job("short", 0.02), "long": machine.job("long", 2.0)}
    found = contest(jobs, EFFORT, machine)
    assert found["long"].n == LEAST == machine.log.count("long")
    assert found["short"].n >= EFFORT.rounds


def test_real_clock_and_idle_threads() -> None:
    machine = Machine()
    start = machine.now()
    machine.settle()
    assert 0 < machine.now() - start < 1
    assert machine.interruptions() >= 0


def test_thread_that_works_elsewhere_is_seen_at_once() -> None:
    machine = Machine()
    machine.settle()
    assert not machine.others_run()
    # Long work without the interpreter's lock, as a library's spinning threads do.
    work = threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha512", b"", b"", 1_000_000))
    work.start()
    looks = []
    while work.is_alive():
        looks.append(machine.others_run())
        time.sleep(0.001)
    assert sum(looks) > 0.8 * len(looks) > 8
