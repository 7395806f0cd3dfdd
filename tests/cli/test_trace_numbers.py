"""`oneread trace`: sizes and names that do not go together are told."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from oneread.cli.main import app

TWO = """__global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }
__global__ void once(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
"""


def trace(*words: str) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 0, result.output
    return result.stdout


def error(*words: str) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 2, result.output
    return result.stderr


def test_header_shows_k_and_that_it_was_limited() -> None:
    assert "k=4 (no more than that, not 300)" in trace("top_k", "--k", "300").splitlines()[0]
    assert trace("top_k", "--k", "3").splitlines()[0].count("k=3,") == 1
    assert "k=" not in trace("online_softmax").splitlines()[0]


def test_sizes_that_the_numbers_do_not_have_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("1 2 3\n4 5 6\n", "utf-8")
    assert "--vocab 7" in error("online_softmax", "--input", str(file), "--vocab", "7")
    assert "has 2 x 3 numbers" in error("online_softmax", "--input", str(file), "--rows", "9")
    trace("online_softmax", "--input", str(file), "--rows", "2", "--vocab", "3")


def test_file_of_numbers_that_is_not_there_is_told_as_such() -> None:
    assert "there is no such file" in error("online_softmax", "--input", "nofile.npy")


def test_second_kernel_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(TWO, "utf-8")
    assert "one is named already" in error(str(file), "--kernel", "twice", "--kernel", "once")
