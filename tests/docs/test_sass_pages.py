"""The pages about machine code are what the compiler and the records give."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import sass_docs as tool

from oneread.runtime import nvrtc
from oneread.sass.read import nvdisasm

pytestmark = pytest.mark.skipif(
    not (nvrtc.available() and nvdisasm.available()),
    reason="NVRTC or nvdisasm is not installed: pip install oneread[sass]",
)


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Give the tool copies of its pages, asked to check."""
    copies = [tmp_path / page.name for page in tool.PAGES]
    for page, copy in zip(tool.PAGES, copies, strict=True):
        shutil.copy(page, copy)
    monkeypatch.setattr(tool, "PAGES", tuple(copies))
    monkeypatch.setattr(sys, "argv", ["sass_docs.py", "--check"])
    return copies


def test_pages_are_made_from_machine_code_and_records(pages: list[Path]) -> None:
    if tool.versions() not in pages[0].read_text("utf-8"):
        pytest.skip(f"the page is of other tools than {tool.versions().removeprefix('Made with ')}")
    assert tool.main() == 0


def test_changed_page_is_found_and_mended(
    pages: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tool.PARTS, "comparison", lambda: "a comparison")
    assert tool.main() == 1
    monkeypatch.setattr(sys, "argv", ["sass_docs.py"])
    assert tool.main() == 0
    assert "\na comparison\n" in pages[0].read_text("utf-8")
    monkeypatch.setattr(sys, "argv", ["sass_docs.py", "--check"])
    assert tool.main() == 0


def test_claims_table_has_a_row_a_claim() -> None:
    rows = [line for line in tool.claims().splitlines() if line[2:3].isdigit()]
    assert len(rows) == 13
    assert all(set(row.split(" | ")[1:]) <= {"✔", "≈", "✘", "✔ |", "≈ |", "✘ |"} for row in rows)
