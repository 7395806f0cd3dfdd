"""Functions that reach a barrier, and warps that take turns at every access."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, UsageError, run

WAIT = "__device__ int wait(int v) { __syncthreads(); return v; }\n"
AT = "__device__ float at(const float* p, int i) { return p[i]; }\n"


def traced(body: str, before: str = "", **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 64, "block": 32, "truth": {}, **case}
    head = "__global__ void k(const float* x, float* y, int n) {\nint t = threadIdx.x;\n"
    return run(f"{before}{head}{body}\n}}\n", **settings)


@pytest.mark.parametrize("call", ["(a = 5, wait(a))", "a && wait(a)", "a ? wait(a) : 0"])
def test_call_that_waits_is_refused_where_it_cannot_be_made_first(call: str) -> None:
    with pytest.raises(UsageError, match="line 4: wait reaches a barrier"):
        traced(f"int a = 1; y[t] = {call};", WAIT)


def test_call_that_waits_may_stand_before_a_comma() -> None:
    assert traced("int a = 1; y[t] = (wait(a), 7);", WAIT).outputs["y"][0] == 7


def test_function_with_a_barrier_that_returns_nothing_for_some_lanes_gives_them_zero() -> None:
    before = "__device__ float f(float v) { __syncthreads(); if (v > 1e30f) return v; }\n"
    assert traced("y[t] = f(x[t]) + 1.0f;", before).outputs["y"][:32] == [1.0] * 32


@pytest.mark.parametrize(
    "body",
    [
        "for (int i = t; i < n; i += 32) y[i] = i < n ? at(x, i) : 0.0f;",
        "int i = t; float v = at(x, i); for (; i + 32 < n; i += 32, v = at(x, i)) y[i] = v;",
    ],
)
def test_function_without_a_barrier_can_be_called_anywhere_when_warps_switch(body: str) -> None:
    outcome = traced(body, AT, schedule="switch:1", input="ramp")
    assert outcome.outputs["y"][:32] == outcome.inputs["x"][:32]


def test_warps_switch_before_a_call_of_a_function_that_touches_memory() -> None:
    before = "__device__ void put(int* s, int v) { *s = v; }\n"
    body = "__shared__ int s;\nfor (int i = 0; i < 4; i++) put(&s, t);\ny[t] = s;"
    runs = [traced(body, before, block=64, schedule=f"switch:{seed}") for seed in range(4)]
    ends = {outcome.outputs["y"][32] for outcome in runs}
    assert len(ends) > 1


@pytest.mark.parametrize("change", ["s += 1", "s++", "s = s + 1"])
def test_switching_loses_updates_that_are_not_atomic(change: str) -> None:
    body = "__shared__ int s; if (t == 0) s = 0; __syncthreads();\n"
    body += f"for (int i = 0; i < 8; i++) if (t % 32 == 0) {change};\n__syncthreads(); y[t] = s;"
    orders = ["in-order", *(f"switch:{seed}" for seed in range(6))]
    whole, *ends = [traced(body, block=64, schedule=order).outputs["y"][0] for order in orders]
    assert whole == 16
    assert min(ends) < 16


def test_recording_keeps_events_with_the_warp_that_made_them_when_warps_switch() -> None:
    body = "__shared__ int s[64]; s[t] = 0;\n"
    body += "for (int i = 0; i < 3; i++) s[t] += wait(s[t]);\ny[t] = 1;"
    recording = traced(body, WAIT, block=64, schedule="switch:2", record=True).recording
    assert recording is not None
    start = 0
    for warp, end in zip(recording.warp, recording.end, strict=True):
        for event in range(start, end):
            if recording.names[recording.name[event]] == "s":
                assert recording.at[event] // 32 == warp
        start = end
