"""What C++ says of a construct, seen in what a kernel stores: y[i] for i = 0, 1."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from oneread.trace import Run, run

HEAD = "__global__ void k(const float* x, float* y, int vocab) {"


class Case(NamedTuple):
    """Code of a kernel with `i` the thread, what stands before it, and what it stores."""

    code: str
    stored: tuple[float, float]
    outside: str = ""


def traced(code: str, outside: str = "") -> Run:
    text = f"{outside}\n{HEAD}\nint i = threadIdx.x;\n{code}\n}}\n"
    return run(text, rows=1, vocab=32, block=32, truth={})


CASES = {
    "a chosen side holds a comma": Case("y[i] = i ? 1, 2 : 3;", (3, 2)),
    "the sign bit can be shifted into": Case("const int a = 1 << 31; y[i] = a;", (-(2.0**31),) * 2),
    "a template argument may compare": Case(
        "y[i] = f<8 == 8>() + f<1 << 2>() + f<(2 > 1)>();",
        (6, 6),
        "template <int N> __device__ int f() { return N; }",
    ),
    "a template default may shift": Case(
        "y[i] = f();", (4, 4), "template <int N = 1 << 2> __device__ int f() { return N; }"
    ),
    "a word may be an operator": Case("y[i] = (i or vocab) and not (i bitand 1);", (1, 0)),
    "a character may be octal": Case(r"y[i] = '\101' + '\0';", (65, 65)),
    "a pragma may be an operator": Case(
        'UNROLL for (int j = 0; j < 2; ++j) y[i] = j; _Pragma("unroll 4")',
        (1, 1),
        '#define UNROLL _Pragma("unroll")',
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_code_has_the_meaning_of_cpp(name: str) -> None:
    case = CASES[name]
    found = traced(case.code, case.outside)
    assert tuple(found.outputs["y"][:2]) == case.stored
    assert not [fault for fault in found.faults if fault.severity == "error"]
