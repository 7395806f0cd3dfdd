"""One array inside a file: its description, and its memory-mapped view.

Knows no file format and no op.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.files.errors import FileFormatError, printable
from oneread.spec import INPUT_DTYPES

#: Most axes that an array may have, NumPy's own limit.
MAX_AXES: Final = 64

#: Bytes an element of the types that the ops take.
ITEM_BYTES: Final[dict[str, int]] = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2,
    "int32": 4, "uint32": 4, "float32": 4, "int64": 8, "uint64": 8, "float64": 8,
}  # fmt: skip

#: Name of raw 16-bit words, which are no numbers until somebody says which.
RAW16: Final = "raw 16-bit"

#: Stored types that may be read as bfloat16 when asked.
_WORDS: Final = frozenset({RAW16, "uint16", "int16"})


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where an array lies in a file and how to read it.

    `dtype` is one of `oneread.spec.INPUT_DTYPES`, or, for a tensor that can only be listed, the
    file's own name for a type that the ops do not take.
    """

    path: Path
    name: str
    """Name inside the file; empty in a file of one array."""
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """First byte of the data, from the start of the file."""
    fortran_order: bool = False
    big_endian: bool = False

    @property
    def n_bytes(self) -> int:
        """Bytes of the data."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]

    @property
    def label(self) -> str:
        """File's name, and the tensor's where it has one, for messages."""
        name = printable(self.path, 200)
        return f"{name}: tensor {printable(self.name)!r}" if self.name else name


def open_regular(path: Path) -> tuple[IO[bytes], int]:
    """Open a file for reading and return it with its size; pipes and devices are refused.

    Raises
    ------
    FileFormatError
        When the path is no regular file, or an empty one.
    OSError
        When it cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise FileFormatError(f"{printable(path, 200)}: not a regular file")
    # The caller closes the file.
    file = open(path, "rb")  # noqa: SIM115
    size = os.fstat(file.fileno()).st_size
    if size == 0:
        file.close()
        raise FileFormatError(f"{printable(path, 200)}: the file is empty")
    return file, size


def check_shape(label: str, shape: Any) -> tuple[int, ...]:
    """Return `shape` as a tuple of non-negative ints, or raise `FileFormatError`."""
    if not isinstance(shape, (tuple, list)) or len(shape) > MAX_AXES:
        raise FileFormatError(f"{label}: the header's shape is no list of at most {MAX_AXES} sizes")
    for size in shape:
        if type(size) is not int or size < 0:
            raise FileFormatError(
                f"{label}: the header's shape holds {printable(repr(size), 30)}, which is no size"
            )
    return tuple(shape)


def usable(tensor: StoredTensor, as_dtype: str | None = None) -> StoredTensor:
    """Return the tensor as the ops can read it, with `as_dtype` applied to 16-bit words.

    Raises
    ------
    FileFormatError
        When its type is refused, when it has no axis or no element, or when `as_dtype` does not
        fit what the file says.
    """
    label = tensor.label
    if as_dtype is not None and as_dtype != tensor.dtype:
        if as_dtype != "bfloat16":
            raise FileFormatError(
                f"{label}: --dtype takes bfloat16 alone, for raw 16-bit words; got "
                f"{printable(as_dtype, 30)}"
            )
        if tensor.dtype not in _WORDS:
            raise FileFormatError(
                f"{label}: holds {printable(tensor.dtype, 30)}; --dtype bfloat16 is for raw "
                "16-bit words"
            )
        tensor = replace(tensor, dtype=as_dtype)
    if tensor.dtype == RAW16:
        raise FileFormatError(
            f"{label}: holds raw 16-bit words; say --dtype bfloat16 if that is what they are"
        )
    if tensor.dtype not in INPUT_DTYPES:
        raise FileFormatError(
            f"{label}: element type {printable(tensor.dtype, 30)} is not supported (allowed: "
            f"{', '.join(INPUT_DTYPES)})"
        )
    if not tensor.shape:
        raise FileFormatError(f"{label}: holds a single number, which has no axis to read along")
    if 0 in tensor.shape:
        raise FileFormatError(f"{label}: has no elements (shape {shape_text(tensor.shape)})")
    return tensor


def shape_text(shape: tuple[int, ...]) -> str:
    """Return a shape as text, shortened when it has many axes."""
    return printable(shape, 60)


class MappedTensor:
    """A tensor's data in memory-mapped form.

    `array` has the tensor's shape and layout and is read-only; bfloat16 comes as uint16 words.
    The operating system loads pages as they are touched, and `release` gives them back, so that
    the resident size stays small however large the file is. As with every mapping, a file that
    another program shortens while it is read ends the process (SIGBUS).
    """

    def __init__(self, tensor: StoredTensor) -> None:
        self.tensor = tensor
        word = "uint16" if tensor.dtype == "bfloat16" else tensor.dtype
        dtype = np.dtype(word).newbyteorder(">" if tensor.big_endian else "<")
        # A mapping starts at a page, so `_lead` bytes before the data are mapped with it.
        self._lead = tensor.offset % mmap.ALLOCATIONGRANULARITY
        file, size = open_regular(tensor.path)
        with file:
            if tensor.offset + tensor.n_bytes > size:
                raise FileFormatError(f"{tensor.label}: the file shrank after its header was read")
            self._map = mmap.mmap(
                file.fileno(),
                self._lead + tensor.n_bytes,
                access=mmap.ACCESS_READ,
                offset=tensor.offset - self._lead,
            )
        self.array: NDArray[Any] = np.ndarray(
            tensor.shape,
            dtype,
            buffer=self._map,
            offset=self._lead,
            order="F" if tensor.fortran_order else "C",
        )
        self._base = self.array.__array_interface__["data"][0] - self._lead

    def release(self, view: NDArray[Any]) -> None:
        """Drop the resident pages between the first and the last byte of a view of `array`."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        first = view.__array_interface__["data"][0] - self._base
        span = sum((n - 1) * stride for n, stride in zip(view.shape, view.strides, strict=True))
        start = first - first % mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, start, first + span + view.itemsize - start)
