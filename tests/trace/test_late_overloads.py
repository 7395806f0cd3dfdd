"""A template finds the functions of a struct behind it, as C++ does by its arguments."""

from __future__ import annotations

import pytest

from oneread.source.errors import SourceError
from oneread.trace import run

SOURCE = """
struct Pair { float a, b; };
__device__ float sum_of(float x) { return x; }
template <typename T> __device__ float twice(T x) { return 2 * sum_of(x); }
__device__ float sum_of(Pair p) { return p.a + p.b; }
__global__ void k(const float* x, float* y) {
    Pair p = {x[0], 1};
    y[0] = twice(p) + twice(x[0]);
}
"""


def test_template_finds_what_stands_behind_it_by_a_struct() -> None:
    got = run(SOURCE, "k", rows=1, vocab=1, block=1, data={"x": [3.0]}, truth={})
    assert list(got.outputs["y"]) == [14.0]


def test_plain_function_does_not() -> None:
    plain = SOURCE.replace("template <typename T> __device__ float twice(T x)",
                           "__device__ float twice(Pair x)")  # fmt: skip
    with pytest.raises(SourceError):
        run(plain, "k", rows=1, vocab=1, block=1, data={"x": [3.0]}, truth={})
