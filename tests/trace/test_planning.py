"""Which blocks a probe tries, and where their faults stand."""

from __future__ import annotations

import pytest

from oneread.trace import Case, Subject, probe
from oneread.trace.planning import plan

TILED = """// REMARK
__global__ void k(const float* x, float* y, int n) {
    __shared__ float a[TILE];
    for (int i = threadIdx.x; i < n; i += TILE) {
        a[threadIdx.x] = x[blockIdx.x * (size_t)n + i];
        y[blockIdx.x * (size_t)n + i] = a[threadIdx.x];
    }
}
"""


@pytest.mark.parametrize(
    ("remark", "varied"),
    [
        ("blockDim.x == TILE", False),
        ("assert(TILE == blockDim.x)", False),
        ("launch: k<<<rows, TILE>>>(x, y, n)", False),
        ("launch: k<<<TILE, 64>>>(x, y, n)", True),
        ("a tile of TILE columns", True),
    ],
)
def test_block_that_the_source_speaks_of_is_not_varied(remark: str, varied: bool) -> None:
    made = plan(Subject(TILED.replace("REMARK", remark)), Case(defines={"TILE": "32"}))
    assert ("threads" in made.factors) == varied


def test_faults_of_blocks_of_another_size_come_last() -> None:
    found = probe(Subject(TILED), Case(defines={"TILE": "32"}, truth={}))
    other = [found.is_of_other_block(one) for one in found.findings]
    assert True in other
    assert other == sorted(other)
    assert found.worst() == "error"


SQUARE = """#define TILE 32
__global__ void k(const float* x, float* y, int rows, int n) {
    int i = blockIdx.x * TILE + threadIdx.x, j = blockIdx.y * TILE + threadIdx.y;
    if (i < n && j < rows) y[j * n + i] = x[j * n + i];
}
void go() { k<<<dim3((n + TILE - 1) / TILE, 1), dim3(TILE, TILE)>>>(x, y, rows, n); }
"""


def test_square_blocks_stay_below_the_limit_of_threads() -> None:
    made = plan(Subject(SQUARE))
    assert made.factors["tile"] == (32, 16, 8)
    assert not probe(Subject(SQUARE)).stopped
