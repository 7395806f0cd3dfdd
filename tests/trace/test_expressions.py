"""Random expressions of C, compiled and run, against NumPy's float32 and int32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneread.trace import run

LANES = 32


def binary(ops: str, inner: Any) -> Any:
    return st.tuples(st.sampled_from(ops.split()), inner, inner)


FLOATS = st.recursive(
    st.sampled_from(["a", "b", "c", "1.5f", "0.1f", "-2.0f", "1e30f"]),
    lambda inner: binary("+ - * / max ? <", inner) | st.tuples(st.just("neg"), inner),
    max_leaves=12,
)
INTEGERS = st.recursive(
    st.sampled_from(["i", "j", "7", "-3", "1000", "123456789"]),
    lambda inner: binary("+ - * & | ^ / % >> ? <", inner) | st.tuples(st.just("~"), inner),
    max_leaves=10,
)


def c_text(tree: Any) -> str:
    if isinstance(tree, str):
        return f"({tree})"
    op, *parts = tree
    texts = [c_text(part) for part in parts]
    if op == "max":
        return f"fmaxf({texts[0]}, {texts[1]})"
    if op == "?":
        return f"({texts[0]} < {texts[1]} ? {texts[0]} : {texts[1]})"
    if op == "<":
        # Two comparisons would be divided as integers.
        return f"({'(float)' if floating(tree) else ''}({texts[0]} < {texts[1]}))"
    if op == "neg":
        return f"(-{texts[0]})"
    if op == "~":
        return f"(~{texts[0]})"
    if op in {"/", "%"} and not floating(tree):
        return f"({texts[0]} {op} ({texts[1]} | 1))"
    if op == ">>":
        return f"({texts[0]} >> ({texts[1]} & 15))"
    return f"({texts[0]} {op} {texts[1]})"


def floating(tree: Any) -> bool:
    if isinstance(tree, str):
        return tree in "abc" or tree.endswith("f")
    return any(floating(part) for part in tree[1:])


def wrapped(value: Any) -> Any:
    return ((value + 2**31) % 2**32 - 2**31).astype(np.int64)


def float_value(tree: Any, names: dict[str, Any]) -> Any:
    if isinstance(tree, str):
        return names.get(tree, np.float32(tree.rstrip("f")) if tree not in names else None)
    op, *parts = tree
    first, *rest = [float_value(part, names) for part in parts]
    second = rest[0] if rest else None
    table = {
        "+": lambda: first + second,
        "-": lambda: first - second,
        "*": lambda: first * second,
        "/": lambda: first / second,
        "max": lambda: np.fmax(first, second),
        "?": lambda: np.where(first < second, first, second),
        "<": lambda: (first < second).astype(np.float32),
        "neg": lambda: -first,
    }
    return np.float32(table[op]()) if np.isscalar(first) else table[op]().astype(np.float32)


def integer_value(tree: Any, names: dict[str, Any]) -> Any:
    if isinstance(tree, str):
        return names[tree] if tree in names else np.int64(tree) + np.zeros(LANES, np.int64)
    op, *parts = tree
    first, *rest = [integer_value(part, names) for part in parts]
    second = rest[0] if rest else first
    divisor = second | 1
    quotient = np.sign(first) * np.sign(divisor) * (abs(first) // abs(divisor))
    table = {
        "+": lambda: first + second,
        "-": lambda: first - second,
        "*": lambda: first * second,
        "&": lambda: first & second,
        "|": lambda: first | second,
        "^": lambda: first ^ second,
        "/": lambda: quotient,
        "%": lambda: first - quotient * divisor,
        ">>": lambda: first >> (second & 15),
        "?": lambda: np.where(first < second, first, second),
        "<": lambda: (first < second).astype(np.int64),
        "~": lambda: ~first,
    }
    return wrapped(table[op]())


numbers = st.lists(
    st.floats(width=32, allow_nan=False, allow_subnormal=True), min_size=LANES, max_size=LANES
)


@settings(max_examples=150, deadline=None)
@given(tree=FLOATS, a=numbers, b=numbers)
def test_float_expressions_have_the_bits_of_numpy(tree: Any, a: Any, b: Any) -> None:
    text = f"""__global__ void k(const float* x, const float* z, float* y, int n) {{
        const int i = threadIdx.x; const float a = x[i], b = z[i], c = a + 1.0f;
        y[i] = {c_text(tree)};
    }}"""
    outcome = run(text, rows=1, vocab=LANES, block=LANES, data={"x": a, "z": b}, truth={})
    arrays = {"a": np.array(a, np.float32), "b": np.array(b, np.float32)}
    with np.errstate(all="ignore"):
        arrays["c"] = arrays["a"] + np.float32(1)
        want = np.broadcast_to(float_value(tree, arrays), LANES).astype(np.float32)
    got = np.array(outcome.outputs["y"], np.float32)
    same = (got.view(np.int32) == want.view(np.int32)) | (np.isnan(got) & np.isnan(want))
    zeros = (got == 0) & (want == 0)  # fmaxf may return either zero
    assert np.all(same | zeros)


ints = st.lists(st.integers(-(2**31), 2**31 - 1), min_size=LANES, max_size=LANES)


@settings(max_examples=150, deadline=None)
@given(tree=INTEGERS, j=ints)
def test_integer_expressions_have_the_values_of_numpy(tree: Any, j: Any) -> None:
    text = f"""__global__ void k(const int* x, int* y, int n) {{
        const int i = threadIdx.x, j = x[i];
        y[i] = {c_text(tree)};
    }}"""
    outcome = run(text, rows=1, vocab=LANES, block=LANES, data={"x": j}, truth={})
    names = {"i": np.arange(LANES, dtype=np.int64), "j": np.array(j, np.int64)}
    np.testing.assert_array_equal(outcome.outputs["y"], integer_value(tree, names))


def alone(lane: int, stop: int, limits: list[int]) -> int:
    first, second, third, fourth = limits
    total = 0
    if lane < stop:
        return 7
    for i in range(lane):
        if i == first:
            continue
        if i == second or lane == third:
            break
        j = 0
        while True:
            j += 1
            if j - 1 > i % 5:
                break
            total += j
            if total > fourth * 10:
                return -total
        total += 1 if lane < 16 and i % 2 else 2
    return total


@settings(max_examples=60, deadline=None)
@given(limits=st.lists(st.integers(0, 40), min_size=4, max_size=4), stop=st.integers(0, 32))
def test_diverging_lanes_do_what_each_would_alone(limits: list[int], stop: int) -> None:
    first, second, third, fourth = limits
    text = f"""__global__ void k(const float* x, int* y, int n) {{
        const int lane = threadIdx.x;
        int total = 0;
        if (lane >= {stop}) {{
            for (int i = 0; i < lane; i++) {{
                if (i == {first}) continue;
                if (i == {second} || lane == {third}) break;
                int j = 0;
                while (true) {{
                    if (j++ > i % 5) break;
                    total += j;
                    if (total > {fourth} * 10) {{ y[lane] = -total; return; }}
                }}
                total += lane < 16 && i % 2 ? 1 : 2;
            }}
        }} else total = 7;
        y[lane] = total;
    }}"""

    outcome = run(text, rows=1, vocab=LANES, block=LANES, truth={})
    assert outcome.outputs["y"] == [alone(lane, stop, limits) for lane in range(LANES)]
    assert outcome.faults == []


@pytest.mark.parametrize("place", ["a", "s", "s.b", "a[0]", "x[n++]", "*x", "q", "q.y", "x"])
@pytest.mark.parametrize("statement", ["{};", "for (; n < 0; {}) {{}}", "if (n) {};"])
def test_place_that_nobody_uses_is_not_read(statement: str, place: str) -> None:
    text = f"""struct S {{ float b; }};
    __global__ void k(const float* x, float* y, int n) {{
        float a[2];
        S s;
        float4 q;
        {statement.format(place)}
        y[threadIdx.x] = n;
    }}"""
    outcome = run(text, rows=1, vocab=LANES, block=LANES, truth={})
    moved = 1 if place == "x[n++]" and "for" not in statement else 0
    assert outcome.outputs["y"] == [float(LANES + moved)] * LANES
    assert outcome.counts.buffers["x"].loads.max == 0
    assert outcome.faults == []


@pytest.mark.parametrize("number", ["1152921573326323713LL", "18446743523953737729ull"])
def test_integer_constant_becomes_the_nearest_float(number: str) -> None:
    # Rounded to double first, it would lie in the middle of two and go to the even one.
    text = (
        f"__global__ void k(float* y, float* z, long long n) {{"
        f" y[threadIdx.x] = (float){number}; z[threadIdx.x] = (float)(({number}) + n); }}"
    )
    arguments = {"y": "32:inout:zeros", "z": "32:out", "n": 0}
    outcome = run(text, rows=1, vocab=32, block=32, truth={}, arguments=arguments)
    assert outcome.outputs["y"] == outcome.outputs["z"]
    whole = np.array(int(number.rstrip("LlUu")))  # NumPy rounds an array of integers once
    assert outcome.outputs["y"][0] == float(whole.astype(np.float32))
