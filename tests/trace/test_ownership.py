"""Rows and whose they are: of blocks by the launch, of threads by what they multiply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oneread.source.catalogue import read_catalogue
from oneread.trace import Case, Source, run
from oneread.trace.gallery import run_kernel
from oneread.trace.ownership import rows_of_blocks, rows_of_threads

CORRECT = Path(__file__).parent / "correct"


def own_rows(text: str) -> list[str]:
    """Return where the rows of threads are said, as line:column."""
    program = Source(text).loaded.program
    found = [one.position for one in rows_of_threads(program, "n")]
    return [f"{one.line}:{one.column}" for one in found]


def kernel(*lines: str) -> str:
    body = "\n".join(lines)
    return f"__global__ void k(const float* x, float* y, int rows, int n) {{\n{body}\n}}"


# ---- blocks


@pytest.mark.parametrize(
    ("rows", "blocks", "own"),
    [
        (4, 4, [{0}, {1}, {2}, {3}]),
        (4, 2, [{0, 1, 2}, {1, 2, 3}]),
        (2, 4, [{0}, {0, 1}, {0, 1}, {1}]),
        (4, 6, [None] * 6),
        (0, 1, [None]),
    ],
)
def test_rows_are_dealt_to_blocks_side_by_side_or_in_turn(
    rows: int, blocks: int, own: list[set[int] | None]
) -> None:
    owner = rows_of_blocks(rows, blocks)
    assert [owner(number) for number in range(blocks)] == own


# ---- threads

ROW = "int row = blockIdx.x * blockDim.y + threadIdx.y, i = threadIdx.x;"


def test_row_of_a_thread_is_what_it_multiplies_by_the_length() -> None:
    assert own_rows(kernel(ROW, "y[row * n + i] = x[(size_t)row * n + i];")) == ["3:3", "3:28"]


def test_length_in_vectors_is_a_length() -> None:
    line = "const int n4 = n / 4; ((float4*)y)[row * n4 + i] = ((const float4*)x)[row * n4 + i];"
    assert len(own_rows(kernel(ROW, line))) == 2


def test_length_that_only_says_how_far_columns_go_is_no_other_way() -> None:
    lines = "const float* r = x + row * n;", "y[row * n + min(i, n - 1)] = r[(n - i) / 4];"
    assert len(own_rows(kernel(ROW, *lines))) == 2


@pytest.mark.parametrize(
    "lines",
    [
        ("x += blockIdx.x * n;", "y[blockIdx.x * n + threadIdx.x] = x[threadIdx.x];"),
        ("x += blockIdx.x * 4 * n;", "y[threadIdx.y * n] = x[threadIdx.y * n + threadIdx.x];"),
        (ROW, "for (int r = 0; r < 4; ++r) y[row * n + r * n] = x[row * n + i];"),
        (ROW, "x += row * n;", "for (; row < rows; row += 4, x += 4 * n) y[i] = x[i];"),
        (ROW, "const float* next = x + row * n;", "next += n;", "y[row * n] = next[i];"),
        (ROW, "y[row * (n + 1)] = x[row * n];"),
    ],
    ids=["by-blocks", "in-two-parts", "row-in-a-loop", "pointer-in-a-loop", "next-row", "padded"],
)
def test_rows_that_are_found_in_another_way_are_of_no_thread(lines: tuple[str, ...]) -> None:
    assert own_rows(kernel(*lines)) == []


def test_end_of_a_row_gives_nobody_the_next_one() -> None:
    lines = "for (int i = row * n; i < (row + 1) * n; ++i) y[i] = x[i];", ""
    assert own_rows(kernel(ROW.replace(", i = threadIdx.x", ""), *lines)) == ["3:14"]


# ---- what is found

#: A warp a row, four rows a block; each lane takes every 32nd column.
WARPS = (CORRECT / "warp_a_row.cu").read_text("utf-8")
STRAY = WARPS.replace("i < vocab; i += warpSize) m =", "i < vocab + 1; i += warpSize) m =")


def test_stray_tail_of_a_row_within_a_block_is_found() -> None:
    assert STRAY != WARPS
    outcome = run(STRAY, rows=4, vocab=40, grid=1, truth={})
    (stray,) = outcome.having("stray-row")
    assert str(stray) == (
        "thread 8 of block 0 reads x[40] in line 12, which lies in row 1; its own row is 0"
    )
    assert outcome.having("out-of-bounds")


@pytest.mark.parametrize("grid", ["ceil_div(rows, 4)", None])
@pytest.mark.parametrize("rows", [1, 3, 4, 8])
def test_kernel_with_a_warp_a_row_is_clean_however_many_blocks_there_are(
    rows: int, grid: str | None
) -> None:
    case: dict[str, Any] = {"rows": rows, "vocab": 40, "grid": grid}
    assert [str(one) for one in run(WARPS, **case).faults if one.severity != "note"] == []


@pytest.mark.parametrize("name", ["warp_a_row", "half_warps", "thread_a_row", "grid_of_warps"])
def test_read_beyond_the_row_of_a_thread_is_found_in_every_style(name: str) -> None:
    text = (CORRECT / f"{name}.cu").read_text("utf-8")
    # The first loop goes one column too far.
    wrong = text.replace("i < vocab;", "i < vocab + 1;", 1)
    assert wrong != text
    block: dict[str, Any] = {"block": ("COLUMNS", "ROWS")} if name == "grid_of_warps" else {}
    outcome = run(wrong, rows=4, vocab=40, grid=2, truth={}, **block)
    assert outcome.having("stray-row"), name
    assert all(one.parameters["load"] for one in outcome.having("stray-row"))


@pytest.mark.parametrize("vocab", [64, 70, 3])
@pytest.mark.parametrize("key", read_catalogue().kernels)
def test_no_row_is_called_stray_but_where_the_catalogue_says_so(key: str, vocab: int) -> None:
    entry = read_catalogue().kernels[key]
    found = run_kernel(key, Case(rows=5, vocab=vocab)).having("stray-row")
    assert not found or "stray-row" in {fault.id for fault in entry.faults}
