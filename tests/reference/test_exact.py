"""Differences and quotients with their rounding errors, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from oneread.reference import exact

ordinary = st.floats(-1e100, 1e100).filter(lambda v: v == 0 or abs(v) > 1e-100)


@given(ordinary, ordinary)
def test_difference_and_its_rest_add_up_exactly(a: float, b: float) -> None:
    rounded, rest = exact.difference(np.array([a]), np.array([b]))
    assert Fraction(float(rounded[0])) + Fraction(float(rest[0])) == Fraction(a) - Fraction(b)


@given(ordinary, st.floats(1e-30, 1e30))
def test_quotient_and_its_rest_are_right_to_100_digits(a: float, b: float) -> None:
    rounded, rest = exact.quotient(np.array([a]), np.zeros(1), np.array([b]))
    truth = Fraction(a) / Fraction(b)
    error = Fraction(float(rounded[0])) + Fraction(float(rest[0])) - truth
    assert abs(error) <= abs(truth) / 2**100


def test_rest_of_an_overflow_is_zero() -> None:
    with np.errstate(all="ignore"):
        rounded, rest = exact.difference(np.array([-1.7e308]), np.array([1.7e308]))
    assert rounded[0] == -np.inf
    assert rest[0] == 0
