"""What each family of inputs is."""

from __future__ import annotations

import numpy as np
import pytest

from oneread import reference
from oneread.spec import FLOAT_DTYPES, DtypeError
from oneread.testing import FAMILIES

NAMES = [
    "normal",
    "spiky",
    "constant",
    "sorted_up",
    "sorted_down",
    "large_offset",
    "masked_first_tile",
    "masked_last_tile",
    "masked_all_but_one",
    "masked_all",
    "plus_inf",
    "nan",
    "ties",
    "empty",
    "vocab_one",
    "odd_vocab",
    "gap",
    "denormals",
    "huge",
    "real",
]
OWN_SHAPE = {"empty": (5, 0), "vocab_one": (5, 1), "odd_vocab": (5, 97)}


def test_families_are_these() -> None:
    assert sorted(FAMILIES) == sorted(NAMES)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_family_gives_rows_of_its_type(name: str, dtype: str) -> None:
    x = FAMILIES[name](5, 100, dtype)
    assert x.dtype.name == dtype
    assert x.shape == OWN_SHAPE.get(name, (5, 100))
    assert x.flags.writeable


@pytest.mark.parametrize("name", NAMES)
def test_family_depends_on_its_arguments_only(name: str) -> None:
    first, again, other = (FAMILIES[name](4, 60, "float32", seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    if name not in ("empty", "gap"):
        assert not np.array_equal(first, other, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 2), (2, 0)])
def test_family_takes_any_shape(name: str, shape: tuple[int, int]) -> None:
    assert len(FAMILIES[name](*shape)) == shape[0]


def test_integers_are_refused() -> None:
    with pytest.raises(DtypeError, match="float16"):
        FAMILIES["normal"](1, 1, "int8")


def test_masks_lie_where_they_are_said_to() -> None:
    def masked(name: str) -> np.ndarray:
        return np.isneginf(FAMILIES[name](4, 101))

    np.testing.assert_array_equal(masked("masked_first_tile")[0], np.arange(101) < 50)
    np.testing.assert_array_equal(masked("masked_last_tile")[0], np.arange(101) >= 51)
    np.testing.assert_array_equal(masked("masked_all").all(axis=1), [True, False, True, False])
    np.testing.assert_array_equal(masked("masked_all_but_one").sum(axis=1), [100] * 4)
    assert not masked("masked_all_but_one")[[0, 1], [0, 100]].any()


def test_special_numbers_stand_in_every_other_row() -> None:
    np.testing.assert_array_equal(np.isposinf(FAMILIES["plus_inf"](4, 9)).sum(1), [1, 0, 1, 0])
    np.testing.assert_array_equal(np.isnan(FAMILIES["nan"](4, 9)).sum(1), [1, 0, 1, 0])


def test_ties_hold_zeros_of_both_signs() -> None:
    x = FAMILIES["ties"](2, 100)
    assert len(np.unique(x)) == 3
    assert set(np.signbit(x[x == 0])) == {True, False}


def test_gaps_go_from_1_to_87() -> None:
    x = np.sort(FAMILIES["gap"](87, 10))
    np.testing.assert_array_equal(x[:, -1] - x[:, -2], np.arange(1, 88, dtype=np.float32))


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_all_probabilities_of_denormals_but_two_lie_below_the_normal_range(dtype: str) -> None:
    y = np.sort(reference.softmax(FAMILIES["denormals"](3, 50, dtype)))
    tiny = {"float16": 2.0**-14, "float64": 2.0**-1022}.get(dtype, 2.0**-126)
    assert (y[:, :-2] < 1.1 * tiny).all()  # x is rounded to the type
    assert (y[:, :-2] > 0).any()
    assert (y[:, -2] > 0.006).all()


def test_differences_of_huge_logits_overflow() -> None:
    x = FAMILIES["huge"](3, 50)
    assert x.max() > 2.9e38
    with np.errstate(over="ignore"):
        assert np.isinf(x - x.max()).any()


def test_real_logits_are_a_slice_of_the_standard_library() -> None:
    x = FAMILIES["real"](4, 500)
    assert np.unique(x).size > 500
    assert FAMILIES["real"](1, 10**9).shape[1] > 10_000
