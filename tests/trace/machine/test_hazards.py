"""Races that hide behind atomics, fences, partial `__syncwarp` and earlier accesses."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {\n"
LAST = """\
__global__ void k(const float* x, float* part, unsigned* done, float* y, int vocab) {
    __shared__ bool last;
    const int t = threadIdx.x;
    part[blockIdx.x * blockDim.x + t] = x[(size_t)blockIdx.x * vocab + t];
    BEFORE
    if (t == 0) {
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        float v = 0;
        for (int i = 0; i < gridDim.x * blockDim.x; i++) v += part[i];
        *y = v;
    }
}
"""
LAST_BUFFERS = {"part": "rows*vocab:out", "done": "1:inout:zeros", "y": "1:out"}


def traced(body: str, **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 64, "block": 64, "truth": {}, **case}
    return run(body if "__global__" in body else f"{HEAD}{body}\n}}\n", **settings)


def races(run_: Run) -> list[tuple[str, int | None, int]]:
    """Return kind, first and second line of every race that is no note."""
    return [
        (one.id, one.with_line, one.line)
        for one in run_.faults
        if one.id.startswith("race") and one.severity != "note"
    ]


def idle(run_: Run) -> list[int]:
    return [one.line for one in run_.having("barrier-idle")]


# ---- atomics beside plain accesses


@pytest.mark.parametrize("schedule", ["in-order", "reverse"])
def test_atomic_does_not_hide_the_plain_store_before_it(schedule: str) -> None:
    body = "__shared__ int n; if (threadIdx.x == 0) {\nn = 0;\natomicAdd(&n, 1); }\n"
    body += "if (threadIdx.x == 32) atomicAdd(&n, 1);\n__syncthreads(); y[threadIdx.x] = n;"
    lines = {"in-order": (3, 5), "reverse": (5, 3)}
    assert races(traced(body, schedule=schedule)) == [("race-warps", *lines[schedule])]


def test_store_that_races_with_atomics_of_two_warps_is_an_error() -> None:
    body = "__shared__ int n; if (threadIdx.x == 0)\nn = 0;\natomicAdd(&n, 1);\n__syncthreads();"
    assert ("race-warps", 3, 4) in races(traced(body + "y[threadIdx.x] = n;"))


@pytest.mark.parametrize("schedule", ["in-order", "reverse"])
def test_total_that_one_block_sets_while_others_add_is_a_race_of_blocks(schedule: str) -> None:
    body = "if (threadIdx.x == 0) {\nif (blockIdx.x == 0) y[0] = 0;\natomicAdd(y, x[0]); }"
    found = traced(body, rows=4, schedule=schedule, arguments={"y": "1:out"})
    lines = {"in-order": (3, 4), "reverse": (4, 3)}
    assert ("race-blocks", *lines[schedule]) in races(found)


def test_plain_read_races_with_an_atomic_of_a_thread_that_never_reads() -> None:
    body = "__shared__ int n; if (threadIdx.x == 0) n = 0; __syncthreads();\n"
    body += "if (threadIdx.x == 0) atomicAdd(&n, 1);\n"
    body += "if (threadIdx.x == 32) { atomicAdd(&n, 1);\ny[0] = n; }"
    assert races(traced(body)) == [("race-warps", 3, 5)]


def test_last_block_may_reset_its_counter_with_a_plain_store() -> None:
    body = "if (threadIdx.x == 0 && atomicAdd(&done[0], 1u) == gridDim.x - 1) done[0] = 0;"
    head = "__global__ void k(unsigned* done, int vocab) {\n"
    buffers = {"done": "1:inout:zeros"}
    assert races(traced(f"{head}{body}\n}}", grid=4, arguments=buffers)) == []


# ---- readers


@pytest.mark.parametrize("more", ["", "if (t < 20) a = s[0]; if (t < 10) a = s[0];"])
def test_reads_before_a_barrier_do_not_hide_the_one_behind_it(more: str) -> None:
    body = "__shared__ float s[1]; int t = threadIdx.x; float a = 0, c = 0; if (t == 0) s[0] = 1;\n"
    body += f"__syncthreads(); {more} __syncthreads();\nif (t < 5) c = s[0];\n"
    body += "if (t == 32) { float d = s[0]; s[0] = d + 1; }\ny[t] = a + c;"
    assert races(traced(body)) == [("race-warps", 4, 5)]


# ---- partial __syncwarp


@pytest.mark.parametrize("mask", ["", "__syncwarp(0xffff);"])
def test_syncwarp_of_some_lanes_does_not_order_those_that_it_does_not_name(mask: str) -> None:
    body = "__shared__ float s[32]; int t = threadIdx.x;\nif (t >= 16) s[t] = x[t];\n"
    body += f"if (t < 16) {{ {mask}\ny[t] = s[t + 16]; }}"
    assert races(traced(body, block=32)) == [("race-warp", 3, 5)]


def test_syncwarp_of_half_warps_orders_each_half() -> None:
    body = "__shared__ float s[32]; int t = threadIdx.x; s[t] = x[t];\n"
    body += "__syncwarp(t < 16 ? 0xffffu : 0xffff0000u);\ny[t] = s[t ^ %d];"
    assert races(traced(body % 15, block=32)) == []
    assert races(traced(body % 16, block=32)) == [("race-warp", 2, 4)]


def test_lanes_hear_of_a_store_by_way_of_other_lanes() -> None:
    body = "__shared__ float s; int t = threadIdx.x; if (t == 0) s = 1;\n"
    body += "if (t < 8) __syncwarp(0xff); if (t >= 4 && t < 16) __syncwarp(0xfff0);\n"
    body += "if (t == %d) y[0] = s;"
    assert races(traced(body % 12, block=32)) == []
    assert races(traced(body % 20, block=32)) == [("race-warp", 2, 4)]


# ---- fences


def test_fence_of_one_lane_does_not_publish_what_other_lanes_stored() -> None:
    case = {"rows": 4, "vocab": 32, "block": 32, "arguments": LAST_BUFFERS}
    bare = traced(LAST.replace("BEFORE", ""), **case)
    assert ("race-blocks", 4, 13) in races(bare)
    assert races(traced(LAST.replace("BEFORE", "__syncwarp();"), **case)) == []


def test_fence_of_one_thread_publishes_what_a_barrier_has_told_it() -> None:
    case = {"rows": 4, "vocab": 64, "block": 64, "arguments": LAST_BUFFERS}
    bare = traced(LAST.replace("BEFORE", ""), **case)
    assert ("race-blocks", 4, 13) in races(bare)
    told = traced(LAST.replace("BEFORE", "__syncthreads();"), **case)
    assert races(told) == []
    assert idle(told) == []


FLAG = """\
__global__ void k(float* data, unsigned* flag, float* y, int n) {
    const int t = threadIdx.x;
    if (blockIdx.x == 0 && t == 0) {
        data[0] = 1.0f;
        __threadfence();
        atomicExch(flag, 1u);
    }
    if (blockIdx.x == 1) {
        unsigned seen = 0;
        LOOK
        if (t == READER) y[0] = data[0];
    }
}
"""


@pytest.mark.parametrize(
    ("look", "reader", "ordered"),
    [
        ("if (t == 0) seen = atomicAdd(flag, 0u);", 0, True),
        ("if (t == 0) atomicAdd(flag, 0u);", 0, False),
        ("if (t == 0) seen = atomicAdd(flag, 0u);", 1, False),
        ("if (t == 0) seen = atomicAdd(flag, 0u); __syncwarp();", 1, True),
        ("if (t == 0) seen = atomicAdd(flag, 0u);", 32, False),
        ("if (t == 0) seen = atomicAdd(flag, 0u); __syncthreads();", 32, True),
    ],
)
def test_what_an_atomic_sees_is_for_its_lane_and_those_that_meet_it(
    look: str, reader: int, ordered: bool
) -> None:
    text = FLAG.replace("LOOK", look).replace("READER", str(reader))
    buffers = {"data": "1:out", "flag": "1:inout:zeros", "y": "1:out"}
    found = races(traced(text, grid=2, arguments=buffers))
    assert found == ([] if ordered else [("race-blocks", 4, 11)])


@pytest.mark.parametrize(
    ("fence", "fault"), [("__threadfence_block();", []), ("", [("race-warps", 4, 8)])]
)
def test_warp_that_comes_last_may_read_what_other_warps_have_fenced(fence: str, fault: Any) -> None:
    body = "__shared__ float s[2]; __shared__ int n; int t = threadIdx.x; if (t == 0) n = 0;\n"
    body += f"__syncthreads(); if (t % 32 == 0) {{\ns[t / 32] = x[t];\n{fence}\n"
    body += "if (atomicAdd(&n, 1) == 1)\n\ny[0] = s[0] + s[1]; }"
    assert races(traced(body)) == fault


@pytest.mark.parametrize(("fence", "fault"), [("__threadfence();", False), ("", True)])
def test_lane_that_comes_last_may_read_what_the_others_have_fenced(fence: str, fault: bool) -> None:
    body = "__shared__ float s[64]; __shared__ int n; int t = threadIdx.x; if (t == 0) n = 0;\n"
    body += f"__syncthreads(); s[t] = x[t]; {fence}\nif (atomicAdd(&n, 1) == 63) {{\n"
    body += "float v = 0; for (int i = 0; i < 64; i++) v += s[i]; y[0] = v; }"
    assert bool(races(traced(body))) == fault


def test_fence_for_the_block_does_not_publish_to_other_blocks() -> None:
    text = LAST.replace("BEFORE", "__syncwarp();").replace("__threadfence", "__threadfence_block")
    found = traced(text, rows=4, vocab=32, block=32, arguments=LAST_BUFFERS)
    assert ("race-blocks", 4, 13) in races(found)


# ---- barriers that are needed


def test_of_two_adjacent_barriers_one_is_noted() -> None:
    body = "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\n"
    body += "__syncthreads();\ny[threadIdx.x] = s[63 - threadIdx.x];"
    assert idle(traced(body)) == [4]


def test_barrier_between_lanes_that_met_by_syncwarp_is_noted() -> None:
    body = "__shared__ float s[32]; s[threadIdx.x] = x[threadIdx.x]; __syncwarp();\n"
    body += "__syncthreads();\ny[threadIdx.x] = s[31 - threadIdx.x];"
    assert idle(traced(body, block=32)) == [3]


MAXIMUM = "__shared__ int m; if (threadIdx.x == 0) atomicExch(&m, -1);\n__syncthreads();\n"
MAXIMUM += "atomicMax(&m, (int)threadIdx.x);\n__syncthreads();\n"
MAXIMUM += "if (threadIdx.x == 0) y[0] = atomicAdd(&m, 0);"


def test_barrier_between_atomics_of_two_kinds_is_needed() -> None:
    assert idle(traced(MAXIMUM)) == []


def test_barrier_between_additions_that_nobody_looks_at_is_noted() -> None:
    body = "__shared__ int n; if (threadIdx.x == 0) n = 0;\n__syncthreads();\natomicAdd(&n, 1);\n"
    body += "__syncthreads();\natomicAdd(&n, 2);\n__syncthreads();\ny[0] = n;"
    assert idle(traced(body)) == [5]


@pytest.mark.parametrize(("use", "fault"), [("", False), ("y[0] = ", True)])
def test_exchange_whose_result_is_not_used_reads_nothing(use: str, fault: bool) -> None:
    body = f"__shared__ int m; {use}atomicExch(&m, -1); y[threadIdx.x] = 0;"
    assert bool(traced(body, block=32).having("uninitialised")) == fault
