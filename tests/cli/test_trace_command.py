"""`oneread trace`: what it shows, what it writes, how it ends."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from oneread.cli.main import app
from oneread.source.catalogue import read_catalogue
from oneread.trace.inputs import make

TWICE = """__global__ void twice(const float* x, float* y, int vocab) {
    for (int i = threadIdx.x; i < vocab; i += blockDim.x)
        y[blockIdx.x * vocab + i] = x[blockIdx.x * vocab + i] * x[blockIdx.x * vocab + i];
}
__global__ void once(const float* x, float* y, int vocab) { y[threadIdx.x] = x[threadIdx.x]; }
int main() { twice<<<1, 32>>>(0, 0, 0); }
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


def row(shown: str, head: str) -> list[str]:
    (line,) = [line for line in shown.splitlines() if line.startswith(head)]
    return line.removeprefix(head).split()


# ---- what is shown


def test_kernel_is_shown_with_counts_at_its_lines() -> None:
    shown = trace("safe_softmax_tiled")
    lines = [line for line in shown.splitlines() if "y_row[i] = expf(x_row[i] - m) / d;" in line]
    assert lines[0].split()[:3] == ["54", "1,024", "1,024"]
    barriers = [line.split() for line in shown.splitlines() if line.split()[:1] == ["33"]]
    assert barriers[0][1] == "20"


def test_kernels_stand_side_by_side() -> None:
    shown = trace("safe_softmax_tiled", "online_softmax_tiled", "online_softmax_lane")
    assert row(shown, "passes over x") == ["3", "2", "2"]
    assert row(shown, "reads an element of x") == ["3", "2", "2"]
    assert row(shown, "writes an element of y") == ["1", "1", "1"]
    assert row(shown, "barriers of blocks")[::2] == ["56", "24"]
    assert max(map(len, shown.splitlines()[4:18])) <= 100


def test_traffic_of_each_line_is_that_of_the_model() -> None:
    shown = trace("safe_softmax", "--rows", "1", "--vocab", "1024")
    assert shown.splitlines()[2].split()[-1] == "DRAM"
    loads = [line.split() for line in shown.splitlines() if "= fmaxf(m_lane, x_row[i])" in line]
    assert loads[0][:3] == ["54", "1,024", "4,096"]
    assert "DRAM: bytes (model)" in shown


def test_parts_of_a_row_that_are_loaded_apart_are_one_pass() -> None:
    assert row(trace("online_softmax_warp", "--vocab", "250"), "passes over x") == ["2"]


def test_lines_are_counted_as_the_lexer_counts_them(tmp_path: Path) -> None:
    file = tmp_path / "twice.cu"
    file.write_text("// \f \v \x85 \u2028\n" + TWICE, "utf-8")
    shown = trace(str(file), "--kernel", "twice")
    (line,) = [line for line in shown.splitlines() if "y[blockIdx.x * vocab + i] = " in line]
    assert line.split()[0] == "4"


def test_three_numbers_of_bytes_have_names_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "twice.cu"
    file.write_text(TWICE)
    shown = trace(str(file), "--kernel", "twice", "--cache-kb", "0.25", "--resident-blocks", "1")
    assert row(shown, "bytes the source asks for") == ["12,288"]
    assert row(shown, "bytes after register reuse") == ["8,192"]
    assert row(shown, "DRAM bytes (model, 0.25 kB)") == ["8,192"]
    assert "left out: host function main (line 6)" in shown


def test_elements_that_differ_are_a_range() -> None:
    shown = trace("online_softmax_tiled_racy", "--vocab", "250", status=1)
    assert row(shown, "reads an element of x") == ["2-3"]


def test_race_is_shown_with_lines_threads_repair_and_commands() -> None:
    shown = trace("online_softmax_tiled_racy", "--define", "TILE=64", status=1)
    assert "thread 0 writes it in line 48, thread 32 reads it in line 46" in shown
    assert "repair: after the statement in line 46, insert  __syncthreads();" in shown
    marks = {line.split()[0] for line in shown.splitlines() if " E1" in line}
    assert marks - {"repair:"} == {"46", "48"}
    for option in ("--fix", "--probe"):
        assert f"oneread trace online_softmax_tiled_racy --define TILE=64 {option}\n" in shown


