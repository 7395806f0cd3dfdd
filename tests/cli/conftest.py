"""A terminal as wide as the text is made for, whatever the tests run in."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let programs see 100 columns: workers of pytest-xdist are told 80."""
    monkeypatch.setenv("COLUMNS", "100")
