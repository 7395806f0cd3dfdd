"""What a newcomer does: open, step, play, change, find the race, mend it, share it, save it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

FIRST = ["safe_softmax_tiled", "online_softmax_tiled_racy", "online_softmax_lane"]


def keys_of(page: Any) -> list[str]:
    return [one.input_value() for one in page.locator(".heading .kernel-select").all()]


def step_of(place: str) -> int:
    found = re.search(r"step ([\d,]+) of", place)
    assert found is not None
    return int(found[1].replace(",", ""))


def test_first_view_has_three_kernels_beside_each_other(page: Any) -> None:
    assert keys_of(page) == FIRST


def test_first_view_stands_at_the_first_access(page: Any, tab: Any) -> None:
    assert step_of(tab.place) > 0
    assert "read" in page.locator(".sentence-text").inner_text()


def test_machine_is_drawn(page: Any) -> None:
    colours = page.evaluate(
        """() => {
            const canvas = document.querySelector('canvas.cells');
            const { width, height } = canvas;
            const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
            const seen = new Set();
            for (let at = 0; at < data.length; at += 4)
                if (data[at + 3]) seen.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);
            return seen.size;
        }"""
    )
    assert colours > 20  # values have shades


def test_step_and_back_return_to_the_same_place(page: Any, tab: Any) -> None:
    before = tab.place
    page.get_by_role("button", name="Forward").click()
    assert tab.place != before
    page.get_by_role("button", name="Back", exact=True).click()
    assert tab.place == before


def test_play_moves_and_pause_stops(page: Any, tab: Any) -> None:
    before = step_of(tab.place)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function(
        "start => !document.querySelector('.sentence-place').innerText.includes(start)",
        arg=f"step {before} of",
    )
    page.get_by_role("button", name="Pause").click()
    stands = tab.place
    page.wait_for_timeout(700)
    assert tab.place == stands


@pytest.mark.parametrize("key", ["Home", "f"])
def test_who_goes_somewhere_stays_there(page: Any, tab: Any, key: str) -> None:
    page.keyboard.press(" ")
    page.get_by_role("button", name="Pause").wait_for()
    page.keyboard.press(key)
    page.get_by_role("button", name="Play").wait_for()
    stands = tab.place
    page.wait_for_timeout(700)
    assert tab.place == stands


def test_timeline_is_scrubbed_with_the_pointer(page: Any, tab: Any) -> None:
    box = page.locator(".playhead-track").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] / 2)
    far = step_of(tab.place)
    page.mouse.click(box["x"] + box["width"] * 0.2, box["y"] + box["height"] / 2)
    assert 0 < step_of(tab.place) < far


def test_edit_is_run_when_the_keyboard_rests(page: Any, tab: Any) -> None:
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("// mine\n")
    page.wait_for_selector(".heading .tag:has-text('edited')")
    tab.ran()
    assert page.locator(".refusal").count() == 0


def test_error_stands_at_its_line(page: Any, tab: Any) -> None:
    tab.type_over(
        "__global__ void k(const float* x, float* y, int vocab) {\n    y[0] = expff(x[0]);\n}\n"
    )
    page.keyboard.press("Control+Enter")
    refusal = page.locator(".refusal")
    refusal.wait_for()
    assert "Line 2:" in refusal.inner_text()
    assert "expf" in page.locator(".cm-content .remark").inner_text()


def test_compared_kernels_stand_at_equal_bytes(page: Any) -> None:
    box = page.locator(".playhead-track").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    texts = page.locator(".heading-progress p").all_inner_texts()
    moved = [float(re.search(r"([\d.]+) kB of", text)[1]) for text in texts]  # type: ignore[index]
    assert max(moved) - min(moved) <= 0.3  # within one request of two warps
    assert min(moved) > 1


def test_another_kernel_is_put_beside_and_taken_away_with_a_click(page: Any, tab: Any) -> None:
    compare = page.get_by_role("button", name="Compare")
    assert compare.is_disabled()  # three are the most
    page.get_by_role("button", name="Take online_softmax_lane off the page").click()
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    compare.click()
    page.wait_for_function("() => document.querySelectorAll('.column').length === 3")
    tab.ran()
    assert keys_of(page) == FIRST


def test_link_opens_the_same_view(page: Any, tab: Any, browser: Any) -> None:
    page.keyboard.press("f")
    page.wait_for_timeout(1200)
    place, link = tab.place, page.evaluate("location.href")
    assert "#" in link
    page.goto("about:blank")
    tab.open(link)
    page.wait_for_function(
        "place => document.querySelector('.sentence-place').innerText === place", arg=place
    )


def test_link_holds_an_edited_source_and_the_place_in_it(page: Any, tab: Any) -> None:
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Home")
    page.keyboard.insert_text("// mine\n")
    page.keyboard.press("Control+Enter")
    tab.ran()
    page.keyboard.press("Escape")
    page.keyboard.press("f")
    page.wait_for_timeout(1200)
    place, link = tab.place, page.evaluate("location.href")
    page.goto("about:blank")
    tab.open(link)
    page.locator(".sentence-place", has_text=place.split("·")[-1].split("\n")[0].strip()).wait_for()
    assert tab.place == place
    page.keyboard.press("e")
    page.keyboard.press("Control+Home")
    page.locator(".cm-line", has_text="// mine").wait_for()


def test_export_works_from_a_file(page: Any, tab: Any, tmp_path: Path) -> None:
    page.get_by_role("button", name="Apply fix").click()
    page.locator(".repair").wait_for()
    tab.ran()
    with page.expect_download() as started:
        page.get_by_role("button", name="Export as one file").click()
    file = tmp_path / "run.html"
    started.value.save_as(file)
    tab.open(file.as_uri())
    assert "Recording" in page.locator(".bar").inner_text()
    assert "oneread trace" in page.locator(".recorded .command").inner_text()
    tops = [one.bounding_box()["y"] for one in page.locator(".stage-host").all()]
    assert max(tops) - min(tops) < 1  # though one of them is edited
    before = tab.place
    page.keyboard.press("ArrowRight")
    assert tab.place != before


def test_recording_says_how_to_run_it(page: Any, tab: Any, tmp_path: Path) -> None:
    with page.expect_download() as started:
        page.get_by_role("button", name="Export as one file").click()
    file = tmp_path / "run.html"
    started.value.save_as(file)
    tab.open(file.as_uri())
    page.keyboard.press("Control+Enter")
    assert "recording" in page.locator(".refusal").inner_text()


def test_zoo_kernel_opens_beside_its_fix(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("zoo_reused_scratch")
    tab.ran()
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    assert keys_of(page) == ["zoo_reused_scratch", "zoo_reused_scratch_fixed"]


def test_first_view_comes_back(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("relu")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    tab.ran()
    page.get_by_label("Kernels on the page").select_option("*")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 3")
    assert keys_of(page) == FIRST


def test_kernel_of_ones_own_is_run(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("kernel.cu")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    tab.ran()
    page.locator(".stage-host").wait_for()
    assert page.locator(".refusal").count() == 0
    assert "no fault" in page.locator(".heading").inner_text()


NORM = """__global__ void norm(const float* x, float* y, int hidden) {
    const int i = blockIdx.x * hidden + threadIdx.x;
    y[i] = 2.0f * x[i];
}

