"""What a fresh machine lacks is named in one line, by the Makefile and the tools that it asks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHELL_TOOLS = ("sh", "head", "tail", "printf", "pwd", "awk", "find", "cat", "rm", "mkdir")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return a folder for PATH that has a shell's own tools and nothing else."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in SHELL_TOOLS:
        if path := shutil.which(name):
            (folder / name).symlink_to(path)
    return folder


def script(folder: Path, name: str, body: str) -> None:
    """Write an executable shell script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


def run(command: list[str], path: Path, cwd: Path = ROOT) -> tuple[int, str, str]:
    env = {**os.environ, "PATH": str(path)}
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=env, cwd=cwd)
    return said.returncode, said.stdout, said.stderr


def find_python(path: Path, *asked: str) -> tuple[int, str, str]:
    return run(["/bin/sh", "tools/find_python.sh", *asked], path)


def find_compiler(path: Path, *asked: str) -> tuple[int, str, str]:
    return run([sys.executable, "tools/find_compiler.py", *asked], path)


def one_line(said: tuple[int, str, str]) -> str:
    code, out, err = said
    assert code == 1
    assert out == ""
    assert err.startswith("oneread: ")
    assert err.count("\n") == 1
    return err


def test_python_that_was_asked_for_is_missing(bare: Path) -> None:
    assert "PYTHON=python9 was not found" in one_line(find_python(bare, "python9"))


@pytest.mark.parametrize("body", ["exit 1", "exit 0", "echo nonsense >&2; exit 3"])
def test_python_that_was_asked_for_does_not_run(bare: Path, body: str) -> None:
    script(bare, "false", body)
    said = one_line(find_python(bare, f"{bare}/false"))
    assert said == f"oneread: PYTHON={bare}/false is not a Python that runs\n"


def test_python_is_too_old(bare: Path) -> None:
    script(bare, "python3", "echo 'is Python 3.9; oneread needs 3.11 or newer' >&2; exit 1")
    assert "python3 is Python 3.9; oneread needs 3.11" in one_line(find_python(bare, "python3"))


def test_python_has_no_venv(bare: Path) -> None:
    hide = "import sys; sys.modules['venv'] = None"
    script(bare, "python3", f'exec {sys.executable} -c "{hide}\n$2"')
    assert "has no venv module" in one_line(find_python(bare, "python3"))


def test_python_has_no_headers(bare: Path) -> None:
    hide = "import sysconfig; sysconfig.get_path = lambda name: '/nowhere'"
    script(bare, "python3", f'exec {sys.executable} -c "{hide}\n$2"')
    assert "has no C headers" in one_line(find_python(bare, "python3"))


def test_python_that_fits_is_printed(bare: Path) -> None:
    code, out, err = find_python(bare, sys.executable)
    assert (code, err) == (0, "")
    assert Path(out.strip()) == Path(sys.executable).resolve()


def test_no_compiler_at_all(bare: Path) -> None:
    assert "no C++ compiler found; oneread needs GCC >= 12" in one_line(find_compiler(bare))


def test_compiler_that_was_asked_for_is_missing(bare: Path) -> None:
    assert "CXX=clang++-99 was not found" in one_line(find_compiler(bare, "clang++-99"))


@pytest.mark.parametrize(
    ("macros", "said"),
    [
        ("#define __GNUC__ 11", "GCC 11; oneread needs GCC >= 12"),
        ("#define __GNUC__ 4\n#define __clang_major__ 14", "Clang 14; oneread needs"),
        ("#define _MSC_VER 1940", "neither GCC nor Clang"),
        ("#define __GNUC__ 13", "cannot build a C++20 program"),
    ],
)
def test_compiler_does_not_fit(bare: Path, macros: str, said: str) -> None:
    body = f"case \"$*\" in *-dM*) printf '%s\\n' '{macros}' ;; *) exit 1 ;; esac"
    script(bare, "g++", body)
    assert said in one_line(find_compiler(bare))


def test_better_compiler_is_taken_when_the_first_does_not_fit(bare: Path) -> None:
    script(bare, "g++", "echo '#define __GNUC__ 9'")
    script(bare, "g++-13", "case \"$*\" in *-dM*) echo '#define __GNUC__ 13' ;; esac")
    assert find_compiler(bare) == (0, f"{bare}/g++-13\n", "")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_build_names_the_compiler_and_how_long_it_takes(tmp_path: Path) -> None:
    (line,) = [
        line for line in (ROOT / "Makefile").read_text("utf-8").splitlines() if "Building" in line
    ]
    (tmp_path / "compiler").write_text("/usr/bin/ccache /usr/bin/g++\n", encoding="utf-8")
    (tmp_path / "Makefile").write_text(f"STAMPS := .\nshow:\n{line}\n", encoding="utf-8")
    said = subprocess.run(
        ["make", "--no-print-directory", "show"], capture_output=True, text=True, check=True,
        cwd=tmp_path,
    )  # fmt: skip
    assert said.stdout == "Building oneread with ccache g++ (about a minute)\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", ["demo", "test", "lint", "build"])
def test_make_says_what_is_missing(tmp_path: Path, target: str) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).touch()
    env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", target, "PYTHON=python9"]
    said = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env
    )
    assert said.returncode != 0
    assert [line for line in said.stderr.splitlines() if not line.startswith("make")] == [
        "oneread: PYTHON=python9 was not found"
    ]
