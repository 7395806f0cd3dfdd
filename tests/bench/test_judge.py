"""What records say: ratios, goals, tables, comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oneread.bench import compare, judge, summary, tables
from oneread.bench.store import Record, Run

MakeRecord = Callable[..., Record]
CASE = "softmax/4000x1000"  # 1.6x torch out=, and firmly 0.95x onnxruntime out=


def verdicts(*records: Record) -> list[bool | None]:
    return [verdict.met for verdict in judge.row(records).verdicts]


def peers(make: MakeRecord, torch_ms: float, ort_ms: float) -> list[Record]:
    return [
        make(CASE, "torch out=", torch_ms * 1e-3),
        make(CASE, "onnxruntime out=", ort_ms * 1e-3),
    ]


@pytest.mark.parametrize(
    ("torch_ms", "ort_ms", "met"),
    [
        (1.7, 1.0, [True, True]),
        (1.53, 0.951, [True, True]),  # 0.95 of 1.6 is enough
        (1.51, 0.949, [False, False]),  # 0.95 has its room in it already
    ],
)
def test_goals_are_met_with_room_for_noise(
    make_record: MakeRecord, torch_ms: float, ort_ms: float, met: list[bool]
) -> None:
    assert verdicts(make_record(), *peers(make_record, torch_ms, ort_ms)) == met


def test_goal_against_an_absent_peer_is_not_judged(make_record: MakeRecord) -> None:
    torch, ort = peers(make_record, 2, 2)
    absent = make_record(CASE, "torch", None, reason="not installed")
    row = judge.row([make_record(), absent, ort])
    assert [verdict.met for verdict in row.verdicts] == [None, True]
    assert row.verdicts[0].reason == "torch is absent: not installed"
    alone = judge.row([make_record(), torch])
    assert alone.verdicts[1].reason == "onnxruntime out= did not take part"


@pytest.mark.parametrize(("safe_ms", "met"), [(1.0, True), (1.09, True), (1.11, False)])
def test_goal_of_another_kernel_of_ours_is_judged_by_its_own_time(
    make_record: MakeRecord, safe_ms: float, met: bool
) -> None:
    name = "softmax textbook/4000x1000"
    records = [make_record(name, median_s=0.1), make_record(name, "torch out=", 1e-3)]
    safe = make_record(name, "oneread, safe", safe_ms * 1e-3)
    assert verdicts(*records, safe) == [met]
    (verdict,) = judge.row(records).verdicts
    assert (verdict.met, verdict.reason) == (None, "safe did not take part")
    alone = judge.row([records[0], safe]).verdicts[0]
    assert (alone.met, alone.reason) == (None, "torch out= did not take part")


def test_wrong_result_of_ours_meets_no_goal(make_record: MakeRecord) -> None:
    wrong = make_record(median_s=None, status="wrong", reason="y is off")
    row = judge.row([wrong, *peers(make_record, 2, 2)])
    assert {verdict.met for verdict in row.verdicts} == {None}
    assert "y is off" in str(row.verdicts[0])


def test_other_instruction_sets_are_judged_by_their_own_groups(make_record: MakeRecord) -> None:
    records = [make_record(isa="x86-64-v3"), *peers(make_record, 2, 2)]
    assert verdicts(*records) == [None, None]
    avx2 = "AVX2 against AVX2/4000x1000"
    own = make_record(avx2, isa="x86-64-v3")
    assert verdicts(own, make_record(avx2, "torch out=", 1.3e-3)) == [True]


def test_best_peer_is_the_fastest_right_one(make_record: MakeRecord) -> None:
    torch, ort = peers(make_record, 2.0, 3.0)
    wrong = make_record(CASE, "numpy", 1e-4, status="wrong")
    yardstick = make_record(CASE, "oneread logsumexp", 1e-4)
    row = judge.row([make_record(), ort, torch, wrong, yardstick])
    assert row.best == torch
    assert row.ratio(torch) == pytest.approx(2.0)


def test_one_of_several_bars_is_enough(make_record: MakeRecord) -> None:
    case = "softmax_topk/32x25000/k5"
    torch = make_record(case, "torch", 9e-3)
    lse = make_record(case, "oneread logsumexp", 0.5e-3)
    assert verdicts(make_record(case, share=0.2), torch, lse) == [True, True, False]
    assert verdicts(make_record(case, share=0.6), torch, lse) == [True, True, True]
    slow = judge.row([make_record(case, share=0.2), torch, lse]).verdicts[2]
    assert str(slow).startswith("MISSED 2.00x (within 1.4x of oneread logsumexp or 50% of the")


def test_error_is_a_goal_too(make_record: MakeRecord) -> None:
    case = "softmax/1x2000000"
    assert verdicts(make_record(case, max_ulp=7.9)) == [True]
    (verdict,) = judge.row([make_record(case, max_ulp=8.1)]).verdicts
    assert str(verdict) == "MISSED 8.1 ulp (within 8 ulp)"


def run_of(*records: Record) -> Run:
    return Run({}, list(records), True)


def test_losses_are_shown_like_wins(make_record: MakeRecord) -> None:
    records = [make_record(max_ulp=3.0, share=0.5), *peers(make_record, 1.2, 0.5)]
    records.append(make_record(CASE, "scipy", None, reason="not installed"))
    groups = tables.groups([records])
    table = tables.cells(groups["softmax"])
    shown = dict(zip(*table, strict=True))
    assert shown["case"] == "4000x1000"
    assert shown["oneread us"] == "1000"
    assert shown["torch out="] == "1.20x"
    assert shown["best peer"] == "0.50 onnxruntime out="
    assert shown["of rate"] == "50%"
    assert shown["goals"].startswith("MISSED 1.20x (1.6x torch out=); 0.50x (0.95x onnx")
    assert tables.remarks(groups["softmax"]) == ["scipy absent: not installed (1 case)"]
    assert len({len(line.rstrip()) for line in tables.text(table)}) > 0
    assert tables.markdown(table)[1].count("---") == len(table[0])
    assert dict(zip(*summary.cells(groups), strict=True)) == {
        "group": "softmax", "cases": "1", "torch / oneread": "1.20x",
        "best peer / oneread": "0.50x", "worst case": "0.50x onnxruntime out=, 4000x1000",
        "goals met": "0 of 2",
    }  # fmt: skip
    first, second = summary.missed(groups)
    assert "onnxruntime" in first
    assert "torch" in second


def test_comparison_marks_what_is_beyond_the_quartiles(make_record: MakeRecord) -> None:
    before = run_of(
        make_record(), make_record(CASE, "torch out=", 2e-3), make_record("read/32x128256/k5")
    )
    after = run_of(make_record(median_s=0.5e-3), make_record(CASE, "torch out=", 2.1e-3))
    ours, torch, gone = compare.changes(before, after)
    assert (ours.ratio, ours.mark) == (pytest.approx(2.0), "faster")
    assert (torch.beyond, torch.mark) == (False, "")
    assert gone.mark == "only in the first"
    assert compare.drift([ours, torch, gone]) == pytest.approx(2 / 2.1)
    (slower, *_) = compare.changes(after, before)
    assert slower.mark == "SLOWER"
    assert compare.cells([slower])[1][-3:] == ["1000.0", "0.500", "SLOWER"]


def test_comparison_with_a_run_that_failed(make_record: MakeRecord) -> None:
    wrong = make_record(median_s=None, status="wrong")
    (change,) = compare.changes(run_of(make_record()), run_of(wrong))
    assert (change.ratio, change.mark) == (None, "ok / wrong")
    assert compare.drift([change]) is None


def test_facts_are_told_without_what_is_unknown() -> None:
    machine: dict[str, Any] = {
        "cpu": "Some CPU", "cores": 2, "caches": {"L1d": 49152, "L2": 2 << 20}, "isa": "x86-64-v4",
        "memory_bytes": None, "huge_pages": "madvise", "governor": None, "load_average": None,
    }  # fmt: skip
    header = {
        "machine": machine, "threads": 2, "libraries": {"numpy": "2.4", "jax": None},
        "compiler": {"compiler": "gcc", "version": "12"}, "command": "oneread bench cpu",
        "date": "2026-01-02T03:04:05", "commit": None,
    }  # fmt: skip
    text = "\n".join(summary.facts(header))
    assert "Some CPU, 2 cores, L1d 48 KiB, L2 2 MiB\n" in text
    assert "numpy 2.4" in text
    assert "jax" not in text
    assert "not readable" in text
