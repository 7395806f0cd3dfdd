"""The error that a file raises when it is not what it says it is.

Knows no file format.
"""

from __future__ import annotations

from oneread.spec import OneReadError


class FileFormatError(OneReadError, ValueError):
    """A file that is truncated, unknown, empty, of a refused type or absurdly shaped.

    The message is one line that starts with the file's name.
    """


def printable(text: object, limit: int = 80) -> str:
    """Return text from a file as one short line without control characters."""
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))
    return line if len(line) <= limit else line[: limit - 3] + "..."
