"""`oneread web`: the page of the tracer, served on this machine and opened in the browser."""

import os
import sys
from typing import Annotated

import typer

from oneread.cli._console import fail, say
from oneread.spec.errors import BackendUnavailableError

HELP = """Open the page: watch softmax kernels move data, change them, find their faults.

No GPU and no network: kernels run in an interpreter, each in a process of its own. The server
listens on this machine alone, and the address that it prints is the key to it. Ctrl-C stops it.
"""

#: What the server needs and the rest of the package does not.
_LIBRARIES = frozenset(["anyio", "h11", "starlette", "uvicorn"])

NoOpen = Annotated[bool, typer.Option("--no-open", help="Print the address; open no browser.")]
Port = Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="A free one if left out.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A name of this machine besides localhost, for a proxy."),
]


def web(no_open: NoOpen = False, port: Port = 0, allow_host: AllowHost = None) -> None:
    """Serve the page until it is stopped."""
    try:
        from oneread.web.guard import is_name
        from oneread.web.serving import serve
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        if library not in _LIBRARIES:
            raise
        raise BackendUnavailableError(
            f"the page needs {library}: pip install 'oneread[web]'"
        ) from None

    for name in allow_host or ():
        if not is_name(name):
            raise fail(f"--allow-host {name}: write a name alone, without scheme, port and path")

    def opened(address: str) -> None:
        say(f"The page is at {address}")
        say("Ctrl-C stops it.")
        sys.stdout.flush()
        if not no_open and _has_browser():
            _open(address)

    serve(port, allow_host or (), opened)


def _open(address: str) -> None:
    import threading
    import webbrowser

    # Some ways to open a browser return when it is closed.
    threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()


def _has_browser() -> bool:
    """Say whether a browser would get a window of its own: one in this terminal would block it."""
    if sys.platform != "linux":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
