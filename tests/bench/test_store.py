"""Records survive the way into a file and back, and Ctrl-C."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from oneread.bench.store import Record, ResultFileError, Writer, load, merge
from oneread.spec import OneReadError

MakeRecord = Callable[..., Record]
HEADER = {"command": "oneread bench cpu", "libraries": {"numpy": "2"}}


def write(path: Path, *records: Record) -> Path:
    with Writer(path, HEADER) as writer:
        for record in records:
            writer.add(record)
    return path


def test_round_trip(tmp_path: Path, make_record: MakeRecord) -> None:
    records = [
        make_record(kernel={"name": "online_softmax"}, ulp={"y": 2.5}, max_ulp=2.5),
        make_record(contestant="scipy", median_s=None, reason="not installed"),
        make_record(contestant="jax", status="wrong", ulp={"y": math.inf}, max_ulp=math.inf),
    ]
    run = load(write(tmp_path / "run.jsonl", *records))
    assert run.records == records
    assert run.header["libraries"] == HEADER["libraries"]
    assert run.complete
    assert list(run.by_case()) == ["softmax/4000x1000"]


def test_each_line_is_strict_json(tmp_path: Path, make_record: MakeRecord) -> None:
    path = write(tmp_path / "run.jsonl", make_record(max_ulp=math.inf))

    def refuse(name: str) -> float:
        raise AssertionError(name)

    text = path.read_text("utf-8").splitlines()
    lines = [json.loads(line, parse_constant=refuse) for line in text]
    assert [line["record"] for line in lines] == ["header", "result", "end"]


def test_interrupted_run_keeps_what_was_done(tmp_path: Path, make_record: MakeRecord) -> None:
    path = tmp_path / "results" / "run.jsonl"

    def interrupted() -> None:
        with Writer(path, HEADER) as writer:
            writer.add(make_record())
            assert not path.exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    run = load(path)
    assert (len(run.records), run.complete) == (1, False)
    assert list(path.parent.iterdir()) == [path]


def test_run_without_records_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="early"), Writer(tmp_path / "run.jsonl", HEADER):
        raise ValueError("early")
    assert list(tmp_path.iterdir()) == []


def test_older_file_of_the_name_stays_until_the_end(
    tmp_path: Path, make_record: MakeRecord
) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text("older", "utf-8")
    with Writer(path, HEADER) as writer:
        writer.add(make_record())
        assert path.read_text("utf-8") == "older"
    assert len(load(path).records) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"", b"hello\n", b"{}\n", b"[]\n", b"\xff\xfe\n", b'{"record": "result"}\n',
        b'{"record": "header", "schema": 99}\n', b'{"record": "header", "schema": 1}\n{"record":1}',
        b'{"record": "header", "schema": 1}\n{"record": "result", "case": "a"}\n',
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(ResultFileError):
        load(path)


def test_refusal_is_one_of_our_errors() -> None:
    assert issubclass(ResultFileError, OneReadError)


def test_merge_takes_the_record_in_the_middle(tmp_path: Path, make_record: MakeRecord) -> None:
    other = make_record("one row/1x128256")
    runs = [
        load(write(tmp_path / f"{i}.jsonl", make_record(median_s=seconds), other))
        for i, seconds in enumerate((3.0, 1.0, 2.0))
    ]
    merged = merge(runs, "oneread")
    assert [record.median_s for record in merged.records] == [2.0, 1e-3]
    assert merge(runs[:1], "oneread").records == runs[0].records
    assert merge(runs[1:], "oneread").records[0].median_s == 2.0


def test_merge_takes_medians_of_ratios_and_shares(tmp_path: Path, make_record: MakeRecord) -> None:
    # The second run was made while the machine was twice as slow: ratios 1.5, 1.25, 2.
    times = ((2.0, 3.0, 0.5), (4.0, 5.0, 0.9), (2.5, 5.0, 0.6))
    runs = [
        load(
            write(
                tmp_path / f"{i}.jsonl",
                make_record(median_s=ours, share=share),
                make_record(contestant="torch", median_s=theirs),
            )
        )
        for i, (ours, theirs, share) in enumerate(times)
    ]
    ours, theirs = merge(runs, "oneread").records
    assert (ours.median_s, ours.share) == (2.5, 0.6)
    assert theirs.median_s == 2.5 * 1.5
