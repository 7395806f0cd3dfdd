"""The bar that counts pieces of work: on a terminal only."""

from __future__ import annotations

import io
import sys

import pytest

from oneread.cli._console import Steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_pieces_are_counted_and_named_on_a_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    bar = Steps(3)
    bar.add("first")
    bar.add("second")
    bar.clear()
    assert bar.done == 2
    shown = [part.replace("\x1b[K", "") for part in stream.getvalue().split("\r")][1:]
    expected = ["[########----------------] 1 of 3  first",
                "[################--------] 2 of 3  second", ""]  # fmt: skip
    assert shown == (expected if terminal else [])
