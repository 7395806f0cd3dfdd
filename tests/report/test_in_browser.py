"""The page of a kernel in a real browser: its script, the keyboard, a narrow window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from oneread.report.kernel_page import kernel_page


@pytest.fixture
def opened(browser: Any, record: dict[str, Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens the page; whatever its console says fails the test."""
    path = tmp_path / "page.html"
    path.write_text(kernel_page(record), "utf-8")
    contexts, said = [], []

    def make(**options: Any) -> Any:
        contexts.append(browser.new_context(reduced_motion="reduce", **options))
        page = contexts[-1].new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield make
    for one in contexts:
        one.close()
    assert said == []


def lit(page: Any) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('.on')].map((one) => one.id)")
    return found


def focused(page: Any) -> str:
    found: str = page.evaluate("document.activeElement.closest('[id]').id")
    return found


def test_line_lights_its_instructions(opened: Callable[..., Any]) -> None:
    page = opened()
    page.click("#L6 code")
    assert lit(page) == ["L6", "i0010", "i0020", "i0030", "i0040"]
    assert page.inner_text("#detail") == "Instructions of line 6: 4"


def test_instruction_lights_its_line_and_names_its_registers(opened: Callable[..., Any]) -> None:
    page = opened()
    page.click("#i0040 .instruction")
    assert lit(page) == ["L2", "i0040"]
    assert "7 registers taken: R2 R3" in page.inner_text("#detail")


def test_keys_go_through_instructions_and_to_the_other_side(opened: Callable[..., Any]) -> None:
    page = opened()
    page.focus("#i0000")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "i0020"
    page.keyboard.press("Enter")
    assert focused(page) == "L6"
    page.keyboard.press("Enter")
    assert focused(page) == "i0010"
    page.keyboard.press("End")
    assert focused(page) == "i0090"
    page.keyboard.press("Escape")
    assert lit(page) == []


def test_each_list_is_one_stop_of_the_tab_key(opened: Callable[..., Any]) -> None:
    page = opened()
    stops = page.evaluate("document.querySelectorAll('#code [tabindex=\"0\"]').length")
    assert stops == 1
    assert page.evaluate("document.querySelectorAll('.lines [tabindex=\"0\"]').length") == 1


def test_role_is_marked_on_demand(opened: Callable[..., Any]) -> None:
    page = opened()
    page.click("[data-role=exp]")
    assert page.evaluate("document.querySelectorAll('.marked').length") == 2
    assert page.get_attribute("[data-role=exp]", "aria-pressed") == "true"


def test_control_bits_are_shown_on_demand(opened: Callable[..., Any]) -> None:
    page = opened()
    assert not page.is_visible("#i0040 .bits")
    page.check("#bits")
    assert page.is_visible("#i0040 .bits")


def test_sentence_shows_all_that_it_cites(opened: Callable[..., Any]) -> None:
    page = opened()
    page.click("#story [data-show*=i0030]")
    assert "i0030" in lit(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_320_pixels(opened: Callable[..., Any], scheme: str) -> None:
    page = opened(viewport={"width": 320, "height": 700}, color_scheme=scheme)
    page.check("#bits")
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_page_can_be_read_without_its_script(opened: Callable[..., Any]) -> None:
    page = opened(java_script_enabled=False)
    page.click("#L6 a")
    assert page.url.endswith("#i0010")
    assert page.is_visible("#i0010")
