"""What buffers hold before a kernel begins, as its own uses say it."""

from __future__ import annotations

import pytest

from oneread.trace import run
from oneread.trace.held import held
from oneread.trace.sources import Source


def kernel(body: str, parameters: str = "const float* x, float* y, int n") -> str:
    return f"__global__ void k({parameters}) {{ int t = threadIdx.x; {body} }}"


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("y[t] = x[t]; y[t] = y[t] + 1;", {}),
        ("y[t] += x[t];", {"y": "changed"}),
        ("float v = y[t]; y[t] = v + x[t];", {"y": "changed"}),
        ("if (t < n) atomicAdd(y, x[t]);", {"y": "zeros"}),
        ("float* row = y + blockIdx.x * n; atomicAdd(&row[t], x[t]);", {"y": "zeros"}),
        ("atomicExch(y, 0.0f); atomicAdd(y, x[t]);", {}),
        ("y[t] = 0; __syncthreads(); atomicAdd(&y[0], x[t]);", {}),
    ],
)
def test_first_use_of_an_output_says_what_it_holds(body: str, found: dict[str, str]) -> None:
    assert held(Source(kernel(body)).loaded.program) == found


def test_buffer_that_is_only_read_is_an_input_without_const() -> None:
    text = kernel("y[t] = x[t];", "float* x, float* y, int n")
    assert held(Source(text).loaded.program) == {"x": "read"}
    outcome = run(text, rows=1, vocab=32, block=32)
    assert [one.role for one in outcome.arguments] == ["input", "output", "scalar"]


def test_member_of_a_vector_that_is_read_first_is_changed() -> None:
    parameters = "float4* p, const float4* g, int n"
    text = kernel("float4 a = p[t]; a.x -= g[t].x; p[t] = a;", parameters)
    assert held(Source(text).loaded.program) == {"p": "changed"}


def test_use_in_a_function_counts() -> None:
    text = "__device__ void add(float* to, float v) { atomicAdd(to, v); }\n"
    assert held(Source(text + kernel("add(y + t, x[t]);")).loaded.program) == {"y": "zeros"}


def test_counter_that_atomics_gather_in_is_no_unset_read() -> None:
    outcome = run(kernel("atomicAdd(&y[0], x[t]);"), rows=1, vocab=32, block=32)
    assert not outcome.having("uninitialised")
    assert outcome.outputs["y"][0] == pytest.approx(sum(outcome.inputs["x"]), rel=1e-5)
