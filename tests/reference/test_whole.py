"""softmax, log_softmax and logsumexp of the reference, row by row of the policy."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oneread import reference
from oneread.spec import OPS, AxisError, DtypeError, ShapeError
from oneread.testing import max_ulp_error

INF, NAN = np.inf, np.nan
rows_of_floats = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e4, 1e4)
)


def decimal_softmax(row: np.ndarray[Any, Any], temperature: float = 1.0) -> list[Decimal]:
    """Return softmax to 60 digits."""
    with decimal.localcontext(prec=60):
        z = [(Decimal(float(v)) - Decimal(float(row.max()))) / Decimal(temperature) for v in row]
        d = sum(v.exp() for v in z)
        return [v.exp() / d for v in z]


@pytest.mark.parametrize("op", OPS)
def test_every_op_of_the_table_has_a_reference(op: str) -> None:
    assert callable(getattr(reference, op))
    assert op in reference.__all__


@pytest.mark.parametrize("temperature", [None, 0.7, 3.3])
@pytest.mark.parametrize("spread", [1, 50])
def test_softmax_of_float64_is_right_to_4_ulp(spread: float, temperature: float | None) -> None:
    x = np.random.default_rng(0).normal(1e4, spread, 100)
    truth = [float(v) for v in decimal_softmax(x, temperature or 1.0)]
    assert max_ulp_error(reference.softmax(x, temperature=temperature), truth) < 4


@pytest.mark.parametrize("gap", range(1, 88))
def test_log_probability_near_1_is_right_for_every_gap(gap: int) -> None:
    x = np.array([float(gap), 0.0])
    with decimal.localcontext(prec=60):
        truth = [float(v.ln()) for v in decimal_softmax(x)]
    assert max_ulp_error(reference.log_softmax(x), truth) <= 2


@given(rows_of_floats)
def test_probabilities_sum_to_1(x: np.ndarray[Any, Any]) -> None:
    assert max_ulp_error(reference.softmax(x).sum(axis=1), np.ones(len(x))) < 8


@given(rows_of_floats, st.integers(-1000, 1000))
def test_softmax_does_not_change_with_a_shift(x: np.ndarray[Any, Any], shift: int) -> None:
    x = np.round(x)  # so that the shift is exact
    np.testing.assert_array_equal(reference.softmax(x + shift), reference.softmax(x))


@given(rows_of_floats, st.randoms())
def test_logsumexp_does_not_change_with_the_order(x: np.ndarray[Any, Any], random: Any) -> None:
    columns = list(range(x.shape[1]))
    random.shuffle(columns)
    shuffled = reference.logsumexp(x[:, columns])
    assert max_ulp_error(shuffled, reference.logsumexp(x)) < 4


@pytest.mark.parametrize("op", [reference.softmax, reference.log_softmax])
def test_row_of_minus_inf_is_nan(op: Callable[..., Any]) -> None:
    y = op([[-INF, -INF], [0.0, 0.0]])
    assert np.isnan(y[0]).all()
    assert np.isfinite(y[1]).all()


def test_logsumexp_of_minus_inf_is_minus_inf() -> None:
    assert reference.logsumexp([-INF, -INF]) == -INF


def test_minus_inf_columns_are_exact_zeros_as_if_removed() -> None:
    x = np.array([-INF, 1.0, -INF, 3.0, -INF])
    y = reference.softmax(x)
    np.testing.assert_array_equal(y[[0, 2, 4]], 0)
    np.testing.assert_array_equal(y[[1, 3]], reference.softmax([1.0, 3.0]))


@pytest.mark.parametrize("special", [INF, NAN])
@pytest.mark.parametrize("op", [reference.softmax, reference.log_softmax])
def test_row_with_plus_inf_or_nan_is_nan_and_others_are_untouched(
    op: Callable[..., Any], special: float
) -> None:
    y = op([[0.0, special, -INF], [0.0, 1.0, 2.0]])
    assert np.isnan(y[0]).all()
    np.testing.assert_array_equal(y[1], op([0.0, 1.0, 2.0]))


def test_logsumexp_of_plus_inf_is_plus_inf_and_of_nan_is_nan() -> None:
    np.testing.assert_array_equal(
        reference.logsumexp([[0, INF], [-INF, INF], [INF, NAN]]), [INF, INF, NAN]
    )


def test_maximum_is_nan_when_the_row_holds_one() -> None:
    np.testing.assert_array_equal(reference.maximum([[1, NAN], [-INF, -INF]]), [NAN, -INF])


def test_temperature_1e_30_is_right() -> None:
    x = np.array([20.0, 21.0, 21.0])
    np.testing.assert_array_equal(reference.softmax(x, temperature=1e-30), [0, 0.5, 0.5])
    assert reference.log_softmax(x, temperature=1e-30)[0] == -1 / 1e-30


def test_temperature_is_one_for_all_or_one_a_row() -> None:
    x = np.arange(6.0).reshape(2, 3)
    y = reference.softmax(x, temperature=np.array([1.0, 2.0]))
    np.testing.assert_array_equal(y[0], reference.softmax(x[0]))
    np.testing.assert_array_equal(y[1], reference.softmax(x[1], temperature=2.0))


@pytest.mark.parametrize("temperature", [0.0, -1.0, INF, NAN, [1.0, 0.0]])
def test_temperature_that_is_not_finite_and_positive_names_argmax(temperature: Any) -> None:
    with pytest.raises(ShapeError, match="argmax"):
        reference.softmax(np.zeros((2, 3)), temperature=temperature)


def test_empty_axis_gives_empty_and_minus_inf() -> None:
    assert reference.softmax(np.zeros((3, 0))).shape == (3, 0)
    np.testing.assert_array_equal(reference.logsumexp(np.zeros((3, 0))), [-INF] * 3)
    assert reference.softmax(np.zeros((0, 3))).shape == (0, 3)
    assert reference.logsumexp(np.zeros((0, 3))).shape == (0,)


def test_number_without_axes_is_a_row_of_one() -> None:
    assert reference.softmax(5.0).tolist() == 1.0
    assert reference.log_softmax(5.0).tolist() == 0.0
    assert reference.logsumexp(5.0).tolist() == 5.0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16"])
def test_small_integers_never_wrap(dtype: str) -> None:
    x = np.array([0, 1, 255 if dtype.endswith("16") else 1]).astype(dtype)
    np.testing.assert_array_equal(reference.softmax(x), reference.softmax(x.astype(np.float64)))


def test_wide_integers_are_converted_to_float64() -> None:
    x = np.array([2**53, 2**53 + 1], np.int64)
    np.testing.assert_array_equal(reference.softmax(x), [0.5, 0.5])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, ">f4"])
def test_narrow_floats_are_converted_exactly(dtype: Any) -> None:
    x = np.array([[0.1, 0.2, -3.0]]).astype(dtype)
    np.testing.assert_array_equal(reference.softmax(x), reference.softmax(x.astype(np.float64)))


def test_masked_columns_act_as_if_removed_and_a_nan_there_is_ignored() -> None:
    x = np.array([[1.0, NAN, 3.0, 4.0], [1.0, 2.0, 3.0, INF]])
    where = np.array([True, False, True, True])
    y = reference.softmax(x, where=where, lengths=[4, 3])
    np.testing.assert_array_equal(y[0, [0, 2, 3]], reference.softmax([1.0, 3.0, 4.0]))
    np.testing.assert_array_equal(y[1, [0, 2]], reference.softmax([1.0, 3.0]))
    assert (y[:, 1] == 0).all()


def test_axes_are_an_int_a_tuple_or_all() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    flat = reference.softmax(x.ravel()).reshape(x.shape)
    np.testing.assert_array_equal(reference.softmax(x, None), flat)
    np.testing.assert_array_equal(reference.softmax(x, (0, -1, 1)), flat)
    by_first = np.stack([reference.softmax(x[:, :, i], 0) for i in range(4)], axis=2)
    np.testing.assert_array_equal(reference.softmax(x, -3), by_first)
    pair = np.stack([reference.softmax(x[:, i].ravel()).reshape(2, 4) for i in range(3)], axis=1)
    np.testing.assert_array_equal(reference.softmax(x, (2, 0)), pair)


def test_keepdims_keeps_the_axes_with_length_1() -> None:
    x = np.zeros((2, 3, 4))
    assert reference.logsumexp(x, (0, 2), keepdims=True).shape == (1, 3, 1)
    assert reference.logsumexp(x, (0, 2)).shape == (3,)
    assert reference.logsumexp(x, None, keepdims=True).shape == (1, 1, 1)


@pytest.mark.parametrize("axis", [2, -3, (0, 2), (1, -1)])
def test_bad_axis_is_an_error_with_both_numbers(axis: Any) -> None:
    with pytest.raises(AxisError, match="of 2 dimensions"):
        reference.softmax(np.zeros((2, 3)), axis)


@pytest.mark.parametrize(
    "x", [np.zeros(2, complex), ["a"], np.array([None]), np.zeros(2, np.longdouble)]
)
def test_other_types_are_refused(x: Any) -> None:
    with pytest.raises(DtypeError, match="allowed"):
        reference.softmax(x)


def test_masked_array_is_refused() -> None:
    with pytest.raises(DtypeError, match="where"):
        reference.softmax(np.ma.masked_array([1.0, 2.0], [True, False]))


def test_blocks_of_rows_join_in_order() -> None:
    x = np.random.default_rng(0).normal(size=(5, 1 << 19))
    expected = [float(reference.logsumexp(row)) for row in x]
    np.testing.assert_array_equal(reference.logsumexp(x), expected)


@pytest.mark.parametrize(
    ("dtype", "expected"), [("int8", "float32"), ("float16", "float32"), ("int64", "float64")]
)
def test_plain_formula_computes_in_the_ops_type(dtype: str, expected: str) -> None:
    x = np.zeros((2, 3), dtype)
    assert reference.plain("softmax", x).dtype == expected
    r = reference.plain("read", x, entropy=True, sum_p2=True, top_k=1, temperature=2.0)
    statistics = (r.lse, r.max, r.logprobs, r.entropy, r.sum_p2)
    assert {a.dtype.name for a in statistics} == {expected}


def test_plain_formula_keeps_the_maximum_out_of_the_sum() -> None:
    y = reference.plain("log_softmax", np.array([20.0, 0.0], np.float32))
    assert max_ulp_error(y, reference.log_softmax([20.0, 0.0])) < 2
