"""The server's answers: the page, its files, the catalogue, and what workers make of requests.

Knows no kernel: a request is handed to a worker as it came, unread. No name that a page sends is
taken for that of a file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from oneread.web.bundle import NONCE, SCRIPT, STYLE, Bundle
from oneread.web.catalogue import MOST_BODY_BYTES, catalogue
from oneread.web.guard import Guard, refusal
from oneread.web.pool import ENDS, Answer, Ended, Pool

#: What can be asked of a worker.
JOBS: Final = ("trace", "fix", "probe", "export")

#: Status of a run without an answer. 504 and not 408, on which browsers send a request again.
_STATUSES: Final = {
    "busy": 429,
    "superseded": 409,
    "deadline": 504,
    "gone": 499,
    "server": 500,
    "stopping": 503,
}

_TYPES: Final = {"json": "application/json", "html": "text/html; charset=utf-8"}


def application(pool: Pool, bundle: Bundle, names: Iterable[str] = ()) -> Guard:
    """Return the server as an ASGI application.

    Parameters
    ----------
    pool : Pool
        Who does the work.
    bundle : Bundle
        The page.
    names : iterable of str
        Names of this machine that a browser may use, besides those of the loopback.

    Returns
    -------
    Guard
        The application behind its entrance.
    """
    answers = _Answers(pool, bundle)
    routes = [
        Route("/", answers.document),
        Route("/static/{name}", answers.file),
        Route("/api/catalogue", answers.catalogue),
        *(Route(f"/api/{job}", answers.run, methods=["POST"], name=job) for job in JOBS),
    ]
    inner = Starlette(routes=routes)
    inner.router.redirect_slashes = False  # to an address with a host in it, wrong behind a proxy
    return Guard(inner, names)


class _Answers:
    """What is answered; all that is read from disk is read before the first request."""

    def __init__(self, pool: Pool, bundle: Bundle) -> None:
        self._pool = pool
        self._document = bundle.document
        self._files = {
            SCRIPT: Response(bundle.script, media_type="text/javascript"),
            STYLE: Response(bundle.style, media_type="text/css"),
        }
        self._catalogue = json.dumps(catalogue(), separators=(",", ":"))

    async def document(self, request: Request) -> Response:
        return HTMLResponse(self._document.replace(NONCE, request.state.nonce))

    async def file(self, request: Request) -> Response:
        return self._files.get(request.path_params["name"]) or Response("not found", 404)

    async def catalogue(self, request: Request) -> Response:
        return Response(self._catalogue, media_type="application/json")

    async def run(self, request: Request) -> Response:
        """Hand a request to a worker, unless it is too large to be one."""
        body = await _body(request)
        if body is None:
            return refusal(413, "too-large", f"at most {MOST_BODY_BYTES:,} bytes are read")
        job = request.scope["path"].rpartition("/")[2]
        page = request.headers.get("x-oneread-page", "")
        gone = asyncio.ensure_future(_gone(request))
        try:
            return _response(job, await self._pool.run(job, body, page, gone))
        except Ended as end:
            answer = refusal(_STATUSES[end.reason], end.reason, ENDS[end.reason])
            if end.reason == "busy":
                answer.headers["Retry-After"] = "1"
            return answer
        finally:
            gone.cancel()


def _response(job: str, answer: Answer) -> Response:
    response = Response(answer.body, answer.status, media_type=_TYPES[answer.kind])
    if job == "export" and answer.kind == "html":
        response.headers["Content-Disposition"] = 'attachment; filename="oneread-trace.html"'
    return response


async def _body(request: Request) -> bytes | None:
    """Return the body, or None as soon as it is known to be too large, or never to come whole."""
    said = request.headers.get("content-length", "")
    if said.isdecimal() and int(said) > MOST_BODY_BYTES:
        return None
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY_BYTES:
                return None
    except ClientDisconnect:
        return None  # and nobody to tell
    return bytes(body)


async def _gone(request: Request) -> None:
    """Wait until nobody listens any more."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
