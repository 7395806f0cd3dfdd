"""The process of a run, called as a function: what it is asked for and what it writes."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

import oneread
from oneread.bench.gpu import worker
from oneread.bench.store import Record

torch = pytest.importorskip("torch", reason="the arrays are PyTorch's")

#: Small enough for a CPU, and without graphs.
CASE = "call, out=/10x1000"


@pytest.fixture
def made_up(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oneread.bench.gpu.device.TorchGpu", lambda: gpu)


def written(**others: Any) -> list[list[Record]]:
    request = {"cases": [CASE], "peers": ["torch"], "quick": True, "only_compile": False,
               "until": None, "table": "oneread.bench.gpu.cases", **others}  # fmt: skip
    reader, writer = os.pipe()
    worker.main(request, writer)
    with os.fdopen(reader, encoding="utf-8") as lines:
        return [[Record.of_json(plain) for plain in json.loads(line)] for line in lines]


@pytest.mark.usefixtures("made_up")
def test_records_of_each_case_are_a_line() -> None:
    ((ours, torch_),) = written()
    assert [ours.contestant, torch_.contestant] == ["oneread", "torch out="]
    assert {ours.status, torch_.status} == {"ok"}
    assert (ours.case, ours.timed) == (CASE, "call")


@pytest.mark.usefixtures("made_up")
def test_compiling_calls_and_times_nothing() -> None:
    assert written(only_compile=True) == [[]]


@pytest.mark.usefixtures("made_up")
def test_case_that_fails_says_why_and_the_next_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def softmax(x: Any, out: Any = None) -> Any:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr(oneread, "softmax", softmax)
    first, second = written(cases=[CASE, CASE])
    assert [(r.status, r.reason) for r in (*first, *second)] == [("absent", "a mistake")] * 2


@pytest.mark.usefixtures("made_up")
def test_broken_context_ends_the_process(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **options: Any) -> Any:
        raise RuntimeError("an illegal memory access was encountered")

    monkeypatch.setattr(oneread, "softmax", fails)
    monkeypatch.setattr(gpu, "forget", fails)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        written()


@pytest.mark.usefixtures("made_up")
def test_case_without_time_is_absent() -> None:
    ((record,),) = written(until=time.time() - 1)
    assert (record.status, record.reason) == ("absent", "no time was left")
