"""A run on a CPU: its processes are made up, what becomes of them is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import oneread
from oneread.bench import race, runner
from oneread.bench.cases import CASES, select

QUICK = tuple(select((), True, CASES))[:4]


def work_that_dies_at(*deadly: str) -> Any:
    def work(module: str, task: dict[str, Any], environment: Any) -> Iterator[str]:
        for name in task["cases"]:
            if name in deadly:
                raise runner.WorkerError(f"{name}: its process ended with -11; it said: nothing")
            yield json.dumps([race.absent(CASES[name], "made up").as_json()])

    return work


def test_case_that_breaks_its_process_is_absent_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deadly = QUICK[1].name
    monkeypatch.setattr(runner, "work", work_that_dies_at(deadly))
    found = [(records[0].case, records[0].reason) for records in runner.run(runner.Request(QUICK))]
    assert [name for name, _ in found] == [case.name for case in QUICK]
    assert [reason != "made up" for _, reason in found] == [False, True, False, False]
    assert "ended with -11" in str(dict(found)[deadly])


def test_processes_that_never_begin_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "work", work_that_dies_at(*[case.name for case in QUICK]))
    with pytest.raises(runner.WorkerError, match="ended with"):
        list(runner.run(runner.Request(QUICK)))


def test_commit_is_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("ONEREAD_COMMIT", raising=False)
    assert runner.commit_of(tmp_path) is None
    monkeypatch.setenv("ONEREAD_COMMIT", "abc123")
    assert runner.commit_of(tmp_path) == "abc123"
    assert runner.commit_of(Path(__file__).parent) == "abc123"


def test_version_is_known_without_an_installed_distribution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert runner.versions_of(("oneread", "numpy")) == {
        "oneread": oneread.__version__, "numpy": None,
    }  # fmt: skip
