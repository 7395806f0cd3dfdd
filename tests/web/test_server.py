"""The server as a browser meets it: what is answered, and what becomes of runs."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import time
from typing import Any

import pytest

from oneread.spec.errors import BackendUnavailableError
from oneread.web.bundle import why_missing
from oneread.web.catalogue import MOST_BODY_BYTES

SMALL = {"kernels": [{"key": "relu"}], "rows": 1, "vocab": 32}


# ---- what is asked


def test_files_of_the_page_are_served_by_name(client: Any, files: Any) -> None:
    script, style = client.get("/static/player.js"), client.get("/static/player.css")
    assert (script.body.decode(), style.body.decode()) == (files.script, files.style)
    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")


def test_runs_are_asked_for_with_post(client: Any) -> None:
    assert client.get("/api/trace").status == 405


def test_catalogue_is_json(client: Any) -> None:
    catalogue = client.get("/api/catalogue").json
    assert catalogue["limits"]["seconds"] == 5
    assert "relu" in [kernel["key"] for kernel in catalogue["kernels"]]


def test_run_comes_back(client: Any) -> None:
    answer = client.post("/api/trace", SMALL)
    assert answer.status == 200
    assert answer.json["runs"][0]["kernel"] == "relu"


def test_error_of_a_source_comes_back_with_its_line(client: Any) -> None:
    answer = client.post("/api/trace", {"kernels": [{"text": "__global__ void k() {\n  x;\n}"}]})
    assert (answer.status, answer.error) == (422, "source")
    assert answer.json["error"]["diagnostics"][0]["line"] == 2


@pytest.mark.parametrize("job", ["fix", "probe"])
def test_other_jobs_come_back(client: Any, job: str) -> None:
    assert client.post(f"/api/{job}", SMALL).status == 200


def test_export_is_a_file(client: Any) -> None:
    if why_missing() is not None:
        pytest.skip("this installation has no page")
    answer = client.post("/api/export", SMALL)
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert b'"mode":"recorded"' in answer.body


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[" * 100_000, b'{"kernels": ' + b"[" * 500_000 + b"]" * 500_000 + b"}", b"\xff"],
    ids=["empty", "cut", "deep", "deep and closed", "bytes"],
)
def test_what_is_no_request_is_an_answer(client: Any, body: bytes) -> None:
    answer = client.post("/api/trace", body)
    assert (answer.status, answer.error) == (422, "usage")


def test_body_that_says_it_is_too_large_is_not_read(client: Any) -> None:
    head = client.head(f"Content-Length: {MOST_BODY_BYTES + 1}")
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.sendall(head)
        assert raw.recv(12) == b"HTTP/1.1 413"


def test_body_that_grows_too_large_is_not_kept(client: Any) -> None:
    head = client.head("Transfer-Encoding: chunked")
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.sendall(head)
        sent = 0
        while sent <= MOST_BODY_BYTES:
            raw.sendall(b"10000\r\n" + b" " * 65_536 + b"\r\n")
            sent += 65_536
        assert raw.recv(12) == b"HTTP/1.1 413"


def test_request_as_large_as_allowed_is_run(client: Any) -> None:
    body = json.dumps(SMALL).encode()
    assert client.post("/api/trace", body.ljust(MOST_BODY_BYTES)).status == 200
    assert client.post("/api/trace", body.ljust(MOST_BODY_BYTES + 1)).status == 413


@pytest.mark.parametrize(
    "name",
    ["../bundle.py", "..%2fbundle.py", "%2e%2e/bundle.py", "/etc/passwd", "%2fetc%2fpasswd",
     "index.html", "..\\bundle.py", "player.js%00", "player.js/", "PLAYER.JS",
     "THIRD_PARTY_NOTICES.txt"],
)  # fmt: skip
def test_no_name_of_a_page_is_that_of_a_file(client: Any, name: str) -> None:
    assert client.get(f"/static/{name}").status == 404


def test_no_answer_leads_to_an_address_with_a_host(client: Any) -> None:
    for path in ("/api/catalogue/", "/static/player.js/", "/static", "//evil.example"):
        answer = client.get(path)
        assert (answer.status, answer.headers.get("location")) == (404, None)


def test_fault_of_the_server_is_an_answer_like_others(
    serve: Any, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve() as (client, _):
        monkeypatch.setattr("oneread.web.app._response", lambda *_: 1 / 0)
        answer = client.enter().post("/api/trace", SMALL)
    assert answer.status == 500
    assert b"division" not in answer.body
    assert answer.headers["content-security-policy"].startswith("default-src 'none';")
    assert "ZeroDivisionError" in capfd.readouterr().err


# ---- the socket and the terminal


def test_what_any_page_may_send_is_no_line_of_the_terminal(
    serve: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Origin": "http://evil.example"}
    with serve() as (client, _):
        assert client.get("/api/catalogue", **upgrade).status == 403
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall(b"\x16\x03\x01\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 400"
    assert capfd.readouterr() == ("", "")


def test_answers_are_sent_without_waiting_for_more() -> None:
    from oneread.web.serving import listen

    with (
        listen(0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_port_of_administrators_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from oneread.web.serving import listen

    def refuse(_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "create_server", refuse)
    with pytest.raises(BackendUnavailableError, match="port 80 is for administrators; leave"):
        listen(80)


# ---- runs that end


def test_run_is_ended_at_the_deadline(serve: Any, endless: Any) -> None:
    with serve(deadline_s=0.5) as (client, _):
        answer = client.enter().post("/api/trace", endless)
        assert (answer.status, answer.error) == (504, "deadline")
        assert client.post("/api/probe", SMALL).status == 200


def test_queue_has_an_end(serve: Any, endless: Any, in_the_background: Any) -> None:
    with serve(deadline_s=20.0, at_once=1, queue=1) as (client, pool):
        client.enter()
        with in_the_background(lambda: client.post("/api/trace", endless), 2, pool):
            answer = client.post("/api/trace", SMALL)
            assert (answer.status, answer.error) == (429, "busy")
            assert answer.headers["retry-after"] == "1"


def test_newer_run_of_a_page_ends_the_older(
    serve: Any, endless: Any, in_the_background: Any
) -> None:
    page = {"X-Oneread-Page": "a tab"}
    with serve(deadline_s=20.0) as (client, pool):
        client.enter()

        def older() -> Any:
            return client.send("POST", "/api/trace", endless, page)

        with in_the_background(older, 1, pool) as replies:
            assert client.send("POST", "/api/trace", SMALL, page).status == 200
        assert [(one.status, one.error) for one in replies] == [(409, "superseded")]


def test_run_whose_page_is_closed_is_ended(
    serve: Any, endless: Any, eventually: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve(deadline_s=60.0) as (client, pool):
        body = json.dumps(endless).encode()
        client.enter()
        head = client.head(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall(head + body)
            eventually(lambda: len(pool._runs) == 1)
        start = time.monotonic()
        eventually(lambda: not pool._runs)
        assert time.monotonic() - start < 2
    assert capfd.readouterr().err == ""


def test_bodies_that_come_slowly_take_no_place_of_runs(serve: Any) -> None:
    with serve(at_once=1, queue=1) as (client, pool), contextlib.ExitStack() as slow:
        client.enter()
        head = client.head("Content-Length: 100") + b"{"
        for _ in range(40):
            raw = slow.enter_context(socket.create_connection(("127.0.0.1", client.port)))
            raw.sendall(head)
        assert client.post("/api/trace", SMALL).status == 200
        assert not pool._runs


def test_body_that_never_comes_whole_is_forgotten(
    serve: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve() as (client, pool):
        client.enter()
        head = client.head("Content-Length: 100") + b"{"
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall(head)
        assert client.get("/").status == 200
        assert not pool._runs
    assert capfd.readouterr().err == ""
