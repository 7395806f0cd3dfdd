"""Arrays and a few facts as bytes and back, every byte checked.

Knows nothing of what they mean. Layout, little-endian: magic, version, length of the JSON header,
header, the arrays one after another, CRC-32 of all before. No pickle inside.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.spec import ShapeError

MAGIC: Final = b"ONERDST\x00"
VERSION: Final = 1
_HEAD: Final = struct.Struct("<8sII")
_TAIL: Final = struct.Struct("<I")
_TYPES: Final = ("<f8", "<f4", "<f2", "<i8", "<u2", "|u1")


def packed(facts: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return facts (what JSON can hold) and arrays as bytes."""
    little = {
        name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    layout = {name: [array.dtype.str, list(array.shape)] for name, array in little.items()}
    header = json.dumps({"facts": facts, "arrays": layout}, separators=(",", ":")).encode()
    body = b"".join(
        [_HEAD.pack(MAGIC, VERSION, len(header)), header, *[a.tobytes() for a in little.values()]]
    )
    return body + _TAIL.pack(zlib.crc32(body))


def unpacked(data: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `packed` was given; ShapeError when the bytes are not its work."""
    try:
        raw = bytes(memoryview(data))
    except TypeError:
        raise ShapeError(f"a packed state is bytes; got {type(data).__qualname__}") from None
    if len(raw) < _HEAD.size + _TAIL.size:
        raise bad_bytes(f"{len(raw)} bytes are fewer than a header takes")
    magic, version, length = _HEAD.unpack_from(raw)
    if magic != MAGIC:
        raise bad_bytes("they do not start with its magic number")
    if version != VERSION:
        raise bad_bytes(f"their version is {version}, this oneread reads {VERSION}")
    if zlib.crc32(raw[: -_TAIL.size]) != _TAIL.unpack_from(raw, len(raw) - _TAIL.size)[0]:
        raise bad_bytes("their checksum does not match: cut short or changed")
    start = _HEAD.size + length
    try:
        header = json.loads(raw[_HEAD.size : start])
        facts, layout = header["facts"], header["arrays"]
        return dict(facts), _arrays(raw[start : -_TAIL.size], dict(layout))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise bad_bytes(f"their header cannot be read ({error})") from None


def _arrays(body: bytes, layout: dict[str, Any]) -> dict[str, NDArray[Any]]:
    arrays: dict[str, NDArray[Any]] = {}
    at = 0
    for name, (dtype, shape) in layout.items():
        if dtype not in _TYPES or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"array {name} of type {dtype!r}, shape {shape!r}")
        count = math.prod(shape)
        size = count * np.dtype(dtype).itemsize
        if size > len(body) - at:
            raise ValueError(f"array {name} ends beyond the bytes")
        array = np.frombuffer(body, dtype, count, at).reshape(shape)
        arrays[name] = array.astype(array.dtype.newbyteorder("="))
        at += size
    if at != len(body):
        raise ValueError(f"{len(body) - at} bytes are left over")
    return arrays


def bad_bytes(reason: str) -> ShapeError:
    """Return the one error for bytes that are no state."""
    return ShapeError(f"these bytes are not a packed State: {reason}")
