"""Records of a run on a GPU become the tables of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oneread.bench.gallery import tables
from oneread.source.catalogue import gallery_folder

HEADER = {"record": "header", "schema": tables.SCHEMA, "device": "a GPU", "commit": "abc"}
CHECK = {"record": "check", "entry": "relu", "buffer": "y", "vocab": 250, "max_ulp": 0.5}
TIMING = {
    "record": "timing", "entry": "relu", "shape": "cached", "rows": 8, "vocab": 16,
    "median_us": 12.34, "gbs": 1000.0, "share": 0.25,
}  # fmt: skip


def table(name: str, *records: dict[str, Any]) -> list[str]:
    return tables.PARTS[name]([HEADER, *records]).splitlines()


def test_worst_error_is_shown_and_infinite_ones_are_wrong() -> None:
    records = [CHECK, CHECK | {"max_ulp": 2.25}, CHECK | {"vocab": 256, "max_ulp": "Infinity"}]
    assert table("accuracy", *records)[2:] == ["| `relu` | y | 2.2 ulp | wrong |"]


def test_times_stand_beside_the_copy() -> None:
    copy = {"record": "copy", "shape": "cached", "gbs": 4000.0}
    assert table("times", copy, TIMING) == [
        "| entry | cached: 8 x 16 |",
        "|---|---|",
        "| `relu` | 12.3 us, 1000 GB/s, 25 % |",
        "| a copy | 4000 GB/s |",
    ]


def test_what_did_not_run_is_a_fact() -> None:
    lost = {"record": "stage", "stage": "soak", "ended": "given up after 9 s"}
    tool = {"record": "tool", "tool": "ncu", "ran": False, "said": "one\ntwo"}
    assert table("facts", lost, tool)[-2:] == [
        "- stage soak: given up after 9 s",
        "- ncu did not run: two",
    ]


def test_messages_of_the_sanitizer_stand_beside_our_faults() -> None:
    said = {
        "record": "sanitizer", "tool": "racecheck", "kernel": "zoo_reused_scratch",
        "severity": "error", "message": "Race", "lines": [33, 37], "count": 1,
    }  # fmt: skip
    (row,) = [line for line in table("sanitizer", said) if "`zoo_reused_scratch`" in line]
    assert "racecheck error, line 33, 37: Race | `race-warps`, `wrong-result`" in row
    assert not [line for line in table("sanitizer", said) if "`zoo_reused_scratch_fixed`" in line]


def test_first_launch_is_counted() -> None:
    record = {"record": "ncu", "kernel": "relu", "global_load_requests": 32} | dict.fromkeys(
        (
            "global_load_sectors", "global_store_requests", "global_store_sectors",
            "shared_load_wavefronts", "shared_store_wavefronts",
        ),
        0,
    )  # fmt: skip
    rows = table("counts", record, record | {"global_load_requests": 99})
    assert rows[2:] == ["| `relu` | 32 | 0 | 0 | 0 | 0 | 0 |"]


def test_newest_file_is_shown(tmp_path: Path) -> None:
    assert tables.part("facts", tmp_path) == tables.NONE_YET
    for day, device in (("2026-12-01", "old"), ("2026-12-02", "new")):
        line = json.dumps(HEADER | {"device": device})
        (tmp_path / f"gallery-{day}-h200.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert "- device: new" in tables.part("facts", tmp_path)


@pytest.mark.parametrize("text", ["", "{", '{"record": "check"}', '{"record": "header"}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gallery-x.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(tables.RecordsError, match=r"gallery-x\.jsonl"):
        tables.load(path)


def test_no_committed_run_has_a_kernel_that_is_wrong() -> None:
    for path in (gallery_folder() / "measured").glob("gallery-*.jsonl"):
        wrong = [record for record in tables.load(path) if record.get("status") == "wrong"]
        assert wrong == [], path.name
