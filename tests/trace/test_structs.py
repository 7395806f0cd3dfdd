"""Values in braces for structs, as C++ gives them to each member."""

from __future__ import annotations

import pytest

from oneread.trace import run

OUTSIDE = """
struct P { float a[2]; int n; };
struct B { bool a[2]; };
__device__ P made(float first) { return {{first}, 7}; }
__device__ B parts(int lane) {
    if (lane < 16) return {{true}};
    return {{false, true}};
}
"""


def stored(body: str) -> list[float]:
    text = f"{OUTSIDE} __global__ void k(float* y) {{ int lane = threadIdx.x; {body} }}"
    outcome = run(text, rows=1, vocab=32, block=32, truth={}, arguments={"y": "32:inout:zeros"})
    assert not [fault for fault in outcome.faults if fault.severity == "error"]
    return [float(value) for value in outcome.outputs["y"]]


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("P p = {{1, 2}, 3};", (1, 2, 3)),
        ("P p = {{1}, 3};", (1, 0, 3)),
        ("P p{};", (0, 0, 0)),
        ("P p = P();", (0, 0, 0)),
        ("P p; p = {{4, 5}};", (4, 5, 0)),
        ("P p = made(6);", (6, 0, 7)),
        ("P q[2] = {{{8, 9}, 1}}; P p = q[0]; p.n += q[1].n;", (8, 9, 1)),
    ],
)
def test_braces_fill_a_struct_that_holds_an_array(code: str, values: tuple[int, ...]) -> None:
    assert set(stored(f"{code} y[lane] = p.a[0] * 100 + p.a[1] * 10 + p.n;")) == {
        values[0] * 100 + values[1] * 10 + values[2]
    }


def test_lanes_return_different_arrays() -> None:
    got = stored("B b = parts(lane); y[lane] = b.a[0] * 10 + b.a[1];")
    assert got == [10] * 16 + [1] * 16
