"""Barriers with a vote: what all threads of a block say, told to each of them."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, UsageError, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {\nint t = threadIdx.x;\n"


def traced(body: str, before: str = "", **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 80, "block": 80, "truth": {}, **case}
    return run(f"{before}{HEAD}{body}\n}}\n", **settings)


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("__syncthreads_count(t % 3)", 53),  # two of three in 80
        ("__syncthreads_and(t < 80)", 1),
        ("__syncthreads_and(t != 79)", 0),
        ("__syncthreads_or(t == 79)", 1),
        ("__syncthreads_or(t > 79)", 0),
        ("__syncthreads_count(7)", 80),
    ],
)
@pytest.mark.parametrize("schedule", ["in-order", "reverse", "switch:3"])
def test_every_thread_learns_what_all_threads_say(call: str, result: int, schedule: str) -> None:
    outcome = traced(f"y[t] = {call};", schedule=schedule)
    assert outcome.outputs["y"] == [result] * 80
    assert not outcome.faults


def test_vote_orders_memory_as_any_barrier_does() -> None:
    body = "__shared__ float s[80]; s[t] = x[t];\nint n = __syncthreads_count(1);\n"
    assert not traced(f"{body}y[t] = s[n - 1 - t];").having("race-warps")


def test_vote_is_no_barrier_that_orders_nothing() -> None:
    outcome = traced("y[t] = __syncthreads_or(x[t] > 2);\n__syncthreads();")
    assert [fault.line for fault in outcome.having("barrier-idle")] == [4]


def test_each_vote_is_of_its_own() -> None:
    body = "float n = 0;\nfor (int i = 0; i < 5; i++) n += (i + 1) * __syncthreads_count(t < i);\n"
    assert traced(f"{body}y[t] = n;").outputs["y"] == [1 * 2 + 2 * 3 + 3 * 4 + 4 * 5] * 80


def test_loop_may_go_on_until_all_threads_agree() -> None:
    body = "int left = t;\nwhile (__syncthreads_or(left > 0)) left--;\ny[t] = left;"
    assert traced(body).outputs["y"] == [t - 79 for t in range(80)]


def test_threads_that_have_left_are_not_asked() -> None:
    body = "y[t] = 5;\nif (t >= 64) return;\ny[t] = __syncthreads_and(t < 64);"
    assert traced(body).outputs["y"] == [1] * 64 + [5] * 16


def test_vote_in_a_branch_is_a_barrier_in_a_branch() -> None:
    outcome = traced("if (t < 40) y[t] = __syncthreads_or(1);")
    assert [fault.line for fault in outcome.having("barrier-divergence")] == [3]


def test_function_that_votes_waits() -> None:
    before = "__device__ int all(int v) { return __syncthreads_and(v); }\n"
    assert traced("y[t] = all(t < 80) + all(t);", before).outputs["y"] == [1] * 80


def test_vote_is_refused_where_it_cannot_be_made_first() -> None:
    with pytest.raises(UsageError, match="line 3: __syncthreads_or reaches a barrier"):
        traced("y[t] = t > 40 && __syncthreads_or(t);")


def test_votes_are_counted_as_barriers() -> None:
    assert traced("y[t] = __syncthreads_count(t) + __syncthreads_count(1);").counts.barriers == 2
