"""Numbers of 32 lanes against NumPy's float32 and int32, and against more digits."""

from __future__ import annotations

import math
import operator
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneread.trace.machine import floats, integers, maths
from oneread.trace.machine.values import WARP, choose, look, scatter, spread

float32 = st.floats(width=32)
lanes32 = st.lists(float32, min_size=WARP, max_size=WARP).map(tuple)
number = float32 | lanes32

int32 = st.integers(-(2**31), 2**31 - 1)
small = st.integers(-100, 100)
ranges = st.builds(
    lambda start, step: range(start, start + WARP * step, step), small, small.filter(bool)
)
integer = int32 | ranges | st.lists(int32, min_size=WARP, max_size=WARP).map(tuple)


def as_array(value: Any, dtype: Any) -> Any:
    return np.array(spread(value), dtype=dtype)


def same_bits(got: Any, want: Any) -> bool:
    got = as_array(got, np.float32)
    both_nan = np.isnan(got) & np.isnan(want)
    return bool(np.all(both_nan | (got.view(np.int32) == want.view(np.int32))))


@pytest.mark.parametrize(
    ("ours", "numpy_op"),
    [
        (floats.add32, np.add),
        (floats.sub32, np.subtract),
        (floats.mul32, np.multiply),
        (floats.divide_warp, np.divide),
    ],
)
@given(a=number, b=number)
def test_float32_operations_are_those_of_numpy(ours: Any, numpy_op: Any, a: Any, b: Any) -> None:
    with np.errstate(all="ignore"):
        want = numpy_op(as_array(a, np.float32), as_array(b, np.float32))
    assert same_bits(ours(a, b), want)


@given(a=number, b=number)
def test_fmaxf_prefers_numbers_to_nan(a: Any, b: Any) -> None:
    got = as_array(floats.max_warp(a, b), np.float32)
    want = np.fmax(as_array(a, np.float32), as_array(b, np.float32))
    np.testing.assert_array_equal(got, want)


@given(a=float32, b=float32, c=float32)
def test_fmaf_rounds_once(a: float, b: float, c: float) -> None:
    if not all(map(math.isfinite, (a, b, c))):
        return
    got = floats.fused_warp(a, b, c)
    exact = Context(prec=400)
    value = exact.add(exact.multiply(Decimal(a), Decimal(b)), Decimal(c))
    if abs(value) > Decimal("1e38"):
        return
    near = np.float32(float(value))
    around = [np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf)]
    assert abs(Decimal(got) - value) == min(abs(Decimal(float(v)) - value) for v in [near, *around])


@pytest.mark.parametrize("sign", [1, -1])
def test_fma_of_doubles_that_is_too_large_is_infinite(sign: int) -> None:
    assert floats.fused64(sign * 1e308, 10.0, 1.0) == sign * math.inf


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "log1p", "rsqrt", "tanh", "expm1"])
@given(x=lanes32)
def test_functions_are_correctly_rounded(name: str, x: tuple[float, ...]) -> None:
    fast, exact = maths.FUNCTIONS[name]
    ours = maths.correctly_rounded(fast, exact)(x)
    for value, got in zip(x, ours, strict=True):
        y = fast(value)
        if not math.isfinite(y) or y == 0 or abs(y) > 3e38 or value == 0:
            continue
        if name == "tanh" and abs(value) > 20:
            continue  # 1 in float32; its digits are never asked for
        digits = exact(Decimal(value))
        near = np.float32(y)
        around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(9))]
        around += [np.nextafter(near, np.float32(np.inf))]
        best = min(abs(Decimal(float(v)) - digits) for v in around)
        assert abs(Decimal(got) - digits) <= best * (1 + Decimal("1e-30"))


def test_a_result_in_the_middle_of_two_float32_is_decided_by_more_digits() -> None:
    # A function that says the middle exactly, with digits that say a little more.
    middle = 1 + 2.0**-24
    add, tiny = Context(prec=60).add, Decimal("1e-30")
    more = maths.correctly_rounded(lambda x: middle, lambda x: add(Decimal(middle), tiny))
    less = maths.correctly_rounded(lambda x: middle, lambda x: add(Decimal(middle), -tiny))
    assert more(0.5) == 1 + 2.0**-23
    assert less(0.5) == 1.0


def test_too_large_float32_is_infinite() -> None:
    assert floats.round32(3.5e38) == math.inf
    assert maths.correctly_rounded(*maths.FUNCTIONS["exp"])(89.0) == math.inf


@pytest.mark.parametrize(
    ("ours", "op"),
    [
        (integers.add, operator.add),
        (integers.sub, operator.sub),
        (integers.mul, operator.mul),
        (integers.bit_and, operator.and_),
        (integers.maximum, max),
    ],
)
@given(a=integer, b=integer)
def test_integer_operations_are_exact(ours: Any, op: Any, a: Any, b: Any) -> None:
    assert tuple(spread(ours(a, b))) == tuple(map(op, spread(a), spread(b)))


@pytest.mark.parametrize("name", ["<", ">", "<=", ">=", "==", "!="])
@given(a=integer | small, b=integer | small)
def test_comparisons_are_those_of_python(name: str, a: Any, b: Any) -> None:
    op = {
        "<": operator.lt,
        ">": operator.gt,
        "<=": operator.le,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }[name]
    want = sum(
        1 << i for i, (x, y) in enumerate(zip(spread(a), spread(b), strict=True)) if op(x, y)
    )
    assert integers.COMPARISONS[name](a, b) == want


@given(a=int32, b=int32.filter(bool))
def test_division_cuts_towards_zero(a: int, b: int) -> None:
    assert integers.quotient(a, b) == int(Decimal(a) / Decimal(b))
    assert integers.quotient(a, b) * b + integers.remainder(a, b) == a


@given(a=integer, bits=st.sampled_from([32, 64]))
def test_wrapped_products_are_those_of_numpy(a: Any, bits: int) -> None:
    product = integers.mul(a, 65_537)
    with np.errstate(over="ignore"):
        kind = np.int32 if bits == 32 else np.int64
        want = as_array(a, kind) * kind(65_537)
    np.testing.assert_array_equal(as_array(integers.wrap(product, bits, True), kind), want)


@given(bits=st.integers(0, 2**32 - 1), a=number, b=number)
def test_choose_takes_each_lane_from_its_side(bits: int, a: Any, b: Any) -> None:
    got = spread(choose(bits, a, b))
    for lane in range(WARP):
        want = spread(a if bits >> lane & 1 else b)[lane]
        assert got[lane] == want or want != want


@given(bits=st.integers(1, 2**32 - 1))
def test_scatter_undoes_look(bits: int) -> None:
    mask = look(bits)
    spread_out = scatter(mask.lanes, bits, -1)
    assert [lane for lane in spread_out if lane >= 0] == list(mask.lanes)
    assert all(spread_out[lane] == lane for lane in mask.lanes)
