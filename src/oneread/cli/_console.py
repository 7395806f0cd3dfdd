"""What commands share when they print: errors as one line, colours, the progress bar.

Knows no command. Colours and the bar appear on a terminal only, and never when NO_COLOR is set or
TERM is dumb (the bar, which needs no colour, only minds the terminal).
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Final, TextIO

from oneread.spec import OneReadError

#: Exit statuses: success, a failure of the system, what was asked for cannot be done, and those
#: that shells give for signals.
FAILURE: Final = 1
REFUSED: Final = 2
INTERRUPTED: Final = 130
CLOSED_PIPE: Final = 141
TERMINATED: Final = 143

_STYLES: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32"}


def say(text: str = "") -> None:
    """Print a line on standard output."""
    write(text + "\n")


def write(text: str) -> None:
    """Print text on standard output as it is."""
    if sys.stdout is not None:
        sys.stdout.write(text)


def note(text: str) -> None:
    """Print a line on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def fail(message: str, status: int = REFUSED) -> SystemExit:
    """Print one line that says what is wrong, and return the exit to raise."""
    line = " ".join(message.split())
    note(f"{styled('oneread: error:', 'red', sys.stderr)} {line}")
    return SystemExit(status)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that understands cursor movement."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """Return text in a style where the stream (standard output) shows one, else as it is."""
    stream = sys.stdout if stream is None else stream
    if not is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Turn every expected error into one line and an exit status; leave bugs their traceback."""
    try:
        with _terminable():
            yield
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:
        _hush()
        raise SystemExit(CLOSED_PIPE) from None
    except KeyboardInterrupt:
        _hush()
        raise SystemExit(INTERRUPTED) from None
    except OneReadError as error:
        raise fail(str(error)) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        raise fail(f"{where}{error.strerror or error}", _status(error)) from None
    except MemoryError:
        raise fail("out of memory", FAILURE) from None
    except Exception as error:
        # Usage errors of typer and click know their message and status.
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):
            raise fail(error.format_message(), error.exit_code) from None
        raise


@contextlib.contextmanager
def diagnostics() -> Iterator[None]:
    """Print what a compiler prints where a source cannot be read."""
    from oneread.source.errors import SourceError

    try:
        yield
    except SourceError as error:
        note(str(error))
        raise SystemExit(REFUSED) from None


def _status(error: OSError) -> int:
    """Return the status: a name that cannot be opened was asked for wrongly."""
    return REFUSED if error.filename is not None else FAILURE


def _hush() -> None:
    """Send what is still to be written to nowhere, so that the exit is quiet."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM unwind the stack, so that temporary files are removed."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, leave)
    except ValueError:  # not the main thread, which alone may set a handler
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Steps:
    """A progress bar of pieces of work on standard error; silent where that is no terminal.

    Parameters
    ----------
    total : int
        How many pieces there are.
    """

    _WIDTH: Final = 24

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self._shown = is_terminal(sys.stderr)

    def add(self, label: str) -> None:
        """Count a piece as done, and name it."""
        self.done += 1
        if self._shown:
            full = self._WIDTH * self.done // max(self.total, 1)
            bar = "#" * full + "-" * (self._WIDTH - full)
            sys.stderr.write(f"\r\x1b[K[{bar}] {self.done} of {self.total}  {label[-40:]}")
            sys.stderr.flush()

    def clear(self) -> None:
        """Take the bar off the terminal."""
        if self._shown and self.done:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Bar:
    """A progress bar on standard error; silent where that is no terminal.

    Parameters
    ----------
    total : int
        Bytes to read.
    label : str
        What is read.
    """

    _WIDTH: Final = 24
    _EVERY_S: Final = 0.1

    def __init__(self, total: int, label: str) -> None:
        self.total = total
        self.label = label
        self.done = 0
        self._shown = is_terminal(sys.stderr)
        self._began = time.monotonic()
        self._last = float("-inf")

    def add(self, n_bytes: int) -> None:
        """Count bytes as read, and draw at most ten times a second."""
        self.done += n_bytes
        now = time.monotonic()
        if self._shown and self.done < self.total and now - self._last >= self._EVERY_S:
            self._last = now
            self._draw(now - self._began)

    def _draw(self, seconds: float) -> None:
        part = self.done / self.total
        full = int(part * self._WIDTH)
        rate = self.done / max(seconds, 1e-9) / 1e9
        bar = "#" * full + "-" * (self._WIDTH - full)
        sys.stderr.write(
            f"\r\x1b[K{self.label[-30:]} [{bar}] {part:4.0%} of {size_text(self.total)}, "
            f"{rate:.1f} GB/s"
        )
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the bar off the terminal, before rows are printed or at the end."""
        if self._shown and self._last > float("-inf"):
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def size_text(n_bytes: float) -> str:
    """Return a number of bytes for people, in powers of ten."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"
