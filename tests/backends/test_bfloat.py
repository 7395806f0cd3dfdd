"""bfloat16 without a library: rounding and widening of bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oneread.backends.base import View, dtype_name
from oneread.backends.bfloat import cast, widened
from oneread.spec import DtypeError

ALL = np.arange(1 << 16, dtype=np.uint16)


def numbers(bits: Any) -> Any:
    return widened(View(bits, "bfloat16"))


def test_widening_is_exact_and_narrowing_gives_it_back() -> None:
    wide = numbers(ALL)
    nan = np.isnan(wide)
    for dtype in (np.float32, np.float64):
        with np.errstate(invalid="ignore"):  # NaNs that signal
            same = wide.astype(dtype)
        np.testing.assert_array_equal(cast(same, "bfloat16")[~nan], ALL[~nan])
    assert np.isnan(numbers(cast(wide, "bfloat16"))[nan]).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_halfway_goes_to_even(dtype: str) -> None:
    low = numbers(ALL[0x3F80:0x3F90]).astype(dtype)
    middle = (low[:-1] + low[1:]) / 2
    assert (cast(middle, "bfloat16") % 2 == 0).all()
    nudge = np.finfo(dtype).eps
    np.testing.assert_array_equal(cast(middle * (1 - nudge), "bfloat16"), ALL[0x3F80:0x3F8F])
    np.testing.assert_array_equal(cast(middle * (1 + nudge), "bfloat16"), ALL[0x3F81:0x3F90])


def test_float64_is_rounded_once() -> None:
    # Just above a tie of bfloat16, by less than float32 can tell.
    x = np.array([1 + 2.0**-8 + 2.0**-40, -(1 + 2.0**-8 + 2.0**-40), 1 + 2.0**-8])
    np.testing.assert_array_equal(cast(x, "bfloat16"), [0x3F81, 0xBF81, 0x3F80])


def test_overflow_is_infinite_and_infinity_stays() -> None:
    x = np.array([3.4e38, -3.4e38, np.inf, -np.inf, 1e300], np.float64)
    np.testing.assert_array_equal(cast(x, "bfloat16"), [0x7F80, 0xFF80, 0x7F80, 0xFF80, 0x7F80])
    np.testing.assert_array_equal(cast(np.array([1e30], np.float32), "float16"), [np.inf])


def test_shapes_are_kept() -> None:
    for shape in ((), (0, 3), (2, 3)):
        assert cast(np.zeros(shape), "bfloat16").shape == shape


def test_peer_agrees() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="a second implementation of bfloat16")
    x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    np.testing.assert_array_equal(cast(x, "bfloat16"), x.astype(ml_dtypes.bfloat16).view(np.uint16))


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("float32", "float32"), ("bfloat16", "bfloat16"), (np.float16, "float16"),
        (np.dtype(">f8"), "float64"), ("f4", "float32"), (float, "float64"), (np.int64, "int64"),
    ],
)  # fmt: skip
def test_types_are_named(dtype: Any, name: str) -> None:
    assert dtype_name(dtype) == name


@pytest.mark.parametrize("dtype", ["float33", 3.5, [1], object()])
def test_what_names_no_type_is_refused(dtype: Any) -> None:
    with pytest.raises(DtypeError, match="is not an element type"):
        dtype_name(dtype)