def test_kernel_is_named_for_the_file_that_stands_beside_a_key(tmp_path: Path) -> None:
    file = tmp_path / "two.cu"
    file.write_text(TWICE)
    shown = trace("relu", str(file), "--kernel", "twice", "--block", "32", "--vocab", "32")
    assert row(shown, "writes an element of y") == ["1", "1"]


def test_sequence_has_a_column_a_launch() -> None:
    shown = trace("online_parallel")
    assert row(shown, "faults") == ["none", "none"]
    assert row(shown, "writes an element of y") == ["1"]


def test_order_of_warps_that_matters_is_an_error() -> None:
    shown = trace("online_softmax_tiled_racy", "-D", "TILE=64", "--schedule", "all", status=1)
    assert "result depends on the order of warps" in shown
    assert "order-dependent" not in trace("online_softmax_lane", "--schedule", "all")


def test_commands_after_all_orders_can_be_given() -> None:
    shown = trace("online_softmax_tiled_racy", "-D", "TILE=64", "--schedule", "all", status=1)
    commands = [line.partition(":")[2] for line in shown.splitlines() if " oneread trace " in line]
    assert len(commands) == 2
    assert not any("--schedule" in command for command in commands)


def test_block_of_rows_of_threads_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(
        "__global__ void k(const float* x, float* y, int vocab) {\n"
        "    const int row = blockIdx.x * blockDim.y + threadIdx.y;\n"
        "    y[row * vocab + threadIdx.x] = x[row * vocab + threadIdx.x];\n}\n"
    )
    assert "--block 32,4 --grid '(rows + 3) / 4'" in error(str(file))
    shown = trace(str(file), "--block", "32,4", "--grid", "(rows + 3) / 4", "--vocab", "32")
    assert "of 32 x 4 threads" in shown


def test_repair_that_is_a_line_of_its_own_is_shown_in_one() -> None:
    shown = trace("zoo_odd_tree", status=1)
    (repair,) = [
        line for line in shown.splitlines() if "static_assert" in line and "insert" in line
    ]
    assert repair.endswith(";")


def test_error_beside_a_truth_that_is_nan_has_no_size() -> None:
    shown = trace("zoo_lowest_sentinel", "--vocab", "250", "--input", "all-inf", status=1)
    assert ", by up to NaN" in shown


def test_expression_is_followed() -> None:
    shown = trace("online_softmax_tiled", "--rows", "1", "--watch", "d_row * 2")
    (line,) = [line for line in shown.splitlines() if line.startswith("d_row * 2, ")]
    x = np.array(make("normal", 1, 256))
    assert float(line.split()[-1]) == pytest.approx(2 * np.exp(x - x.max()).sum(), rel=1e-4)


def test_output_of_a_pipe_has_no_colour() -> None:
    assert "\x1b" not in trace("zoo_missing_syncwarp")


def test_every_key_is_listed() -> None:
    listed = {line.split()[0] for line in trace("--list").splitlines() if line.startswith("  ")}
    catalogue = read_catalogue()
    assert listed == {*catalogue.kernels, *catalogue.sequences}


# ---- files


def test_json_is_of_the_schema_and_holds_no_events() -> None:
    told = json.loads(trace("safe_softmax", "relu", "--json"))
    assert [run["kernel"] for run in told["runs"]] == ["safe_softmax", "relu"]
    assert all(run["recording"] is None for run in told["runs"])


