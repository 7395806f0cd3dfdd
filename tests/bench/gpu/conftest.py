"""A GPU made up for the tests: the CPU, with a clock that only its jobs move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest


class MadeUpGpu:
    """Runs what is captured when it is replayed; each call takes a microsecond of its clock."""

    index = 0
    where = "cpu"
    target = "sm_90"

    def __init__(self) -> None:
        self.time = 0.0
        self.calls = 0
        self.graphs: list[int] = []

    def spend(self, seconds: float) -> None:
        self.time += seconds

    def captured(self, calls: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
        self.graphs.append(len(calls))

        def replay() -> None:
            for call in calls:
                self._call(call)

        return replay

    def elapsed_s(self, job: Callable[[], Any]) -> float:
        start = self.time
        self._call(job)
        return self.time - start

    wall_s = elapsed_s

    def forget(self) -> None:
        self.calls = 0

    def stream(self) -> int:
        raise AssertionError("nothing is launched here")

    def _call(self, job: Callable[[], Any]) -> None:
        self.calls += 1
        self.time += 1e-6
        job()


@pytest.fixture
def gpu() -> MadeUpGpu:
    return MadeUpGpu()
