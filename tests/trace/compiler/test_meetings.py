"""Shuffles: which lanes take part, how wide their groups are, and what a recording keeps."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run
from oneread.trace.recording import OPERATIONS


def traced(body: str, **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 32, "block": 32, "truth": {}, **case}
    head = "__global__ void k(const float* x, float* y, int vocab) {\n"
    return run(f"{head}{body}\n}}\n", **settings)


def errors(run_: Run) -> list[str]:
    return [fault.id for fault in run_.faults if fault.severity == "error"]


HALVES = "int t = threadIdx.x; unsigned mask = t < 16 ? 0xffffu : 0xffff0000u;\n"


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("__shfl_down_sync(mask, x[t], 16)", ["shuffle-unnamed"]),
        ("__shfl_xor_sync(mask, x[t], 16)", ["shuffle-unnamed"]),
        ("__shfl_xor_sync(mask, x[t], 8)", []),
        ("__shfl_down_sync(mask, x[t], 8, 16)", []),
    ],
)
def test_value_of_a_lane_that_the_own_mask_does_not_name_is_an_error(call: str, found: Any) -> None:
    assert errors(traced(f"{HALVES}y[t] = {call};")) == found


@pytest.mark.parametrize(
    ("width", "found"), [(24, ["shuffle-width"]), (0, ["shuffle-width"]), (8, [])]
)
def test_width_of_a_shuffle_is_a_power_of_two(width: int, found: list[str]) -> None:
    body = f"y[threadIdx.x] = __shfl_down_sync(~0u, x[threadIdx.x], 1, {width});"
    assert errors(traced(body)) == found


def test_recording_has_what_a_shuffle_moves_and_from_which_lanes() -> None:
    body = "float v = x[threadIdx.x];\ny[threadIdx.x] = __shfl_xor_sync(~0u, v, 4);"
    outcome = traced(body, record=True)
    recording = outcome.recording
    assert recording is not None
    (place,) = [i for i, one in enumerate(recording.operation) if OPERATIONS[one] == "shuffle"]
    assert recording.names[recording.name[place]] == "__shfl_xor_sync"
    assert (recording.stride[place], recording.count[place]) == (None, 32)
    pools = recording.pools
    lanes = pools.integers[recording.at[place] :][:32].tolist()
    assert lanes == [lane ^ 4 for lane in range(32)]
    got, gave = (list(pools.floats[at[place] :][:32]) for at in (recording.value, recording.old))
    assert gave == outcome.inputs["x"]
    assert got == [gave[lane] for lane in lanes] == outcome.outputs["y"]


@pytest.mark.parametrize(("record", "there"), [([0], True), ([1], False)])
def test_shuffles_of_blocks_that_are_not_recorded_are_left_out(record: Any, there: bool) -> None:
    body = "float v = __shfl_xor_sync(~0u, x[0], 4); if (blockIdx.x == 0) y[threadIdx.x] = v;"
    recording = traced(body, grid=2, record=record).recording
    assert recording is not None
    assert recording.operation.count(OPERATIONS.index("shuffle")) == 1
    assert set(recording.block) == set(record), there
