"""How fast the page is.

What is asserted is twice what is aimed at, since CI machines share their cores. Work is counted in
time of the main thread, so that it is the page's alone.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from oneread.web.bundle import SCRIPT, STATIC, STYLE

#: Twice the aims of 1 s, 0.5 s, 10 ms, 50 ms and 50 ms.
FIRST_S = 2.0
EDIT_S = 1.0
FRAME_MS = 20.0
TASK_MS = 100.0
JUMP_MS = 100.0

BUNDLE_BYTES = 250_000

pytestmark = pytest.mark.alone

Slowness = Callable[[], float]

#: Press a key and wait until what follows from it is painted.
STEP = """key => new Promise(done => {
    document.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""


@pytest.fixture(scope="module")
def timing() -> ModuleType:
    """Return ``tools/time_page.py``, which prints the figures of a machine at rest."""
    path = Path(__file__).resolve().parents[3] / "tools/time_page.py"
    spec = importlib.util.spec_from_file_location("time_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks for it
    spec.loader.exec_module(module)
    return module


def work(page: Any, count: int, keys: list[str]) -> list[float]:
    """Return the main thread's work for each of some keys, in ms of its own clock."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(1000 * float(one["value"]) for one in metrics if one["name"] == "TaskDuration")

    found, before = [], spent()
    for step in range(count):
        page.evaluate(STEP, keys[step % len(keys)])
        now = spent()
        found.append(now - before)
        before = now
    session.detach()
    return found


def test_first_run_is_drawn_soon(
    new_tab: Callable[..., Any], address: str, slowness: Slowness
) -> None:
    took = []
    for _ in range(5):
        tab = new_tab()
        start = time.perf_counter()
        tab.open(address)
        took.append(time.perf_counter() - start)
        tab.context.close()
    assert statistics.median(took) < FIRST_S * slowness()


def longest_task(browser: Any, new_tab: Callable[..., Any], address: str) -> float:
    """Return the longest task of the main thread while the page opens, in ms of its own clock."""
    tab = new_tab()
    browser.start_tracing(page=tab.page, categories=["toplevel", "devtools.timeline"])
    tab.open(address)
    tab.page.locator("#ledger").wait_for(state="attached")  # what is drawn last
    tab.page.wait_for_timeout(300)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    tab.context.close()
    calls = Counter((e["pid"], e["tid"]) for e in events if e["name"] == "FunctionCall")
    (main, _), *_ = calls.most_common(1)
    tasks = [e for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) == main]
    return max(float(e.get("tdur", 0)) / 1000 for e in tasks)


def test_no_task_of_the_first_view_is_long(
    browser: Any, new_tab: Callable[..., Any], address: str, slowness: Slowness
) -> None:
    took = [longest_task(browser, new_tab, address) for _ in range(3)]
    assert 0 < statistics.median(took) < TASK_MS * slowness()


def test_an_edit_has_its_result_soon(page: Any, slowness: Slowness) -> None:
    page.get_by_label("Kernels on the page").select_option("online_softmax_lane")
    page.wait_for_function("() => document.querySelectorAll('.column').length === 1")
    page.wait_for_selector('.run[aria-busy="false"]')
    page.wait_for_selector('.page[data-ready="true"]')
    took = []
    for _ in range(5):
        page.locator(".cm-content").focus()
        page.keyboard.press("Control+Home")
        page.keyboard.insert_text("// mine\n")
        took.append(
            page.evaluate(
                """async () => {
                    const start = performance.now();
                    const keys = { key: 'Enter', ctrlKey: true, bubbles: true };
                    document.dispatchEvent(new KeyboardEvent('keydown', keys));
                    const busy = () => document.querySelector('.run').ariaBusy === 'true';
                    do await new Promise(requestAnimationFrame); while (busy());
                    return (performance.now() - start) / 1000;
                }"""
            )
        )
    assert statistics.median(took) < EDIT_S * slowness()


def test_a_thousand_steps_leave_time_in_each_frame(
    page: Any, timing: ModuleType, slowness: Slowness
) -> None:
    spent = work(page, 1000, ["ArrowRight"] * 250 + ["ArrowLeft"] * 250)  # each of them moves
    assert timing.percentile(spent, 0.95) < FRAME_MS * slowness()
    assert max(spent) < TASK_MS * slowness()


def test_three_kernels_at_the_highest_speed_leave_time_in_each_frame(
    browser: Any, page: Any, timing: ModuleType, slowness: Slowness
) -> None:
    played = timing.play(browser, page, 16, timing.PIECE)
    assert len(played.frames) > 40
    assert 0 < timing.percentile(played.frames, 0.95) < FRAME_MS * slowness()
    assert max(played.tasks) < TASK_MS * slowness()


@pytest.fixture(scope="module")
def large(new_tab: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Open a recording of 100,000 steps."""
    file = tmp_path_factory.mktemp("large") / "large.html"
    command = ["trace", "online_softmax_tiled_racy", "--rows", "8", "--vocab", "2240"]
    command += ["--define", "TILE=8", "--html", str(file)]
    subprocess.run([sys.executable, "-m", "oneread", *command], check=False, capture_output=True)
    tab = new_tab()
    tab.open(file.as_uri())
    yield tab
    tab.context.close()


def test_any_jump_in_a_long_trace_is_short(
    large: Any, timing: ModuleType, slowness: Slowness
) -> None:
    steps = int(large.place.split(" of ")[1].split(" ")[0].replace(",", ""))
    assert steps >= 100_000
    spent = work(large.page, 40, ["End", "Home"])
    assert timing.percentile(spent, 0.95) < JUMP_MS * slowness()


def test_bundle_is_small() -> None:
    size = sum(len(gzip.compress(Path(STATIC, name).read_bytes())) for name in (SCRIPT, STYLE))
    assert size <= BUNDLE_BYTES
