"""Files of runs become machines: by name, several runs of one put together."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oneread.bench.cases import Case
from oneread.bench.journal import Journal
from oneread.bench.store import Record
from oneread.report.paper import machines

GPU: dict[str, Any] = {"machine": {"gpu": "Some GPU"}}
CASE = Case("softmax", "softmax", (4, 1000))


@pytest.fixture
def write(record: Callable[..., Record]) -> Callable[..., Path]:
    """Return what writes a run of one case."""

    def make(path: Path, header: dict[str, Any], *us: tuple[str, float]) -> Path:
        with Journal(path, header) as journal:
            journal.add_case([record(CASE, name, time) for name, time in us])
            journal.add_fact({"key": f"bounds/{path.stem}"})
            journal.end()
        return path

    return make


def test_gpus_come_first_and_runs_of_one_machine_are_one(
    tmp_path: Path, header: dict[str, Any], write: Callable[..., Path]
) -> None:
    files = [
        write(tmp_path / "a.jsonl", header, ("oneread", 10.0), ("torch", 20.0)),
        write(tmp_path / "b.jsonl", {**header, **GPU}, ("oneread", 1.0)),
        write(tmp_path / "c.jsonl", header, ("oneread", 10.0), ("torch", 30.0)),
        write(tmp_path / "d.jsonl", header, ("oneread", 20.0), ("torch", 50.0)),
    ]
    gpu, cpu = machines.read(files)
    assert (gpu.device, gpu.short) == ("gpu", "Some GPU")
    assert (cpu.device, cpu.short) == ("cpu", "Some CPU (x86-64-v4)")
    (case,) = cpu.cases()
    assert machines.ratio(case, "torch", "oneread") == 2.5  # the median of 2, 3 and 2.5
    assert [fact["key"] for fact in cpu.run.facts] == ["bounds/a", "bounds/c", "bounds/d"]
    assert len(cpu.headers) == 3


def test_unfinished_run_is_read_and_told(
    tmp_path: Path, header: dict[str, Any], write: Callable[..., Path]
) -> None:
    path = write(tmp_path / "a.jsonl", header, ("oneread", 10.0))
    lines = path.read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["record"] == "end"
    path.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    (machine,) = machines.read([path])
    assert not machine.run.complete


def test_kernels_are_found_by_the_name_of_their_algorithm(record: Callable[..., Record]) -> None:
    case = [record(CASE, "safe", 20.0), record(CASE, "oneread", 10.0)]
    assert machines.ratio(case, "safe", "oneread") == 2.0
    assert machines.ratio(case, "online", "oneread") is None


def test_machines_that_differ_in_threads_alone_have_names_of_their_own(
    tmp_path: Path, header: dict[str, Any], write: Callable[..., Path]
) -> None:
    files = [
        write(tmp_path / f"{threads}.jsonl", {**header, "threads": threads}, ("oneread", 10.0))
        for threads in (1, 2)
    ]
    assert [machine.short for machine in machines.read(files)] == [
        "Some CPU, 1 threads, x86-64-v4", "Some CPU, 2 threads, x86-64-v4",
    ]  # fmt: skip


@pytest.mark.parametrize(("quick", "complete"), [(False, True), (True, False)])
def test_run_that_did_the_rest_of_another_ends_it(
    quick: bool, complete: bool, tmp_path: Path, header: dict[str, Any],
    write: Callable[..., Path], record: Callable[..., Record],
) -> None:  # fmt: skip
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    header = {**header, "kind": "paper", "quick": quick}
    other = Case("softmax", "softmax", (4, 4000))
    with Journal(first, header) as journal:
        journal.add_case([record(other, "oneread", 30.0)])
    with Journal(second, header, [first]) as journal:
        assert other.name in journal
        journal.add_case([record(CASE, "oneread", 10.0)])
        journal.end()
    (machine,) = machines.read([first, second])
    assert [case[0].vocab for case in machine.cases()] == [4000, 1000]
    assert machine.run.complete is complete
