"""Header of a `.safetensors` file, read without trust.

Reads the header and nothing else; every number in it is checked against the size of the file
before anything is allocated. As the format demands, the tensors must fill the data without a hole
or an overlap, and no name may stand twice. Knows no op.

References
----------
https://huggingface.co/docs/safetensors, section "Format".
"""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any, Final

from oneread.files.errors import FileFormatError, printable
from oneread.files.tensor import StoredTensor, check_shape, open_regular

#: Longest header that is parsed, the format's own limit.
MAX_HEADER_BYTES: Final = 100_000_000

_TYPES: Final = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip

#: Bits an element, also of types that can be listed and not read.
_BITS: Final = {
    "F64": 64, "I64": 64, "U64": 64, "C64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16,
    "BF16": 16, "I16": 16, "U16": 16, "I8": 8, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8,
    "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip


def read_safetensors_header(path: Path) -> tuple[StoredTensor, ...]:
    """Describe the tensors in a `.safetensors` file, in the order of their data.

    Parameters
    ----------
    path : Path
        File to look at.

    Returns
    -------
    tuple of StoredTensor
        Every tensor; those of a type that the ops do not take keep the file's name for it.

    Raises
    ------
    FileFormatError
        When the file is empty, truncated, no `.safetensors` file, or breaks the format's rules.
    OSError
        When the file cannot be opened.
    """
    label = printable(path, 200)
    file, size = open_regular(path)
    with file:
        if size < 8:
            raise FileFormatError(f"{label}: truncated: a .safetensors file has at least 8 bytes")
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise FileFormatError(
                f"{label}: not a .safetensors file (its header would have {length:,} bytes)"
            )
        if 8 + length > size:
            raise FileFormatError(
                f"{label}: truncated: the header needs {length:,} bytes, the file has {size - 8:,}"
            )
        raw = file.read(length)
    header = _parse(label, raw)
    data_bytes = size - 8 - length
    tensors = [
        _tensor(path, name, entry, 8 + length, data_bytes)
        for name, entry in header.items()
        if name != "__metadata__"
    ]
    tensors.sort(key=lambda item: item[1])
    _check_cover(label, tensors, data_bytes)
    return tuple(tensor for tensor, _ in tensors)


def _parse(label: str, raw: bytes) -> dict[str, Any]:
    """Return the header's object; strict JSON, each name once."""
    if not raw.startswith(b"{"):
        raise FileFormatError(f"{label}: not a .safetensors file (its header is no JSON object)")
    try:
        header = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant
        )
    except _HeaderError as error:
        raise FileFormatError(f"{label}: {error}") from None
    except (ValueError, RecursionError, MemoryError):
        raise FileFormatError(f"{label}: the header is no valid JSON") from None
    metadata = header.get("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise FileFormatError(f"{label}: the header's __metadata__ is no map of strings")
    return dict(header)


class _HeaderError(ValueError):
    """A rule of the format that the JSON breaks."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    seen = dict(pairs)
    if len(seen) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise _HeaderError(f"the header names {printable(repr(twice))} twice")
    return seen


def _no_constant(text: str) -> None:
    raise _HeaderError(f"the header holds {text}, which is no JSON")


def _tensor(
    path: Path, name: str, entry: Any, data_start: int, data_bytes: int
) -> tuple[StoredTensor, tuple[int, int]]:
    """Return one tensor and its byte range, checked by itself."""
    label = f"{printable(path, 200)}: tensor {printable(repr(name))}"
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise FileFormatError(f"{label} does not state dtype, shape and data_offsets")
    dtype, offsets = entry["dtype"], entry["data_offsets"]
    if not isinstance(dtype, str):
        raise FileFormatError(f"{label} has a dtype that is no text")
    shape = check_shape(label, entry["shape"])
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(type(offset) is int for offset in offsets)
        or not 0 <= offsets[0] <= offsets[1]
    ):
        raise FileFormatError(f"{label} has data_offsets that are no range of bytes")
    begin, end = offsets
    if end > data_bytes:
        raise FileFormatError(
            f"{label} ends beyond the file: truncated or absurd ({data_bytes:,} bytes of data)"
        )
    bits = _BITS.get(dtype)
    if bits is not None and math.prod(shape) * bits != 8 * (end - begin):
        raise FileFormatError(
            f"{label}: {printable(dtype, 30)} of shape {printable(shape, 60)} does not fill its "
            f"{end - begin:,} bytes"
        )
    stored = StoredTensor(path, name, _TYPES.get(dtype, dtype), shape, data_start + begin)
    return stored, (begin, end)


def _check_cover(
    label: str, tensors: list[tuple[StoredTensor, tuple[int, int]]], data_bytes: int
) -> None:
    """Raise unless the tensors, in order, fill the data exactly."""
    at = 0
    for tensor, (begin, end) in tensors:
        if begin != at:
            fault = "overlaps another" if begin < at else "leaves a hole before it"
            raise FileFormatError(f"{label}: tensor {printable(repr(tensor.name))} {fault}")
        at = end
    if at != data_bytes:
        raise FileFormatError(f"{label}: {data_bytes - at:,} bytes of data belong to no tensor")
