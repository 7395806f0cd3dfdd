"""Variables in registers: which members are set, what a watch and a recording see of them."""

from __future__ import annotations

from typing import Any

import pytest

from oneread.trace import Run, run

PAIR = "struct Pair { float m; float d; };\n"


def traced(body: str, before: str = "", **case: Any) -> Run:
    settings = {"rows": 1, "vocab": 32, "block": 32, "truth": {}, **case}
    head = "__global__ void k(const float* x, float* y, int vocab) {\nint t = threadIdx.x;\n"
    return run(f"{before}{head}{body}\n}}\n", **settings)


@pytest.mark.parametrize(
    ("body", "unset"),
    [
        ("float2 p; p.x = x[t]; y[t] = p.y;", ["p.y"]),
        ("float2 p; p.x = x[t]; p.y = 1; y[t] = p.y;", []),
        ("float2 p; if (t < 16) p.y = 1; p.x = 1; y[t] = p.y + p.x;", ["p.y"]),
        ("float2 p; p.x = 1; float2 q = p; y[t] = q.x;", []),
        ("float2 p; p = make_float2(1, 2); y[t] = p.y;", []),
        ("float2 p; y[t] = p.x;", ["p.x"]),
        ("for (int i = 0; i < 2; i++) { float2 p; if (i == 0) p.x = 1; y[t] = p.x; }", ["p.x"]),
    ],
)
def test_member_that_is_read_before_it_is_set_is_found(body: str, unset: list[str]) -> None:
    found = traced(body).having("uninitialised-variable")
    assert [fault.parameters["variable"] for fault in found] == unset


@pytest.mark.parametrize("text", ["flag", "flag + 0", "p.on"])
def test_watched_bool_is_that_of_one_lane(text: str) -> None:
    before = "struct P { bool on; };\n"
    body = "bool flag = t < 16; P p; p.on = flag; y[t] = p.on ? 1.0f : 0.0f;"
    (watch,) = traced(body, before, watch=[text]).watch
    assert watch.value == [1]


def test_recording_has_each_member_of_a_struct_that_is_set_as_a_whole() -> None:
    body = "Pair a = {x[t], 1.0f};\nPair b;\nb = a;\ny[t] = b.m;"
    recording = traced(body, PAIR, record=True).recording
    assert recording is not None
    names = [recording.names[name] for name in recording.name]
    assert [name for name in names if name[0] in "ab"] == ["a.m", "a.d", "b.m", "b.d"]
