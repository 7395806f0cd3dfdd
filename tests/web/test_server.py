"""The server as a browser meets it, and as a page of another site, a proxy or a script would."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import socket
import time
from typing import Any

import pytest

from oneread.spec.errors import BackendUnavailableError
from oneread.web.bundle import why_missing
from oneread.web.catalogue import MOST_BODY_BYTES

SMALL = {"kernels": [{"key": "relu"}], "rows": 1, "vocab": 32}


# ---- the entrance


def test_printed_address_gives_a_cookie_and_leads_to_the_page(serve: Any) -> None:
    with serve() as (client, _):
        answer = client.get(f"/?token={client.token}")
        assert (answer.status, answer.headers["location"]) == (303, "./")
        name, *flags = answer.headers["set-cookie"].split("; ")
        assert {flag.lower() for flag in flags} == {"httponly", "samesite=strict"}
        assert client.token not in name
        client.cookie = name
        assert client.get("/").status == 200


def test_page_has_a_nonce_of_its_own_each_time(client: Any) -> None:
    nonces = []
    for _ in range(2):
        answer = client.get("/")
        policy = answer.headers["content-security-policy"]
        (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", policy))
        assert answer.body.decode().count(f'nonce="{nonce}"') == 2
        nonces.append(nonce)
    assert nonces[0] != nonces[1]


def test_files_of_the_page_are_served_by_name(client: Any, files: Any) -> None:
    script, style = client.get("/static/player.js"), client.get("/static/player.css")
    assert (script.body.decode(), style.body.decode()) == (files.script, files.style)
    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")


@pytest.mark.parametrize("path", ["/", "/static/player.js", "/api/catalogue", "/nothing"])
def test_every_answer_forbids_what_it_can(client: Any, path: str) -> None:
    for reply in (client.get(path), client.get(path, Cookie=None), client.get(path, Host="evil")):
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'nonce-")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in reply.headers
        assert "server" not in reply.headers


@pytest.mark.parametrize("path", ["/", "/static/player.js", "/api/catalogue"])
@pytest.mark.parametrize("cookie", [None, "", "oneread=1", "{name}=", "{name}=x", "{name}=é"])
def test_nothing_is_served_without_the_cookie(client: Any, path: str, cookie: str | None) -> None:
    name = client.cookie.partition("=")[0]
    said = cookie.format(name=name).encode().decode("latin-1") if cookie else cookie
    assert client.get(path, Cookie=said).status == 401


def test_who_comes_without_the_cookie_is_told_where_the_page_is(client: Any) -> None:
    answer = client.get("/", Cookie=None)
    assert b"oneread web" in answer.body
    assert b'href="./"' in answer.body


@pytest.mark.parametrize("query", ["token=", "token=x", "token={token}x", "token={token}&token=x"])
def test_wrong_token_opens_nothing(serve: Any, query: str) -> None:
    with serve() as (client, _):
        answer = client.get(f"/?{query.format(token=client.token)}")
        assert answer.status == 403
        assert "set-cookie" not in answer.headers


def test_token_opens_the_page_only(serve: Any) -> None:
    with serve() as (client, _):
        assert client.get(f"/api/catalogue?token={client.token}").status == 401


def test_server_that_is_started_again_takes_the_place_of_the_older_ones_cookie(
    serve: Any,
) -> None:
    with serve() as (one, _):
        one.enter()
    with serve(port=one.port) as (other, _):
        assert other.get("/", Cookie=one.cookie).status == 401
        other.enter()
    assert one.cookie.partition("=")[0] == other.cookie.partition("=")[0]
    assert one.cookie != other.cookie


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost:8888", "oneread-8888"), ("[::1]:8888", "oneread-8888"), ("localhost", "oneread"),
     ("[::1]", "oneread")],
)  # fmt: skip
def test_cookie_is_named_by_the_port_that_the_browser_sees(
    serve: Any, host: str, name: str
) -> None:
    with serve() as (client, _):
        cookie = client.get(f"/?token={client.token}", Host=host).headers["set-cookie"]
        assert cookie.partition("=")[0] == name
        assert client.get("/", Host=host, Cookie=cookie.partition(";")[0]).status == 200


def test_two_servers_do_not_take_each_others_cookies(serve: Any) -> None:
    with serve() as (one, _), serve() as (other, _):
        one.enter()
        other.enter()
        both = f"{one.cookie}; {other.cookie}"
        assert one.cookie.partition("=")[0] != other.cookie.partition("=")[0]
        assert one.get("/", Cookie=both).status == other.get("/", Cookie=both).status == 200
        assert other.get("/", Cookie=one.cookie).status == 401


# ---- who asks


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:65535", "[::1]:8888", "LocalHost:80"],
)
def test_every_name_of_the_loopback_is_taken_with_any_port(client: Any, host: str) -> None:
    assert client.enter(host).get("/", Host=host).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "",
     "localhost:", "localhost:1:2", "localhost@evil.example", "127.0.0.2", "0.0.0.0", "::1",
     "[::1", "localhost:123456", "local host", "localhost/evil"],
)  # fmt: skip
def test_every_other_host_is_refused(client: Any, host: str) -> None:
    assert client.get("/", Host=host).status in {400, 403}


def test_host_that_is_missing_or_said_twice_is_refused(client: Any) -> None:
    for hosts in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall(f"GET / HTTP/1.1\r\n{hosts}Cookie: {client.cookie}\r\n\r\n".encode())
            assert raw.recv(12) in {b"HTTP/1.1 400", b"HTTP/1.1 403"}


def test_a_name_can_be_allowed(serve: Any) -> None:
    with serve(names=("Notebook.Example",)) as (client, _):
        client.enter("notebook.example:8443")
        assert client.get("/", Host="notebook.example:8443").status == 200
        client.enter("notebook.example")
        assert client.get("/", Host="notebook.example").status == 200
        assert client.get("/", Host="evil.example").status == 403
        answer = client.post(
            "/api/trace", SMALL, Host="notebook.example", Origin="https://notebook.example"
        )
        assert answer.status == 200


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.example", "http://localhost", "http://localhost:{port}",
     "http://127.0.0.1", "http://127.0.0.1:1", "http://127.0.0.1:{port}.evil.example",
     "file://127.0.0.1:{port}", "127.0.0.1:{port}", "http://127.0.0.1:{port}/", ""],
)  # fmt: skip
def test_request_of_another_origin_is_refused(client: Any, origin: str | None) -> None:
    said = None if origin is None else origin.format(port=client.port)
    assert client.post("/api/trace", SMALL, Origin=said).status == 403


def test_reading_from_another_origin_is_refused(client: Any) -> None:
    assert client.get("/api/catalogue", Origin="http://evil.example").status == 403
    assert client.get("/api/catalogue", Origin=f"http://{client.host}").status == 200


@pytest.mark.parametrize(
    "kind",
    [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
     "text/plain; application/json", "application/jsonp", "application/json, text/plain"],
)  # fmt: skip
def test_other_types_of_content_are_refused(client: Any, kind: str | None) -> None:
    answer = client.send("POST", "/api/trace", SMALL, {"Content-Type": kind})
    assert (answer.status, answer.error) == (415, "refused")


def test_character_set_may_be_said(client: Any) -> None:
    said = {"Content-Type": "application/json; charset=utf-8"}
    assert client.send("POST", "/api/trace", SMALL, said).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(client: Any, method: str) -> None:
    origin = {"Origin": f"http://{client.host}"}
    assert client.send(method, "/api/trace", SMALL, origin).status == 405
    assert client.send(method, "/api/trace", SMALL).status == 403


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


def test_runs_are_asked_for_with_post(client: Any) -> None:
    assert client.get("/api/trace").status == 405


# ---- what is asked


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
    head = (
        f"POST /api/trace HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
        f"Cookie: {client.cookie}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {MOST_BODY_BYTES + 1}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.sendall(head.encode())
        assert raw.recv(12) == b"HTTP/1.1 413"


def test_body_that_grows_too_large_is_not_kept(client: Any) -> None:
    head = (
        f"POST /api/trace HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
        f"Cookie: {client.cookie}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", client.port)) as raw:
        raw.sendall(head.encode())
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


# ---- the socket


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
        body = json.dumps(endless)
        head = (
            f"POST /api/trace HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            f"Cookie: {client.enter().cookie}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall((head + body).encode())
            eventually(lambda: len(pool._runs) == 1)
        start = time.monotonic()
        eventually(lambda: not pool._runs)
        assert time.monotonic() - start < 2
    assert capfd.readouterr().err == ""


def test_bodies_that_come_slowly_take_no_place_of_runs(serve: Any) -> None:
    with serve(at_once=1, queue=1) as (client, pool), contextlib.ExitStack() as slow:
        head = (
            f"POST /api/trace HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            f"Cookie: {client.enter().cookie}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{"
        )
        for _ in range(40):
            raw = slow.enter_context(socket.create_connection(("127.0.0.1", client.port)))
            raw.sendall(head.encode())
        assert client.post("/api/trace", SMALL).status == 200
        assert not pool._runs


def test_body_that_never_comes_whole_is_forgotten(
    serve: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    with serve() as (client, pool):
        head = (
            f"POST /api/trace HTTP/1.1\r\nHost: {client.host}\r\nOrigin: http://{client.host}\r\n"
            f"Cookie: {client.enter().cookie}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{"
        )
        with socket.create_connection(("127.0.0.1", client.port)) as raw:
            raw.sendall(head.encode())
        assert client.get("/").status == 200
        assert not pool._runs
    assert capfd.readouterr().err == ""
