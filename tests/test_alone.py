"""Tests that are marked ``alone`` run while those of other processes wait."""

from __future__ import annotations

import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

CONFTEST = str(Path(__file__).with_name("conftest.py"))
A_WHILE_S = 0.1


class Item:
    """A test, as far as it is asked."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def get_closest_marker(self, name: str) -> str | None:
        return name if name == self.marker else None


def test_what_is_alone_waits_for_others_and_holds_off_who_comes_later(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conftest: Any = request.config.pluginmanager.get_plugin(CONFTEST)
    monkeypatch.setattr(conftest, "BUILD", tmp_path)
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")

    def enter(marker: str = "") -> Generator[None, Any, Any]:
        test: Generator[None, Any, Any] = conftest.pytest_runtest_protocol(Item(marker))
        next(test)
        return test

    first, second = enter(), enter()
    with ThreadPoolExecutor(2) as pool:
        alone = pool.submit(enter, "alone")
        time.sleep(A_WHILE_S)
        later = pool.submit(enter)
        first.close()
        time.sleep(A_WHILE_S)
        assert not alone.done()
        second.close()
        inside = alone.result(timeout=20)
        time.sleep(A_WHILE_S)
        assert not later.done()
        inside.close()
        later.result(timeout=20).close()
