"""An excerpt is what a kernel is compiled from, and nothing else."""

from __future__ import annotations

from oneread.source.excerpts import excerpt
from oneread.source.text import SourceText

FILE = """#include <vector>
#include <float.h>
#define TILE 4
// Not needed.
__device__ float other(float x) { return x; }
__device__ float twice(float x) {
    return 2 * x;
}
template <int N>
__global__ void first(float* y) {
#pragma unroll
    for (int i = 0; i < TILE; ++i) y[i] = twice(y[i]);
}
__global__ void second(float* y) { y[0] = other(1); }
int main() {}
"""


def test_kernel_is_kept_with_what_it_reaches() -> None:
    kept = excerpt(SourceText("k.cu", FILE), "first")
    assert [line for line in kept.splitlines() if line] == [
        "#include <float.h>",
        "#define TILE 4",
        *FILE.splitlines()[5:13],
    ]


def test_file_without_the_kernel_has_no_excerpt() -> None:
    assert excerpt(SourceText("k.cu", FILE), "third") == ""
