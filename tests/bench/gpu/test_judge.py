"""Goals of a GPU: shares of a copy, microseconds, bare peers, aims, and groups as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench import accuracy, judge, summary, tables
from oneread.bench.gpu.cases import CASES
from oneread.bench.store import Record, Run

MakeRecord = Callable[..., Record]
SOFTMAX = "softmax/4000x4000"


@pytest.fixture
def make(make_record: MakeRecord) -> MakeRecord:
    def of(case: str = SOFTMAX, contestant: str = "oneread", **others: Any) -> Record:
        return make_record(
            CASES[case], contestant, isa="sm_90", device="gpu", timed="graph", **others
        )

    return of


def met(*records: Record) -> list[bool | None]:
    return [verdict.met for verdict in judge.row(records).verdicts]


@pytest.mark.parametrize(("share", "torch_s", "expected"), [
    (0.94, 0.96e-3, [True, True]), (0.89, 0.96e-3, [True, True]), (0.87, 0.94e-3, [False, False]),
])  # fmt: skip
def test_share_of_a_copy_has_room_for_noise_and_a_ratio_of_095_has_it_already(
    make: MakeRecord, share: float, torch_s: float, expected: list[bool]
) -> None:
    assert met(make(share=share), make(contestant="torch out=", median_s=torch_s)) == expected


def test_aim_is_judged_beside_the_goal(make: MakeRecord) -> None:
    row = judge.row([make(share=0.95), make(contestant="quack", median_s=0.97e-3)])
    assert [verdict.met for verdict in row.verdicts] == [True, True]
    assert [verdict.met for verdict in row.aims] == [False]
    groups = {"softmax": [row]}
    assert tables.cells([row])[0][-2:] == ["goals", "aims"]
    assert tables.cells([row])[1][-1] == "MISSED 0.97x (1x best peer)"
    assert summary.cells(groups)[0][-1] == "aims"
    assert summary.cells(groups)[1][-1] == "0 of 1"


@pytest.mark.parametrize(("us", "expected"), [(4.2, True), (4.5, True), (4.6, False)])
def test_microseconds_are_an_upper_bar(make: MakeRecord, us: float, expected: bool) -> None:
    row = judge.row([make("few rows/1x128256", median_s=us * 1e-6)])
    assert row.verdicts[1].met is expected
    assert (row.verdicts[1].reached or "").endswith(" us")


def test_peer_that_does_a_part_is_no_best_peer(make: MakeRecord) -> None:
    case = "softmax_topk, large k/4000x128256/k1024"
    records = [
        make(case),
        make(case, "torch", median_s=5e-3),
        make(case, "torch topk alone", median_s=0.9e-3),
    ]
    row = judge.row(records)
    assert row.best is records[1]
    assert [verdict.met for verdict in row.verdicts] == [True]
    assert [verdict.met for verdict in row.aims] == [False]


def test_group_is_judged_by_its_geometric_mean_for_each_type(make: MakeRecord) -> None:
    rows = []
    for case, ratio in (
        (SOFTMAX, 0.96), ("softmax/4000x8192", 1.05), (f"{SOFTMAX}/bfloat16", 0.99),
    ):  # fmt: skip
        rows.append(judge.row([make(case), make(case, "quack", median_s=ratio * 1e-3)]))
    wide, narrow = judge.together(rows)
    assert (wide.met, wide.reached) == (True, "1.004x")
    assert (narrow.met, narrow.reached) == (False, "0.990x")
    missed = summary.missed({"softmax": rows})
    assert any("geometric mean of bfloat16" in line for line in missed)
    assert judge.together([judge.row([make("odd rows/4000x50257")])]) == []


def test_goals_of_another_gpu_are_not_judged(make: MakeRecord) -> None:
    row = judge.row([make().__class__(**{**make().as_json(), "isa": "sm_86", "shape": (1, 1)})])
    assert {verdict.met for verdict in row.verdicts} == {None}
    assert "this is sm_86" in str(row.verdicts[0])


def test_op_that_is_not_there_yet_is_shown_with_its_reason(make: MakeRecord) -> None:
    case = "read/4096x128256/bfloat16"
    absent = make(case, median_s=None, status="not yet", reason="x is on cuda:0")
    row = judge.row([absent, make(case, "torch")])
    line = tables.cells([row])[1]
    assert (line[1], line[-2]) == ("not yet", "x is on cuda:0")
    assert tables.remarks([row]) == ["oneread not yet: x is on cuda:0 (1 case)"]


def test_largest_errors_are_by_device_and_type(make: MakeRecord, make_record: MakeRecord) -> None:
    cpu = [make_record(ulp={"y": 3.0}), make_record("read/32x128256/k5", ulp={"entropy": 9.0})]
    gpu = [make(ulp={"y": 1.0}), make("softmax/4000x8192", ulp={"y": 2.25})]
    gpu += [make(contestant="torch", ulp={"y": 99.0})]
    found = accuracy.cells({"CPU": Run({}, cpu, True), "GPU": Run({}, gpu, True)})
    assert found == [
        ["op", "output", "bound", "CPU float32", "GPU float32"],
        ["`softmax`", "y", "8", "3.0", "2.2"],
        ["`read`", "entropy", "16", "9.0", "-"],
    ]


def test_facts_of_a_gpu_are_told() -> None:
    machine = {
        "gpu": "Some GPU", "target": "sm_90", "multiprocessors": 7, "driver": None, "nvrtc": "13.0",
    }  # fmt: skip
    header = {
        "machine": machine, "libraries": {"torch": "2", "triton": None}, "commit": None,
        "command": "oneread bench gpu", "date": "2026-01-02T03:04:05",
    }  # fmt: skip
    assert summary.facts(header) == [
        "Machine: Some GPU (sm_90), 7 multiprocessors, driver unknown, NVRTC 13.0",
        "Libraries: torch 2",
        "Run: `oneread bench gpu`, 2026-01-02, commit unknown",
    ]
