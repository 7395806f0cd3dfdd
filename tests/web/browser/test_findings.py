"""What is wrong with a kernel: shown, mended, tried in other orders and other launches."""

from __future__ import annotations

import re
from typing import Any


def test_race_is_found_shown_and_mended_with_one_click(page: Any, tab: Any) -> None:
    findings = page.locator("#findings")
    assert "race between warps" in findings.inner_text()
    findings.get_by_role("button", name="Show me: race between warps").first.click()
    page.wait_for_function("() => document.querySelectorAll('.cm-line.paired').length === 2")
    findings.get_by_role("button", name="Apply fix").click()
    page.locator(".repair .added", has_text="__syncthreads").first.wait_for()
    tab.ran()
    assert findings.locator(".fault.error").count() == 0
    assert "no fault" in page.locator(".column.focus .heading").inner_text()
    page.locator(".cm-line", has_text="__syncthreads();").first.wait_for()


def test_fix_is_undone_with_a_click(page: Any, tab: Any) -> None:
    findings = page.locator("#findings")
    findings.get_by_role("button", name="Apply fix").click()
    findings.get_by_role("button", name="Undo the fix").click()
    findings.locator(".fault.error", has_text="race between warps").wait_for()
    tab.ran()
    assert page.locator(".repair").count() == 0
    assert page.locator(".heading .tag:has-text('edited')").count() == 0


def test_another_order_of_warps_is_one_click_away(page: Any, tab: Any) -> None:
    page.locator("#findings").get_by_role("button", name=re.compile("reverse$")).click()
    page.wait_for_timeout(300)
    tab.ran()
    assert page.get_by_label("Order of warps").input_value() == "reverse"


def test_run_that_overtakes_a_probe_is_no_refusal(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("zoo_odd_tree")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    tab.ran()
    page.get_by_role("button", name="Try other launches").click()
    page.locator(".probe h3").wait_for()
    page.get_by_role("button", name="Run").click()
    page.locator(".probe h3", has_text="Broken off").wait_for()
    page.locator(".said.on", has_text="Broken off").wait_for()
    tab.ran()
    assert page.locator(".refusal").count() == 0
    assert page.locator(".probe progress").count() == 0


def test_probe_says_how_many_launches_met_a_limit(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("kernel.cu")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    tab.ran()
    tab.type_over(
        "__global__ void k(const float* x, float* y, int vocab) {\n"
        "    while (vocab == 250) { }\n"
        "    if (threadIdx.x < vocab) y[threadIdx.x] = x[threadIdx.x];\n}\n"
    )
    page.keyboard.press("Control+Enter")
    tab.ran()
    page.get_by_role("button", name="Try other launches").click()
    page.locator(".probe .stopped", has_text="met a limit").wait_for()


def test_what_other_launches_show_is_in_sight(page: Any, tab: Any) -> None:
    page.get_by_role("button", name="Try other launches").click()
    page.locator(".probe h3", has_text=re.compile(r" in \d+ launch")).wait_for()
    said = page.locator(".probe h3").bounding_box()
    around = page.locator("#findings").bounding_box()
    assert around["y"] <= said["y"] < around["y"] + around["height"]


def test_other_launches_show_other_faults(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("zoo_odd_tree")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    tab.ran()
    page.get_by_role("button", name="Try other launches").click()
    page.wait_for_function(
        "() => / in \\d+ launch/.test(document.querySelector('.probe h3')?.innerText)"
    )
    assert "oneread trace" in page.locator(".probe .command").first.inner_text()
    said = page.locator(".probe h3").inner_text()
    texts = page.locator(".probe .fault-text").all_inner_texts()
    assert said.startswith(f"{len(texts)} distinct fault")
    assert len(set(texts)) == len(texts)  # however many launches show each


def test_launch_of_a_probe_is_taken_with_a_click(page: Any, tab: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("zoo_stray_tail")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 2")
    tab.ran()
    page.get_by_role("button", name="Try other launches").click()
    page.wait_for_function(
        "() => / in \\d+ launch/.test(document.querySelector('.probe h3')?.innerText)"
    )
    found = page.locator(".probe .fault").first
    columns = re.search(r"--vocab (\d+)", found.locator(".command").inner_text())
    found.get_by_role("button", name="Launch it like this").click()
    page.wait_for_timeout(400)
    tab.ran()
    assert columns is not None
    assert page.get_by_label("Columns").input_value() == columns[1]


def test_verdict_of_the_run_before_is_not_told_beside_an_error(page: Any, tab: Any) -> None:
    tab.type_over(
        "__global__ void k(const float* x, float* y, int vocab) {\n    y[0] = expff(x[0]);\n}\n"
    )
    page.keyboard.press("Control+Enter")
    page.locator(".refusal").wait_for()
    assert "does not run" in page.locator(".column.focus .heading").inner_text()
    assert page.locator(".heading .tag:has-text('2 errors')").count() == 0
    findings = page.locator("#findings")
    assert "earlier run" in findings.inner_text()
    assert findings.get_by_role("button", name="Apply fix").is_disabled()
    page.get_by_role("button", name="Undo changes").click()
    tab.ran()
    assert "earlier run" not in findings.inner_text()
    assert "2 errors" in page.locator(".column.focus .heading").inner_text()
