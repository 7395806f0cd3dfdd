"""How close to the float64 truth each op is, for every family of inputs and where it is hardest."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import reference
from oneread.runtime import cpu
from oneread.spec import FLOAT_DTYPES, OPS
from oneread.testing import (
    FAMILIES,
    assert_close_to_truth,
    assert_conforms,
    max_ulp_error,
    stdlib_bigram,
)

each_op = pytest.mark.parametrize("op", OPS)
each_dtype = pytest.mark.parametrize("dtype", FLOAT_DTYPES)


def of_torch(op: str) -> Callable[..., Any]:
    """Return the op, given tensors instead of arrays."""
    torch = pytest.importorskip("torch", reason="the logits are PyTorch's")

    def tensor(array: Any) -> Any:
        if getattr(array, "ndim", 0) == 0:
            return array
        array = array[:] if min(array.strides) >= 0 else array.copy()  # torch strides are positive
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    def run(x: Any, **options: Any) -> Any:
        return getattr(oneread, op)(tensor(x), **{n: tensor(o) for n, o in options.items()})

    return run


# Every family of inputs with every kind of option


@pytest.mark.parametrize(("rows", "vocab"), [(6, 331), (3, 7), (2, 2053)])
@each_dtype
@each_op
def test_op_is_close_to_the_truth_on_every_family(
    op: str, dtype: str, rows: int, vocab: int
) -> None:
    assert_conforms(getattr(oneread, op), op, dtype=dtype, rows=rows, vocab=vocab)


@each_dtype
@each_op
def test_op_on_tensors_is_close_to_the_truth_on_every_family(op: str, dtype: str) -> None:
    assert_conforms(of_torch(op), op, dtype=dtype, rows=3, vocab=67)


@pytest.mark.parametrize("isa", cpu.native.compiled_isas(), indirect=True)
@each_dtype
@each_op
def test_op_of_every_instruction_set_is_close_to_the_truth(op: str, dtype: str, isa: str) -> None:
    assert_conforms(getattr(oneread, op), op, dtype=dtype, rows=3, vocab=131, seed=1)
    assert oneread.last_kernel().isa == isa


@pytest.mark.parametrize("isa", cpu.native.compiled_isas(), indirect=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rising_rows_are_right_on_every_instruction_set(dtype: str, isa: str) -> None:
    x = FAMILIES["sorted_up"](1000, 300, dtype)
    for temperature in (None, 0.7, 1.3):
        y = oneread.softmax(x, temperature=temperature)
        assert_close_to_truth(y, x, "softmax", temperature=temperature)
    assert oneread.last_kernel().isa == isa


@pytest.mark.parametrize("isa", cpu.native.compiled_isas(), indirect=True)
@pytest.mark.parametrize("name", ["spiky", "normal", "sorted_up", "ties"])
@each_dtype
def test_entropy_of_many_rows_is_within_its_bound(dtype: str, name: str, isa: str) -> None:
    x = FAMILIES[name](700, 335, dtype)
    for temperature in (None, 0.7):
        options = {"entropy": True, "sum_p2": True, "temperature": temperature}
        assert_close_to_truth(oneread.read(x, **options), x, "read", **options)
    assert oneread.last_kernel().isa == isa


@each_op
def test_op_is_close_to_the_truth_on_real_logits(op: str) -> None:
    bigram = stdlib_bigram(16)
    x = bigram.logits
    options: dict[str, Any] = {"k": 5} if op in ("top_k", "softmax_topk") else {}
    if op == "read":
        options = {"top_k": 5, "select": bigram.next_token, "rank": True, "entropy": True}
    for temperature in (None, 0.7):
        options["temperature"] = temperature
        assert_close_to_truth(getattr(oneread, op)(x, **options), x, op, **options)


# Log-probabilities near 0

GAPS = np.concatenate([np.arange(1.0, 88.0), np.linspace(1, 87, 241)])


def rows_with_gaps(vocab: int, first: bool) -> Any:
    """Return rows whose best column is ahead of the next by each gap, the others far behind."""
    x = np.full((len(GAPS), vocab), -500.0)
    best, next_best = (0, vocab - 1) if first else (vocab - 1, 0)
    x[:, best], x[:, next_best] = GAPS, 0
    return x


def worst_near_zero(got: Any, x: Any) -> float:
    """Return the largest error in ulp of log-probabilities of the best and the next column."""
    truth = -np.sort(-reference.log_softmax(x), axis=1)[:, :2]
    return max_ulp_error(got, truth)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("vocab", [2, 3, 100])
@pytest.mark.parametrize("offset", [0.0, 50.0, -50.0])
def test_log_probability_near_0_is_right_to_2_ulp_for_every_gap(
    offset: float, vocab: int, first: bool, plain_kind: Any
) -> None:
    x = plain_kind(rows_with_gaps(vocab, first) + offset)
    columns = np.tile([0, vocab - 1] if first else [vocab - 1, 0], (len(x), 1))
    place = np.arange(len(x))[:, None], columns
    read = oneread.read(x, top_k=2, select=columns)
    state = oneread.State.of(x, top_k=2, select=columns)
    results = {
        "log_softmax": oneread.log_softmax(x)[place],
        "log_softmax in float32": oneread.log_softmax(x, dtype=read.lse.dtype)[place],
        "softmax_topk": oneread.softmax_topk(x, 2, kind="logprob").values,
        "read.logprobs": read.logprobs,
        "read.selected": read.selected,
        "State.logprobs": state.logprobs,
        "State.selected": state.selected,
        "State.logprob": state.logprob(x[place]),
    }
    errors = {n: worst_near_zero(got, plain_kind.numbers(x)) for n, got in results.items()}
    assert {name: error for name, error in errors.items() if not error <= 2} == {}


def test_merged_states_keep_the_digits_of_a_log_probability_near_0() -> None:
    x = rows_with_gaps(2, True).astype(np.float32)
    state = oneread.State.of(x[:, 1:], offset=1) | oneread.State.of(x[:, :1])
    assert worst_near_zero(state.logprob(x), x) <= 2


def test_log_softmax_of_20_and_0_keeps_its_tail() -> None:
    y = oneread.log_softmax(np.float32([20, 0]))
    assert [f"{v:.4g}" for v in y.tolist()] == ["-2.061e-09", "-20"]
    y = oneread.log_softmax(np.float32([40, 0]))
    assert [f"{v:.4g}" for v in y.tolist()] == ["-4.248e-18", "-40"]


# Long rows

LONG = 2_000_000


@pytest.mark.parametrize("name", ["normal", "constant", "sorted_up", "sorted_down"])
def test_lse_and_largest_probability_of_a_long_row_are_within_8_ulp(
    name: str, plain_kind: Any
) -> None:
    numbers = FAMILIES[name](1, LONG, plain_kind.dtype)
    x = plain_kind(numbers)
    lse = reference.logsumexp(numbers)
    assert max_ulp_error(oneread.logsumexp(x), lse) <= 8
    assert max_ulp_error(oneread.read(x).lse, lse) <= 8
    largest = reference.softmax_topk(numbers, 1).values[:, 0]
    assert max_ulp_error(oneread.softmax_topk(x, 1).values[:, 0], largest) <= 8
    y = oneread.softmax(x)
    assert max_ulp_error(y[:, np.argmax(numbers)], largest) <= 8


def test_long_rows_of_states_are_within_8_ulp() -> None:
    x = FAMILIES["normal"](1, LONG)
    state = oneread.State.identity(1)
    for part in np.array_split(x, 1000, axis=1):
        state.update(part)
    assert max_ulp_error(state.lse, reference.logsumexp(x)) <= 8


# Below the normal range


@each_dtype
def test_probability_below_the_normal_range_is_right_or_0(dtype: str) -> None:
    x = FAMILIES["denormals"](4, 1003, dtype)
    assert_close_to_truth(oneread.softmax(x), x, "softmax")
    assert_close_to_truth(oneread.softmax_topk(x, 9), x, "softmax_topk", k=9)


@pytest.mark.alone
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_results_below_the_normal_range_are_not_slow(dtype: str) -> None:
    small = FAMILIES["denormals"](1, 1 << 17, dtype)
    plain, y = np.zeros_like(small), np.empty_like(small)

    def seconds(x: Any) -> float:
        start = time.perf_counter()
        oneread.softmax(x, out=y, threads=1)
        return time.perf_counter() - start

    times = np.array([(seconds(small), seconds(plain)) for _ in range(15)])
    # Arithmetic on subnormals costs about 100 cycles each: 30 times as long.
    assert times[:, 0].min() < 5 * times[:, 1].min()


def test_floating_point_mode_of_the_caller_is_left_alone() -> None:
    x = FAMILIES["denormals"](8, 40_003)
    for op in (oneread.softmax, oneread.log_softmax, oneread.logsumexp, oneread.read):
        op(x)
        tiny = np.full(9, 2.0**-149, np.float32)
        assert (tiny * np.float32(3) > tiny).all()


# Temperature, and what lse, max and entropy are of


def test_lse_is_a_natural_logarithm(kind: Any) -> None:
    x = kind(np.zeros((2, 4)))
    for lse in (oneread.logsumexp(x), oneread.read(x).lse, oneread.State.of(x).lse):
        assert max_ulp_error(lse, np.log(4)) <= OPS["logsumexp"].max_ulp


@pytest.mark.parametrize("temperature", [0.5, 3.0, [0.25, 4.0, 1.0]])
def test_lse_max_and_entropy_are_those_of_x_over_temperature(temperature: Any, kind: Any) -> None:
    x = kind(FAMILIES["normal"](3, 57))
    options = {"temperature": temperature, "entropy": True, "sum_p2": True}
    read = oneread.read(x, **options)
    assert_close_to_truth(read, x, "read", **options)
    largest = kind.numbers(x).max(axis=1) / temperature
    assert max_ulp_error(read.max, largest) <= 1
    state = oneread.State.of(x, **options)
    for field in ("lse", "max", "entropy", "sum_p2"):
        assert_close_to_truth(getattr(state, field), x, "read", field=field, **options)


def test_tiny_temperature_is_subtracted_before_it_is_scaled(kind: Any) -> None:
    x = kind([[1.0, 3.0, 3.0, -2.0], [0.5, 0.25, 0.0, -0.0]])
    for temperature in (1e-30, 1e-300):
        y = kind.numbers(oneread.softmax(x, temperature=temperature))
        assert y.tolist() == [[0, 0.5, 0.5, 0], [1, 0, 0, 0]]


def test_huge_temperature_makes_all_columns_equal(kind: Any) -> None:
    x = kind([[1.0, 3.0, 3.0, -2.0]])
    for temperature in (1e30, 1e300):
        y = kind.numbers(oneread.softmax(x, temperature=temperature))
        assert y.tolist() == [[0.25] * 4]


@pytest.mark.parametrize("kind_of_score", ["prob", "logprob"])
def test_probabilities_of_the_top_k_are_those_of_the_whole_row(
    kind_of_score: str, kind: Any
) -> None:
    x = kind(FAMILIES["normal"](3, 57))
    whole = oneread.softmax(x, dtype="float64")
    top = oneread.softmax_topk(x, 5, kind=kind_of_score)
    options = {"k": 5, "kind": kind_of_score}
    assert_close_to_truth(top, x, "softmax_topk", **options)
    assert (kind.numbers(oneread.softmax_topk(x, 5).values).sum(1) < 1).all()
    assert max_ulp_error(whole.sum(1), np.ones(3)) <= 8


def test_probabilities_among_the_winners_alone_need_renormalize(kind: Any) -> None:
    x = kind(FAMILIES["normal"](3, 57))
    options = {"k": 5, "renormalize": True}
    top = oneread.softmax_topk(x, **options)
    assert_close_to_truth(top, x, "softmax_topk", **options)
    winners = oneread.top_k(x, 5).values
    assert_close_to_truth(top.values, winners, "softmax_topk", field="values", k=5)


@each_dtype
def test_sum_over_many_winners_alone_is_right(dtype: str) -> None:
    for name in ("normal", "ties"):
        x = FAMILIES[name](2, 9001, dtype)
        options = {"k": 9001, "renormalize": True}
        assert_close_to_truth(oneread.softmax_topk(x, **options), x, "softmax_topk", **options)
