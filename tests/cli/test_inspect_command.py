"""`oneread inspect`: a kernel from three sides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app
from oneread.runtime import nvrtc
from oneread.sass.read import nvdisasm

needs_tools = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)


def inspect(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["inspect", *words])
    assert result.exit_code == status, result.output
    return result.stdout if status == 0 else result.stderr


@needs_tools
def test_online_kernel_of_the_page_loses_for_reasons_that_are_shown() -> None:
    three_pass, online = map(
        json.loads, inspect("safe_softmax_tiled", "online_softmax_tiled", "--json").splitlines()
    )
    assert (three_pass["reads"], online["reads"]) == (3.0, 2.0)
    assert online["each"] > 3 * three_pass["each"]
    assert online["mufu"] == three_pass["mufu"] + 1
    assert online["barriers"] > 50 * three_pass["barriers"]
    assert online["alone"] > 4 * three_pass["alone"]
    assert online["roles"]["exchange"] > 50
    times = [{t["shape"]: t["microseconds"] for t in one["took"]} for one in (three_pass, online)]
    assert times[1]["memory"] > 2 * times[0]["memory"]


def cells(text: str) -> dict[str, list[str]]:
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


@needs_tools
def test_table_of_the_documentation_is_what_is_shown() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sass.md").read_text("utf-8")
    told = cells(page.partition("<!-- inspect: side by side -->")[2].partition("\n\nIt")[0])
    shown = inspect("safe_softmax_tiled", "online_softmax_tiled", "--md")
    found = cells(shown.partition("## Side by side")[2])
    assert len(told) > 8
    for name, numbers in told.items():
        if name != "`safe_softmax_tiled`":
            # Another toolkit may need some instructions more or less.
            assert [float(one) for one in found[name]] == pytest.approx(
                [float(one) for one in numbers], rel=0.15
            ), name


@needs_tools
def test_table_ends_in_sums_and_what_was_measured() -> None:
    shown = inspect("relu", "--vocab", "8192")
    last = next(line for line in shown.splitlines() if line.startswith(" all"))
    assert last.split()[:3] == ["all", "1.00", "1.00"]
    assert "Took, on an NVIDIA H200:" in shown
    assert "That is another build" not in shown


@needs_tools
def test_other_build_than_the_measured_one_is_said() -> None:
    shown = inspect("relu", "--arch", "sm_86", "--vocab", "1024")
    assert "That is another build: for sm_90, default maths" in shown


@needs_tools
def test_several_are_compared_with_the_first() -> None:
    shown = inspect("relu", "fma_f32", "--vocab", "1024", "--md")
    assert "| reads of an element | 1.00 | 3.00 |" in shown
    assert "fma_f32 against relu: 3.00 reads of an element for 1.00" in " ".join(shown.split())


@needs_tools
def test_file_is_traced_and_compiled_with_the_same_macros(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void k(const float* x, float* y, int vocab) {\n"
        "    for (int i = threadIdx.x; i < vocab; i += TILE)\n"
        "        y[blockIdx.x * vocab + i] = x[blockIdx.x * vocab + i];\n"
        "}\n"
    )
    (found,) = map(json.loads, inspect(str(path), "-D", "TILE=64", "--json").splitlines())
    assert found["defines"] == {"TILE": 64}
    assert (found["reads"], found["writes"], found["took"]) == (1.0, 1.0, [])
    assert [line["number"] for line in found["lines"]] == [1, 2, 3, 4]


@needs_tools
def test_kernels_of_a_file_are_compared(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    kernel = "__global__ void {}(const float* x, float* y) {{ y[threadIdx.x] = {}; }}\n"
    path.write_text(kernel.format("one", "x[threadIdx.x]") + kernel.format("two", "INFINITY"))
    shown = inspect(str(path), "--vocab", "32", "--md")
    assert "two against one: 0.00 reads of an element for 1.00" in shown
    alone = inspect(str(path), "--vocab", "32", "--kernel", "two", "--json")
    assert json.loads(alone)["name"] == "two"


def test_source_that_cannot_be_read_is_shown_as_a_compiler_would(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k(float* y) { y[0] = TILE; }\n")
    said = inspect(str(path), status=2)
    assert said.startswith("k.cu:1:38: error: 'TILE' is not declared")
    assert said.endswith("^~~~\n")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("relu", "--md", "--json"), "--md and --json exclude each other"),
        (("safe_unfused",), "safe_unfused is a sequence: name one of its kernels"),
        (("no_such_kernel",), "no file and no key of the gallery"),
        (("relu", "-D", "TILE=x"), "--define TILE=x: write NAME=NUMBER"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: tuple[str, ...], why: str) -> None:
    said = inspect(*words, status=2)
    assert why in said
    assert said.count("\n") == 1


SCALED = """__global__ void scaled(const float* x, float* y, int vocab, float eps) {
    const float* row = x + (size_t)blockIdx.x * vocab;
    for (int i = threadIdx.x; i < vocab; i += blockDim.x) y[i] = row[i] + eps;
}
"""


@needs_tools
def test_argument_that_cannot_be_guessed_is_given_as_an_option(tmp_path: Path) -> None:
    path = tmp_path / "scaled.cu"
    path.write_text(SCALED)
    assert "--arg eps=1.0" in inspect(str(path), status=2)
    assert "scaled" in inspect(str(path), "--arg", "eps=1e-5", "--vocab", "256")


def test_machine_code_is_said_to_be_machine_code(tmp_path: Path) -> None:
    path = tmp_path / "k.sass"
    path.write_text("\tcode for sm_90\n\t\tFunction : f\n        /*0000*/       EXIT ;\n" * 2000)
    assert "is machine code; inspect takes a source" in inspect(str(path), status=2)
