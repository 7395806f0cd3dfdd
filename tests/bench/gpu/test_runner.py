"""A run on a GPU: its processes are made up, what becomes of them is not."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

import oneread.bench.runner
from oneread.bench.cases import select
from oneread.bench.gpu import race, runner
from oneread.bench.gpu.cases import CASES
from oneread.bench.runner import WorkerError
from oneread.spec import BackendUnavailableError

QUICK = tuple(select((), True, CASES))


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "check_available", lambda: "sm_90")


class Processes:
    """Stand for the processes: each case gives one record, unless it is one that breaks them."""

    def __init__(self, *deadly: str) -> None:
        self.deadly = deadly
        self.tasks: list[dict[str, Any]] = []

    def __call__(self, module: str, task: dict[str, Any], environment: Any) -> Iterator[str]:
        self.tasks.append(task)
        for name in task["cases"]:
            if name in self.deadly or "all" in self.deadly:
                raise WorkerError(f"{name}: its process ended with -6; it said: illegal address")
            plain = race.absent(CASES[name], "made up", "sm_90").as_json()
            yield "[]" if task["only_compile"] else json.dumps([plain])

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (runner, oneread.bench.runner):
            monkeypatch.setattr(module, "work", self)

    @property
    def timing(self) -> list[dict[str, Any]]:
        return [task for task in self.tasks if not task["only_compile"]]


def names_and_reasons(request: runner.Request) -> list[tuple[str, str | None]]:
    return [(records[0].case, records[0].reason) for records in runner.run(request)]


@pytest.mark.usefixtures("there")
def test_cases_are_compiled_by_several_and_timed_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes()
    processes.stand_in(monkeypatch)
    found = names_and_reasons(runner.Request(QUICK))
    assert found == [(case.name, "made up") for case in QUICK]
    (timing,) = processes.timing
    assert timing["cases"] == [case.name for case in QUICK]
    compiling = [name for task in processes.tasks if task["only_compile"] for name in task["cases"]]
    assert sorted(compiling) == sorted(timing["cases"])


@pytest.mark.usefixtures("there")
def test_case_that_breaks_its_process_is_absent_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deadly = QUICK[2].name
    processes = Processes(deadly)
    processes.stand_in(monkeypatch)
    found = names_and_reasons(runner.Request(QUICK))
    assert [name for name, _ in found] == [case.name for case in QUICK]
    reasons = dict(found)
    assert reasons.pop(deadly) == (f"{deadly}: its process ended with -6; it said: illegal address")
    assert set(reasons.values()) == {"made up"}
    assert len(processes.timing) == 2


@pytest.mark.usefixtures("there")
def test_processes_that_never_begin_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    Processes("all").stand_in(monkeypatch)
    with pytest.raises(WorkerError):
        names_and_reasons(runner.Request(QUICK))


@pytest.mark.usefixtures("there")
def test_time_that_is_limited_is_shared_with_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes()
    processes.stand_in(monkeypatch)
    request = runner.Request(QUICK, seconds=100.0)
    names_and_reasons(request)
    (timing,) = processes.timing
    assert timing["until"] - request.start == pytest.approx(100)
    compiling = {task["until"] for task in processes.tasks if task["only_compile"]}
    assert [until - request.start for until in compiling] == [pytest.approx(40)]
    assert abs(request.start - time.time()) < 60
    assert runner.Request(QUICK).until() is None


def test_machine_without_a_gpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def device(index: int) -> Any:
        raise BackendUnavailableError("NVIDIA's driver cannot be loaded")

    monkeypatch.setattr(runner.driver, "device", device)
    with pytest.raises(BackendUnavailableError, match="driver"):
        next(iter(runner.run(runner.Request(QUICK))))


def test_header_has_the_facts_and_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(name="Some GPU", target="sm_90", multiprocessors=7)
    monkeypatch.setattr(runner.driver, "device", lambda index: gpu)
    monkeypatch.setattr(runner, "driver_version", lambda index: "1.2.3")
    monkeypatch.setattr(runner.nvrtc, "version", lambda: (13, 0))
    found = runner.header(runner.Request(QUICK, quick=True), "oneread bench gpu", None)
    assert found["machine"]["gpu"] == "Some GPU"
    assert found["machine"]["driver"] == "1.2.3"
    assert found["libraries"]["numpy"]
    assert found["commit"] is None
    assert "liger-kernel" in found["libraries"]


@pytest.mark.parametrize(("quick", "most"), [(True, 60), (False, 300)])
def test_budget_of_a_run_on_an_h200(quick: bool, most: int) -> None:
    cases = tuple(case for case in CASES.values() if case.quick or not quick)
    assert 10 < runner.Request(cases, quick=quick).expected_s() <= most
