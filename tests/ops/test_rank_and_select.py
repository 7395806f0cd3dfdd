"""Chosen columns: their log-probability and their place in the order of top-k."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth

INF, NAN = np.inf, np.nan

ROWS = [
    [1.0, 3.0, 3.0, -2.0, 3.0, 0.0],
    [NAN, 1.0, -INF, NAN, INF, -INF],
    [-0.0, 0.0, -0.0, 0.0, -1.0, 1.0],
    [-INF, -INF, -INF, -INF, -INF, -INF],
]


def all_columns(rows: int, vocab: int) -> Any:
    return np.tile(np.arange(vocab), (rows, 1))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"where": np.array([True, False, True, True, False, True])},
        {"where": np.zeros((4, 6), bool)},
        {"lengths": np.array([3, 6, 0, 2])},
        {"where": np.array([True, False, True, True, False, True]), "lengths": np.array([4] * 4)},
    ],
    ids=["all", "where", "nothing", "lengths", "where_and_lengths"],
)
def test_rank_is_the_place_in_the_order_of_top_k(options: Any, kind: Any) -> None:
    x = kind(ROWS)
    read = oneread.read(x, select=all_columns(4, 6), rank=True, **options)
    order = kind.numbers(oneread.top_k(x, 6, **options).indices)
    place = np.empty_like(order)
    np.put_along_axis(place, order, all_columns(4, 6), 1)
    np.testing.assert_array_equal(kind.numbers(read.rank), place)


@pytest.mark.parametrize("name", ["ties", "nan", "plus_inf", "masked_all", "normal"])
def test_rank_in_long_rows_is_the_place_in_the_order(name: str, plain_kind: Any) -> None:
    x = plain_kind(FAMILIES[name](2, 70_001))
    chosen = np.random.default_rng(0).integers(0, 70_001, (2, 40))
    rank = oneread.read(x, select=chosen, rank=True).rank
    order = plain_kind.numbers(oneread.top_k(x, 70_001).indices)
    found = np.take_along_axis(order, plain_kind.numbers(rank), 1)
    np.testing.assert_array_equal(found, chosen)


def test_rank_of_subnormal_logits_is_exact(plain_kind: Any) -> None:
    tiny = np.finfo(np.float64).tiny if plain_kind.dtype == "float64" else None
    tiny = (
        tiny or {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149}[plain_kind.dtype]
    )
    x = plain_kind(np.array([[2 * tiny, 0, tiny, -tiny, 3 * tiny, -0.0]]))
    rank = oneread.read(x, select=all_columns(1, 6), rank=True).rank
    assert plain_kind.numbers(rank).tolist() == [[1, 3, 2, 5, 0, 4]]


@pytest.mark.parametrize(
    ("select", "shape"),
    [
        (2, (2, 3)),
        (np.int32(2), (2, 3)),
        (np.full((2, 3), 2), (2, 3)),
        (np.full((2, 3, 1), 2), (2, 3, 1)),
        (np.full((2, 3, 4), 2), (2, 3, 4)),
        (np.full((2, 3, 0), 2), (2, 3, 0)),
    ],
)
def test_selected_has_the_shape_of_the_rows_or_one_axis_more(
    select: Any, shape: tuple[int, ...], kind: Any
) -> None:
    x = kind(FAMILIES["normal"](6, 5).reshape(2, 3, 5))
    read = oneread.read(x, select=select, rank=True)
    assert tuple(read.selected.shape) == tuple(read.rank.shape) == shape


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_selected_along_any_axis_is_the_log_probability_there(axis: int, kind: Any) -> None:
    x = kind(FAMILIES["normal"](20, 7).reshape(4, 5, 7))
    rows = [n for i, n in enumerate((4, 5, 7)) if i != axis]
    chosen = np.random.default_rng(1).integers(0, (4, 5, 7)[axis], (*rows, 3))
    options = {"axis": axis, "select": chosen, "rank": True}
    assert_close_to_truth(oneread.read(x, **options), x, "read", **options)


@pytest.mark.parametrize("bad", [5, -1, 10**12, -(10**12)])
@pytest.mark.parametrize("rank", [False, True])
def test_column_outside_the_row_is_an_index_error(rank: bool, bad: int, kind: Any) -> None:
    x = kind(np.zeros((3, 5)))
    for select in (bad, [0, bad, 4], [[0], [1], [bad]]):
        with pytest.raises(IndexError, match=f"select names column {bad}; 0 to 4 is allowed"):
            oneread.read(x, select=select, rank=rank)


def test_rank_without_select_is_refused(kind: Any) -> None:
    with pytest.raises(ShapeError, match="select"):
        oneread.read(kind(np.zeros((3, 5))), rank=True)


def test_rank_and_selected_of_one_row_have_no_axes(kind: Any) -> None:
    read = oneread.read(kind([1.0, 3.0, 2.0]), select=2, rank=True)
    assert tuple(read.selected.shape) == tuple(read.rank.shape) == ()
    assert kind.numbers(read.rank) == 1


def test_masked_column_is_selected_with_log_probability_of_minus_inf(kind: Any) -> None:
    x = kind([[1.0, 3.0, NAN]])
    kept = np.array([True, True, False])
    read = oneread.read(x, select=[[0, 2]], rank=True, where=kept)
    assert kind.numbers(read.selected)[0, 1] == -INF
    assert kind.numbers(read.rank).tolist() == [[1, 2]]


def test_rank_does_not_depend_on_threads() -> None:
    x = FAMILIES["ties"](2, 200_003)
    chosen = np.random.default_rng(2).integers(0, 200_003, (2, 9))
    one = oneread.read(x, select=chosen, rank=True, threads=1)
    two = oneread.read(x, select=chosen, rank=True, threads=2)
    np.testing.assert_array_equal(one.rank, two.rank)
    np.testing.assert_array_equal(one.selected, two.selected)


def test_rank_in_states_of_parts_is_that_of_the_whole_row() -> None:
    x = FAMILIES["ties"](3, 500)
    chosen = np.random.default_rng(3).integers(0, 500, (3, 7))
    logits = np.take_along_axis(x, chosen, 1)
    options = {"select": chosen, "selected_logit": logits, "rank": True}
    parts = [
        oneread.State.of(x[:, at : at + 100], offset=at, **options) for at in range(0, 500, 100)
    ]
    state = parts[3] | parts[0] | (parts[4] | parts[2]) | parts[1]
    want = oneread.read(x, select=chosen, rank=True)
    np.testing.assert_array_equal(state.rank, want.rank)
