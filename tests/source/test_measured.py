"""The records that the package carries of what the gallery did on a GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.source.measured import RecordsError, load, measured_folder, newest, rates, results

CATALOGUE = read_catalogue()
ENTRIES = {*CATALOGUE.kernels, *CATALOGUE.sequences}

#: May never end on a GPU: checked and soaked by itself, neither timed nor compared.
NEVER_ENDS = "zoo_barrier_in_branch"


@pytest.mark.parametrize("text", ["", "{", '{"record": "check"}', '{"record": "header"}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gallery-x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordsError, match=r"gallery-x\.jsonl"):
        load(path)


def test_no_committed_run_has_a_kernel_that_is_wrong() -> None:
    for path in measured_folder().glob("gallery-*.jsonl"):
        wrong = [record for record in load(path) if record.get("status") == "wrong"]
        assert wrong == [], path.name


def test_every_entry_has_its_rates_with_shape_device_and_date() -> None:
    found = rates()
    assert {one.entry for one in found} == ENTRIES - {NEVER_ENDS}
    assert {one.device for one in found} == {"NVIDIA H200"}
    for one in found:
        assert one.microseconds > 0
        # An input that stays in the cache may be read faster than a copy moves it.
        assert 0 < one.share_of_copy < 2
        assert one.date.startswith("2026-")


def test_rates_of_one_entry_are_at_the_timed_shapes() -> None:
    shapes = [(one.shape, one.rows, one.vocab) for one in rates("relu")]
    assert shapes == [("cached", 1024, 2048), ("memory", 16384, 8192), ("few-rows", 16, 1 << 20)]
    assert rates("no such kernel") == []


def test_folder_without_records_has_no_rates_and_no_results(tmp_path: Path) -> None:
    assert rates(folder=tmp_path) == []
    assert list(results(tmp_path)) == []
    assert newest(folder=tmp_path) is None


def test_rates_are_those_of_the_newest_file(tmp_path: Path) -> None:
    header, *records = load(newest() or Path())
    timing = next(one for one in records if one["record"] == "timing")
    for date, device in (("2026-12-01", "old"), ("2026-12-02", "new")):
        lines = [header | {"device": device}, timing]
        text = "\n".join(json.dumps(line) for line in lines)
        (tmp_path / f"gallery-{date}-h200.jsonl").write_text(text, encoding="utf-8")
    assert [one.device for one in rates(folder=tmp_path)] == ["new"]


def test_results_are_there_of_every_entry_with_its_inputs() -> None:
    found = list(results())
    assert {one.entry for one in found} == ENTRIES - {NEVER_ENDS}
    for one in found:
        assert (one.rows, one.vocab) in {(4, 256), (2, 250)}
        wide = [values for values in one.inputs.values() if len(values) == one.rows * one.vocab]
        assert wide, one.entry
        assert all(one.outputs.values()), one.entry


def test_results_are_small() -> None:
    path = newest("outputs")
    assert path is not None
    assert path.stat().st_size < 150_000