def test_trace_file_holds_the_events(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    trace("safe_softmax", "--out", str(out))
    (run,) = json.loads(out.read_text())["runs"]
    assert run["recording"]["blocks"] == [0, 1, 2, 3]
    trace("safe_softmax", "--out", str(out), "--record", "1,3")
    (run,) = json.loads(out.read_text())["runs"]
    assert run["recording"]["blocks"] == [1, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_file_that_is_reduced_is_told(tmp_path: Path) -> None:
    words = ["safe_softmax", "--out", str(tmp_path / "run.json"), "--limit", "file_bytes=60000"]
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 0
    assert "of 4 blocks" in result.stderr
    assert "only the first blocks" in result.stderr


@pytest.mark.parametrize("suffix", [".npy", ".txt"])
def test_input_may_be_numbers_of_a_file(tmp_path: Path, suffix: str) -> None:
    rows = np.random.default_rng(0).normal(0, 3, (2, 48)).astype(np.float32)
    file = tmp_path / f"x{suffix}"
    if suffix == ".npy":
        np.save(file, rows)
    else:
        np.savetxt(file, rows)
    told = json.loads(trace("online_softmax", "--input", str(file), "--json"))["runs"][0]
    assert (told["launch"]["rows"], told["launch"]["vocab"]) == (2, 48)
    assert told["result"][0]["wrong"] == 0


def test_pattern_is_no_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "normal").write_text("no numbers")
    monkeypatch.chdir(tmp_path)
    assert "normal input" in trace("relu")


def test_file_without_numbers_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("")
    said = error("relu", "--input", str(tmp_path / "x.txt"))
    assert "no data" in said
    assert said.count("\n") == 1


def test_truth_is_said_and_stands_in_the_commands(tmp_path: Path) -> None:
    file = tmp_path / "twice.cu"
    file.write_text(TWICE)
    words = [str(file), "--kernel", "twice", "--truth", "y=softmax"]
    shown = trace(*words, status=1)
    assert row(shown, "error against float64") == ["1,024", "of", "1,024", "wrong"]
    assert "--kernel twice --truth y=softmax --probe\n" in shown
    assert row(trace("relu", "--truth", "none"), "error against float64") == ["not", "known"]


def test_commands_for_numbers_of_a_file_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    np.savetxt(file, np.random.default_rng(0).normal(0, 3, (6, 50)))
    shown = trace("zoo_stray_tail", "--input", str(file), status=1)
    told = [line.partition(":")[2] for line in shown.splitlines() if " oneread trace " in line]
    assert len(told) == 2
    for command in told:
        shown = trace(*shlex.split(command)[2:], status=1)
    commands = [line.partition("show:")[2] for line in shown.splitlines() if "show:" in line]
    assert commands
    for command in commands:
        trace(*shlex.split(command)[2:], status=1)


# ---- how it ends


@pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 1), ("note", 1)])
def test_fail_on_decides_the_status(level: str, status: int) -> None:
    trace("zoo_missing_syncwarp", "--fail-on", level, status=status)


SILU = """__global__ void silu(const float* x, float* y, int vocab) {
    const size_t i = (size_t)blockIdx.x * vocab + threadIdx.x;
    y[i] = x[i] / (1.0f + expf(-x[i]));
}
"""


def test_kernel_with_exponentials_that_is_no_softmax_passes(tmp_path: Path) -> None:
    file = tmp_path / "silu.cu"
    file.write_text(SILU)
    shown = trace(str(file), "--vocab", "32", "--block", "32")
    assert "say so: --truth y=softmax" in " ".join(shown.split())
    assert row(shown, "error against float64") == ["not", "known"]


def test_truth_that_is_said_is_demanded(tmp_path: Path) -> None:
    file = tmp_path / "silu.cu"
    file.write_text(SILU)
    words = (str(file), "--vocab", "32", "--block", "32", "--truth", "y=softmax")
    shown = trace(*words, status=1)
    assert "wrong result" in shown
    assert "--truth y=softmax" in shown


def test_limit_of_a_text_is_a_setting_that_its_message_names(tmp_path: Path) -> None:
    file = tmp_path / "deep.cu"
    deep = f"{'(' * 210}1{')' * 210}"
    file.write_text(f"__global__ void k(const float* x, float* y, int n) {{ y[n] = {deep}; }}")
    words = (str(file), "--rows", "2", "--vocab", "1", "--block", "1", "--arg", "y=4")
    assert "nested more than 200 deep (nesting)" in error(*words)
    trace(*words, "--limit", "nesting=300")
    trace("relu", "--limit", "nesting=300", "--json")


def test_n_is_vocab() -> None:
    assert "4 rows x 100" in trace("relu", "--n", "100")


def test_source_errors_are_shown_as_a_compiler_does(tmp_path: Path) -> None:
    file = tmp_path / "bad.cu"
    file.write_text("__global__ void k(float* y) {\n    y[0] = expff(1);\n    z = 2;\n}\n")
    said = error(str(file)).splitlines()
    assert said[0] == "bad.cu:2:12: error: call to unknown function 'expff' (did you mean 'expf'?)"
    assert said[2].strip().startswith("^")
    assert said[3].startswith("bad.cu:3:5: error: 'z' is not declared")


