"""Units in the last place, against NumPy's own neighbours."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from oneread.spec import FLOAT_DTYPES, DtypeError
from oneread.testing import max_ulp_error, ulp
from oneread.testing.ulps import FORMATS


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ulp_is_the_distance_to_the_next_number(dtype: str) -> None:
    tiny = float(np.finfo(dtype).tiny)
    x = np.array([0.0, tiny / 4, tiny, 1.0, 1.5, 2.0, -3.0, 60000.0], dtype)
    np.testing.assert_array_equal(ulp(x, dtype), np.abs(np.spacing(x)).astype(np.float64))


def test_ulp_of_bfloat16_has_7_digits() -> None:
    assert ulp(1.0, ml_dtypes.bfloat16) == 2.0**-7
    assert ulp(1e-40, "bfloat16") == 2.0**-133


def test_ulp_of_infinity_and_nan_is_nan() -> None:
    assert np.isnan(ulp([np.inf, -np.inf, np.nan], "float32")).all()


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_formats_are_those_of_the_types(dtype: str) -> None:
    finfo = ml_dtypes.finfo(dtype)
    form = FORMATS[dtype]
    assert form.digits == finfo.nmant
    assert form.tiny == float(finfo.tiny)
    below = np.nextafter(form.overflow, 0)
    assert float(finfo.max) <= below


def test_other_types_have_no_ulp() -> None:
    with pytest.raises(DtypeError, match="float16"):
        ulp(1.0, "int32")


def test_error_is_counted_in_units_of_the_type_that_was_got() -> None:
    truth = np.array([1.0, 2.0])
    got = np.float32([1.0, 2.0 + 3 * 2.0**-22])
    assert max_ulp_error(got, truth) == 3
    assert max_ulp_error(got.astype(np.float64), truth) == 3 * 2.0**29


def test_error_of_an_empty_array_is_0() -> None:
    assert max_ulp_error(np.zeros(0, np.float32), np.zeros(0)) == 0


@pytest.mark.parametrize(
    ("got", "truth"), [(np.nan, 1.0), (1.0, np.nan), (np.inf, -np.inf), (np.inf, 1.0), (1.0, 1e39)]
)
def test_error_between_classes_is_infinite(got: float, truth: float) -> None:
    assert max_ulp_error(np.float32([got]), np.array([truth])) == np.inf


@pytest.mark.parametrize(
    ("got", "truth"), [(np.nan, np.nan), (np.inf, np.inf), (np.inf, 1e39), (-np.inf, -1e39)]
)
def test_error_within_a_class_is_0(got: float, truth: float) -> None:
    assert max_ulp_error(np.float32([got]), np.array([truth])) == 0
