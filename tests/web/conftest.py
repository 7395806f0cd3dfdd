"""A server as a browser meets it: on a real port, with a small page that needs no build."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from oneread.web.bundle import SCRIPT_TAG, START_TAG, STYLE_TAG, Bundle

DOCUMENT = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{STYLE_TAG}</head>
<body><div id="oneread"></div>{START_TAG}{SCRIPT_TAG}</body></html>
"""

#: A kernel that goes on until the engine's own clock stops it, seconds later.
ENDLESS = """__global__ void endless(const float* x, float* y, int vocab) {
    for (int i = 0; i < 1000000000; ++i) y[threadIdx.x] = x[threadIdx.x];
}
"""

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def files() -> Bundle:
    """Return a page that does nothing."""
    return Bundle(DOCUMENT, "document.title='page';", "body{margin:0}", "package 1.0: MIT")


class Reply(NamedTuple):
    """What a server said."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> str:
        return str(self.json["error"]["kind"])


@dataclass
class Client:
    """A browser, as far as the server can tell."""

    port: int
    token: str
    cookie: str = ""
    sent: dict[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Reply:
        """Send a request with the headers of a page of this server; None leaves one out."""
        said: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie}
        if method == "POST":
            said |= {**JSON, "Origin": f"http://{self.host}"}
        said |= headers or {}
        content = json.dumps(body) if body is not None and not isinstance(body, bytes) else body
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            kept = {name: value for name, value in said.items() if value is not None}
            connection.request(method, path, content, kept)
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())

    def get(self, path: str, **headers: str | None) -> Reply:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: Any, **headers: str | None) -> Reply:
        return self.send("POST", path, body, headers)

    def head(self, body: str) -> bytes:
        """Return what goes before the body of a request, with a header that tells of it."""
        lines = [
            *("POST /api/trace HTTP/1.1", f"Host: {self.host}", f"Origin: http://{self.host}"),
            *(f"Cookie: {self.cookie}", "Content-Type: application/json", body),
        ]
        return "\r\n".join([*lines, "", ""]).encode()

    def enter(self, host: str = "") -> Client:
        """Come in by the address that was printed, or through a tunnel by another."""
        answer = self.get(f"/?token={self.token}", Host=host or self.host)
        assert answer.status == 303
        self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return self


class Served(NamedTuple):
    """A server that runs."""

    client: Client
    pool: Any


Serve = Callable[..., contextlib.AbstractContextManager[Served]]


@pytest.fixture
def serve(files: Bundle) -> Serve:
    """Return a function that runs a server with a pool of its own."""
    pytest.importorskip("starlette", reason="the server needs oneread[web]")
    pytest.importorskip("uvicorn", reason="the server needs oneread[web]")
    from oneread.web.app import application
    from oneread.web.pool import Pool
    from oneread.web.serving import Server, configuration, listen

    @contextlib.contextmanager
    def run(
        deadline_s: float = 5.0, names: tuple[str, ...] = (), port: int = 0, **of_pool: Any
    ) -> Iterator[Served]:
        pool = Pool(deadline_s, **of_pool)
        guard = application(pool, files, names)
        with listen(port) as listening:
            server = Server(configuration(guard), pool)
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            thread.start()
            try:
                yield Served(Client(listening.getsockname()[1], guard.token), pool)
            finally:
                server.should_exit = True
                thread.join(20)
                assert not thread.is_alive()

    return run


@pytest.fixture
def client(serve: Serve) -> Iterator[Client]:
    """Return a browser that has come in."""
    with serve() as served:
        yield served.client.enter()


@pytest.fixture
def endless() -> dict[str, Any]:
    """Return a request that runs until the engine's own clock stops it, seconds later."""
    return {"kernels": [{"name": "endless.cu", "text": ENDLESS}], "rows": 1, "vocab": 32}


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Return a function that waits until something holds."""

    def wait(holds: Callable[[], bool], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it never came to hold"
            time.sleep(0.01)

    return wait


@pytest.fixture
def in_the_background(eventually: Any) -> Callable[..., Any]:
    """Return a function that has requests under way while its block runs."""

    @contextlib.contextmanager
    def ask(send: Callable[[], Reply], count: int, pool: Any) -> Iterator[list[Reply]]:
        replies: list[Reply] = []
        threads = [threading.Thread(target=lambda: replies.append(send())) for _ in range(count)]
        for thread in threads:
            thread.start()
        eventually(lambda: len(pool._runs) == count)
        yield replies
        for run in list(pool._runs):
            run.work.get_loop().call_soon_threadsafe(run.end, "stopping")
        for thread in threads:
            thread.join(20)

    return ask
