"""What the installed distribution says of itself and brings along."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import oneread
from oneread.web.bundle import why_missing

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = {"bench", "torch", "cuda12", "cuda13", "sass", "web", "notebook", "all"}


def names(requirements: list[str]) -> set[str]:
    """Return the names in a list of requirements."""
    return {re.split(r"[\s\[<>=!~;]", line, maxsplit=1)[0].lower() for line in requirements}


@pytest.fixture(scope="module")
def distribution() -> importlib.metadata.Distribution:
    return importlib.metadata.distribution("oneread")


def test_version_is_the_same_everywhere(distribution: importlib.metadata.Distribution) -> None:
    version = distribution.version
    assert oneread.__version__ == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_runtime_needs_numpy_and_typer_only() -> None:
    assert names(PROJECT["project"]["dependencies"]) == {"numpy", "typer"}


def test_python_3_11_is_the_oldest(distribution: importlib.metadata.Distribution) -> None:
    assert distribution.metadata["Requires-Python"] == ">=3.11"


def test_extras_are_reserved(distribution: importlib.metadata.Distribution) -> None:
    assert set(distribution.metadata.get_all("Provides-Extra") or []) == EXTRAS


def test_all_is_every_extra_but_the_older_cuda() -> None:
    (line,) = PROJECT["project"]["optional-dependencies"]["all"]
    inside = re.search(r"^oneread\[(.*)\]$", line)
    assert inside
    assert set(inside[1].split(",")) == EXTRAS - {"all", "cuda12"}


def test_build_group_has_what_the_build_requires() -> None:
    # `make` builds without isolation, so that a second build is quick.
    group = PROJECT["dependency-groups"]["build"]
    assert set(PROJECT["build-system"]["requires"]) <= set(group)
    assert {"cmake", "ninja"} <= names(group)


@pytest.mark.parametrize("name", ["py.typed", "runtime/_native.pyi"])
def test_types_are_installed(name: str) -> None:
    assert Path(oneread.__file__).parent.joinpath(name).exists()


def test_gallery_is_installed_with_its_records() -> None:
    there = Path(oneread.__file__).parent / "kernels/gallery"
    here = ROOT / "src/oneread/kernels/gallery"
    for pattern in ("*.cu", "gallery.toml", "measured/gallery-*.jsonl", "measured/outputs-*.jsonl"):
        ours = {path.name: path.read_bytes() for path in here.glob(pattern)}
        assert ours, pattern
        assert {path.name: path.read_bytes() for path in there.glob(pattern)} == ours


def test_sources_of_the_kernels_are_not_installed() -> None:
    assert list(Path(oneread.__file__).parent.rglob("*.[ch]pp")) == []


def test_page_is_installed_without_what_it_was_made_from() -> None:
    web = Path(oneread.__file__).parent / "web"
    assert not (web / "player").exists()
    assert why_missing() is None
    assert [
        path.name for path in (web / "static").iterdir() if path.suffix in {".ts", ".map"}
    ] == []


def test_licence_is_installed(distribution: importlib.metadata.Distribution) -> None:
    assert distribution.metadata["License-Expression"] == "Apache-2.0"
    assert [file for file in distribution.files or [] if file.name == "LICENSE"]


def test_tests_run_against_the_installed_package() -> None:
    assert ROOT / "src" not in Path(oneread.__file__).parents


def test_module_runs_as_a_program() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "oneread", "--version"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    assert importlib.metadata.version("oneread") in said.stdout
