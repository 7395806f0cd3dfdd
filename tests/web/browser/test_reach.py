"""What may stand between the page and its server: a proxy, and a server that is busy or gone."""

from __future__ import annotations

import contextlib
import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest

PREFIX = "/lab/proxy"

#: Headers that are of one connection only.
HOP = {"connection", "content-length", "transfer-encoding"}


class Proxy(BaseHTTPRequestHandler):
    """Takes its prefix away and passes on the rest, the browser's Host among it."""

    server: Any

    def forward(self) -> None:
        if not self.path.startswith(PREFIX):
            self.send_error(404)
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=30)
        with contextlib.closing(upstream):
            path = self.path.removeprefix(PREFIX)
            upstream.request(self.command, path, body, dict(self.headers.items()))
            answer = upstream.getresponse()
            content = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = forward  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def proxied(address: str) -> Iterator[str]:
    """Return the page's address behind a proxy: another port, and a path before its own."""
    there = urlsplit(address)
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        server.upstream = there.port  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}/?{there.query}"
        server.shutdown()


def test_page_works_behind_another_port_and_a_prefix(tab: Any, proxied: str) -> None:
    page = tab.open(proxied)
    assert page.evaluate("location.pathname") == f"{PREFIX}/"
    page.keyboard.press("c")
    page.get_by_role("button", name="Run").click()
    tab.ran()
    assert page.locator(".refusal").count() == 0
    with page.expect_download():
        page.get_by_role("button", name="Export as one file").click()


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("busy", 429, "more to do than it can queue"),
        ("deadline", 504, "longer than a page may take"),
        ("offline", 0, "does not answer. Start it again with: oneread web"),
    ],
)
def test_server_without_an_answer_is_told_in_words(
    page: Any, tab: Any, kind: str, status: int, said: str
) -> None:
    error = {"error": {"kind": kind, "message": "", "diagnostics": []}}
    page.route(
        "**/api/trace",
        lambda route: route.fulfill(status=status, json=error) if status else route.abort(),
    )
    page.get_by_role("button", name="Run").click()
    refusal = page.locator(".refusal")
    refusal.filter(has_text=said).wait_for()
    assert page.locator(".stage-host").count() == 3  # the run before is still there
    page.unroute("**/api/trace")
    page.get_by_role("button", name="Run").click()
    refusal.wait_for(state="detached")
    tab.ran()
