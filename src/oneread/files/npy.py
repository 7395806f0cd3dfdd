"""Header of a `.npy` file: NumPy's format, versions 1.0, 2.0 and 3.0.

Reads the header and nothing else. Every number in it is checked against the size of the file
before anything is allocated; no pickle is ever loaded. Knows no op.

References
----------
NumPy Enhancement Proposal 1, "A Simple File Format for NumPy Arrays".
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from pathlib import Path
from typing import Any, Final

from oneread.files.errors import FileFormatError, printable
from oneread.files.tensor import ITEM_BYTES, RAW16, StoredTensor, check_shape, open_regular

MAGIC: Final = b"\x93NUMPY"

#: Longest header that is parsed, NumPy's own default (`max_header_size`).
MAX_HEADER_BYTES: Final = 10_000

_KEYS: Final = frozenset({"descr", "fortran_order", "shape"})
_DESCR: Final = re.compile(r"([<>|=]?)([a-zA-Z?])(\d*)(\[.*\])?")
_TYPES: Final = {
    "b1": "bool", "?": "bool",
    "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
    "f2": "float16", "f4": "float32", "f8": "float64",
    "V2": RAW16,
}  # fmt: skip
_REFUSED: Final = {
    "O": "Python objects, which only unpickling could load",
    "c": "complex numbers",
    "f": "floats of a refused width",
    "S": "byte strings",
    "U": "strings",
    "M": "dates",
    "m": "time spans",
    "V": "raw bytes",
}


def read_npy_header(path: Path) -> StoredTensor:
    """Describe the array in a `.npy` file.

    Parameters
    ----------
    path : Path
        File to look at.

    Returns
    -------
    StoredTensor
        The array, checked to lie inside the file and to end where the file ends.

    Raises
    ------
    FileFormatError
        When the file is empty, truncated, longer than its array, no `.npy` file, or holds a type
        that has no numbers to read.
    OSError
        When the file cannot be opened.
    """
    label = printable(path, 200)
    file, size = open_regular(path)
    with file:
        start = file.read(12)
        if start[:6] != MAGIC:
            raise FileFormatError(f"{label}: not a .npy file (it does not start with \\x93NUMPY)")
        length_bytes, encoding = _version(label, start)
        head = 8 + length_bytes
        if len(start) < head:
            raise FileFormatError(f"{label}: truncated before the end of its header")
        length = int.from_bytes(start[8:head], "little")
        if length > MAX_HEADER_BYTES:
            raise FileFormatError(
                f"{label}: the header claims {length:,} bytes; at most {MAX_HEADER_BYTES:,} are "
                "read"
            )
        if head + length > size:
            raise FileFormatError(f"{label}: truncated before the end of its header")
        file.seek(head)
        header = _literal(label, file.read(length), encoding)
    dtype, big_endian = _dtype(label, header["descr"])
    shape = check_shape(label, header["shape"])
    if not isinstance(header["fortran_order"], bool):
        raise FileFormatError(f"{label}: the header's fortran_order is neither True nor False")
    offset = head + length
    _check_size(label, shape, 2 if dtype == RAW16 else ITEM_BYTES[dtype], size - offset)
    return StoredTensor(path, "", dtype, shape, offset, header["fortran_order"], big_endian)


def _version(label: str, start: bytes) -> tuple[int, str]:
    """Return the bytes of the header's length field and the header's encoding."""
    version = tuple(start[6:8])
    if version == (1, 0):
        return 2, "latin1"
    if version == (2, 0):
        return 4, "latin1"
    if version == (3, 0):
        return 4, "utf-8"
    if len(version) < 2:
        raise FileFormatError(f"{label}: truncated before the end of its header")
    raise FileFormatError(
        f"{label}: .npy version {version[0]}.{version[1]} is unknown (1.0, 2.0 and 3.0 are read)"
    )


def _literal(label: str, raw: bytes, encoding: str) -> dict[str, Any]:
    """Return the header's dictionary; only Python literals are evaluated."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            header = ast.literal_eval(raw.decode(encoding).strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise FileFormatError(f"{label}: the header is no Python literal") from None
    if not isinstance(header, dict) or header.keys() != _KEYS:
        raise FileFormatError(f"{label}: the header does not name descr, fortran_order and shape")
    return header


def _dtype(label: str, descr: Any) -> tuple[str, bool]:
    """Return oneread's name of the element type, and whether it is stored big end first."""
    if not isinstance(descr, str):
        raise FileFormatError(f"{label}: a structured element type is not supported")
    match = _DESCR.fullmatch(descr)
    if match is None:
        raise FileFormatError(f"{label}: element type {printable(repr(descr), 40)} is unknown")
    order, kind, width, subarray = match.groups()
    name = _TYPES.get(kind + width)
    if name is not None and subarray is None:
        return name, order == ">"
    what = _REFUSED.get(kind, "an unknown type")
    raise FileFormatError(
        f"{label}: holds {what} ({printable(descr, 40)}), which oneread does not read"
    )


def _check_size(label: str, shape: tuple[int, ...], item_bytes: int, have: int) -> None:
    """Raise unless the data fill the rest of the file."""
    need = math.prod(shape) * item_bytes
    if need > have:
        raise FileFormatError(
            f"{label}: truncated or absurd: the shape {printable(shape, 60)} needs "
            f"{_count(need)} bytes, the file holds {have:,}"
        )
    if need < have:
        raise FileFormatError(
            f"{label}: {have - need:,} bytes follow the array; one array a file is read"
        )


def _count(n_bytes: int) -> str:
    return f"{n_bytes:,}" if n_bytes < 10**18 else "more than 10^18"
