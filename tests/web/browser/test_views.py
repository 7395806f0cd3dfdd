"""What a reader looks at more closely: variables, a part of the run, a step, the lesson."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# ---- what is watched


def watch_lane(page: Any) -> Any:
    page.keyboard.press("3")
    chart = page.locator("#chart")
    chart.scroll_into_view_if_needed()
    chart.get_by_label("Also watch").select_option("v")
    return chart


def test_variable_of_the_kernel_is_watched_beside_m_and_d(page: Any) -> None:
    chart = watch_lane(page)
    chart.locator(".curve.register .variable", has_text="v").wait_for()
    assert chart.locator(".curve.m").count() == 1
    chart.get_by_role("button", name="Stop watching v").click()
    chart.locator(".curve.register").wait_for(state="detached")


def test_formula_is_watched_without_a_run(page: Any, tab: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    chart = watch_lane(page)
    field = chart.get_by_label("A formula over variables")
    field.fill("m_lane + logf(d_lane)")
    field.press("Enter")
    chart.locator(".curve.formula .line").wait_for()
    assert not [url for url in asked if "api/" in url]


def test_formula_that_is_none_is_refused_in_words(page: Any) -> None:
    chart = watch_lane(page)
    field = chart.get_by_label("A formula over variables")
    field.fill("m_lane +")
    field.press("Enter")
    page.locator(".said.on", has_text="m_lane + is no formula").wait_for()


def test_link_holds_what_is_watched(page: Any, tab: Any) -> None:
    watch_lane(page).locator(".curve.register").wait_for()
    page.wait_for_timeout(1200)
    link = page.evaluate("location.href")
    page.goto("about:blank")
    tab.open(link)
    page.locator("#chart .curve.register .variable", has_text="v").wait_for(state="attached")


def test_export_opens_with_what_was_watched(page: Any, tab: Any, tmp_path: Path) -> None:
    page.keyboard.press("3")
    page.keyboard.press("c")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    page.locator("#chart").get_by_label("Also watch").select_option("d_lane")
    with page.expect_download() as started:
        page.get_by_role("button", name="Export as one file").click()
    file = tmp_path / "run.html"
    started.value.save_as(file)
    tab.open(file.as_uri())
    page.locator("#chart .curve.register .variable").wait_for(state="attached")
    assert "--watch d_lane" in page.locator(".recorded .command").inner_text()


# ---- the ledger


def test_measured_speed_stands_beside_the_counts_with_where_and_when(page: Any) -> None:
    row = page.locator("#ledger tr.measured")
    said = row.locator("th").inner_text()
    assert re.search(r"\d+ \S [\d,]+, \d{4}-\d\d-\d\d$", said.strip()), said
    assert len(re.findall(r"[\d,]+ GB/s", row.inner_text())) >= 2
    explained = page.locator("#ledger .explained").inner_text()
    assert "online_softmax_tiled_racy asks for fewer bytes than safe_softmax_tiled" in explained
    assert re.search(
        r"Fewer accesses, and yet [\d.]+ times as long.+ times the barriers", explained
    )


def test_bars_of_equal_counts_are_of_equal_length(page: Any) -> None:
    page.locator("#ledger").scroll_into_view_if_needed()
    row = page.locator("#ledger tbody tr", has_text="Global bytes")
    row.wait_for()
    assert row.locator(".link").all_inner_texts() == ["8.19 kB", "6.14 kB", "6.14 kB"]
    first, second, third = (one.bounding_box()["width"] for one in row.locator(".meter").all())
    assert abs(second - third) < 1
    assert abs(second / first - 0.75) < 0.01


def test_changed_kernel_was_not_measured(page: Any, tab: Any) -> None:
    page.locator(".cm-content").focus()  # its middle may be out of sight
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("// mine\n")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".heading .tag:has-text('edited')")
    tab.ran()
    assert "not measured" in page.locator("#ledger tr.measured td").nth(1).inner_text()


# ---- the strip under the timeline


def window_of(page: Any) -> tuple[float, float]:
    found = page.evaluate(
        """() => {
            const track = document.querySelector('.overview-track').getBoundingClientRect();
            const box = document.querySelector('.overview-window').getBoundingClientRect();
            return [box.left - track.left, box.right - track.left].map(one => one / track.width);
        }"""
    )
    return found[0], found[1]


def test_part_of_the_run_is_chosen_in_the_strip(page: Any, tab: Any) -> None:
    box = page.locator(".overview-track").bounding_box()
    y, x = box["y"] + box["height"] / 2, box["x"]
    page.mouse.move(x + 0.4 * box["width"], y)
    page.mouse.down()
    page.mouse.move(x + 0.5 * box["width"], y)
    page.mouse.move(x + 0.6 * box["width"], y)
    page.mouse.up()
    page.wait_for_function("() => !document.querySelector('.overview-window.whole')")
    start, end = window_of(page)
    assert abs(start - 0.4) < 0.02
    assert abs(end - 0.6) < 0.02
    # The timeline above shows that part: its middle is the middle of the run.
    track = page.locator(".playhead-track").bounding_box()
    page.mouse.click(track["x"] + track["width"] / 2, track["y"] + track["height"] / 2)
    moved = page.locator(".column.focus .heading-progress .soft").inner_text()
    share = re.search(r"([\d.]+) kB of", moved)
    assert share is not None
    assert abs(float(share[1]) - 4.1) < 0.4  # of the 8.19 kB of the first kernel


def test_timeline_is_zoomed_with_keys_and_follows_the_playhead(page: Any) -> None:
    for _ in range(4):
        page.keyboard.press("+")
    page.wait_for_function("() => !document.querySelector('.overview-window.whole')")
    start, _ = window_of(page)
    assert start < 0.05
    page.keyboard.press("End")
    page.wait_for_timeout(300)
    _, end = window_of(page)
    assert end > 0.95
    page.keyboard.press("0")
    page.wait_for_selector(".overview-window.whole", state="attached")


def test_step_is_gone_to_by_its_number(page: Any, tab: Any) -> None:
    page.keyboard.press("g")
    page.keyboard.type("100")
    page.keyboard.press("Enter")
    assert "step 100 of" in tab.place


def test_lesson_opens_with_a_kernel_that_it_explains(page: Any) -> None:
    page.get_by_role("tab", name="Lesson").click()
    assert "No d of this kernel" not in page.locator(".lesson").inner_text()


def test_code_and_findings_stay_beside_what_is_scrolled(page: Any) -> None:
    page.locator("#ledger").scroll_into_view_if_needed()
    assert page.evaluate("scrollY") == 0
    for selector in ("#editor", "#findings .actions", ".deck"):
        box = page.locator(selector).bounding_box()
        assert 0 <= box["y"] < 900


def test_link_opens_the_lesson_that_was_read(page: Any, tab: Any) -> None:
    page.get_by_role("tab", name="Lesson").click()
    page.wait_for_timeout(1200)
    link = page.evaluate("location.href")
    page.goto("about:blank")
    tab.open(link)
    page.locator(".lesson .step").first.wait_for()


def test_tour_is_offered_until_it_was_taken(page: Any, tab: Any) -> None:
    tour = page.get_by_role("button", name="Take the tour")
    assert tour.inner_text().strip() == "Take the tour"
    tour.click()
    page.get_by_role("button", name="Leave the tour").click()
    assert tour.inner_text().strip() == ""
    page.reload()
    page.wait_for_selector('.page[data-ready="true"]')
    assert tour.inner_text().strip() == ""


def test_worst_fault_is_the_first_that_is_shown(page: Any) -> None:
    page.keyboard.press("f")
    shown = page.locator("#findings .fault.shown")
    shown.wait_for()
    assert "race between warps" in shown.inner_text()
