"""Take pictures of the page and of each of its regions: light, dark, narrow, wide.

`python tools/shoot_page.py FOLDER [STATE...]` starts a server of its own, drives Debian's Chromium
through the states that have names here, and writes a PNG of each; of states that are named, one of
each region too. `python tools/shoot_page.py --docs` makes those of docs/images anew. Needs
playwright; the pictures are to be looked at.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"]

#: Regions that have pictures of their own, by their selectors.
REGIONS = {
    "bar": ".bar",
    "launch": ".launch",
    "code": ".side-panel",
    "findings": "#findings",
    "machine": "#machine",
    "chart": "#chart",
    "ledger": "#ledger",
    "deck": ".deck",
}


@contextmanager
def served() -> Iterator[str]:
    """Start a server and yield its address."""
    command = [sys.executable, "-m", "oneread", "web", "--no-open"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            line = server.stdout.readline()
            yield line.split()[-1]
        finally:
            server.terminate()


def opened(browser: Any, address: str, width: int, height: int, scheme: str, scale: float) -> Any:
    """Open the page and wait for its first run."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=scale,
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.on("console", lambda one: print(f"console {one.type}: {one.text}"))
    page.on("pageerror", lambda error: print(f"error: {error}"))
    page.goto(address)
    page.wait_for_selector('.page[data-ready="true"]')
    page.wait_for_timeout(400)
    return page


def steps(page: Any, count: int, keys: str = "ArrowRight") -> None:
    """Press a key some times."""
    for _ in range(count):
        page.keyboard.press(keys)
    page.wait_for_timeout(300)


def first(page: Any) -> None:
    """Go some accesses into the first view."""
    steps(page, 22)


def fault(page: Any) -> None:
    """Point at the first fault."""
    page.keyboard.press("f")
    page.wait_for_timeout(400)


def error(page: Any) -> None:
    """Break the source."""
    page.locator(".cm-content").focus()
    text = page.locator(".cm-content")
    text.press("Control+Home")
    for _ in range(35):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    page.keyboard.insert_text(" expff(1.0f);")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".refusal")
    page.wait_for_timeout(300)


def lesson(page: Any) -> None:
    """Read the lesson."""
    page.get_by_role("tab", name="Lesson").click()
    page.wait_for_timeout(500)


def repair(page: Any) -> None:
    """Mend the race."""
    fault(page)
    page.get_by_role("button", name="Apply fix").click()
    page.wait_for_selector(".repair", timeout=20_000)
    page.wait_for_timeout(300)


def single(page: Any) -> None:
    """Show one kernel alone."""
    steps(page, 30)
    page.keyboard.press("c")
    page.wait_for_timeout(500)


def tables(page: Any) -> None:
    """Show the machine as tables."""
    steps(page, 8)
    page.keyboard.press("t")
    page.wait_for_timeout(500)


def tour(page: Any) -> None:
    """Stand at the second stop of the tour."""
    page.get_by_role("button", name="Take the tour").click()
    page.get_by_role("button", name="Next").click()
    page.wait_for_timeout(500)


def help_(page: Any) -> None:
    """Open the help."""
    page.keyboard.press("?")
    page.wait_for_timeout(300)


def watch(page: Any) -> None:
    """Watch variables and a formula beside m and d."""
    page.keyboard.press("3")
    steps(page, 3, "Shift+ArrowRight")
    for name in ("v", "m_new"):
        page.locator(".watch select").select_option(name)
    page.locator(".watch input").fill("m_lane + logf(d_lane)")
    page.locator(".watch input").press("Enter")
    page.locator(".watch input").blur()
    page.locator("#chart").scroll_into_view_if_needed()
    page.wait_for_timeout(300)


def zoom(page: Any) -> None:
    """Look at a part of the run in the timeline."""
    steps(page, 30, "Shift+ArrowRight")
    page.keyboard.press("c")
    page.wait_for_timeout(400)
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_timeout(300)


#: Name: width, height, colours, scale, what is done first.
STATES: dict[str, tuple[int, int, str, float, Callable[[Any], None]]] = {
    "light": (1440, 900, "light", 1.5, first),
    "dark": (1440, 900, "dark", 1.5, first),
    "single": (1440, 900, "light", 1.5, single),
    "fault": (1440, 900, "light", 1.5, fault),
    "repair": (1440, 900, "dark", 1.5, repair),
    "error": (1440, 900, "light", 1.5, error),
    "lesson": (1440, 900, "light", 1.5, lesson),
    "watch": (1440, 900, "light", 1.5, watch),
    "zoom": (1440, 900, "dark", 1.5, zoom),
    "tables": (1440, 900, "light", 1, tables),
    "tour": (1440, 900, "light", 1.5, tour),
    "help": (1440, 900, "dark", 1.5, help_),
    "narrow": (320, 720, "light", 2, first),
    "narrow-dark": (320, 720, "dark", 2, first),
    "tablet": (820, 1100, "light", 1.5, first),
    "wide": (1920, 1080, "light", 1, first),
    "4k": (3840, 2160, "dark", 1, first),
}


#: Pictures of the documentation, by the states that they show.
DOCS = {
    "page": "light",
    "page-dark": "dark",
    "page-race": "fault",
    "page-lesson": "lesson",
    "page-watch": "watch",
}


def shoot(page: Any, folder: Path, name: str, regions: bool) -> None:
    """Write the window, the whole page, and where wanted each region."""
    page.screenshot(path=folder / f"{name}.png")
    page.screenshot(path=folder / f"{name}-all.png", full_page=True)
    for region, selector in REGIONS.items() if regions else ():
        found = page.locator(selector).first
        if found.is_visible():
            found.screenshot(path=folder / f"{name}-{region}.png")


@contextmanager
def chromium() -> Iterator[tuple[Any, str]]:
    """Start the server and the browser."""
    from playwright.sync_api import sync_playwright

    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser, address
        browser.close()


def main(folder: Path, wanted: list[str]) -> None:
    """Take all pictures, or those that are wanted."""
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as (browser, address):
        for name in wanted or STATES:
            width, height, scheme, scale, act = STATES[name]
            page = opened(browser, address, width, height, scheme, scale)
            act(page)
            shoot(page, folder, name, regions=bool(wanted))
            page.context.close()
            print(name, flush=True)


def docs() -> None:
    """Take the pictures of the documentation, small enough for it."""
    with chromium() as (browser, address):
        for name, state in DOCS.items():
            width, height, scheme, _, act = STATES[state]
            page = opened(browser, address, width, height, scheme, 1)
            act(page)
            page.screenshot(path=ROOT / f"docs/images/{name}.png")
            page.context.close()
        machine_code(browser)


def machine_code(browser: Any) -> None:
    """Take the picture of a kernel's source beside its machine code."""
    kernel = ["online_softmax_tiled", "--arch", "sm_90", "--fast-math"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        command = [sys.executable, "-m", "oneread", "sass", "explain", *kernel]
        subprocess.run([*command, "--html", "-o", str(path)], cwd=ROOT, check=True)
        page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page.goto(path.as_uri())
        page.click("[data-role=exp]")
        page.click("#L61 code")
        page.screenshot(path=ROOT / "docs/images/sass.png")
        page.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--docs"]:
        docs()
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
