"""Integer expressions of the catalogue and the command line."""

from __future__ import annotations

import time

import pytest

from oneread.source.arithmetic import ExpressionError, integer

NAMES = {"rows": 4, "vocab": 250, "TILE": 32}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("rows * (vocab + 2)", 1008),
        ("vocab / TILE", 7),
        ("-vocab / TILE", -8),
        ("vocab % TILE", 26),
        ("1 - 2 - 3", -4),
        ("- - 3", 3),
        ("ceil_div(vocab, TILE)", 8),
        ("min(rows, 3) + max(rows, 3)", 7),
        ("log2(TILE) + log2(33)", 10),
        (12, 12),
    ],
)
def test_expression_has_its_value(text: str, value: int) -> None:
    assert integer(text, NAMES) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "a number or a name is missing"),
        ("1 +", "a number or a name is missing"),
        ("(1", "')' is missing"),
        ("1 2", "'2' is not expected"),
        ("1 ** 2", "'*' is not expected"),
        ("rows.x", "'.' has no meaning here"),
        ("__import__('os')", "''' has no meaning here"),
        ("columns", "'columns' is not known; known are rows, vocab, TILE, min, max"),
        ("1 / 0", "divides by zero"),
        ("ceil_div(1, 0)", "divides by zero"),
        ("log2(0)", "log2 of a number below 1"),
        ("min(1)", "min takes 2 numbers"),
        ("min", "'min' is not known"),
        ("1.5", "'.' has no meaning here"),
        ("9" * 30, "larger than 64 bits"),
        (" * ".join(["9999999"] * 20), "larger than 64 bits"),
        ("(" * 60 + "1", "nested more than 40 deep"),
        ("1" * 600, "longer than 500 characters"),
        ("\0", "has no meaning here"),
        ("٣", "has no meaning here"),
    ],
)
def test_expression_is_refused(text: str, why: str) -> None:
    start = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        integer(text, NAMES)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - start < 1.0
