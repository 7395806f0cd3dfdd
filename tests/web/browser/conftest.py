"""A real browser, a real server: both started once, a fresh tab for each test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

#: Seconds that a run, or anything that waits for one, may take on a busy machine.
PATIENCE_MS = 30_000


def _missing() -> str | None:
    """Say what keeps these tests from running here, or return None."""
    try:
        import playwright  # noqa: F401
    except ModuleNotFoundError:
        return "playwright is not installed"
    if not CHROMIUM.exists():
        return f"there is no {CHROMIUM}"
    from oneread.web.bundle import why_missing

    return why_missing()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Debian's Chromium.

    For one module: as long as it runs, Playwright has an event loop in this thread, and other
    tests cannot have theirs.
    """
    why = _missing()
    if why is not None:
        if os.environ.get("ONEREAD_BROWSER") == "required":
            pytest.fail(f"the browser tests must run here, and {why}")
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def address(browser: Any) -> Iterator[str]:
    """Start `oneread web` and return the address that it prints."""
    command = [sys.executable, "-m", "oneread", "web", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


class Tab:
    """A tab of its own, with all that went wrong in it."""

    def __init__(self, browser: Any, **options: Any) -> None:
        options = {"viewport": {"width": 1440, "height": 900}, **options}
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(PATIENCE_MS)
        self.problems: list[str] = []
        self.context.route("**/*", self._guard)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", self._said)
        # A violation of the policy is an event as well as a line of the console.
        self.page.add_init_script(
            "addEventListener('securitypolicyviolation',"
            "e => console.error('policy: ' + e.violatedDirective))"
        )

    def _guard(self, route: Any) -> None:
        host = urlsplit(route.request.url).hostname
        if route.request.url.startswith("http") and host != "127.0.0.1":
            self.problems.append(f"asked {route.request.url}")
            route.abort()
        else:
            route.continue_()

    def _said(self, message: Any) -> None:
        expected = "Failed to load resource" in message.text and "/api/" in str(message.location)
        if message.type in {"error", "warning"} and not expected:
            self.problems.append(f"{message.type}: {message.text}")

    def open(self, url: str) -> Any:
        """Go to a page and wait until its first run is drawn."""
        self.page.goto(url)
        self.page.wait_for_selector('.page[data-ready="true"]')
        return self.page

    # ---- what a person would look at

    @property
    def place(self) -> str:
        """Return the line under the sentence: step, block, warp, line."""
        return str(self.page.locator(".sentence-place").inner_text())

    def ran(self) -> None:
        """Wait until no run goes on."""
        self.page.wait_for_selector('.run[aria-busy="false"]')

    def type_over(self, text: str) -> None:
        """Put another text into the editor."""
        self.page.locator(".cm-content").focus()  # its middle may be out of sight
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)


@pytest.fixture(scope="module")
def new_tab(browser: Any) -> Callable[..., Tab]:
    """Return a function that makes a tab with options; whoever calls it closes its context."""
    return lambda **options: Tab(browser, **options)


@pytest.fixture
def opened(browser: Any, address: str) -> Iterator[Callable[..., Tab]]:
    """Return a function that opens the page in a tab with options."""
    tabs: list[Tab] = []

    def make(**options: Any) -> Tab:
        tabs.append(Tab(browser, **options))
        tabs[-1].open(address)
        return tabs[-1]

    yield make
    for tab in tabs:
        tab.context.close()
    assert [one for tab in tabs for one in tab.problems] == []


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    """Return a tab that fails its test for whatever went wrong in it."""
    one = Tab(browser)
    yield one
    one.context.close()
    assert one.problems == []


@pytest.fixture
def page(tab: Tab, address: str) -> Any:
    """Return the first view."""
    return tab.open(address)
