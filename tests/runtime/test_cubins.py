"""Compiled kernels are kept, found again, and never trusted blindly."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from oneread.runtime import cubins, nvrtc
from oneread.spec import KernelCompileError

SOURCE = cubins.Source("one.cu", '#include "two.h"\n', {"two.h": "// two\n"})


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Stand in for the compiler, with a list of what it was asked for."""
    asked: list[str] = []

    def compile_cubin(source: str, target: str, **options: Any) -> nvrtc.Cubin:
        asked.append(target)
        return nvrtc.Cubin(f"code for {target} {options['defines']}".encode(), target, "")

    monkeypatch.setattr(nvrtc, "compile_cubin", compile_cubin)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    monkeypatch.setenv(cubins.CACHE_VARIABLE, str(tmp_path / "cache"))
    return asked


def test_a_kernel_is_compiled_once(compiler: list[str]) -> None:
    first = cubins.compiled(SOURCE, "sm_90", {"A": 1})
    assert cubins.compiled(SOURCE, "sm_90", {"A": 1}) == first
    assert compiler == ["sm_90"]


def test_source_header_macro_target_option_and_compiler_all_count(
    compiler: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cubins.compiled(SOURCE, "sm_90", {"A": 1})
    cubins.compiled(SOURCE, "sm_90", {"A": 2})
    cubins.compiled(SOURCE, "sm_80", {"A": 1})
    cubins.compiled(SOURCE, "sm_90", {"A": 1}, ["-fmad=false"])
    cubins.compiled(cubins.Source("one.cu", "", SOURCE.headers), "sm_90", {"A": 1})
    cubins.compiled(cubins.Source("one.cu", SOURCE.text, {"two.h": ""}), "sm_90", {"A": 1})
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 1))
    cubins.compiled(SOURCE, "sm_90", {"A": 1})
    assert len(compiler) == 7


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_compiled_again_and_replaced(compiler: list[str], damage: str) -> None:
    good = cubins.compiled(SOURCE, "sm_90", {})
    (path,) = cubins.folder().glob("*.cubin")
    held = path.read_bytes()
    path.write_bytes({"cut": held[:-3], "flipped": held[:-1] + b"?", "empty": b""}[damage])
    assert cubins.compiled(SOURCE, "sm_90", {}) == good
    assert path.read_bytes() == held
    assert len(compiler) == 2


def test_a_folder_that_cannot_be_written_costs_a_compilation_only(
    compiler: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv(cubins.CACHE_VARIABLE, str(blocked))
    for _ in range(2):
        assert cubins.compiled(SOURCE, "sm_90", {}).startswith(b"code")
    assert len(compiler) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes where it likes")
def test_a_read_only_folder_costs_a_compilation_only(compiler: list[str]) -> None:
    cubins.folder().mkdir(parents=True)
    cubins.folder().chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert cubins.compiled(SOURCE, "sm_90", {}).startswith(b"code")
    assert not list(cubins.folder().iterdir())


def test_a_full_disk_leaves_nothing_half_written(
    compiler: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert cubins.compiled(SOURCE, "sm_90", {}).startswith(b"code")
    assert list(cubins.folder().iterdir()) == []


def test_what_the_compiler_refuses_is_not_kept(
    compiler: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> nvrtc.Cubin:
        raise KernelCompileError("one.cu for sm_90: error", "error")

    monkeypatch.setattr(nvrtc, "compile_cubin", refuse)
    with pytest.raises(KernelCompileError):
        cubins.compiled(SOURCE, "sm_90", {})
    assert not cubins.folder().exists()