void run(const float* x, float* y) { norm<<<2, 64>>>(x, y, 64); }
"""


def test_line_says_what_of_a_launch_was_read_and_what_guessed(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("kernel.cu")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    tab.ran()
    tab.type_over(NORM)
    page.keyboard.press("Control+Enter")
    basis = page.locator(".basis")
    basis.filter(has_text="block 64").wait_for()
    assert "x y [rows*vocab], hidden=vocab" in basis.inner_text()
    basis.get_by_role("button", name="line 6").click()
    page.locator(".cm-line.paired", has_text="<<<2, 64>>>").wait_for()


def test_kernel_of_the_gallery_has_nothing_to_guess(page: Any) -> None:
    assert page.locator(".basis").count() == 0


def test_sequence_shows_its_launches(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("safe_unfused")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    tab.ran()
    page.get_by_role("button", name="Run").click()
    tab.ran()
    assert len(keys_of(page)) == 2


def test_numbers_of_the_ledger_open_their_lines(page: Any) -> None:
    page.locator("#ledger tbody tr").first.locator("button").first.click()
    page.locator(".cm-line.paired").first.wait_for()


def test_a_cell_leads_to_the_step_that_stored_it(page: Any, tab: Any) -> None:
    page.keyboard.press("End")
    end = tab.place
    box = page.locator(".column.focus .stage-host").bounding_box()
    for height in range(20, 300, 4):
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + height)
        tip = page.locator(".tip")
        if tip.is_visible() and tip.inner_text().startswith("y["):
            break
    assert "stored in line" in tip.inner_text()
    page.mouse.click(box["x"] + box["width"] * 0.5, box["y"] + height + 3)  # well inside
    assert tab.place != end


@pytest.mark.parametrize("key", ["online_softmax_topk", "online_softmax_warp", "top_k", "fma_f32"])
def test_every_kind_of_kernel_is_drawn(page: Any, tab: Any, key: str) -> None:
    page.get_by_label("Kernels on the page").select_option(key)
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    tab.ran()
    page.wait_for_selector('.page[data-ready="true"]')
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    assert step_of(tab.place) > 0


def test_lesson_has_seven_steps_with_numbers(page: Any) -> None:
    page.get_by_role("tab", name="Lesson").click()
    assert page.locator(".lesson .step").count() == 7
    assert page.locator(".lesson math .live").count() > 10
    lists = page.locator(".pass-list").all_inner_texts()
    assert [one.split("\n")[0] for one in lists] == ["Pass 1", "Pass 2"]
    assert "256 of x read in line" in lists[0]
    assert "256 of y written in line" in lists[1]
    assert "of m_scratch written in line" in lists[0]


def test_lesson_goes_to_a_step(page: Any, tab: Any) -> None:
    page.get_by_role("tab", name="Lesson").click()
    before = tab.place
    page.get_by_role("button", name=re.compile("^Go there: Split off")).click()
    assert tab.place != before


def test_tour_only_moves_the_playhead(page: Any) -> None:
    texts = page.locator(".cm-content").inner_text()
    page.get_by_role("button", name="Take the tour").click()
    for _ in range(5):
        page.locator(".tour .first").click()
    assert page.locator(".tour").count() == 0
    assert page.locator(".cm-content").inner_text()[:200] == texts[:200]
    assert keys_of(page) == FIRST


def test_click_on_a_line_number_goes_to_its_next_execution(page: Any, tab: Any) -> None:
    page.locator(".cm-lineNumbers .cm-gutterElement", has_text=re.compile(r"^36$")).click()
    first = tab.place
    assert "line 36" in first
    page.locator(".cm-lineNumbers .cm-gutterElement", has_text=re.compile(r"^36$")).click()
    assert "line 36" in tab.place
    assert tab.place != first


def test_barrier_is_taken_out_with_a_click(page: Any, tab: Any) -> None:
    page.locator(".gutter-barrier .barrier").first.click()
    page.wait_for_selector(".gutter-barrier .barrier.off")
    tab.ran()
    assert "// __syncthreads" in page.locator(".cm-content").inner_text()