def test_tunable_that_is_no_number_is_an_error_of_the_source() -> None:
    assert "'²'" in error("top_k", "-D", "K_MAX=²")
    assert "static_assert failed" in error("relu", "-D", "TILE=-5", "--input", "inf-first-tile")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name a file or a key"),
        (["safe_softmaxx"], "did you mean safe_softmax?"),
        (["nothing_like_it"], "`oneread trace --list`"),
        (["missing.cu"], "No such file"),
        (["relu", "--schedule", "sideways"], "in-order, reverse"),
        (["relu", "--seed", "3"], "--seed is for"),
        (["relu", "--define", "=3"], "NAME=VALUE"),
        (["relu", "--arg", "x"], "NAME=VALUE"),
        (["relu", "--arg", "q=3"], "no parameter is named 'q'"),
        (["relu", "--truth", "q=relu"], "no parameter is named 'q'"),
        (["relu", "--truth", "y=silu"], "truth 'silu' is none of log_softmax"),
        (["relu", "--block", "max("], "max("),
        (["online_softmax_tiled", "--limit", "steps=300"], "(steps)"),
        (["relu", "--limit", "what=3"], "no 'what'"),
        (["relu", "--limit", "steps=many"], "whole number"),
        (["relu", "--input", "odd"], "patterns"),
        (["relu", "--fail-on", "never"], "error, warning, note"),
        (["relu", "--record", "0"], "--record needs --out"),
        (["relu", "--record", "a", "--out", "x"], "numbers of blocks"),
        (["relu", "fma_f32", "--fix"], "one kernel, not 2"),
        (["online_parallel", "--probe"], "is a sequence"),
        (["online_softmax", "--kernel", "nope"], "a kernel and folders are for files"),
        (["online_softmax", "relu", "-I", "."], "a kernel and folders are for files"),
        (["safe_unfused", "--kernel", "top_k"], "a kernel and folders are for files"),
        (["relu", "--probe", "--json"], "without --probe"),
        (["relu", "--fix", "--schedule", "all"], "without --probe and --fix"),
        (["relu", "--out", "."], "--out .: a folder"),
        (["relu", "--out", "/"], "--out /: a folder"),
        (["relu", "--out", "x.json", "--record", "1,99"], "there is no block 99: 32 run"),
        (["relu", "--limit", "steps=1.5"], "whole number"),
        (["relu", "--limit", "depth=3"], "no 'depth'"),
        (["relu", "--truth", "y=gelu"], "truth 'gelu' is none of"),
        (["relu", "--truth", "softmax"], "NAME=VALUE"),
    ],
)
def test_what_cannot_run_is_one_line_and_status_2(words: list[str], said: str) -> None:
    shown = error(*words)
    assert said in shown
    assert shown.count("\n") == 1


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bytes.cu"
    file.write_bytes(b"\xff\xfe\x00")
    assert "no UTF-8 text" in error(str(file))


def test_bad_numbers_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_text("1 2\nthree 4\n")
    assert "--input" in error("relu", "--input", str(file))
    np.save(tmp_path / "x.npy", np.zeros((2, 2, 2), np.float32))
    assert "3 axes" in error("relu", "--input", str(tmp_path / "x.npy"))


def test_control_characters_of_a_source_are_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text(TWICE.replace("int main", "// \x1b[31m\nint main").replace(
        "        y[", "        /* \x1b[2J */ y["))  # fmt: skip
    assert "\x1b" not in trace(str(file), "--kernel", "twice")


def test_command_loads_no_array_library() -> None:
    code = "import sys\nfrom oneread.cli.main import app\ntry:\n    app(['trace', 'relu'])\n"
    code += "except SystemExit:\n    pass\nprint({'numpy', 'torch'} & set(sys.modules))"
    said: Any = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                               check=True)  # fmt: skip
    assert said.stdout.splitlines()[-1] == "set()"


def test_atomic_is_shown_to_read_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "add.cu"
    path.write_text(
        "__global__ void add(const float* x, float* y, int vocab) {\n"
        "    atomicAdd(&y[0], x[threadIdx.x]);\n}\n"
    )
    words = ("--arg", "y=1:inout:zeros", "--rows", "1", "--block", "32", "--vocab", "32")
    shown = trace(str(path), *words)
    assert row(shown, "    2")[:2] == ["64", "32"]
