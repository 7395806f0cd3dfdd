"""The house rules that imports must keep: floors, and who may import what from outside."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "oneread"

#: What each room may import besides the standard library and the package itself.
ALLOWED = {
    "spec": set(),
    "kernels": set(),
    "source": set(),
    "trace": set(),
    "web": {"starlette", "uvicorn"},
    "report": {"matplotlib"},
    "sass": set(),
    "runtime": {"numpy", "cuda"},
    "reference": {"numpy"},
    "backends": {"numpy", "ml_dtypes", "torch", "cupy"},
    "ops": {"numpy"},
    "testing": {"numpy", "ml_dtypes"},
    "files": {"numpy", "ml_dtypes"},
    "related": {"numpy"},
    "torch": {"torch"},
    "bench": {
        "numpy",
        "scipy",
        "torch",
        "onnx",
        "onnxruntime",
        "jax",
        "cupy",
        "cupyx",
        "liger_kernel",
        "quack",
        "triton",
    },
    "cli": {"numpy", "typer", "click", "rich", "ml_dtypes", "torch", "scipy"},
    "": {"numpy"},
}


def rooms() -> set[str]:
    return {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level names that a module imports anywhere, type-checking blocks apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for block in ast.walk(tree):
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test):
            block.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def test_floors_hold() -> None:
    command = shutil.which("lint-imports", path=sysconfig.get_path("scripts"))
    assert command, "import-linter is part of the test tools"
    said = subprocess.run(
        [command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_allowed_libraries_are_imported(path: Path) -> None:
    outside = set(imported(path)) - set(sys.stdlib_module_names) - {"oneread"}
    assert outside <= ALLOWED[room_of(path)]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_says_what_it_owns(path: Path) -> None:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert text, "the first docstring line says what the module owns"


def test_every_room_has_its_row_here() -> None:
    assert rooms() <= set(ALLOWED)
