"""Numbers and characters as C++ has them, and arithmetic at compile time."""

from __future__ import annotations

import math
import random
from ctypes import c_float
from fractions import Fraction

import pytest

from oneread.trace.front import fold
from oneread.trace.front.literals import character, number
from oneread.trace.types import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    LONG_LONG,
    SCHAR,
    UCHAR,
    UINT,
    ULONG,
    ULONG_LONG,
    Scalar,
)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0", INT, 0),
        ("017", INT, 15),
        ("0x7fffffff", INT, 2**31 - 1),
        ("0x80000000", UINT, 2**31),
        ("2147483648", LONG, 2**31),
        ("0b101", INT, 5),
        ("1'000'000", INT, 10**6),
        ("1u", UINT, 1),
        ("4294967296u", ULONG, 2**32),
        ("1l", LONG, 1),
        ("1ull", ULONG_LONG, 1),
        ("1llu", ULONG_LONG, 1),
        ("1LL", LONG_LONG, 1),
        ("0xffffffffffffffff", ULONG, 2**64 - 1),
        ("1.", DOUBLE, 1.0),
        (".5f", FLOAT, 0.5),
        ("1e3", DOUBLE, 1000.0),
        ("0x1.8p1", DOUBLE, 3.0),
        ("0x1p-3f", FLOAT, 0.125),
        ("1e39f", FLOAT, math.inf),
        ("1e-60f", FLOAT, 0.0),
        ("3.402823466e+38F", FLOAT, (2 - 2**-23) * 2.0**127),
    ],
)
def test_number_has_type_and_value(text: str, kind: Scalar, value: float) -> None:
    assert number(text) == (kind, value)


@pytest.mark.parametrize(
    "text", ["08", "1.0ff", "0x", "1e", "1.0.0", "12abc", "1ulu", "2lL", "0b2", "0x1.8", "٣",
             "18446744073709551616", "1" * 500],
)  # fmt: skip
def test_what_is_no_number_is_none(text: str) -> None:
    assert number(text) is None


def test_float_is_rounded_once() -> None:
    # A little above the middle of 1 and the next float, by less than a double can hold.
    text = "1.000000059604644775390625000000001f"
    assert number(text) == (FLOAT, 1 + 2.0**-23)
    assert number(text.replace("0001f", "0000f")) == (FLOAT, 1.0)


def test_float_is_the_nearest_to_any_decimal() -> None:
    rng = random.Random(4)
    for _ in range(2000):
        text = f"{rng.randrange(1, 10**12)}.0e{rng.randrange(-50, 26)}"
        found = number(text + "f")
        assert found is not None
        value = found[1]
        exact = abs(Fraction(text) - Fraction(value))
        for step in (2.0**-24, -(2.0**-24)):
            other = c_float(value + value * step * 2).value
            assert exact <= abs(Fraction(text) - Fraction(other))


@pytest.mark.parametrize(
    ("text", "value"), [("'a'", 97), ("'\\n'", 10), ("'\\x41'", 65), ("'\\xff'", -1), ("'\\0'", 0)]
)
def test_character_has_its_value(text: str, value: int) -> None:
    assert character(text) == value


@pytest.mark.parametrize("text", ["''", "'ab'", "'é'", "'\\q'", "'\\x123'"])
def test_what_is_no_character_is_none(text: str) -> None:
    assert character(text) is None


@pytest.mark.parametrize(
    ("operator", "left", "right", "kind", "value"),
    [
        ("+", 2**31 - 1, 1, INT, None),
        ("+", 2**32 - 1, 1, UINT, 0),
        ("-", 0, 1, UINT, 2**32 - 1),
        ("*", 2**16, 2**16, INT, None),
        ("/", -7, 2, INT, -3),
        ("%", -7, 2, INT, -1),
        ("/", -(2**31), -1, INT, None),
        ("/", 1, 0, INT, None),
        ("<<", 1, 32, INT, None),
        ("<<", 1, -1, INT, None),
        ("<<", 1, 31, UINT, 2**31),
        (">>", -8, 1, INT, -4),
        ("^", -1, 1, INT, -2),
        ("/", 1.0, 3.0, FLOAT, c_float(1 / 3).value),
        ("/", 1.0, 0.0, FLOAT, None),
        ("*", 2.0**100, 2.0**100, FLOAT, math.inf),
    ],
)
def test_operator_on_constants(
    operator: str, left: float, right: float, kind: Scalar, value: float | None
) -> None:
    assert fold.applied(operator, left, right, kind) == value


@pytest.mark.parametrize(
    ("value", "kind", "result"),
    [
        (300, UCHAR, 44),
        (200, SCHAR, -56),
        (-1, UINT, 2**32 - 1),
        (2.9, INT, 2),
        (-2.9, INT, -2),
        (3e9, INT, None),
        (math.nan, INT, None),
        (math.nan, BOOL, 1),
        (0.0, BOOL, 0),
        (16777217, FLOAT, 16777216.0),
    ],
)
def test_constant_becomes(value: float, kind: Scalar, result: float | None) -> None:
    assert fold.converted(value, kind) == result
