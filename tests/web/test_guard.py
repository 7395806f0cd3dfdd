"""Who may talk to the server: a browser by the printed address, no page of another site.

Each request is one that a browser, a page of another site, a proxy or a script would send.
"""

from __future__ import annotations

import re
import socket
from typing import Any

import pytest

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
