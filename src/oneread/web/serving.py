"""The server as a process: its address, how it starts and how it stops.

Knows uvicorn; knows no request.
"""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable, Iterable
from typing import Final

import uvicorn

from oneread.spec.errors import BackendUnavailableError
from oneread.web.app import application
from oneread.web.bundle import read_bundle
from oneread.web.catalogue import DEADLINE_S
from oneread.web.guard import Guard
from oneread.web.pool import Pool

#: The only address that is listened on.
LOOPBACK: Final = "127.0.0.1"

#: Seconds that open connections get to end once all runs are over.
_GRACE_S: Final = 1

#: Why a port cannot be had.
_TAKEN: Final = {errno.EADDRINUSE: "is not free", errno.EACCES: "is for administrators"}


class Server(uvicorn.Server):
    """A server with workers: ready when it is, and gone before it waits for those who asked."""

    def __init__(self, config: uvicorn.Config, pool: Pool) -> None:
        super().__init__(config)
        self._pool = pool

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and get workers ready."""
        await super().startup(sockets)
        self._pool.prepare()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all runs, then the rest."""
        await self._pool.close()
        await super().shutdown(sockets)


def serve(port: int, names: Iterable[str], opened: Callable[[str], None]) -> None:
    """Serve the page until a signal ends it.

    Parameters
    ----------
    port : int
        Where to listen; 0 for a free port.
    names : iterable of str
        Names of this machine that a browser may use, besides those of the loopback.
    opened : callable
        Called with the address of the page once connections are taken.

    Raises
    ------
    PageMissingError
        When this installation has no page.
    BackendUnavailableError
        When the port cannot be had.
    """
    bundle = read_bundle()
    with listen(port) as listening:
        pool = Pool(DEADLINE_S)
        guard = application(pool, bundle, names)
        opened(f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={guard.token}")
        Server(configuration(guard), pool).run(sockets=[listening])


def configuration(guard: Guard) -> uvicorn.Config:
    """Return how the server runs: quietly, and trusting no header about where a request is from.

    Whatever any page of the browser sends here could be a warning in the terminal; an error is a
    fault of ours.
    """
    return uvicorn.Config(
        guard,
        http="h11",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )


def listen(port: int) -> socket.socket:
    """Return a socket that takes connections from this machine.

    Raises
    ------
    BackendUnavailableError
        When the port cannot be had.
    """
    try:
        listening = socket.create_server((LOOPBACK, port))
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        why = _TAKEN[error.errno]
        raise BackendUnavailableError(f"port {port} {why}; leave --port out") from None
    # Connections inherit it; asyncio sets it on sockets of its own only. Without it the second
    # part of an answer waits 40 ms for the browser's word that the first has come.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
