"""The tracer says of the committed launches what the GPU and NVIDIA's tools said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gallery_beside as beside
import pytest

from oneread.bench.gallery import entries
from oneread.bench.gallery.measure import GOAL_ULP, ONE_LANE, allowed_ulp
from oneread.source.measured import Record, Result, of, results

ROOT = Path(__file__).resolve().parents[2]
KERNELS = list(entries.catalogue().kernels)
LAUNCHES = [(kernel, *launch) for kernel in KERNELS for launch in beside.LAUNCHES]
RESULTS = list(results())

#: Not launched with rolled loops: on a GPU it may never end.
NOT_ROLLED = "zoo_barrier_in_branch"


def ids(value: Any) -> str:
    if isinstance(value, Result):
        return f"{value.entry}-{value.vocab}"
    return f"{value['tool']}-{value['kernel']}" if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(
    "result", [one for one in RESULTS if one.entry not in beside.UNORDERED], ids=ids
)
def test_results_agree_within_8_ulp(result: Result) -> None:
    ours = beside.rerun(result)
    for name, theirs in result.outputs.items():
        assert beside.distance(ours[name], theirs) <= 8, name


@pytest.mark.parametrize("result", [r for r in RESULTS if r.entry in beside.UNORDERED], ids=ids)
def test_result_that_differs_is_of_a_kernel_that_both_call_a_race(result: Result) -> None:
    theirs = beside.said(result.entry, "trace", result.vocab)
    assert [one for one in theirs if "Race" in one["message"]]
    assert beside.traced(result.entry, "trace", result.vocab).having("race-warp")
    ours = beside.rerun(result)["y"]
    assert beside.distance(ours, result.outputs["y"]) > 8  # or it needs no exception


CHECKS = list(of(beside.records(), "check"))
PAGE = " ".join((ROOT / "docs/gallery-on-a-gpu.md").read_text("utf-8").split())


def test_every_distance_from_float64_is_within_what_the_page_allows() -> None:
    assert "Allowed are 8 ulp up to 256 columns; and 8 + V/16 ulp for rows of V columns" in PAGE
    assert all(f"`{key}`" in PAGE for key in ONE_LANE)
    for one in CHECKS:
        few = one["vocab"] <= 256 and one["entry"] not in ONE_LANE
        allowed = 8 if few else 8 + one["vocab"] / 16
        assert one["allowed_ulp"] == allowed_ulp(one["entry"], one["vocab"]) == allowed
        assert one["status"] == "faulty" or one["max_ulp"] <= allowed


def test_page_says_how_far_the_furthest_are() -> None:
    furthest = {True: 0.0, False: 0.0}
    for one in CHECKS:
        if one["status"] == "ok":
            few = one["allowed_ulp"] == GOAL_ULP
            furthest[few] = max(furthest[few], one["max_ulp"])
    few, many = furthest[True], furthest[False]
    assert f"first kind is {few:.1f} ulp off, of the second {many:.1f} ulp" in PAGE


def test_distance_counts_float32_numbers() -> None:
    assert beside.distance([1.0, -(2.0**-149), 0.0], [1 + 2.0**-22, 0.0, 0.0]) == 2
    assert beside.ulps(2.0**-149, -(2.0**-149)) == 2
    with pytest.raises(AssertionError):
        beside.distance([1.0], [0.0])


@pytest.mark.parametrize("record", of(beside.records(), "sanitizer"), ids=ids)
def test_all_that_compute_sanitizer_reports_we_report(record: Record) -> None:
    faults = beside.traced(record["kernel"], record["use"], record["vocab"]).faults
    found = [fault for fault in faults if beside.same(record, fault)]
    assert found
    if record["severity"] == "error":
        assert found[0].severity == "error"


def test_every_tool_of_compute_sanitizer_ran() -> None:
    ran = {one["tool"] for one in of(beside.records(), "tool") if one["ran"]}
    assert ran >= {"memcheck", "racecheck", "initcheck", "synccheck", "ncu"}


def test_row_offset_overflows_where_the_far_launch_ended_in_an_error() -> None:
    (far,) = (one for one in of(beside.records(), "far") if one["status"] == "faulty")
    faults = beside.traced(far["entry"], "trace", 256).having("latent-overflow")
    assert "ILLEGAL_ADDRESS" in far["said"]
    assert all(fault.parameters["limit"] <= far["rows"] * far["vocab"] for fault in faults)
    assert faults


def saved(run: Any) -> dict[str, int]:
    """Return the tracer's counts without the shared memory that nvcc has in registers."""
    kept = beside.kept(run)
    return {name: count - kept.get(name, 0) for name, count in beside.ours(run).items()}


@pytest.mark.parametrize(("kernel", "use", "vocab"), [one for one in LAUNCHES if one[2] == 256])
def test_counts_are_those_of_ncu(kernel: str, use: str, vocab: int) -> None:
    theirs = beside.counted(kernel, use, vocab)
    assert theirs is not None
    assert saved(beside.traced(kernel, use, vocab)).items() <= theirs.items()


@pytest.mark.parametrize("vocab", [256, 250])
@pytest.mark.parametrize("kernel", [one for one in KERNELS if one != NOT_ROLLED])
def test_counts_are_those_of_ncu_where_no_loop_is_unrolled(kernel: str, vocab: int) -> None:
    theirs = beside.counted(kernel, "trace", vocab, rolled=True)
    assert theirs is not None
    run = beside.traced(kernel, "trace", vocab)
    # A load past the end touches one sector more, which belongs to no buffer.
    outside = 1 if run.having("out-of-bounds") else 0
    ours = saved(run)
    ours["global_load_sectors"] += outside
    assert ours.items() <= theirs.items()


def test_unrolled_loops_differ_in_global_memory_at_250_columns_only() -> None:
    for kernel, use, vocab in LAUNCHES:
        theirs = beside.counted(kernel, use, vocab)
        ours = beside.ours(beside.traced(kernel, use, vocab))
        assert theirs is not None
        differing = [n for n in ours if n.startswith("global") and ours[n] != theirs[n]]
        assert not differing or vocab == 250, kernel
        assert all(theirs[name] > ours[name] for name in differing), kernel


@pytest.mark.parametrize("kernel", beside.KEPT)
def test_exception_is_needed(kernel: str) -> None:
    run = beside.traced(kernel, "trace", 256)
    assert saved(run) != beside.ours(run)
