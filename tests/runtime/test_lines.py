"""Rows of arrays are told as two loops, and accesses are as wide as all operands allow."""

from __future__ import annotations

import numpy as np
import pytest

from oneread.runtime.lines import (
    Lines,
    Places,
    fit,
    lines_of,
    mask_lies_alike,
    rows_between,
    rows_of,
)
from oneread.spec import ShapeError


def strides(*shape: int) -> tuple[int, ...]:
    return tuple(step // 8 for step in np.empty(shape).strides)


DENSE = strides(4, 5, 24)


def test_rows_side_by_side_are_one_inner_loop() -> None:
    assert lines_of((4, 5, 24), 2, DENSE, DENSE) == Lines(1, 20, 24, (0, 24, 1), (0, 24, 1))


def test_rows_along_a_middle_axis_are_two_loops() -> None:
    lines = lines_of((4, 5, 24), 1, DENSE, None)
    assert lines == Lines(4, 24, 5, (120, 1, 24), (24, 1, 0))
    assert lines.rows == 96


def test_axes_of_length_1_make_no_loop() -> None:
    assert lines_of((4, 1, 24), 2, (24, 999, 1), (24, 7, 1)) == Lines(
        1, 4, 24, (0, 24, 1), (0, 24, 1)
    )


@pytest.mark.parametrize(
    ("mask", "outer", "steps"),
    [((0, 0, 1), 1, (0, 0, 1)), ((24, 0, 1), 4, (24, 0, 1)), ((0, 24, 1), 4, (0, 24, 1))],
)
def test_mask_that_broadcasts_adds_a_loop_where_it_must(
    mask: tuple[int, ...], outer: int, steps: tuple[int, ...]
) -> None:
    lines = lines_of((4, 5, 24), 2, DENSE, DENSE, mask)
    assert (lines.outer, lines.where) == (outer, steps)


def test_third_loop_is_told_and_refused() -> None:
    shape, x = (3, 4, 5, 24), strides(3, 4, 5, 24)
    mask = (120, 0, 24, 1)
    assert fit(shape, 3, x, x)
    assert not fit(shape, 3, x, x, mask)
    with pytest.raises(ShapeError, match="more than two loops"):
        lines_of(shape, 3, x, x, mask)


@pytest.mark.parametrize(
    ("vocab", "places", "y_step", "width", "aligned"),
    [
        (1000, Places(), 1000, 16, True),
        (1001, Places(), 1001, 16, False),
        (1000, Places(x=4, y=4), 1000, 16, False),
        (1000, Places(x=8, y=0), 1000, 8, True),
        (1000, Places(), 1001, 4, True),
    ],
)
def test_access_is_as_wide_as_input_and_result_lie_alike(
    vocab: int, places: Places, y_step: int, width: int, aligned: bool
) -> None:
    lines = lines_of((9, vocab), 1, (vocab, 1), (y_step, 1))
    rows = rows_of("float32", lines, places, result=True)
    assert (rows.rows, rows.vocab, rows.vector_bytes, rows.aligned) == (9, vocab, width, aligned)


@pytest.mark.parametrize(
    ("types", "places", "y_step", "width"),
    [
        (("bfloat16", "float32"), Places(), 1001, 16),
        (("bfloat16", "float32"), Places(x=2, y=4), 1001, 16),
        (("bfloat16", "float32"), Places(), 1005, 16),  # float32 is written by fours
        (("bfloat16", "float32"), Places(x=2, y=8), 1001, 2),
        (("bfloat16", "float32"), Places(x=4, y=0), 1001, 4),
        (("float32", "bfloat16"), Places(x=8, y=4), 1001, 16),
        (("float32", "bfloat16"), Places(), 1003, 8),
        (("float16", "bfloat16"), Places(x=2, y=4), 1001, 2),
    ],
)
def test_access_is_as_wide_as_a_result_of_another_type_lies_alike(
    types: tuple[str, str], places: Places, y_step: int, width: int
) -> None:
    lines = lines_of((9, 1001), 1, (1001, 1), (y_step, 1))
    rows = rows_between(*types, lines, places)
    assert (rows.dtype, rows.vector_bytes, rows.aligned) == (types[0], width, False)


@pytest.mark.parametrize(
    ("mask", "places", "alike"),
    [
        ((1001, 1), Places(), True),
        ((0, 1), Places(), False),  # its rows begin alike, those of x do not
        ((1001, 1), Places(where=1), False),
        ((1001, 1), Places(x=4, y=4, where=5), True),
    ],
)
def test_bytes_of_a_mask_are_one_access_where_they_lie_as_the_vectors_do(
    mask: tuple[int, int], places: Places, alike: bool
) -> None:
    lines = lines_of((9, 1001), 1, (1001, 1), (1001, 1), mask)
    rows = rows_of("float32", lines, places, result=True)
    assert mask_lies_alike(lines, places, rows) is alike
