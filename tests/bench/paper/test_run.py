"""A run: its pieces in order, kept one by one, those that are there not done again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneread.bench import runner
from oneread.bench.journal import Journal
from oneread.bench.paper import cpu_cases, run
from oneread.bench.race import absent
from oneread.bench.store import Record, load

HEADER = {"machine": {"cpu": "A"}}
REQUEST = run.Request("cpu", quick=True, peers=("torch", "numpy"))


class Pieces:
    """Stands for what times cases and finds out facts; remembers what it was asked for."""

    def __init__(self, stop_after: int = 10**6) -> None:
        self.asked: list[runner.Request] = []
        self.left = stop_after

    def run(self, request: runner.Request) -> Iterator[list[Record]]:
        self.asked.append(request)
        for case in request.cases:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            yield [absent(case, "made up")]


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> Pieces:
    made = Pieces()
    monkeypatch.setattr(runner, "run", made.run)
    few = {key: lambda: {"found": 1} for key in ("bounds", "memory/cpu/torch")}
    monkeypatch.setattr(run.Request, "facts", property(lambda self: few))
    return made


def test_papers_figures_come_first_and_what_is_beyond_last(pieces: Pieces, tmp_path: Path) -> None:
    with Journal(tmp_path / "run.jsonl", HEADER) as journal:
        keys = list(run.run(REQUEST, journal))
        assert journal.complete
    assert len(keys) == run.size(REQUEST) == len(set(keys))
    first, second = pieces.asked
    assert {case.group.partition(" ")[0] for case in first.cases} == {"paper"}
    assert {case.group.partition(":")[0] for case in second.cases} == {"beyond"}
    assert (first.peers, second.peers) == (("torch",), ("torch", "numpy"))
    assert keys[len(first.cases) :][:2] == ["bounds", "memory/cpu/torch"]
    assert first.table == "oneread.bench.paper.cpu_cases"


def test_interrupted_run_keeps_its_pieces_and_a_rerun_does_the_rest(
    pieces: Pieces, tmp_path: Path
) -> None:
    path = tmp_path / "run.jsonl"
    pieces.left = 5
    with pytest.raises(KeyboardInterrupt), Journal(path, HEADER) as journal:
        list(run.run(REQUEST, journal))
    assert len(load(path).records) == 5
    pieces.left = 10**6
    with Journal(path, HEADER) as journal:
        keys = list(run.run(REQUEST, journal))
    assert len(keys) == run.size(REQUEST)
    done = [case.name for case in pieces.asked[1].cases]
    assert done == [case.name for case in pieces.asked[0].cases][5:]
    assert load(path).complete
    with Journal(path, HEADER) as journal:
        list(run.run(REQUEST, journal))
    assert len(pieces.asked) == 3


def test_nothing_is_begun_when_the_seconds_are_over(pieces: Pieces, tmp_path: Path) -> None:
    request = run.Request("cpu", quick=True, seconds=1, start=0)
    with Journal(tmp_path / "run.jsonl", HEADER) as journal:
        assert list(run.run(request, journal)) == []
        assert not journal.complete


def test_case_that_had_no_time_is_not_done(
    pieces: Pieces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_time(request: Any) -> Iterator[list[Record]]:
        yield from ([absent(case, run.gpu_runner.NO_TIME)] for case in request.cases)

    monkeypatch.setattr(runner, "run", no_time)
    with Journal(tmp_path / "run.jsonl", HEADER) as journal:
        list(run.run(REQUEST, journal))
        assert not journal.complete
        assert "paper softmax/4000x10" not in journal


def test_full_run_has_all_cases(pieces: Pieces) -> None:
    assert run.Request("cpu").cases == list(cpu_cases.CASES.values())


def test_slow_peer_is_left_out_of_quick_runs_on_a_gpu() -> None:
    assert "compile" in run.peers_of("gpu", quick=False)
    assert "compile" not in run.peers_of("gpu", quick=True)
