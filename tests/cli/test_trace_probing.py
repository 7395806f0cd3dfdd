"""`oneread trace --probe` and `--fix`: what they show and how they end."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app


def trace(*words: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == status, result.output
    return result.stdout


def test_probe_gives_a_command_for_each_fault_that_shows_it() -> None:
    shown = trace("zoo_stray_tail", "--probe", status=1)
    assert "launches" in shown.splitlines()[0]
    commands = [line.partition("show:")[2] for line in shown.splitlines() if "show:" in line]
    assert len(commands) >= 2
    for command in commands:
        program, name, *words = shlex.split(command)
        assert (program, name) == ("oneread", "trace")
        trace(*words, status=1)


def test_fix_shows_the_change_and_a_clean_run() -> None:
    shown = trace("zoo_reused_scratch", "--fix", status=1)
    assert any(line.strip("+ ") == "__syncthreads();" for line in shown.splitlines())
    assert "after:  none, in the same launch" in shown


def test_last_lines_say_what_is_counted() -> None:
    lines = trace("zoo_stray_tail", "--probe", "--fix", status=1).splitlines()
    (probed,) = [line for line in lines if line.startswith("faults: ")]
    (before,) = [line for line in lines if line.startswith("before: ")]
    assert probed.endswith(", each cause counted once")
    assert before.endswith(", each place counted once")


def test_clean_kernel_passes_probe_and_fix() -> None:
    assert "no known repair helps" in trace("relu", "--fix")
    assert trace("relu", "--probe").splitlines()[-1] == "faults: none"


def test_repair_that_rules_the_launch_out_is_shown_with_its_change() -> None:
    lines = trace("zoo_odd_tree", "--fix", status=1).splitlines()
    assert lines[0].startswith("the repair rules this launch out: ")
    assert "halving needs a power of two" in lines[0]
    assert any(line.startswith("+    static_assert((TILE & (TILE - 1)) == 0") for line in lines)
    assert not any("no known repair" in line for line in lines)


def test_notes_that_no_repair_is_known_for_are_counted_and_named() -> None:
    (after,) = [
        line
        for line in trace("online_softmax_tiled_racy", "--fix").splitlines()
        if line.startswith("after:")
    ]
    assert after == (
        "after:  none, in the same launch, apart from 2 notes without a repair: "
        "barrier-idle (line 32, line 37)"
    )


ENDLESS = """__global__ void endless(const float* x, float* y, int n) {
    for (int i = threadIdx.x; n != 250 && i < n; i += 32) y[blockIdx.x * n + i] = x[i];
    while (n == %s) y[0] += 1;
}
"""


@pytest.mark.parametrize("option", ["--probe", "--fix"])
def test_kernel_that_never_ends_could_not_be_checked(tmp_path: Path, option: str) -> None:
    file = tmp_path / "endless.cu"
    file.write_text(ENDLESS % "256")
    words = [str(file), option, "--block", "32", "--limit", "steps=2000"]
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "stopped after 2,000 steps (steps)" in result.stderr


def test_probe_with_launches_that_never_end_is_not_clean(tmp_path: Path) -> None:
    file = tmp_path / "endless.cu"
    file.write_text(ENDLESS % "250")
    words = [str(file), "--probe", "--rows", "1", "--block", "32", "--limit", "steps=2000"]
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 2
    assert "error" not in result.stdout.splitlines()[-1]
    assert "a limit stopped" in result.stderr
