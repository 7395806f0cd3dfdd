"""What outputs are taken for, and what follows where that was a guess."""

from __future__ import annotations

import pytest

from oneread.trace import Run, run

SOFTMAX = """
    float m = -INFINITY, d = 0;
    for (int i = 0; i < n; ++i) m = fmaxf(m, x[i]);
    for (int i = 0; i < n; ++i) d += expf(x[i] - m);
    y[threadIdx.x] = expf(x[threadIdx.x] - m) / d"""
SILU = "y[threadIdx.x] = x[threadIdx.x] / (1 + expf(-x[threadIdx.x]))"


def stored(name: str, body: str) -> Run:
    text = f"__global__ void {name}(const float* x, float* y, int n) {{ {body}; }}"
    return run(text, rows=1, vocab=32, block=32)


def test_other_kernel_with_exponentials_gets_a_note() -> None:
    outcome = stored("silu", SILU)
    assert [(one.id, one.severity) for one in outcome.faults] == [("unlike-softmax", "note")]
    assert "say --truth y=softmax" in str(outcome.faults[0])
    assert outcome.result == []


def test_kernel_that_is_called_a_softmax_has_to_be_one() -> None:
    outcome = stored("softmax_v2", SILU)
    assert [(one.id, one.severity) for one in outcome.faults] == [("wrong-result", "error")]
    assert outcome.result[0].wrong == 32


@pytest.mark.parametrize("name", ["softmax", "kernel2"])
def test_softmax_is_known_by_what_it_gives(name: str) -> None:
    outcome = stored(name, SOFTMAX)
    assert not outcome.faults
    assert [(one.op, one.wrong) for one in outcome.result] == [("softmax", 0)]
