"""The tool that opens wheels finds what is missing from one, and what should not be there."""

from __future__ import annotations

import importlib.util
import random
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from oneread.web.bundle import FILES, SCRIPT_TAG, START_TAG, STYLE_TAG

ROOT = Path(__file__).resolve().parents[2]
TEXTS = dict(
    zip(FILES, (f"{STYLE_TAG}{START_TAG}{SCRIPT_TAG}", "let x", "a{}", "MIT"), strict=True)
)


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("check_wheel", ROOT / "tools/check_wheel.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, texts: dict[str, str]) -> Path:
    path = folder / "oneread-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name, text in texts.items():
            file.writestr(name if "/" in name else f"oneread/web/static/{name}", text)
    return path


def test_wheel_with_the_whole_page_is_in_order(tool: ModuleType, tmp_path: Path) -> None:
    assert tool.main([str(wheel(tmp_path, TEXTS))]) == 0


def test_no_wheel_at_all_is_an_error(tool: ModuleType) -> None:
    assert tool.main([]) == 1


@pytest.mark.parametrize("name", FILES)
def test_file_that_is_missing_is_named(tool: ModuleType, tmp_path: Path, name: str) -> None:
    texts = {other: text for other, text in TEXTS.items() if other != name}
    assert tool.check(wheel(tmp_path, texts)) == [f"lacks oneread/web/static/{name}"]


@pytest.mark.parametrize("name", ["src/main.ts", "style/index.css", "package.json"])
def test_sources_of_the_page_are_not_wanted(tool: ModuleType, tmp_path: Path, name: str) -> None:
    path = f"oneread/web/player/{name}"
    assert tool.check(wheel(tmp_path, {**TEXTS, path: "x"})) == [f"has {path}"]


def test_page_that_is_too_large_is_told(tool: ModuleType, tmp_path: Path) -> None:
    text = random.Random(1).randbytes(tool.MOST_BYTES).hex()
    (line,) = tool.check(wheel(tmp_path, {**TEXTS, "player.js": text}))
    assert line.startswith("has a page of")
