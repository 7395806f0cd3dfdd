"""Source text, positions in it, and how a position is shown to a person.

Knows lines, columns and widths; knows no token and no C.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import Final, NamedTuple

#: Columns of a source line that are shown around a caret; a longer line is cut at both ends.
SHOWN_COLUMNS: Final = 100

#: Distance of tab stops where a tab has to be shown.
TAB_COLUMNS: Final = 4

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")


class Position(NamedTuple):
    """A stretch of one line: file, line and column from 1 (in characters), length."""

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SourceText:
    """A file's name and text, cut into lines.

    Parameters
    ----------
    name : str
        Name as it is shown in messages.
    text : str
        Content, decoded.
    """

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts = [0]
        at = text.find("\n") + 1
        while at:
            self._starts.append(at)
            at = text.find("\n", at) + 1

    @property
    def lines(self) -> int:
        """Number of lines, an empty one at the end included."""
        return len(self._starts)

    def line(self, number: int) -> str:
        """Return a line by its number from 1, without its end; empty beyond the last."""
        if not 1 <= number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = self._starts[number] if number < len(self._starts) else len(self.text)
        return self.text[start:end].removesuffix("\n").removesuffix("\r")

    def position(self, offset: int, length: int = 1) -> Position:
        """Return the position of an offset into the text."""
        line = bisect_right(self._starts, offset)
        return Position(self.name, line, offset - self._starts[line - 1] + 1, length)


def split_lines(text: str) -> list[str]:
    """Return the lines of a text with their ends, cut where `SourceText` cuts: at each newline."""
    return _LINE.findall(text)


def show(line: str, column: int, length: int = 1) -> str:
    """Return a source line and, below it, a caret under a column.

    Parameters
    ----------
    line : str
        One line of source.
    column : int
        Column from 1; one past the end is where something is missing.
    length : int
        Characters to underline.

    Returns
    -------
    str
        Two lines, cut to `SHOWN_COLUMNS` around the caret, tabs and control characters made
        visible so that the caret stands where it should.
    """
    start = max(0, min(column - 1, len(line)))
    first = max(0, start - SHOWN_COLUMNS // 2) if len(line) > SHOWN_COLUMNS else 0
    last = min(len(line), first + SHOWN_COLUMNS)
    before = _visible(line[first:start], 0)
    lead = "..." if first else ""
    marked = _visible(line[start : min(last, start + max(1, length))], _width(before))
    after = _visible(line[min(last, start + max(1, length)) : last], _width(before + marked))
    tail = "..." if last < len(line) else ""
    caret = " " * (len(lead) + _width(before)) + "^" + "~" * (_width(marked) - 1)
    return f"{lead}{before}{marked}{after}{tail}\n{caret}"


def _visible(text: str, column: int) -> str:
    """Return text with tabs spread and what cannot be printed replaced, one cell each."""
    out: list[str] = []
    for char in text:
        if char == "\t":
            cell = " " * (TAB_COLUMNS - column % TAB_COLUMNS)
        elif unicodedata.category(char)[0] == "C":
            cell = "\N{REPLACEMENT CHARACTER}"
        else:
            cell = char
        out.append(cell)
        column += _width(cell)
    return "".join(out)


def _width(text: str) -> int:
    """Return the cells of a terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
