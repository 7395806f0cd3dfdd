"""How fast the page is. What is asserted is twice what is aimed at: CI machines share their cores."""

from __future__ import annotations

import gzip
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oneread.web.bundle import SCRIPT, STATIC, STYLE
from tests.web.browser.conftest import Tab

#: Twice the aims of 1 s, 0.5 s, 10 ms, 50 ms and 50 ms.
FIRST_S = 2.0
EDIT_S = 1.0
FRAME_MS = 20.0
TASK_MS = 100.0
JUMP_MS = 100.0

BUNDLE_BYTES = 250_000

#: For each of some steps, the main thread's work: the key, and the frame that draws it. A message
#: that is sent in a frame arrives when the frame has been laid out and painted.
WORK = """async ([count, keys]) => {
    const found = [];
    const channel = new MessageChannel();
    const painted = () => new Promise(done => {
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
    });
    for (let step = 0; step < count; step++) {
        const key = keys[step % keys.length];
        const start = performance.now();
        document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        const pressed = performance.now() - start;
        // Asked for after the page's own frame: what it draws lies between the two times.
        const frame = await new Promise(requestAnimationFrame);
        const began = Math.max(frame, start + pressed);
        await painted();
        found.push(pressed + performance.now() - began);
    }
    return found;
}"""


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def test_first_run_is_drawn_soon(browser: Any, address: str) -> None:
    took = []
    for _ in range(5):
        tab = Tab(browser)
        start = time.perf_counter()
        tab.open(address)
        took.append(time.perf_counter() - start)
        tab.context.close()
    assert statistics.median(took) < FIRST_S


def test_an_edit_has_its_result_soon(page: Any) -> None:
    page.get_by_label("Kernels on the page").select_option("online_softmax_lane")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    page.wait_for_selector('.run[aria-busy="false"]')
    page.wait_for_selector('.page[data-ready="true"]')
    took = []
    for _ in range(5):
        page.locator(".cm-content").click()
        page.keyboard.press("Control+Home")
        page.keyboard.insert_text("// mine\n")
        took.append(
            page.evaluate(
                """async () => {
                    const start = performance.now();
                    document.dispatchEvent(
                        new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }));
                    const busy = () => document.querySelector('.run').ariaBusy === 'true';
                    do await new Promise(requestAnimationFrame); while (busy());
                    return (performance.now() - start) / 1000;
                }"""
            )
        )
    assert statistics.median(took) < EDIT_S


def test_a_thousand_steps_leave_time_in_each_frame(page: Any) -> None:
    page.evaluate(
        "() => { window.long = []; new PerformanceObserver(all => window.long.push("
        "...all.getEntries().map(one => one.duration))).observe({ type: 'longtask' }) }"
    )
    work = page.evaluate(WORK, [1000, ["ArrowRight"]])
    assert percentile(work, 0.95) < FRAME_MS
    assert max(page.evaluate("window.long"), default=0.0) < TASK_MS


@pytest.fixture(scope="module")
def large(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """Open a recording of 100,000 steps."""
    file = tmp_path_factory.mktemp("large") / "large.html"
    command = ["trace", "online_softmax_tiled_racy", "--rows", "16", "--vocab", "2720"]
    command += ["--define", "TILE=32", "--html", str(file)]
    subprocess.run([sys.executable, "-m", "oneread", *command], check=False, capture_output=True)
    tab = Tab(browser)
    tab.open(file.as_uri())
    yield tab
    tab.context.close()


def test_any_jump_in_a_long_trace_is_short(large: Tab) -> None:
    steps = int(large.place.split(" of ")[1].split(" ")[0].replace(",", ""))
    assert steps >= 100_000
    work = large.page.evaluate(WORK, [40, ["End", "Home"]])
    assert percentile(work, 0.95) < JUMP_MS


def test_bundle_is_small() -> None:
    size = sum(len(gzip.compress(Path(STATIC, name).read_bytes())) for name in (SCRIPT, STYLE))
    assert size <= BUNDLE_BYTES
