"""Who may talk to the server: each request is judged by its headers before anything of it is read.

Knows headers; knows no kernel. Another site in the same browser knows neither the token nor the
cookie, cannot send `application/json` without being asked for its origin, and is told apart by it;
a name that was made to lead here (DNS rebinding) is told apart by the Host.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Names of this machine that a browser may use, with any port.
LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")

_NAME: Final = r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)"
_HOST: Final = re.compile(rf"{_NAME}(?::(\d{{1,5}}))?", re.IGNORECASE)

#: What every answer carries. The page's own script and styles bear the nonce; nothing else runs.
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

#: A browser that came here from another site gets its cookie sent only by a link of our own.
_CLOSED: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>oneread</title></head>
<body><p>This page opens at the address that <code>oneread web</code> printed.</p>
<p>If you have just come from there: <a href="./">open the page</a>.</p></body></html>
"""


class Guard:
    """An application behind its entrance.

    Parameters
    ----------
    app : ASGI application
        What is guarded; it finds the nonce of its policy in ``request.state.nonce``.
    names : iterable of str
        Names that a browser may call this machine, besides `LOOPBACK`.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str] = ()) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(name.lower() for name in names)}
        self.token = secrets.token_urlsafe(32)
        self._secret = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        request = Request(scope)
        nonce = secrets.token_urlsafe(16)
        request.state.nonce = nonce

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                headers["Content-Security-Policy"] = _POLICY.format(nonce=nonce)
            await send(message)

        answer = self._refused(request) or self._entered(request) or self._unknown(request)
        await (answer or self._app)(scope, receive, send_with_headers)

    def _refused(self, request: Request) -> Response | None:
        """Refuse what does not come from a page of this server."""
        hosts, origins = (request.headers.getlist(name) for name in ("host", "origin"))
        name = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if name is None or name[1].lower() not in self._names:
            return refusal(403, "refused", "Host is no name of this machine; see --allow-host")
        if request.method not in {"GET", "HEAD"} and not origins:
            return refusal(403, "refused", "Origin is missing")
        if any(not _same(origin, hosts[0]) for origin in origins):
            return refusal(403, "refused", "Origin is another site")
        if request.method == "POST" and not _is_json(request.headers.getlist("content-type")):
            return refusal(415, "refused", "Content-Type is not application/json")
        return None

    def _entered(self, request: Request) -> Response | None:
        """Answer the address that was printed: with a cookie, and without the token from then."""
        if request.scope["path"] != "/" or "token" not in request.query_params:
            return None
        tokens = request.query_params.getlist("token")
        if len(tokens) != 1 or not _equal(tokens[0], self.token):
            return refusal(403, "refused", "the token is not that of this server")
        # Relative, and a cookie without a path: both follow the page behind a proxy's prefix.
        answer = RedirectResponse("./", 303)
        answer.set_cookie(
            _cookie(request), self._secret, path=None, httponly=True, samesite="strict"
        )
        return answer

    def _unknown(self, request: Request) -> Response | None:
        """Refuse who did not come by that address."""
        if _equal(request.cookies.get(_cookie(request), ""), self._secret):
            return None
        if request.scope["path"] == "/" and request.method == "GET":
            return HTMLResponse(_CLOSED, 401)
        return refusal(401, "refused", "open the address that `oneread web` printed")


def is_name(text: str) -> bool:
    """Say whether a text is the name or address of a host, and nothing more.

    Parameters
    ----------
    text : str
        Of the command line.
    """
    return re.fullmatch(_NAME, text, re.IGNORECASE) is not None


def refusal(status: int, kind: str, message: str) -> JSONResponse:
    """Return an error as the page reads it."""
    return JSONResponse({"error": {"kind": kind, "message": message, "diagnostics": []}}, status)


def _cookie(request: Request) -> str:
    """Return the name of the cookie, of a request whose host is known.

    Cookies are shared by all ports of a machine. The port as the browser sees it tells servers
    apart that run side by side; one that is started again on its port takes the place of the older.
    """
    host = _HOST.fullmatch(request.headers["host"])
    return f"oneread-{host[2]}" if host and host[2] else "oneread"


def _same(origin: str, host: str) -> bool:
    """Say whether an origin is this server, as the browser calls it."""
    scheme, _, rest = origin.partition("://")
    return scheme in {"http", "https"} and rest.lower() == host.lower()


def _is_json(types: list[str]) -> bool:
    return len(types) == 1 and types[0].partition(";")[0].strip().lower() == "application/json"


def _equal(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())
