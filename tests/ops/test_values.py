"""Special values: -inf, +inf and NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.testing import FAMILIES, assert_close_to_truth

INF, NAN = np.inf, np.nan
SPAN = 32_768  # columns that are summed apart in a long row

each_whole = pytest.mark.parametrize("op", [oneread.softmax, oneread.log_softmax])
each_kind_of_score = pytest.mark.parametrize("kind_of_score", ["prob", "logprob"])

#: Which of 97 columns are -inf.
MASKS: dict[str, Callable[[Any], Any]] = {
    "first_half": lambda j: j < 48,
    "last_half": lambda j: j >= 48,
    "every_other": lambda j: j % 2 == 0,
    "one_lane_of_16": lambda j: j % 16 == 3,
    "all_but_one": lambda j: j != 50,
    "all_but_the_first": lambda j: j != 0,
    "all_but_the_last": lambda j: j != 96,
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=list(MASKS))


def read_all(x: Any, **options: Any) -> oneread.Read:
    return oneread.read(
        x, top_k=2, select=0, rank=True, entropy=True, sum_p2=True, argmax=True, **options
    )


def state_of(x: Any) -> oneread.State:
    return oneread.State.of(x, top_k=2, select=0, entropy=True, sum_p2=True, argmax=True)


# A row of nothing but -inf

MASKED_ROW = [[-INF] * 5, [0.0, 1.0, 2.0, 3.0, 4.0]]


@each_whole
def test_row_of_minus_inf_is_nan(op: Any, kind: Any) -> None:
    y = kind.numbers(op(kind(MASKED_ROW)))
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1], kind.numbers(op(kind(MASKED_ROW[1]))))


@each_kind_of_score
def test_row_of_minus_inf_has_nan_as_scores_of_its_top_k(kind_of_score: str, kind: Any) -> None:
    top = oneread.softmax_topk(kind(MASKED_ROW), 3, kind=kind_of_score)
    assert np.isnan(kind.numbers(top.values)[0]).all()
    assert np.isfinite(kind.numbers(top.values)[1]).all()


def test_row_of_minus_inf_has_nan_among_winners_alone(kind: Any) -> None:
    top = oneread.softmax_topk(kind(MASKED_ROW), 3, renormalize=True)
    assert np.isnan(kind.numbers(top.values)[0]).all()


@pytest.mark.parametrize("field", ["logprobs", "selected", "entropy", "sum_p2"])
def test_row_of_minus_inf_has_nan_statistics(field: str, kind: Any) -> None:
    values = kind.numbers(getattr(read_all(kind(MASKED_ROW)), field))
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


@pytest.mark.parametrize("field", ["selected", "entropy", "sum_p2"])
def test_state_of_row_of_minus_inf_has_nan_statistics(field: str, kind: Any) -> None:
    values = kind.numbers(getattr(state_of(kind(MASKED_ROW)), field))
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


def test_row_of_minus_inf_has_lse_of_minus_inf(kind: Any) -> None:
    x = kind(MASKED_ROW)
    results = (
        oneread.logsumexp(x),
        oneread.softmax_topk(x, 1, return_lse=True).lse,
        oneread.read(x).lse,
        oneread.read(x).max,
        oneread.State.of(x).lse,
        oneread.State.of(x).m,
    )
    for lse in results:
        assert kind.numbers(lse)[0] == -INF
        assert np.isfinite(kind.numbers(lse)[1])


def test_row_of_minus_inf_ranks_its_lowest_columns_first(kind: Any) -> None:
    x = kind(MASKED_ROW)
    for indices in (oneread.top_k(x, 5)[1], oneread.softmax_topk(x, 5)[1]):
        assert kind.numbers(indices).tolist() == [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]
    assert kind.numbers(read_all(x).argmax).tolist() == [0, 4]
    assert kind.numbers(state_of(x).argmax).tolist() == [0, 4]
    assert kind.numbers(oneread.read(x, select=[3, 3], rank=True).rank).tolist() == [3, 1]


# Some -inf


@each_mask
def test_columns_of_minus_inf_are_exact_zeros(mask: Any, kind: Any) -> None:
    values = np.clip(FAMILIES["normal"](3, 97), -4, 4)
    values[:, mask(np.arange(97))] = -INF
    y = kind.numbers(oneread.softmax(kind(values)))
    assert (y[np.isneginf(values)] == 0).all()
    assert (y[~np.isneginf(values)] > 0).all()
    log_y = kind.numbers(oneread.log_softmax(kind(values)))
    assert (log_y[np.isneginf(values)] == -INF).all()
    assert np.isfinite(log_y[~np.isneginf(values)]).all()


@each_mask
def test_columns_of_minus_inf_change_nothing_for_the_others(mask: Any, kind: Any) -> None:
    values = FAMILIES["spiky"](3, 97)
    kept = ~mask(np.arange(97))
    rest = kind(values[:, kept])
    x = kind(np.where(kept, values, -INF))
    for name in ("softmax", "log_softmax"):
        assert_close_to_truth(getattr(oneread, name)(x)[:, kept], rest, name)
    assert_close_to_truth(oneread.logsumexp(x), rest, "logsumexp")
    options = {"entropy": True, "sum_p2": True}
    assert_close_to_truth(oneread.read(x, **options), rest, "read", **options)


@pytest.mark.parametrize("place", [0, 1, SPAN - 1, SPAN, 2 * SPAN + 17, 3 * SPAN + 4])
def test_one_column_above_minus_inf_takes_all_wherever_it_stands(
    place: int, plain_kind: Any
) -> None:
    values = np.full((1, 3 * SPAN + 5), -INF)
    values[0, place] = 4
    x, numbers = plain_kind(values), plain_kind.numbers
    y = numbers(oneread.softmax(x))
    assert y[0, place] == 1
    assert np.count_nonzero(y) == 1
    log_y = numbers(oneread.log_softmax(x))
    assert log_y[0, place] == 0
    assert np.count_nonzero(np.isneginf(log_y)) == 3 * SPAN + 4
    read = read_all(x)
    assert numbers(read.lse) == 4
    assert numbers(read.entropy) == 0
    assert numbers(read.sum_p2) == 1
    assert numbers(read.argmax) == place
    assert numbers(read.logprobs).tolist() == [[0, -INF]]


def test_column_of_minus_inf_adds_nothing_to_entropy_and_sum_p2(kind: Any) -> None:
    x = kind([[3.0, 3.0, -INF, -INF, -INF], [-INF, -INF, 3.0, -INF, 3.0]])
    read = oneread.read(x, entropy=True, sum_p2=True)
    equals = kind([[3.0, 3.0]] * 2)
    options = {"entropy": True, "sum_p2": True}
    assert_close_to_truth(read, equals, "read", **options)


def test_column_of_minus_inf_has_log_probability_of_minus_inf(kind: Any) -> None:
    x = kind([[-INF, 1.0, 2.0]])
    assert kind.numbers(oneread.read(x, select=0).selected) == -INF
    assert kind.numbers(oneread.State.of(x, select=0).selected) == -INF
    assert kind.numbers(oneread.State.of(x).logprob(x))[0, 0] == -INF


# +inf


@pytest.mark.parametrize("column", [0, 2, 4])
@pytest.mark.parametrize("others", [[1.0, 2.0, 3.0], [-INF, 0.0, 0.0], [INF, INF, INF]])
@each_whole
def test_row_with_plus_inf_is_nan(op: Any, others: list[float], column: int, kind: Any) -> None:
    row = [*others, -7.0]
    row.insert(column, INF)
    y = kind.numbers(op(kind([row, MASKED_ROW[1]])))
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1], kind.numbers(op(kind(MASKED_ROW[1]))))


WITH_PLUS_INF = [[1.0, INF, -INF, 5.0, 2.0], MASKED_ROW[1]]


def test_row_with_plus_inf_has_lse_of_plus_inf(kind: Any) -> None:
    x = kind(WITH_PLUS_INF)
    results = (
        oneread.logsumexp(x),
        oneread.softmax_topk(x, 1, return_lse=True).lse,
        oneread.read(x).lse,
        oneread.read(x).max,
        oneread.State.of(x).lse,
    )
    for lse in results:
        assert kind.numbers(lse)[0] == INF
        assert np.isfinite(kind.numbers(lse)[1])


@pytest.mark.parametrize("read", [read_all, state_of])
@pytest.mark.parametrize("field", ["selected", "entropy", "sum_p2"])
def test_row_with_plus_inf_has_nan_statistics(field: str, read: Any, kind: Any) -> None:
    values = kind.numbers(getattr(read(kind(WITH_PLUS_INF)), field))
    assert np.isnan(values[0]).all()
    assert np.isfinite(values[1]).all()


@each_kind_of_score
@pytest.mark.parametrize("renormalize", [False, True])
def test_row_with_plus_inf_has_nan_as_scores_of_its_top_k(
    renormalize: bool, kind_of_score: str, kind: Any
) -> None:
    x = kind(WITH_PLUS_INF)
    top = oneread.softmax_topk(x, 2, kind=kind_of_score, renormalize=renormalize)
    assert np.isnan(kind.numbers(top.values)[0]).all()
    assert kind.numbers(top.indices)[0].tolist() == [1, 3]


# NaN

PLACES = (0, 1, 63, 64, SPAN - 1, SPAN, 2 * SPAN + 6)


@each_whole
@pytest.mark.parametrize("place", PLACES)
def test_nan_anywhere_makes_its_whole_row_nan(op: Any, place: int, plain_kind: Any) -> None:
    values = FAMILIES["normal"](1, 2 * SPAN + 7)
    values[0, place] = NAN
    assert np.isnan(plain_kind.numbers(op(plain_kind(values)))).all()


@pytest.mark.parametrize("place", PLACES)
def test_nan_anywhere_makes_every_statistic_of_its_row_nan(place: int, plain_kind: Any) -> None:
    values = FAMILIES["normal"](1, 2 * SPAN + 7)
    values[0, place] = NAN
    x = plain_kind(values)
    read, state = read_all(x), state_of(x)
    for result in (read, state):
        for field in ("lse", "max", "entropy", "sum_p2", "selected", "logprobs"):
            assert np.isnan(plain_kind.numbers(getattr(result, field))).all()
        assert plain_kind.numbers(result.argmax) == place
    for options in ({}, {"kind": "logprob"}, {"renormalize": True}):
        top = oneread.softmax_topk(x, 3, return_lse=True, **options)
        assert np.isnan(plain_kind.numbers(top.values)).all()
        assert np.isnan(plain_kind.numbers(top.lse)).all()


@each_whole
@pytest.mark.parametrize("nans", [slice(640, 704), slice(693, 694)], ids=["many", "one"])
def test_logit_far_above_those_beside_a_nan_is_no_obstacle(
    op: Any, nans: slice, plain_kind: Any
) -> None:
    values = np.zeros((1, 10_000))
    values[0, nans], values[0, 704:768] = NAN, 1000
    assert np.isnan(plain_kind.numbers(op(plain_kind(values)))).all()
    assert np.isnan(plain_kind.numbers(oneread.logsumexp(plain_kind(values)))).all()


@pytest.mark.parametrize("special", [INF, -INF], ids=["plus_inf", "minus_inf"])
def test_nan_beside_an_infinity_still_makes_the_row_nan(special: float, kind: Any) -> None:
    for row in ([special, NAN, 1.0], [NAN, special, 1.0], [special, special, NAN]):
        x = kind([row])
        assert np.isnan(kind.numbers(oneread.softmax(x))).all()
        assert np.isnan(kind.numbers(oneread.log_softmax(x))).all()
        assert np.isnan(kind.numbers(oneread.logsumexp(x))).all()


def test_special_rows_leave_their_neighbours_untouched(kind: Any) -> None:
    values = FAMILIES["normal"](7, 45)
    good = [0, 2, 4, 6]
    alone = kind(values[good])
    values[1, 3], values[3], values[5, 44] = NAN, -INF, INF
    x = kind(values)
    for op in (oneread.softmax, oneread.log_softmax, oneread.logsumexp):
        np.testing.assert_array_equal(kind.numbers(op(x))[good], kind.numbers(op(alone)))
    for field, other in zip(read_all(x), read_all(alone), strict=True):
        np.testing.assert_array_equal(kind.numbers(field)[good], kind.numbers(other))
