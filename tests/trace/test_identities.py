"""What an element beyond a row has to be, by what it is folded into."""

from __future__ import annotations

import pytest

from oneread.trace import Source
from oneread.trace.identities import identity_of

HEAD = """
__device__ float warp_sum(float v) {
    for (int s = 16; s > 0; s /= 2) v += __shfl_xor_sync(0xffffffffu, v, s);
    return v;
}
__device__ float warp_max(float v) {
    for (int s = 16; s > 0; s /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, s));
    return v;
}
struct MD { float m; float d; };
__device__ MD merge(MD a, MD b) {
    const float m = fmaxf(a.m, b.m);
    return MD{m, a.d * expf(a.m - m) + b.d * expf(b.m - m)};
}
__global__ void k(const float* x, const float* w, float* y, int n, float floor) {
    __shared__ float part[32];
    const int lane = threadIdx.x;
    float sum = 0.0f, m = -INFINITY, least = INFINITY, product = 1.0f, d = 0.0f, mean = floor / n;
    int count = 0;
"""
TAIL = """
    y[lane] = sum + m + least + product + d + mean + count + part[lane];
}
"""


def identity(body: str) -> str | None:
    """Return that of the element `x[i]` in a loop over a row."""
    text = f"{HEAD}    for (int i = lane; i < n + lane; i += 32) {{\n{body}\n    }}{TAIL}"
    (at,) = [
        (number, line.index("x[i]") + 1)
        for number, line in enumerate(text.split("\n"), 1)
        if "x[i]" in line
    ]
    return identity_of(Source(text, "k").loaded.program, *at)


FOLDED = {
    "maximum": ("m = fmaxf(m, x[i]);", "-INFINITY"),
    "maximum by a choice": ("const float v = x[i]; m = v > m ? v : m;", "-INFINITY"),
    "maximum by a branch": ("const float v = x[i]; if (m < v) m = v;", "-INFINITY"),
    "maximum of a warp": ("m = fmaxf(m, warp_max(x[i]));", "-INFINITY"),
    "minimum": ("least = fminf(least, x[i]);", "INFINITY"),
    "product": ("product *= x[i];", "1.0f"),
    "product as an assignment": ("product = x[i] * product;", "1.0f"),
    "sum": ("sum += x[i];", "0.0f"),
    "sum as an assignment": ("sum = sum + x[i];", "0.0f"),
    "difference": ("sum -= x[i];", "0.0f"),
    "sum of squares": ("const float v = x[i]; sum += v * v;", "0.0f"),
    "sum of absolute values": ("sum += fabsf(x[i]);", "0.0f"),
    "weighted sum": ("sum += x[i] * w[i] / n;", "0.0f"),
    "sum of a warp": ("sum += warp_sum(x[i]);", "0.0f"),
    "sum by an atomic": ("atomicAdd(&part[0], x[i]);", "0.0f"),
    "sum of shared memory": (
        "part[lane] = x[i]; for (int s = 16; s; s /= 2) part[lane] += part[lane + s];", "0.0f",
    ),
    "sum of exponentials": ("d += expf(x[i] - mean);", "-INFINITY"),
    "sum above a bound": ("sum += fmaxf(x[i], 0.0f);", "-INFINITY"),
    "online softmax": (
        "const float v = x[i], top = fmaxf(m, v); d = d * expf(m - top) + expf(v - top); m = top;",
        "-INFINITY",
    ),
    "count above a bound": ("if (x[i] > floor) count++;", "-INFINITY"),
    "count below a bound": ("if (x[i] < floor) count++;", "INFINITY"),
    "two sums": ("const float v = x[i]; sum += v; d += v * v;", "0.0f"),
    "guarded elsewhere": ("float v = 0.0f; if (lane < 9) v = x[i]; sum += v;", "0.0f"),
    "guarded by a choice": ("sum += lane < 9 ? x[i] : 0.0f;", "0.0f"),
}  # fmt: skip


@pytest.mark.parametrize("what", FOLDED)
def test_element_beyond_a_row_is_the_identity_of_what_it_goes_into(what: str) -> None:
    body, want = FOLDED[what]
    assert identity(body) == want


OTHERS = {
    "sum of squared differences": "const float v = x[i] - mean; sum += v * v;",
    "sum and maximum": "const float v = x[i]; sum += v; m = fmaxf(m, v);",
    "sum above an open bound": "const float v = fmaxf(x[i], floor); sum += v;",
    "count of others than a bound": "if (x[i] != floor) count++;",
    "count on either side": "if (x[i] < floor) count++; else sum++;",
    "count in a choice": "count += x[i] < floor ? 1 : 2;",
    "sum of logarithms": "sum += logf(x[i]);",
    "nothing but an output": "y[i] = x[i] * 2.0f;",
    "pairs": "MD md = merge(MD{m, d}, MD{x[i], 1.0f}); m = md.m; d = md.d;",
    "sum of two": "sum += x[i] + floor;",
}


@pytest.mark.parametrize("what", OTHERS)
def test_no_number_does_where_something_would_change(what: str) -> None:
    assert identity(OTHERS[what]) is None


def test_loops_within_loops_end() -> None:
    body = "sum += x[i];"
    for depth in range(24):
        body = f"for (int a{depth} = 0; a{depth} < 2; a{depth}++) {{ {body} }}"
    assert identity(body) is None
