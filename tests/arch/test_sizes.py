"""The aims of size hold, and the tool that checks them sees what it should."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_sizes", ROOT / "tools/check_sizes.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(root: Path, text: str) -> Path:
    path = root / "src" / "one.py"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return root


def test_sizes_are_within_the_aims(tool: ModuleType) -> None:
    assert tool.check(ROOT, tool.EXCEPTIONS) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = 1\n" * 401, "src/one.py"),
        ("def long():\n" + "    x = 1\n" * 40, "src/one.py:long"),
        ("#" * 101 + "\n", "src/one.py:1"),
    ],
)
def test_what_is_too_long_is_reported(
    tool: ModuleType, tmp_path: Path, text: str, what: str
) -> None:
    root = write(tmp_path, text)
    assert [line.split(": ")[0] for line in tool.check(root, {})] == [what]
    assert tool.check(root, {what: "reason"}) == []


def test_docstring_does_not_count(tool: ModuleType, tmp_path: Path) -> None:
    text = 'def long():\n    """One.\n' + "\n" * 60 + '    """\n'
    assert tool.check(write(tmp_path, text), {}) == []


def test_exception_without_need_is_reported(tool: ModuleType, tmp_path: Path) -> None:
    root = write(tmp_path, "x = 1\n")
    assert tool.check(root, {"src/one.py": "reason"})
