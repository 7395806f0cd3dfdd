"""The words of `oneread trace`: shapes, numbers of things, repairs."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app


def trace(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == status, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--block", "32,4", "--grid", "2,3"), "2 x 3 blocks of 32 x 4 threads, 4 rows x 8"),
        (("--block", "1,4", "--grid", "2"), "2 blocks of 1 x 4 threads, 4 rows x 8"),
        (("--block", "1", "--grid", "1", "--rows", "1"), "1 block of 1 thread, 1 row x 8"),
    ],
)
def test_head_says_the_shape_of_grid_and_block(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    file = tmp_path / "set.cu"
    file.write_text("__global__ void set(float* y) { y[0] = 1; }")
    shown = trace(str(file), *words, "--vocab", "8", "--arg", "y=rows*vocab:inout:normal")
    assert f": {said}, normal input" in shown.splitlines()[0]


def test_kernels_that_do_not_fit_beside_come_below(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = trace("safe_softmax_tiled", "online_softmax_tiled", "online_softmax_lane")
    passes = [line.split()[3:] for line in shown.splitlines() if line.startswith("passes over x")]
    assert passes == [["3", "2"], ["2"]]


def test_repair_of_a_race_and_a_hazard_on_the_same_lines_is_told_once() -> None:
    shown = trace("zoo_reused_scratch", status=1)
    repairs = [line.strip() for line in shown.splitlines() if line.strip().startswith("repair:")]
    assert repairs == [
        "repair: after the statement in line 33, insert  __syncthreads();",
        "repair: that of E1",
    ]


def test_one_of_anything_is_singular(tmp_path: Path) -> None:
    file = tmp_path / "copy.cu"
    words = [str(file), "--rows", "1", "--vocab", "1", "--block", "1", "--watch", "v"]
    file.write_text("__global__ void copy(const float* x, float* y) { float v = x[0]; y[0] = v; }")
    shown = trace(*words)
    assert "1 block of 1 thread, 1 row x 1" in shown
    assert "v, 1 value in copy" in shown
    result = CliRunner().invoke(app, ["trace", *words, "--out", str(tmp_path / "run.json")])
    assert "1 block," in result.stderr
