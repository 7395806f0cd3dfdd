"""m, d and the factor are found in code that nobody annotated."""

from __future__ import annotations

import math
from typing import Any

import pytest

from oneread.trace import Case, run, truth
from oneread.trace.gallery import run_kernel

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"


def traced(body: str, **case: Any) -> Any:
    settings = {"rows": 1, "vocab": 64, "block": 32, "truth": {}, **case}
    return run(f"{HEAD}\n{body}\n}}\n", **settings)


def test_m_d_and_the_factor_are_found_in_code_that_nobody_annotated() -> None:
    outcome = run_kernel("online_softmax_tiled_racy", Case(rows=1))
    by_label = {
        label: [w for w in outcome.watch if w.label == label] for label in ("m", "d", "factor")
    }
    assert "m_row" in {watch.name for watch in by_label["m"]}
    assert {watch.name for watch in by_label["d"]} == {"d_row"}
    assert len(by_label["factor"]) == 1
    assert len(by_label["factor"][0].value) == 8
    largest = max(outcome.inputs["x"])
    assert [w for w in by_label["m"] if w.name == "m_row"][-1].value[-1] == largest


def test_number_that_is_larger_is_a_maximum_without_a_word_for_it() -> None:
    outcome = run_kernel("online_softmax_lane", Case(rows=1, defines={"TILE": "32"}, input="ramp"))
    (first, *_) = [watch for watch in outcome.watch if watch.label == "factor"]
    # Of a ramp of 1/8 a column each tile is 4 above the one before; the first one is above -inf.
    assert first.value == [0.0, *[pytest.approx(math.exp(-4))] * 7]
    names = {watch.name for watch in outcome.watch if watch.label == "m"}
    assert "m_lane" in names
    assert "v" not in names


def test_minimum_that_is_kept_in_a_branch_is_no_maximum() -> None:
    outcome = traced("float low = 1;\nif (x[0] < low) low = x[0];\nfloat v = x[1];\n"
                     "if (v < low) low = v;\ny[0] = expf(low - v);")  # fmt: skip
    assert outcome.watch == []


def test_choice_by_an_index_is_no_maximum() -> None:
    outcome = traced("float sum = x[threadIdx.x];\nsum = threadIdx.x < 2 ? sum : 0.0f;\n"
                     "const float v = threadIdx.x < vocab ? x[0] : -INFINITY;\n"
                     "y[0] = sum - v;")  # fmt: skip
    assert outcome.watch == []


def test_larger_of_two_elements_is_a_maximum() -> None:
    outcome = traced("float m = x[0] > x[1] ? x[0] : x[1];\ny[0] = m;")
    assert [(one.label, one.name) for one in outcome.watch] == [("m", "m")]


PAIR = "struct MD { float m, d; };\n"
LARGER = (
    PAIR
    + """__device__ MD merge(MD a, MD b) {
    bool first = a.m > b.m;
    MD large = first ? a : b;
    MD small = first ? b : a;
    MD both;
    both.d = large.d + small.d * expf(small.m - large.m);
    both.m = large.m;
    return both;
}
"""
)
BRACES = (
    PAIR
    + """__device__ float base_of(float m) { return m == -INFINITY ? 0.0f : m; }
__device__ MD merge(MD a, MD b) {
    const float m = fmaxf(a.m, b.m), base = base_of(m);
    const float d = a.d * expf(a.m - base) + b.d * expf(b.m - base);
    return {m, d};
}
"""
)


@pytest.mark.parametrize(("merge", "names"), [(LARGER, ("both.m", "both.d")),
                                              (BRACES, ("m", "MD.d"))])  # fmt: skip
def test_m_d_and_the_factor_are_found_in_a_struct(merge: str, names: tuple[str, str]) -> None:
    text = (
        merge
        + """__global__ void k(const float* x, float* y, int n) {
        MD all = {x[0], 1.0f};
        for (int i = 1; i < n; i++) all = merge(all, {x[i], 1.0f});
        y[0] = all.m + logf(all.d);
    }"""
    )
    outcome = run(text, rows=1, vocab=40, block=1, truth={})
    found = {one.label: one for one in outcome.watch if one.name in names or one.label == "factor"}
    assert (found["m"].name, found["d"].name) == names
    assert found["m"].value[-1] == max(outcome.inputs["x"])
    assert found["d"].value[-1] == pytest.approx(truth.normalizer(outcome.inputs["x"]), rel=1e-5)
    assert set(found) == {"m", "d", "factor"}


def test_members_of_float4_are_no_m() -> None:
    outcome = traced("float4 v = ((const float4*)x)[0]; float4 top = v; top.x = fmaxf(v.x, v.y);\n"
                     "y[threadIdx.x] = expf(v.x - v.z);", vocab=32)  # fmt: skip
    assert [one.name for one in outcome.watch if one.label == "factor"] == []
