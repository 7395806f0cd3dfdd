"""Faults as they are kept: each kind at each place once."""

from __future__ import annotations

from oneread.trace import run


def test_two_conflicts_of_one_line_are_two_findings() -> None:
    body = (
        "__shared__ float a[64]; int t = threadIdx.x; a[t] = 1; a[t + 32] = 1; __syncthreads();\n"
    )
    body += "y[t] = a[t * 2] + a[t * 4 % 64];"
    text = f"__global__ void k(const float* x, float* y, int vocab) {{\n{body}\n}}\n"
    found = run(text, rows=1, vocab=32, block=32, truth={}).having("bank-conflict")
    assert [(fault.line, fault.column) for fault in found] == [(3, 8), (3, 19)]
