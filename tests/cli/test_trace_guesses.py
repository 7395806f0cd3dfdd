"""`oneread trace` on files as they are: what it reads of their launches, and what it guesses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app

ROOT = Path(__file__).resolve().parents[2]

NORM = """#define WIDTH 4
__global__ void norm(const float* x, const float* gamma, float* y, int rows, int hidden) {
    extern __shared__ float s[];
    const int row = blockIdx.x;
    if (row >= rows) return;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x)
        y[row * hidden + i] = x[row * hidden + i] * gamma[i];
}
"""
HOST = """int main() {
    const int threads = 64;
    norm<<<128, threads, threads * sizeof(float)>>>(x, gamma, y, 128, 1024);
}
"""
TWICE = """__global__ void twice(const float* x, float* y, int N, int C) {
    y[threadIdx.x] = x[threadIdx.x];
}
"""


def trace(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == status, result.output
    return result.stdout


def error(*words: str) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def file(folder: Path, text: str, name: str = "norm.cu") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def basis(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if line.startswith(("read: ", "guessed: "))]


def test_one_line_says_what_was_read_and_what_guessed(tmp_path: Path) -> None:
    shown = trace(file(tmp_path, NORM + HOST))
    assert "norm: 128 blocks of 64 threads, 4 rows x 256" in shown
    (line,) = basis(shown)
    read, _, guessed = line.partition("; ")
    assert read == "read: block 64, grid 128, shared bytes 256 (launch in line 11)"
    assert guessed == "guessed: x y [rows*vocab], gamma [vocab], hidden=vocab"


def test_line_in_the_docs_is_that_of_the_example() -> None:
    (line,) = basis(trace(str(ROOT / "examples/layer_norm.cu")))
    assert f"```text\n{line}\n```" in (ROOT / "docs/command-line.md").read_text("utf-8")


def test_example_has_no_fault_in_any_launch_of_a_probe() -> None:
    assert "faults: none" in trace(str(ROOT / "examples/layer_norm.cu"), "--probe")


def test_what_only_the_host_knows_is_named_beside_the_guess(tmp_path: Path) -> None:
    host = HOST.replace("= 64", "= ask()")
    (line,) = basis(trace(file(tmp_path, NORM + host)))
    assert line.startswith("read: grid 128 (launch in line 11); guessed: ")
    assert "block 128 instead of threads (line 11)" in line
    assert "shared bytes 512 instead of threads * sizeof(float) (line 11)" in line


def test_first_of_several_launches_is_said_to_be_that(tmp_path: Path) -> None:
    more = "void more() { norm<<<1, 32, 128>>>(x, gamma, y, 1, 8); }\n"
    (line,) = basis(trace(file(tmp_path, NORM + HOST + more)))
    assert "(launch in line 11, the first of 2)" in line


def test_macro_that_names_the_block_is_named(tmp_path: Path) -> None:
    (line,) = basis(trace(file(tmp_path, "#define THREADS 96\n" + NORM)))
    assert line.startswith("read: block 96 (THREADS); guessed: grid rows, shared bytes 384, ")
    bounded = NORM.replace("void norm", "void __launch_bounds__(64) norm")
    (line,) = basis(trace(file(tmp_path, bounded)))
    assert line.startswith("read: block 64 (__launch_bounds__); guessed: ")


def test_nothing_is_said_where_all_is_known(tmp_path: Path) -> None:
    assert basis(trace("online_softmax")) == []
    words = ["--block", "32", "--grid", "rows", "--shared-bytes", "4"]
    for one in ("x=rows*vocab", "gamma=vocab", "y=rows*vocab:out", "rows=rows", "hidden=vocab"):
        words += ["--arg", one]
    assert basis(trace(file(tmp_path, NORM), *words)) == []


@pytest.mark.parametrize("options", [["--probe"], ["--fix"], ["--probe", "--fix"]])
def test_probe_and_fix_say_it_too(tmp_path: Path, options: list[str]) -> None:
    (line,) = basis(trace(file(tmp_path, NORM + HOST), *options))
    assert line.startswith("read: block 64, grid 128")


@pytest.mark.parametrize("option", ["--probe", "--fix", "--json"])
def test_macro_that_the_file_never_names_is_refused_with_a_near_one(
    tmp_path: Path, option: str
) -> None:
    path = file(tmp_path, NORM)
    said = error(path, "--define", "WIDHT=3", option)
    assert said == f"oneread: error: {path} never uses the macro WIDHT; there is WIDTH\n"
    assert error(path, "-D", "ODD=3").endswith("never uses the macro ODD\n")


def test_macro_is_refused_if_none_of_several_names_it(tmp_path: Path) -> None:
    path = file(tmp_path, NORM)
    assert f"{path} and relu never use the macro WIDHT; there is WIDTH" in error(
        path, "relu", "-D", "WIDHT=3"
    )
    trace(path, "relu", "-D", "TILE=64")
    trace("online_unfused", "-D", "K_MAX=8")
    assert "never uses the macro K_MAXX; there is K_MAX" in error(
        "online_unfused", "-D", "K_MAXX=8"
    )


def test_doubt_is_told_in_options_and_of_several_files_with_its_name(tmp_path: Path) -> None:
    norm, twice = file(tmp_path, NORM), file(tmp_path, TWICE, "twice.cu")
    assert error(twice).startswith("oneread: error: N and C could each be vocab; if ")
    said = error(norm, twice)
    assert said.startswith(f"oneread: error: {twice}: N and C could each be vocab; if ")
    assert "--arg N=rows --arg C=vocab" in said
    trace(norm, twice, "--arg", "N=rows", "--arg", "C=vocab")
    assert "no parameter is named 'M'" in error(norm, twice, "--arg", "M=rows")


def test_kernel_of_several_is_asked_for_by_the_option(tmp_path: Path) -> None:
    said = error(file(tmp_path, NORM + TWICE))
    assert "the file has several kernels; name one: norm, twice" in said
    assert said.splitlines()[-1] == "a kernel is named by --kernel K"


def test_buffer_that_the_host_zeroes_begins_with_zeros(tmp_path: Path) -> None:
    text = (
        "__global__ void sum(const float* x, float* y, int n) {\n"
        "    if (threadIdx.x == 0) y[blockIdx.x] += x[blockIdx.x];\n}\n"
        "int main() { cudaMemset(d_y, 0, 64); sum<<<4, 32>>>(d_x, d_y, n); }\n"
    )
    (line,) = basis(trace(file(tmp_path, text)))
    assert line.startswith("read: block 32, y zeros (launch in line 4); ")
    assert "y [rows*vocab:inout:zeros]" in line
    assert "y zeros" not in trace(file(tmp_path, text), "--arg", "y=4:inout:ramp")
