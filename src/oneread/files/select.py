"""Columns to look up, one or several a row, from a `.npy` file or from text.

Knows no op.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.files.errors import FileFormatError, printable
from oneread.files.npy import MAGIC, read_npy_header
from oneread.files.tensor import MappedTensor, open_regular, usable

#: Most digits that a column's number may have in a text file.
_MAX_DIGITS = 18


class Columns:
    """Columns of every row, checked slice by slice as they are needed.

    Parameters
    ----------
    source : Path
        File that they came from, for messages.
    values : ndarray, shape rows or rows + (s,), integer
        Column numbers; memory-mapped where the file is a `.npy` file.
    """

    def __init__(self, source: Path, values: NDArray[Any]) -> None:
        self.source = printable(source, 200)
        self._values = values

    def for_rows(self, lead: tuple[int, ...]) -> RowColumns:
        """Return the columns as one line a row, for an array whose rows are laid out as `lead`.

        Raises
        ------
        FileFormatError
            When their shape is neither that of the rows nor that with one more axis.
        """
        shape, rows = self._values.shape, math.prod(lead)
        if shape in (lead, (rows,)):
            return RowColumns(self.source, self._values.reshape(rows), ())
        if shape[:-1] in (lead, (rows,)):
            return RowColumns(self.source, self._values.reshape(rows, shape[-1]), shape[-1:])
        raise FileFormatError(
            f"{self.source}: columns of shape {printable(shape, 60)} do not fit {rows:,} rows of "
            f"shape {printable(lead, 60)}"
        )


class RowColumns:
    """Columns laid out as one line a row: shape (rows,) or (rows, s)."""

    def __init__(self, source: str, values: NDArray[Any], tail: tuple[int, ...]) -> None:
        self._source = source
        self._values = values
        self.tail = tail

    def slice(self, first: int, stop: int, vocab: int) -> NDArray[np.int64]:
        """Return those of rows `first` to `stop`, as int64.

        Raises
        ------
        FileFormatError
            When one of them is outside `[0, vocab)`.
        """
        part = self._values[first:stop]
        bad = (part < 0) | (part >= vocab)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            raise FileFormatError(
                f"{self._source}: column {int(part[at])} of row {first + at[0]} is outside "
                f"[0, {vocab})"
            )
        return part.astype(np.int64)


def read_columns(path: Path) -> Columns:
    """Read column numbers from a `.npy` file of integers or from text.

    Parameters
    ----------
    path : Path
        A `.npy` file, or UTF-8 text with the columns of one row on each line, separated by blanks
        or commas; every line has the same number of them.

    Returns
    -------
    Columns
        The numbers. A text of one column a line gives one column a row.

    Raises
    ------
    FileFormatError
        When the file holds anything but whole numbers.
    OSError
        When the file cannot be opened.
    """
    file, _ = open_regular(path)
    with file:
        is_npy = file.read(6) == MAGIC
    if is_npy or path.suffix == ".npy":
        tensor = usable(read_npy_header(path))
        if "int" not in tensor.dtype:
            raise FileFormatError(f"{tensor.label}: columns are integers; got {tensor.dtype}")
        return Columns(path, MappedTensor(tensor).array)
    return Columns(path, _from_text(path))


def _from_text(path: Path) -> NDArray[np.int64]:
    label = printable(path, 200)
    rows: list[list[int]] = []
    try:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.replace(",", " ").split()
                if not words:
                    continue
                rows.append([_column(f"{label}:{number}", word) for word in words])
                if len(rows[-1]) != len(rows[0]):
                    raise FileFormatError(
                        f"{label}:{number}: {len(rows[-1])} columns; the first line has "
                        f"{len(rows[0])}"
                    )
    except UnicodeDecodeError:
        raise FileFormatError(f"{label}: neither a .npy file nor text") from None
    if not rows:
        raise FileFormatError(f"{label}: holds no column")
    columns = np.array(rows, dtype=np.int64)
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _column(where: str, word: str) -> int:
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise FileFormatError(f"{where}: {printable(repr(word), 30)} is no column number")
    return int(word)
