"""The file of a run that is taken up again: what is done stays, what was cut short is done anew."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oneread.bench.journal import Journal, OtherRunError
from oneread.bench.store import Record, load

MakeRecord = Callable[..., Record]
HEADER = {
    "date": "2026-01-01", "quick": True, "machine": {"cpu": "A", "load_average": 0.1},
    "caches": {"L1d": 1},
}  # fmt: skip


def test_pieces_are_in_the_file_as_soon_as_they_are_done(
    tmp_path: Path, make_record: MakeRecord
) -> None:
    path = tmp_path / "folder" / "run.jsonl"
    with Journal(path, HEADER) as journal:
        journal.add_case([make_record(), make_record(contestant="scipy")])
        journal.add_fact({"key": "bounds", "outside": 0})
        run = load(path)
    assert [record.contestant for record in run.records] == ["oneread", "scipy"]
    assert run.facts == [{"key": "bounds", "outside": 0}]
    assert not run.complete


def test_run_is_taken_up_where_it_stopped(tmp_path: Path, make_record: MakeRecord) -> None:
    path = tmp_path / "run.jsonl"
    with Journal(path, HEADER) as journal:
        journal.add_case([make_record()])
        journal.add_fact({"key": "bounds"})
    later = {**HEADER, "date": "2026-02-02", "machine": {"cpu": "A", "load_average": 3.0}}
    with Journal(path, later) as journal:
        assert "softmax/4000x1000" in journal
        assert "bounds" in journal
        assert "softmax/4000x4000" not in journal
        journal.add_case([make_record("softmax/4000x4000")])
        journal.end()
        journal.end()
    run = load(path)
    assert run.complete
    assert list(run.by_case()) == ["softmax/4000x1000", "softmax/4000x4000"]
    assert path.read_text("utf-8").count('"end"') == 1


@pytest.mark.parametrize(
    "other",
    [
        {"quick": False}, {"machine": {"cpu": "B", "load_average": 0.1}}, {"caches": {"L1d": 2}},
        {"more": 1},
    ],
)  # fmt: skip
def test_another_run_is_not_mixed_in(
    tmp_path: Path, make_record: MakeRecord, other: dict[str, Any]
) -> None:
    path = tmp_path / "run.jsonl"
    with Journal(path, HEADER) as journal:
        journal.add_case([make_record()])
    before = path.read_bytes()
    with pytest.raises(OtherRunError, match="--again"):
        Journal(path, {**HEADER, **other})
    assert path.read_bytes() == before


@pytest.mark.parametrize("cut", [1, 40, 900])
def test_case_that_was_cut_short_is_done_anew(
    tmp_path: Path, make_record: MakeRecord, cut: int
) -> None:
    path = tmp_path / "run.jsonl"
    with Journal(path, HEADER) as journal:
        journal.add_case([make_record()])
        journal.add_case(
            [make_record("softmax/4000x4000"), make_record("softmax/4000x4000", "scipy")]
        )
    path.write_bytes(path.read_bytes()[:-cut])
    assert not load(path).complete
    with Journal(path, HEADER) as journal:
        assert "softmax/4000x1000" in journal
        assert "softmax/4000x4000" not in journal
    assert [record.case for record in load(path).records] == ["softmax/4000x1000"]


def test_what_a_run_beside_it_has_is_done_and_not_in_the_file(
    tmp_path: Path, make_record: MakeRecord
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    with Journal(first, {**HEADER, "commit": "a"}) as journal:
        journal.add_case([make_record()])
    with Journal(second, {**HEADER, "commit": "b"}, [first]) as journal:
        assert "softmax/4000x1000" in journal
        journal.add_fact({"key": "bounds"})
    assert load(second).records == []
    with Journal(second, {**HEADER, "commit": "b"}, [first]) as journal:
        assert "softmax/4000x1000" in journal
        assert "bounds" in journal


@pytest.mark.parametrize("other", [{"machine": {"cpu": "B"}}, {"quick": False}, {"threads": 7}])
def test_run_of_another_machine_or_kind_is_not_taken_beside(
    other: dict[str, Any], tmp_path: Path
) -> None:
    with Journal(tmp_path / "first.jsonl", {**HEADER, **other}):
        pass
    with pytest.raises(OtherRunError):
        Journal(tmp_path / "second.jsonl", HEADER, [tmp_path / "first.jsonl"])
    assert not (tmp_path / "second.jsonl").exists()
