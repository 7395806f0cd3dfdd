"""Structs and arrays that are too large to be laid out are refused, soon."""

from __future__ import annotations

import time

import pytest

from oneread.source.errors import SourceError
from oneread.trace import run

KERNEL = "__global__ void k(float* y) {{ {code} y[threadIdx.x] = 0; }}"


def doubled(levels: int) -> str:
    """Return structs of two structs each, the last of 2^levels numbers."""
    lines = ["struct S0 { float a; };"]
    lines += [f"struct S{n} {{ S{n - 1} a, b; }};" for n in range(1, levels + 1)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("outside", "code", "said"),
    [
        (doubled(30), "S30 s = {};", "struct 'S9' has more than 1,024 members"),
        (doubled(9), "S9 s = {};", "struct 'S9' has more than 1,024 members"),
        (
            "struct A { float a[200000]; }; struct B { A a, b; };",
            "B b;",
            "struct 'B' has 1,600,000 bytes; at most 1,048,576 are laid out",
        ),
    ],
)
def test_struct_that_is_too_large_is_refused_soon(outside: str, code: str, said: str) -> None:
    start = time.process_time()
    with pytest.raises(SourceError, match=said):
        run(f"{outside}\n{KERNEL.format(code=code)}", rows=1)
    assert time.process_time() - start < 1


def test_struct_of_almost_as_many_members_is_run() -> None:
    text = f"{doubled(8)}\n{KERNEL.format(code='S8 s = {}, t = s; s = t;')}"
    arguments = {"y": "32:inout:zeros"}
    assert not run(text, rows=1, block=32, truth={}, arguments=arguments).faults
