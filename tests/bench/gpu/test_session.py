"""The script of a GPU's steps: what it calls, with a Python that writes that down in its place."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYTHON = """#!/usr/bin/env bash
echo "$*" >>calls.log
case "$*" in
*"pip install"*)
    made=$(sed 's/.*--target //; s/ .*//' <<<"$*")
    mkdir -p "$made/oneread/runtime" && : >"$made/oneread/runtime/_native.so"
    ;;
*"-m pytest"*)
    echo "what shard $ONEREAD_SHARD says"
    echo "FAILED ${*: -1}"
    echo "1 failed"
    exit 1
    ;;
*soak*) exit 3 ;;
esac
"""

pytestmark = pytest.mark.skipif(
    not (shutil.which("bash") and shutil.which("timeout")), reason="needs bash and coreutils"
)


class Session(NamedTuple):
    """A checkout with nothing in it but what the script looks at."""

    root: Path

    def run(self, *steps: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "checkout/tools/gpu_session.sh", "out", *steps], cwd=self.root,
            env={**os.environ, "PYTHON": str(self.root / "python"), **environment},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    def calls(self) -> list[str]:
        return (self.root / "checkout/calls.log").read_text().splitlines()


@pytest.fixture
def session(tmp_path: Path) -> Session:
    root = tmp_path / "checkout"
    for folder in ("tools/build", "src/oneread/kernels/cpu", "src/oneread/runtime"):
        (root / folder).mkdir(parents=True)
    for file in ("CMakeLists.txt", "pyproject.toml", "src/oneread/kernels/cpu/a.hpp"):
        (root / file).touch()
    shutil.copy(ROOT / "tools/gpu_session.sh", root / "tools")
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return Session(tmp_path)


def test_paper_leaves_out_what_the_run_beside_has(session: Session) -> None:
    (session.root / "earlier.jsonl").touch()
    assert session.run("paper:5").returncode == 0
    assert session.run("paper:5", BESIDE="earlier.jsonl").returncode == 0
    alone, beside = [call for call in session.calls() if "oneread paper" in call]
    assert alone.endswith(f"--device gpu --records-only --seconds 5 --out {session.root}/out/paper")
    assert beside == f"{alone} --beside {session.root}/earlier.jsonl"


def test_file_beside_that_is_not_there_is_named_before_anything_is_done(session: Session) -> None:
    ran = session.run("paper:5", BESIDE="nothing.jsonl")
    assert ran.returncode == 2
    assert "BESIDE is no file: nothing.jsonl" in ran.stderr
    assert not (session.root / "out").exists()


def test_step_that_fails_is_told_and_does_not_stop_the_others(session: Session) -> None:
    assert session.run("soak:5", "torch:7").returncode == 1
    summary = (session.root / "out/summary.txt").read_text().split("\n")
    assert [line.split()[:3] for line in summary if line] == [
        ["build", "exit", "0"], ["soak", "exit", "3"], ["torch", "exit", "0"],
    ]  # fmt: skip


def test_log_of_the_tests_has_all_that_shards_say_and_what_failed_last(session: Session) -> None:
    marked = session.root / "checkout/tests/ops/test_marked.py"
    marked.parent.mkdir(parents=True)
    marked.write_text("pytestmark = pytest.mark.gpu\n")
    assert session.run("tests:9", SHARDS="2").returncode == 1
    out = session.root / "out"
    said = (out / "tests.log").read_text().splitlines()
    assert [line for line in said if line.startswith("what")] == [
        "what shard 1/2 says", "what shard 2/2 says",
    ]  # fmt: skip
    assert said[-4:-2] == ["FAILED tests/ops/test_marked.py"] * 2
    assert said[-2:] == ["shard 1: 1 failed", "shard 2: 1 failed"]
    assert sorted(path.name for path in out.iterdir()) == ["build.log", "summary.txt", "tests.log"]


def test_module_is_built_again_when_its_sources_change(session: Session) -> None:
    built = []
    for text in ("", "", "int a;"):
        (session.root / "checkout/src/oneread/kernels/cpu/a.hpp").write_text(text)
        assert session.run("torch:5").returncode == 0
        built.append(sum("pip install" in call for call in session.calls()))
    assert built == [1, 1, 2]
    assert (session.root / "checkout/src/oneread/runtime/_native.so").exists()
