"""The tables of the pages are what the committed records give."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oneread.bench import textbook

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/benchmarks.md")
GPU_PAGES = ("docs/gpu.md", "docs/accuracy.md")
TEXTBOOKS = "docs/does-online-softmax-pay-on-a-cpu.md"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return ``tools/bench_docs.py``, asked to check."""
    spec = importlib.util.spec_from_file_location("bench_docs", ROOT / "tools/bench_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["bench_docs.py", "--check"])
    return module


def test_tables_are_made_from_the_committed_records(tool: ModuleType) -> None:
    assert tool.main() == 0


@pytest.mark.parametrize("name", PAGES)
def test_page_has_tables(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    block = text.partition("<!-- bench:summary -->")[2].partition("<!-- bench:end -->")[0]
    assert "| softmax |" in block


def test_page_of_the_textbooks_has_their_blocks(tool: ModuleType) -> None:
    text = (ROOT / TEXTBOOKS).read_text("utf-8")
    assert {name for _, name, _ in tool.BLOCK.findall(text)} == set(textbook.blocks([]))


def test_changed_number_is_found_and_mended(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = []
    for page in (*PAGES, TEXTBOOKS, *GPU_PAGES):
        copies.append(tmp_path / Path(page).name)
        shutil.copy(ROOT / page, copies[-1])
    right = copies[1].read_text("utf-8")
    copies[1].write_text(right.replace("| softmax |", "| softmin |"), "utf-8")
    monkeypatch.setattr(tool, "PAGES", tuple(copies))
    assert tool.main() == 1
    monkeypatch.setattr(sys, "argv", ["bench_docs.py"])
    assert tool.main() == 0
    assert copies[1].read_text("utf-8") == right
