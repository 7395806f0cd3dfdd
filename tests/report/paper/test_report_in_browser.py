"""The report in a real browser: light, dark, narrow, on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oneread.report.paper import build
from oneread.report.paper.machines import Machine

pytest.importorskip("matplotlib", reason="the figures are Matplotlib's")


@pytest.fixture
def opened(browser: Any, machine: Machine, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the report; whatever its console says fails the test."""
    list(build.build([machine], tmp_path, "oneread report a.jsonl"))
    contexts, said = [], []

    def make(**options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.goto((tmp_path / build.PAGE).as_uri())
        return page

    yield make
    for one in contexts:
        one.close()
    assert said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_are_shown_in_the_colours_of_the_page(
    opened: Callable[..., Any], scheme: str
) -> None:
    page = opened(color_scheme=scheme)
    images = page.query_selector_all("figure img")
    assert len(images) > 5
    assert all(page.evaluate("(one) => one.naturalWidth > 0", image) for image in images)
    paper, corner = page.evaluate(
        """() => {
            const image = document.querySelector("figure img");
            const canvas = document.createElement("canvas");
            canvas.width = canvas.height = 4;
            const drawn = canvas.getContext("2d");
            drawn.drawImage(image, 0, 0);
            return [getComputedStyle(document.body).backgroundColor,
                    "rgb(" + [...drawn.getImageData(1, 1, 1, 1).data].slice(0, 3).join(", ") + ")"];
        }"""
    )
    assert corner == paper


def test_nothing_is_wider_than_320_pixels(opened: Callable[..., Any]) -> None:
    page = opened(viewport={"width": 320, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_tables_of_numbers_open(opened: Callable[..., Any]) -> None:
    page = opened()
    first = page.locator("details").first
    assert not first.locator("td").first.is_visible()
    first.locator("summary").click()
    assert first.locator("td").first.is_visible()
