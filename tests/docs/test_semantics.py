"""Each promise in docs/semantics.md names the tests that hold it, and they exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line
    for line in (ROOT / "docs/semantics.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.endswith("| held by |")
]


@pytest.fixture(scope="module")
def names() -> set[str]:
    files = (ROOT / "tests").rglob("test_*.py")
    return {
        name for path in files for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_row_names_tests_that_exist(row: str, names: set[str]) -> None:
    held_by = re.findall(r"`(test_\w+)`", row.rstrip(" |").rpartition(" | ")[2])
    assert held_by, "the last cell names a test"
    assert [name for name in held_by if name not in names] == []
