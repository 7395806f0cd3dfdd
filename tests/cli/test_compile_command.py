"""`oneread compile`: kernels are compiled ahead of time and found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app
from oneread.runtime import cubins, cuda, cuda_gradient, cuda_merge, cuda_read, cuda_topk, nvrtc
from oneread.spec import BackendUnavailableError


@pytest.fixture(autouse=True)
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Stand in for the compiler, with a list of what it was asked for."""
    asked: list[str] = []

    def compile_cubin(source: str, target: str, **options: Any) -> nvrtc.Cubin:
        asked.append(target)
        return nvrtc.Cubin(b"code", target, "")

    monkeypatch.setattr(nvrtc, "compile_cubin", compile_cubin)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    monkeypatch.setenv(cubins.CACHE_VARIABLE, str(tmp_path / "cache"))
    return asked


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["compile", *arguments])


def test_all_kernels_of_a_target_are_kept(compiler: list[str]) -> None:
    said = run("--arch", "sm_90")
    assert said.exit_code == 0, said.output
    kinds = (cuda, cuda_read, cuda_topk, cuda_gradient)
    wanted = sum(len(of.ahead("sm_90")) for of in kinds) + len(cuda_merge.ahead())
    assert len(list(cubins.folder().glob("*.cubin"))) == len(compiler) == wanted
    assert said.output.startswith(f"sm_90: {len(compiler):,} kernels")
    assert str(cubins.folder()) in said.output


def test_a_second_time_nothing_is_compiled(compiler: list[str]) -> None:
    run("--arch", "sm_80", "--quick")
    first = len(compiler)
    assert run("--arch", "sm_80", "--quick").exit_code == 0
    assert len(compiler) == first


def test_quick_leaves_out_the_rarer_ones() -> None:
    assert len(cuda.ahead("sm_90", quick=True)) < len(cuda.ahead("sm_90")) / 3


def test_several_targets(compiler: list[str]) -> None:
    assert run("--quick", "--arch", "sm_75", "--arch", "sm_120").exit_code == 0
    assert set(compiler) == {"sm_75", "sm_120"}


def test_unknown_target_is_refused_with_those_there_are() -> None:
    said = run("--arch", "sm_10")
    assert said.exit_code == 2
    assert "sm_90" in said.output


def test_without_a_gpu_a_target_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneread.runtime import driver

    def missing(_: int) -> None:
        raise BackendUnavailableError("no driver")

    monkeypatch.setattr(driver, "device", missing)
    said = run()
    assert said.exit_code == 2
    assert "--arch" in said.output


def test_a_folder_that_keeps_nothing_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv(cubins.CACHE_VARIABLE, str(blocked))
    assert run("--quick", "--arch", "sm_90").exit_code != 0
