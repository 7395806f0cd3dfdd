"""`oneread web` as a program: it prints its address, serves, and stops without a trace."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from oneread.web.bundle import why_missing

pytest.importorskip("starlette", reason="the server needs oneread[web]")
pytest.importorskip("uvicorn", reason="the server needs oneread[web]")

#: The program with Ctrl-C heard: a shell's background job ignores it, and so does what that starts.
HEAR = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module('oneread', run_name='__main__', alter_sys=True)
"""
PROGRAM = [sys.executable, "-c", HEAR, "web"]

needs_page = pytest.mark.skipif(why_missing() is not None, reason="this installation has no page")


@contextmanager
def running(*options: str, no_open: bool = True) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run the command and yield the process and the address that it prints."""
    process = subprocess.Popen(
        [*PROGRAM, *(["--no-open"] if no_open else []), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said
        assert process.stdout.readline() == "Ctrl-C stops it.\n"
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def fetch(address: str) -> int:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    connection.request("GET", f"{parts.path}?{parts.query}")
    status = connection.getresponse().status
    connection.close()
    return status


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()]


@needs_page
def test_browser_is_opened_at_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, seen = tmp_path / "browser", tmp_path / "seen"
    browser.write_text(f'#!/bin/sh\necho "$1" >{seen}.new && mv {seen}.new {seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    with running(no_open=False) as (_, address):
        end = time.monotonic() + 20
        while not seen.exists():
            assert time.monotonic() < end
            time.sleep(0.01)
        assert seen.read_text() == f"{address}\n"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is always a browser")
@pytest.mark.parametrize("name", ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"])
def test_linux_session_without_a_display_has_no_browser(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from oneread.cli.web import _has_browser

    for one in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(one, raising=False)
    assert not _has_browser()
    monkeypatch.setenv(name, ":0")
    assert _has_browser()


@needs_page
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_stops_the_server_quietly(number: int, status: int) -> None:
    with running() as (process, address):
        assert fetch(address) == 303
        process.send_signal(number)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == status
    with pytest.raises(ConnectionRefusedError):
        fetch(address)


def asked_for_an_endless_run(address: str) -> http.client.HTTPConnection:
    text = "__global__ void k(const float* x, float* y) {\n  for (;;) y[0] = expf(x[0]);\n}"
    body = json.dumps({"kernels": [{"text": text}], "rows": 1, "vocab": 32, "block": 1024})
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    connection.request("GET", f"/?{parts.query}")
    answer = connection.getresponse()
    answer.read()
    headers = {
        "Cookie": str(answer.getheader("set-cookie")).partition(";")[0],
        "Origin": f"http://{parts.netloc}",
        "Content-Type": "application/json",
    }
    connection.request("POST", "/api/trace", body, headers)
    return connection


@needs_page
def test_signal_ends_runs_too() -> None:
    with running() as (process, address):
        connection = asked_for_an_endless_run(address)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said = connection.getresponse()
        assert (said.status, json.load(said)["error"]["kind"]) == (503, "stopping")
        connection.close()
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 130


@needs_page
def test_second_signal_is_as_quiet() -> None:
    with running() as (process, address):
        assert fetch(address) == 303
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == ("", "")
    assert process.returncode == 130


@needs_page
def test_run_ends_by_itself_and_quietly_when_the_server_is_killed() -> None:
    with running() as (process, address):
        connection = asked_for_an_endless_run(address)
        time.sleep(0.5)
        process.kill()
        # The pipes are open as long as one of the workers is there.
        assert process.communicate(timeout=20) == ("", "")
        connection.close()


@needs_page
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are listed in /proc")
def test_no_worker_outlives_the_server() -> None:
    with running() as (process, address):
        fetch(address)
        workers = children(process.pid)
        assert workers
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@needs_page
def test_server_listens_on_the_loopback_only() -> None:
    with running() as (_, address):
        port = urlsplit(address).port
        assert urlsplit(address).hostname == "127.0.0.1"
        others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port)}
        for other in others - {"127.0.0.1", "::1"}:
            with pytest.raises((ConnectionRefusedError, TimeoutError)):
                socket.create_connection((other, port), timeout=2)


@needs_page
def test_port_can_be_chosen_and_has_to_be_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = subprocess.run(
            [*PROGRAM, "--no-open", "--port", str(port)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert said.returncode == 2
    assert said.stderr == f"oneread: error: port {port} is not free; leave --port out\n"
    with running("--port", str(port)) as (_, address):
        assert urlsplit(address).port == port


@pytest.mark.parametrize(
    "name", ["notebook.example:443", "https://notebook.example", "notebook.example/", "", "[::1]:1"]
)
def test_name_to_allow_is_a_name_alone(name: str) -> None:
    said = subprocess.run(
        [*PROGRAM, "--no-open", "--allow-host", "localhost", "--allow-host", name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 2
    assert said.stderr.startswith(f"oneread: error: --allow-host {name}".rstrip())
    assert said.stderr.count("\n") == 1


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_library_that_is_missing_is_named_in_one_line(library: str) -> None:
    code = (
        "import sys\n"
        f"sys.modules[{library!r}] = None\n"
        "from oneread.cli.main import app\n"
        "app(['web', '--no-open'])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert said.stderr == (
        f"oneread: error: the page needs {library}: pip install 'oneread[web]'\n"
    )


@pytest.mark.parametrize(
    "command", ["['web', '--no-open']", "['trace', 'relu', '--html', 'x.html']"]
)
def test_page_that_was_not_built_is_told_in_one_line(command: str, tmp_path: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from oneread.web import bundle\n"
        "bundle.read_bundle.__defaults__ = (Path('nowhere'),)\n"
        f"from oneread.cli.main import app\napp({command})"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert said.returncode == 2
    assert said.stderr.startswith("oneread: error: this installation has no page: ")
    assert said.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
