"""Records of a run on a GPU become the tables of the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from oneread.bench.gallery import tables
from oneread.source.measured import SCHEMA

HEADER = {"record": "header", "schema": SCHEMA, "device": "a GPU", "commit": "abc"}
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


def test_soaks_of_a_kernel_share_a_row() -> None:
    record = {
        "record": "soak", "entry": "relu", "defines": {"TILE": 64}, "rows": 8, "vocab": 16,
        "options": [], "wrong_rows": [0, 1],
    }  # fmt: skip
    strict = record | {"options": ["-fmad=false"], "wrong_rows": [2, 0]}
    assert table("soaks", record, strict, record | {"entry": "other"}) == [
        "| kernel | TILE | shape | as usual | `-fmad=false` |",
        "|---|---|---|---|---|",
        "| `relu` | 64 | 8 x 16 | 0, 1 | 2, 0 |",
        "| `other` | 64 | 8 x 16 | 0, 1 | - |",
    ]


def test_newest_file_is_shown(tmp_path: Path) -> None:
    assert tables.part("facts", tmp_path) == tables.NONE_YET
    for day, device in (("2026-12-01", "old"), ("2026-12-02", "new")):
        line = json.dumps(HEADER | {"device": device})
        (tmp_path / f"gallery-{day}-h200.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert "- device: new" in tables.part("facts", tmp_path)
