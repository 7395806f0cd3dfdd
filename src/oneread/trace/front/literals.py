"""Numbers and characters as they are written: their value and type.

Knows suffixes and bases; reports nothing.
"""

from __future__ import annotations

import math
import re
import struct
from fractions import Fraction
from typing import Final

from oneread.trace.front.fold import Number
from oneread.trace.types import (
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    LONG_LONG,
    UINT,
    ULONG,
    ULONG_LONG,
    Scalar,
)

_INTEGER: Final = re.compile(
    r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uU]?)(ll|LL|[lL]?)([uU]?)"
)
_DECIMAL: Final = re.compile(
    r"((?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][+-]?[0-9]+)?)([fFlL]?)"
)
_HEXADECIMAL: Final = re.compile(
    r"(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)([fFlL]?)"
)
_ESCAPES: Final = {
    "n": 10, "t": 9, "r": 13, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11,
}  # fmt: skip

#: Longest number that is read, in characters: more digits than any type has.
_LONGEST: Final = 400


def number(text: str) -> tuple[Scalar, Number] | None:
    """Return the type and value of a number, or None when it is none."""
    plain = text.replace("'", "")
    if len(plain) > _LONGEST:
        return None
    if found := _INTEGER.fullmatch(plain):
        return _integer(found)
    if found := _HEXADECIMAL.fullmatch(plain):
        try:
            value = float.fromhex(found[1])
        except OverflowError:
            return None
        return (FLOAT, _rounded(value)) if found[2] in ("f", "F") else (DOUBLE, value)
    if found := _DECIMAL.fullmatch(plain):
        return _floating(found[1], float(found[1]), found[2])
    return None


def _floating(text: str, value: float, suffix: str) -> tuple[Scalar, Number]:
    return (FLOAT, _single(text, value)) if suffix in ("f", "F") else (DOUBLE, value)


def _single(text: str, value: float) -> float:
    """Return the float nearest to a decimal, whose nearest double is known.

    Rounding twice goes wrong only where the double lies halfway between two floats and the decimal
    does not.
    """
    near = _rounded(value)
    if near == value or not math.isfinite(near):
        return near
    (bits,) = struct.unpack("I", struct.pack("f", near))
    outward = (abs(value) > abs(near)) - (abs(value) < abs(near))
    other: float = struct.unpack("f", struct.pack("I", bits + outward))[0]
    if value - near != other - value:
        return near
    exact = Fraction(text)
    if exact == Fraction(value):
        return near
    return max(near, other) if exact > Fraction(value) else min(near, other)


def _rounded(value: float) -> float:
    """Return the float nearest to a double: infinity, as natively packed, beyond the largest."""
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def _integer(found: re.Match[str]) -> tuple[Scalar, Number] | None:
    """Return an integer in the first of C's types that holds it."""
    digits, before, long, behind = found.groups()
    if before and behind:
        return None
    octal = digits.startswith("0") and digits.isdigit()
    value = int(digits, 8 if octal else 0)
    is_unsigned, is_decimal = bool(before or behind), digits[0] != "0"
    candidates: tuple[Scalar, ...] = (INT, UINT, LONG, ULONG)
    if long.lower() == "ll":
        candidates = (LONG_LONG, ULONG_LONG)
    elif long:
        candidates = (LONG, ULONG)
    for kind in candidates:
        fits = value <= kind.highest
        # A decimal without a u is never unsigned.
        if fits and (not kind.signed if is_unsigned else kind.signed or not is_decimal):
            return kind, value
    return None


def character(text: str) -> int | None:
    """Return the value of a character in its quotes, or None when it is not one byte."""
    inner = text[1:-1]
    if len(inner) == 1 and ord(inner) < 128:
        return ord(inner)
    if len(inner) == 2 and inner[0] == "\\" and inner[1] in _ESCAPES:
        return _ESCAPES[inner[1]]
    if found := re.fullmatch(r"\\(?:x([0-9a-fA-F]{1,2})|([0-3]?[0-7]{1,2}))", inner):
        value = int(found[1], 16) if found[1] else int(found[2], 8)
        return value - 256 if value > 127 else value
    return None
