"""Everybody can use it: keys alone, no motion, any colours, any width, a screen reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[3] / "src/oneread/web/player/node_modules/axe-core/axe.min.js"

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Any) -> list[str]:
    """Return what axe finds: the rule, and the first element that breaks it."""
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate(
        "tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", RULES
    )
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]} {one['nodes'][0].get('failureSummary', '')}"
        for one in found["violations"]
    ]


def first_view(page: Any) -> None:
    page.keyboard.press("ArrowRight")


def findings(page: Any) -> None:
    page.keyboard.press("f")
    page.get_by_role("button", name="Apply fix").click()
    page.locator(".repair").wait_for()


def compare(page: Any) -> None:
    page.keyboard.press("c")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    page.keyboard.press("t")


def error(page: Any) -> None:
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("__global__ void k(float* y) { y[0] = expff(1.0f); }")
    page.keyboard.press("Control+Enter")
    page.locator(".refusal").wait_for()


def lesson(page: Any) -> None:
    page.get_by_role("tab", name="Lesson").click()


STATES: dict[str, tuple[dict[str, Any], Callable[[Any], None]]] = {
    "light": ({"color_scheme": "light"}, first_view),
    "dark": ({"color_scheme": "dark"}, first_view),
    "320 px": ({"viewport": {"width": 320, "height": 700}}, first_view),
    "compare": ({}, compare),
    "findings": ({}, findings),
    "error": ({"color_scheme": "dark"}, error),
    "lesson": ({}, lesson),
}


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(opened: Any, state: str) -> None:
    options, act = STATES[state]
    page = opened(**options).page
    act(page)
    assert violations(page) == []


def test_axe_finds_nothing_in_an_export(opened: Any, tmp_path: Path) -> None:
    tab = opened(bypass_csp=True)  # the export's own policy lets no foreign script in
    with tab.page.expect_download() as started:
        tab.page.get_by_role("button", name="Export as one file").click()
    file = tmp_path / "run.html"
    started.value.save_as(file)
    assert violations(tab.open(file.as_uri())) == []


def test_everything_can_be_done_with_keys(opened: Any) -> None:
    tab = opened()
    page = tab.page
    before = tab.place
    page.keyboard.press("ArrowRight")
    assert tab.place != before
    page.keyboard.press("ArrowLeft")
    assert tab.place == before
    page.keyboard.press("Shift+ArrowRight")
    tile = tab.place
    assert tile != before
    page.keyboard.press("Alt+ArrowRight")
    assert tab.place != tile
    page.keyboard.press("End")
    end = tab.place
    page.keyboard.press("Home")
    assert tab.place == before != end
    page.keyboard.press("f")
    page.locator(".cm-line.paired").first.wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press(" ")
    page.get_by_role("button", name="Play").wait_for()
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")


def test_editor_is_no_trap_for_the_keyboard(opened: Any) -> None:
    page = opened().page
    page.keyboard.press("e")
    page.wait_for_function("() => document.activeElement.classList.contains('cm-content')")
    page.keyboard.type("f")  # typed, not a shortcut
    page.wait_for_timeout(200)
    assert page.locator(".cm-line.paired").count() == 0
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.activeElement.classList.contains('cm-content')")


def test_tab_goes_through_all_controls_and_comes_round(opened: Any) -> None:
    page = opened().page
    seen = []
    for _ in range(120):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("() => document.activeElement.outerHTML.slice(0, 120)"))
        if len(seen) > 20 and seen[-1] == seen[0]:
            break
    assert any("playhead-track" in one for one in seen)
    assert any("run" in one for one in seen)
    assert len(set(seen)) > 25


def test_shortcuts_can_be_switched_off(opened: Any) -> None:
    tab = opened()
    page = tab.page
    page.keyboard.press("?")
    page.get_by_label("Shortcuts").uncheck()
    page.keyboard.press("Escape")
    before = tab.place
    page.keyboard.press("f")
    page.wait_for_timeout(200)
    assert tab.place == before
    assert page.locator(".cm-line.paired").count() == 0


def test_dark_follows_the_system(opened: Any) -> None:
    page = opened(color_scheme="dark").page
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.emulate_media(color_scheme="light")
    page.wait_for_function("() => document.documentElement.dataset.theme === 'light'")


def test_reduced_motion_draws_no_frames_after_a_step(opened: Any) -> None:
    page = opened(reduced_motion="reduce").page
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(80)
    shot = "() => document.querySelector('canvas.under').toDataURL()"
    at_once = page.evaluate(shot)
    page.wait_for_timeout(300)
    assert page.evaluate(shot) == at_once


def test_motion_runs_in_where_it_is_wanted(opened: Any) -> None:
    page = opened(reduced_motion="no-preference").page
    frames = page.evaluate(
        """async () => {
            const canvas = document.querySelector('.column.focus canvas.under');
            const seen = new Set();
            const key = { key: 'ArrowRight', bubbles: true };
            document.dispatchEvent(new KeyboardEvent('keydown', key));
            for (let frame = 0; frame < 20; frame++) {
                await new Promise(requestAnimationFrame);
                seen.add(canvas.toDataURL());
            }
            return seen.size;
        }"""
    )
    assert frames > 2


def test_forced_colours_leave_everything_readable(opened: Any) -> None:
    page = opened(forced_colors="active", color_scheme="dark").page
    assert page.locator("#machine").is_visible()

    def styles(selector: str, *names: str) -> list[str]:
        return list(
            page.evaluate(
                """([selector, names]) => {
                    const style = getComputedStyle(document.querySelector(selector));
                    return names.map(name => style[name]);
                }""",
                [selector, names],
            )
        )

    ink, paper = styles("body", "color", "backgroundColor")
    assert ink != paper
    # The system's ground behind each letter would be that of the page, not of the button.
    text, ground, adjusted = styles(".run", "color", "backgroundColor", "forcedColorAdjust")
    assert text != ground
    assert adjusted == "none"
    assert styles('.file[aria-pressed="false"]', "borderBottomColor") == [paper]
    assert styles('.file[aria-pressed="true"]', "borderBottomColor") == [ink]
    assert page.evaluate(
        "getComputedStyle(document.documentElement).getPropertyValue('--hbm').trim()"
    ) == "CanvasText"  # fmt: skip


def box(page: Any, selector: str) -> dict[str, float]:
    found: dict[str, float] = page.locator(selector).first.bounding_box()
    return {**found, "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("width", [320, 600, 820, 1024, 1440, 3840])
def test_nothing_is_wider_than_the_window_or_lies_over_the_timeline(
    opened: Any, width: int
) -> None:
    page = opened(viewport={"width": width, "height": 800}).page
    page.keyboard.press("f")  # a long sentence
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert box(page, ".sentence-text")["bottom"] <= box(page, ".tracks")["y"]
    place = page.evaluate(
        "(e => [e.scrollWidth, e.clientWidth])(document.querySelector('.sentence-place'))"
    )
    assert place[0] <= place[1]


def test_kernel_in_focus_is_in_sight_among_its_tabs(opened: Any) -> None:
    page = opened(viewport={"width": 320, "height": 800}).page
    for key in ("3", "1", "2"):
        page.keyboard.press(key)
        page.wait_for_timeout(50)
        tab, row = box(page, '.kernel-tabs [aria-pressed="true"]'), box(page, ".kernel-tabs")
        assert row["x"] <= tab["x"]
        assert tab["x"] + tab["width"] <= row["x"] + row["width"] + 1


@pytest.mark.parametrize("width", [320, 1440])
def test_tour_leaves_deck_and_region_in_sight(opened: Any, width: int) -> None:
    page = opened(viewport={"width": width, "height": 900}).page
    page.get_by_role("button", name="Take the tour").click()
    for _ in range(5):
        page.wait_for_timeout(200)
        card = box(page, ".tour")
        assert card["bottom"] <= box(page, ".deck")["y"]
        assert -5 <= box(page, ".toured")["y"] < 900
        if width < 900:
            assert box(page, ".toured")["y"] + 100 < card["y"]
        page.locator(".tour .first").click()


def test_tables_hold_what_the_canvas_shows(opened: Any) -> None:
    page = opened().page
    page.keyboard.press("t")
    page.locator("#tables table").first.wait_for()
    assert page.locator("#tables td.touched").count() >= 32


def test_sentence_is_said_when_the_playhead_rests(opened: Any) -> None:
    page = opened().page
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "() => document.querySelector('.sentence [role=status]').innerText.includes('line')"
    )
