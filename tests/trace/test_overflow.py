"""Integers that do not fit their type: each operator, in lanes that take part and in constants."""

from __future__ import annotations

import pytest

from oneread.trace import Run, run

LOWEST = "(-2147483647 - 1)"


def stored(value: str, before: str = "") -> Run:
    body = f"int i = {LOWEST} + (int)threadIdx.x % 2, n = vocab; {before} y[threadIdx.x] = {value};"
    text = f"__global__ void k(float* y, int vocab) {{ {body} }}"
    return run(text, rows=1, vocab=32, block=32, truth={}, arguments={"y": "32:inout:zeros"})


@pytest.mark.parametrize(
    ("faulty", "right"),
    [
        ("abs(i)", "abs(i + 1)"),
        ("i / -1", "i / 1"),
        ("i % -1", "(i + 1) % -1"),
        ("-i", "-(i + 1)"),
    ],
)
def test_value_that_does_not_fit_is_reported(faulty: str, right: str) -> None:
    assert [fault.id for fault in stored(faulty).faults] == ["overflow"]
    assert not stored(right).faults


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f"abs({LOWEST})", "0 - -2147483648 does not fit into int"),
        (f"{LOWEST} % -1", "-2147483648 % -1 does not fit into int"),
        ("(1 << 30) << 2", "1073741824 << 2 in line 1 is undefined before C++20"),
        ("-1 << 4", "-1 << 4 in line 1 is undefined before C++20"),
    ],
)
def test_constant_that_does_not_fit_is_reported_where_it_runs(value: str, shown: str) -> None:
    (fault,) = stored(value).faults
    assert shown in str(fault)


def test_bit_may_be_shifted_into_the_sign() -> None:
    outcome = stored("(n / 32) << 31")
    assert not outcome.faults
    assert set(outcome.outputs["y"]) == {-(2.0**31)}


def test_lane_that_does_not_take_part_does_not_overflow() -> None:
    assert not stored("i", "if (threadIdx.x & 1) i = abs(i) + i % -1 + (i >> 4);").faults


def test_shift_too_far_is_that_and_no_overflow() -> None:
    assert [fault.id for fault in stored("n << n").faults] == ["shift-width"]


def test_absolute_value_that_does_not_fit_stays_an_int() -> None:
    bits = set(map(str, stored(f"__int_as_float(abs({LOWEST}))").outputs["y"]))
    assert bits == {"-0.0"}
