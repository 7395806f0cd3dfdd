"""top_k, softmax_topk and read of the reference, row by row of the policy."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oneread.reference import log_softmax, logsumexp, read, softmax, softmax_topk, top_k
from oneread.spec import AxisError, DtypeError, ShapeError
from oneread.testing import max_ulp_error

INF, NAN = np.inf, np.nan
any_row = hnp.arrays(
    np.float32, st.integers(1, 30), elements=st.sampled_from([-INF, -1, -0.0, 0, 0.5, 2, INF, NAN])
)


def order_by_definition(row: np.ndarray[Any, Any], kept: Any = True) -> list[int]:
    """Return the columns as Python sorts them: masked last, NaN first, value, column."""
    kept = np.broadcast_to(kept, row.shape)

    def key(j: int) -> tuple[bool, bool, float, int]:
        if not kept[j] or np.isnan(row[j]):
            return not kept[j], False, 0.0, j
        return False, True, -float(row[j]), j

    return sorted(range(len(row)), key=key)


@given(any_row)
def test_top_k_is_the_sorted_row(row: np.ndarray[Any, Any]) -> None:
    result = top_k(row, len(row))
    assert result.indices.tolist() == order_by_definition(row)
    np.testing.assert_array_equal(result.values, row[result.indices])


@given(any_row, st.data())
def test_masked_columns_come_after_all_kept_ones(row: np.ndarray[Any, Any], data: Any) -> None:
    where = data.draw(hnp.arrays(bool, row.shape))
    result = top_k(row, len(row), where=where)
    assert result.indices.tolist() == order_by_definition(row, where)
    assert (result.values[where.sum() :] == -INF).all()


def test_nan_comes_first_whatever_its_sign() -> None:
    assert top_k([INF, NAN, -NAN], 3).indices.tolist() == [1, 2, 0]


def test_minus_zero_equals_zero() -> None:
    result = top_k([-0.0, 0.0, -0.0], 3)
    assert result.indices.tolist() == [0, 1, 2]
    assert np.signbit(result.values).tolist() == [True, False, True]


def test_row_of_minus_inf_gives_valid_columns_lowest_first() -> None:
    assert top_k([-INF] * 4, 3).indices.tolist() == [0, 1, 2]
    assert int(read([-INF, -INF], argmax=True).argmax) == 0


def test_kept_minus_inf_comes_before_masked_columns() -> None:
    result = top_k([5.0, 1.0, -INF], 3, where=[False, True, True])
    assert result.indices.tolist() == [1, 2, 0]
    assert int(read([5.0, -INF], where=[False, True], argmax=True).argmax) == 1


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_values_are_the_inputs_own_numbers(dtype: Any) -> None:
    x = np.array([0.1, 0.3, 0.2]).astype(dtype)
    for values in (
        top_k(x, 2, temperature=0.5).values,
        softmax_topk(x, 2, kind="logit", temperature=0.5).values,
        read(x, top_k=2, temperature=0.5).values,
    ):
        assert values.dtype == x.dtype
        assert values.tobytes() == x[[1, 2]].tobytes()


@pytest.mark.parametrize(("dtype", "expected"), [("uint8", "float32"), ("int64", "float64")])
def test_values_of_integers_are_those_after_conversion(dtype: str, expected: str) -> None:
    result = top_k(np.array([3, 7, 5], dtype), 2)
    assert result.values.dtype == expected
    assert result.values.tolist() == [7, 5]


def test_columns_are_ranked_by_logit_where_probabilities_underflow() -> None:
    x = np.array([0.0, -2000.0, -1000.0])
    result = softmax_topk(x, 3)
    assert result.indices.tolist() == [0, 2, 1]
    assert result.values.tolist() == [1, 0, 0]


def test_probabilities_are_over_the_whole_row_unless_renormalized() -> None:
    x = np.random.default_rng(0).normal(size=(2, 9))
    whole = softmax_topk(x, 3, return_lse=True)
    np.testing.assert_array_equal(whole.values, np.sort(softmax(x))[:, :-4:-1])
    np.testing.assert_array_equal(whole.lse, logsumexp(x))
    winners = softmax_topk(x, 3, renormalize=True, kind="logprob")
    np.testing.assert_array_equal(winners.values, log_softmax(top_k(x, 3).values))
    assert winners.lse is None


def test_log_probabilities_follow_the_temperature() -> None:
    x = np.array([1.0, 4.0, 2.0])
    expected = log_softmax(x, temperature=2.0)
    r = read(x, top_k=3, select=0, temperature=2.0)
    np.testing.assert_array_equal(r.logprobs, expected[[1, 2, 0]])
    assert r.selected == expected[0]
    assert r.max == 2.0


def test_k_takes_the_axis_place() -> None:
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    result = top_k(x, 4, axis=1)
    assert result.indices.shape == (2, 4, 3)
    np.testing.assert_array_equal(np.take_along_axis(x, result.indices, 1), result.values)
    assert top_k(x, 4, axis=None).values.tolist() == np.sort(x, None)[:-5:-1].tolist()


def test_k_0_gives_empty_arrays() -> None:
    assert top_k(np.zeros((2, 3)), 0).values.shape == (2, 0)
    assert top_k(np.zeros((2, 0)), 0).indices.shape == (2, 0)
    assert softmax_topk(np.zeros((2, 3)), 0, renormalize=True).values.shape == (2, 0)


@pytest.mark.parametrize("k", [-1, 4])
def test_k_out_of_range_is_an_error_with_both_numbers(k: int) -> None:
    with pytest.raises(ShapeError, match=rf"k={k} .* length 3"):
        top_k(np.zeros(3), k)


@pytest.mark.parametrize("k", [True, 1.0, "1"])
def test_k_that_is_no_integer_is_an_error(k: Any) -> None:
    with pytest.raises(DtypeError, match="0 to 3"):
        softmax_topk(np.zeros(3), k)


def test_number_without_axes_has_no_top_k() -> None:
    with pytest.raises(ShapeError, match="without axes"):
        top_k(1.0, 1)


def test_tuple_of_axes_has_no_column_order() -> None:
    with pytest.raises(AxisError, match="one axis"):
        read(np.zeros((2, 3)), (0, 1))


def test_unknown_kind_is_an_error() -> None:
    with pytest.raises(ShapeError, match="'prob', 'logprob', 'logit'"):
        softmax_topk(np.zeros(3), 1, kind="p")


def test_unasked_fields_are_none() -> None:
    r = read(np.zeros((2, 3)))
    assert [name for name, a in r._asdict().items() if a is not None] == ["lse", "max"]


@given(any_row)
def test_rank_is_the_place_in_the_order(row: np.ndarray[Any, Any]) -> None:
    columns = np.arange(len(row))
    rank = read(row, select=columns, rank=True).rank
    assert [order_by_definition(row)[i] for i in rank] == columns.tolist()


def test_select_has_the_shape_of_the_rows_or_one_axis_more() -> None:
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    one = np.array([[0, 1, 2], [4, 3, 2]])
    two = np.stack([one, one[::-1]], axis=-1)
    y = log_softmax(x, 1)
    r = read(x, 1, select=one, rank=True)
    np.testing.assert_array_equal(r.selected, np.take_along_axis(y, one[:, None], 1)[:, 0])
    assert r.rank.shape == (2, 3)
    np.testing.assert_array_equal(read(x, 1, select=two).selected[..., 0], r.selected)
    with pytest.raises(ShapeError, match="select of shape"):
        read(x, 1, select=[0, 1])


@pytest.mark.parametrize("column", [-1, 3])
def test_selected_column_outside_the_row_is_an_index_error(column: int) -> None:
    with pytest.raises(IndexError, match=r"\[0, 3\)"):
        read(np.zeros(3), select=column)


def test_select_is_of_integers_and_rank_needs_it() -> None:
    with pytest.raises(DtypeError, match="integers"):
        read(np.zeros(3), select=1.0)
    with pytest.raises(ShapeError, match="without select"):
        read(np.zeros(3), rank=True)


def test_argmax_of_an_empty_row_is_an_error() -> None:
    with pytest.raises(ShapeError, match="length 0"):
        read(np.zeros((2, 0)), argmax=True)
    assert read(np.zeros((2, 0))).lse.tolist() == [-INF, -INF]


def test_entropy_and_sum_p2_are_those_of_the_probabilities() -> None:
    x = np.random.default_rng(0).normal(0, 3, (4, 50))
    p, r = softmax(x), read(x, entropy=True, sum_p2=True)
    assert max_ulp_error(r.entropy, -(p * np.log(p)).sum(1)) < 8
    assert max_ulp_error(r.sum_p2, (p * p).sum(1)) < 8


def test_masked_column_adds_0_to_the_entropy() -> None:
    r = read([-INF, 0.0, 0.0, -INF], entropy=True, sum_p2=True)
    assert r.entropy == np.log(2.0)
    assert r.sum_p2 == 0.5


@pytest.mark.parametrize("row", [[-INF, -INF], [0.0, INF], [0.0, NAN]])
def test_statistics_of_special_rows_are_nan(row: list[float]) -> None:
    r = read(row, top_k=2, select=0, rank=True, entropy=True, sum_p2=True, argmax=True)
    assert np.isnan([r.entropy, r.sum_p2, r.selected, *r.logprobs]).all()
    np.testing.assert_array_equal(r.values, np.array(row)[r.indices])


def test_keepdims_keeps_the_axis_of_what_is_one_a_row() -> None:
    r = read(np.zeros((2, 5, 3)), 1, keepdims=True, argmax=True, entropy=True, top_k=2)
    assert r.lse.shape == r.max.shape == r.argmax.shape == r.entropy.shape == (2, 1, 3)
    assert r.values.shape == (2, 2, 3)
