"""`oneread trace --html`: a page with the recording."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from oneread.cli.main import app


def trace(*words: str) -> None:
    result = CliRunner().invoke(app, ["trace", *words])
    assert result.exit_code == 0, result.output


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a page, whether one was built or not."""
    from oneread.web import bundle

    tags = f"{bundle.STYLE_TAG}{bundle.START_TAG}{bundle.SCRIPT_TAG}"
    files = bundle.Bundle(tags, "let x;", "a{}", "notices")
    monkeypatch.setattr(bundle, "read_bundle", lambda: files)


def recorded(path: Path) -> Any:
    found = re.search(r'id="oneread-start">(.*?)</script>', path.read_text("utf-8"))
    assert found
    return json.loads(found[1])


@pytest.mark.usefixtures("page")
def test_html_is_a_recording_with_the_command_that_makes_it(tmp_path: Path) -> None:
    file, out = tmp_path / "run.html", tmp_path / "run.json"
    trace("relu", "fma_f32", "--rows", "2", "--vocab", "64", "--html", str(file), "--out", str(out))
    start = recorded(file)
    assert start["mode"] == "recorded"
    assert start["trace"] == json.loads(out.read_text())
    assert start["command"] == "oneread trace relu fma_f32 --rows 2 --vocab 64"
    assert [one["key"] for one in start["catalogue"]["kernels"]] == ["relu", "fma_f32"]


@pytest.mark.usefixtures("page")
def test_html_has_the_events_of_the_blocks_that_are_named(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    trace("relu", "--record", "1", "--html", str(file))
    assert recorded(file)["trace"]["runs"][0]["recording"]["blocks"] == [1]


def test_html_is_for_plain_runs(tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    result = CliRunner().invoke(app, ["trace", "relu", "--probe", "--html", str(file)])
    assert result.exit_code == 2
    assert "--html" in result.stderr
    assert not file.exists()
