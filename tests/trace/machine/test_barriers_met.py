"""Which warps come to a barrier, and what that says of the kernel."""

from __future__ import annotations

import pytest

from oneread.trace import run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {\nint t = threadIdx.x;\n"


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("if (t < 32) __syncthreads();\ny[t] = 1;", "error"),
        ("for (int i = 0; i < (t < 32 ? 2 : 1); i++) __syncthreads();\ny[t] = 1;", "error"),
        ("y[t] = 1; if (t >= 32) return;\n__syncthreads();", "note"),
        ("y[t] = 1; if (t >= 32) { if (t < 40) return; } else\n__syncthreads();", "error"),
    ],
)
def test_warp_that_walks_past_a_barrier_is_an_error_an_early_return_a_note(
    body: str, severity: str
) -> None:
    outcome = run(f"{HEAD}{body}\n}}\n", rows=1, vocab=64, block=64, truth={})
    assert [fault.severity for fault in outcome.having("barrier-exited")] == [severity]
