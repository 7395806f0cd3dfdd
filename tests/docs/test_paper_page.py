"""The page about the paper's claims is what the committed records give."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

from oneread.report.paper.claims import COUNTED, TIMED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/what-the-paper-said.md"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return ``tools/paper_docs.py``, asked to check."""
    spec = importlib.util.spec_from_file_location("paper_docs", ROOT / "tools/paper_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(sys, "argv", ["paper_docs.py", "--check"])
    return module


def test_page_is_made_from_the_committed_records(tool: ModuleType) -> None:
    assert tool.main() == 0


def test_changed_number_is_found(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / PAGE.name
    shutil.copy(PAGE, copy)
    copy.write_text(copy.read_text("utf-8").replace("holds", "held"), "utf-8")
    monkeypatch.setattr(tool, "PAGE", copy)
    assert tool.main() == 1


def test_every_claim_has_its_verdict() -> None:
    text = PAGE.read_text("utf-8")
    for claim in (*TIMED, *COUNTED):
        section = text.partition(f"**{claim.said}.** The paper: {claim.figure}.")[2]
        assert section.startswith("\n\n- ")


def test_every_block_is_made_and_every_figure_is_shown(tool: ModuleType) -> None:
    text = PAGE.read_text("utf-8")
    blocks = {name for _, name, _ in tool.BLOCK.findall(text)}
    assert blocks == set(tool.texts([], []))
    drawn = {file.stem.removeprefix("paper-") for file in tool.IMAGES.glob("paper-*.svg")}
    assert {"memory", "map"} <= drawn <= set(tool.FIGURES)
    assert all(f"images/paper-{name}.svg" in text for name in drawn)
