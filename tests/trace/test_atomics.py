"""Places that many threads read, change and store: an atomic is proposed, and mends them."""

from __future__ import annotations

import pytest

from oneread.trace import Case, Run, run
from oneread.trace.fixing import fix
from oneread.trace.subject import Subject

HEAD = "__global__ void k(const float* x, int* n, float* y, int vocab) {\nint t = threadIdx.x;\n"
CASE = Case(rows=1, vocab=64, block=64, arguments={"n": "4:inout:zeros", "y": "4:inout:zeros"})


def subject(code: str) -> Subject:
    return Subject(f"{HEAD}{code}\n}}\n")


def traced(code: str) -> Run:
    return run(subject(code).text, rows=1, vocab=64, block=64, arguments=CASE.arguments)


@pytest.mark.parametrize(
    ("code", "mended"),
    [
        ("y[0] += x[t];", "atomicAdd(&y[0], x[t]);"),
        ("y[t % 4] -= x[t] + 1;", "atomicAdd(&y[t % 4], -(x[t] + 1));"),
        ("if (t < 40) *y += x[t];", "if (t < 40) atomicAdd(y, x[t]);"),
        ("n[t & 3]++;", "atomicAdd(&n[t & 3], 1);"),
        ("--n[t & 3];", "atomicSub(&n[t & 3], 1);"),
        ("n[0] -= t;", "atomicSub(&n[0], t);"),
        ("n[1] |= 1 << t % 8;", "atomicOr(&n[1], 1 << t % 8);"),
        ("y[ 0 ] = y[0] + x[t] * 2;", "atomicAdd(&y[ 0 ], x[t] * 2);"),
        ("*(y + 1) += 2.0f; n[0] = 1;", "atomicAdd((y + 1), 2.0f); n[0] = 1;"),
        ("for (int i = t; i < 64; i += 8) y[0] += x[i];", None),
        ("__shared__ float s; if (t == 0) s = 0;\n__syncthreads(); s += x[t];", None),
    ],
)
def test_race_of_threads_that_change_one_place_is_mended_with_an_atomic(
    code: str, mended: str | None
) -> None:
    fixed = fix(subject(code), [CASE])
    assert not fixed.remaining
    assert mended is None or f"+{mended}\n" in fixed.diff
    assert "atomic" in fixed.diff


def test_finding_says_which_atomic_does_it_at_once() -> None:
    outcome = traced("y[0] += x[t];")
    race = outcome.having("race-warps")[0]
    assert str(race).endswith("; atomicAdd reads, changes and stores it at once")


@pytest.mark.parametrize(
    "code",
    [
        "y[0] = x[t] + y[1];",  # not what was read
        "y[0] = y[1] + x[t];",
        "y[0] *= x[t];",  # no such atomic
        "__shared__ float s[64]; s[t] = x[t];\nif (t < 32) s[t] += s[t + 32]; y[0] = s[t];",
    ],
)
def test_no_atomic_is_proposed_where_none_would_help(code: str) -> None:
    outcome = traced(code)
    assert outcome.faults
    assert not any("atomic" in str(fault) for fault in outcome.faults)
