"""What a fault says: of which buffer and threads it is, and which repair is offered."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"


def traced(body: str, **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 64, "block": 32, "truth": {}, **case}
    return run(f"{HEAD}\n{body}\n}}\n", **settings)


@pytest.mark.parametrize(
    ("index", "number"),
    [("threadIdx.x - 1", "4294967295"), ("(int)threadIdx.x - 1", "-1"), ("5000", "5000")],
)
def test_index_that_is_far_out_is_told_of_the_buffer_that_it_is_of(index: str, number: str) -> None:
    (fault,) = traced(f"y[threadIdx.x] = x[{index}];", vocab=32).having("out-of-bounds")
    assert f"x[{number}]" in str(fault)


def test_no_barrier_is_offered_for_threads_that_meet_in_one_statement() -> None:
    (race,) = traced("y[0] *= x[threadIdx.x];", vocab=64, block=64).having("race-warps")
    assert race.repair is None


def test_barrier_is_offered_between_the_rounds_of_one_statement() -> None:
    body = "__shared__ float a[128]; int t = threadIdx.x; a[t] = x[t]; __syncthreads();\n"
    body += "for (int s = 64; s > 0; s /= 2) if (t < s) a[t] += a[t + s];\n"
    outcome = traced(f"{body}if (t == 0) y[0] = a[0];", vocab=128, block=128)
    races = [one for one in outcome.having("race-warps") if one.line == one.with_line == 3]
    assert races
    assert {one.repair.parameters["text"] for one in races if one.repair} == {"__syncthreads();"}
    assert all(one.repair is not None for one in races)


def test_fault_names_the_warp_and_the_block_of_its_lanes() -> None:
    body = "__shared__ float s[64]; s[threadIdx.x + 1] = x[threadIdx.x]; y[threadIdx.x] = 0;"
    (fault,) = traced(body, block=64).having("out-of-bounds")
    assert str(fault).endswith("(block 0, warp 1, lanes: 31)")
