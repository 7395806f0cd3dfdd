"""State: any split of a row, merged, is one read of it."""

from __future__ import annotations

import functools
import itertools
import operator
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneread
from oneread import ShapeError, SoftmaxTopK, State, TopK

EXACT = ("max", "argmax", "values", "indices", "rank")
SUMS = ("lse", "logprobs", "selected", "entropy", "sum_p2")
ALL: dict[str, Any] = {"entropy": True, "sum_p2": True, "argmax": True}


def logits(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype) * 4


def ulps(got: Any, want: Any, name: str = "") -> float:
    """Return the largest distance in units in the last place; infinite for another class."""
    got, want = np.asarray(got), np.asarray(want)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return float("inf")
    if not finite.any():
        return 0.0
    # lse is a difference where it is near 0: its unit is that of the numbers it is made of.
    size = np.maximum(np.abs(want[finite]), 1 if name == "lse" else 0)
    return float((np.abs(got[finite] - want[finite]) / np.spacing(size.astype(want.dtype))).max())


def assert_is_read(state: State, want: oneread.Read) -> None:
    for name in EXACT:
        got, expected = getattr(state, name), getattr(want, name)
        if expected is None:
            assert got is None
        else:
            np.testing.assert_array_equal(got, expected, err_msg=name)
            assert got.dtype == expected.dtype
    for name in SUMS:
        got, expected = getattr(state, name), getattr(want, name)
        if expected is None:
            assert got is None
        else:
            assert got.dtype == expected.dtype
            assert got.shape == expected.shape
            assert ulps(got, expected, name) <= 4, name


def parts(x: Any, cuts: list[int], **options: Any) -> list[State]:
    """Return the states of the pieces of the last axis between the cuts."""
    edges = [0, *sorted(cuts), x.shape[-1]]
    return [State.of(x[..., a:b], offset=a, **options) for a, b in itertools.pairwise(edges)]


SPECIAL = st.sampled_from([0.0, -0.0, 1.0, -3.0, 2.5, 88.0, -1e4, np.nan, np.inf, -np.inf, 1e30])


@st.composite
def rows_and_cuts(draw: st.DrawFn) -> tuple[Any, list[int]]:
    columns = draw(st.integers(1, 40))
    numbers = st.one_of(SPECIAL, st.floats(-100, 100, width=32))
    flat = draw(st.lists(numbers, min_size=2 * columns, max_size=2 * columns))
    dtype = draw(st.sampled_from(["float16", "float32", "float64"]))
    with np.errstate(over="ignore"):
        x = np.array(flat).reshape(2, columns).astype(dtype)
    return x, draw(st.lists(st.integers(0, columns), max_size=6))


@settings(max_examples=200, deadline=None)
@given(rows_and_cuts(), st.integers(0, 5), st.randoms(), st.sampled_from([None, 0.5, 1e-3, 30.0]))
def test_merge_of_any_split_in_any_order_is_one_read(
    case: tuple[Any, list[int]], k: int, random: Any, temperature: float | None
) -> None:
    x, cuts = case
    columns = x.shape[1]
    k = min(k, columns)
    select = np.array([[0, columns - 1, columns // 2]] * 2)
    logit = np.take_along_axis(x, select, 1)
    want = oneread.read(x, top_k=k, select=select, rank=True, temperature=temperature, **ALL)
    states = parts(
        x, cuts, top_k=k, select=select, selected_logit=logit, rank=True, temperature=temperature,
        **ALL,
    )  # fmt: skip
    random.shuffle(states)
    while len(states) > 1:  # in any grouping
        i = random.randrange(len(states) - 1)
        states[i : i + 2] = [states[i] | states[i + 1]]
    assert_is_read(states[0], want)


def test_rank_of_a_subnormal_logit_is_exact() -> None:
    x = np.array([[0.0, 1e-45, 3e-45], [1e-45, -1e-45, 0.0]], np.float32)
    options: dict[str, Any] = {"select": [1, 0], "rank": True}
    state = State.of(x, selected_logit=[x[0, 1], x[1, 0]], **options)
    assert state.rank.tolist() == oneread.read(x, **options).rank.tolist() == [1, 0]


@settings(max_examples=100, deadline=None)
@given(rows_and_cuts())
def test_merge_is_commutative_bit_for_bit(case: tuple[Any, list[int]]) -> None:
    x, cuts = case
    states = parts(x, cuts[:1], top_k=3, select=0, **ALL)
    if len(states) == 2:
        assert (states[0] | states[1]).pack() == (states[1] | states[0]).pack()


@settings(max_examples=50, deadline=None)
@given(rows_and_cuts())
def test_identity_changes_nothing(case: tuple[Any, list[int]]) -> None:
    state = State.of(case[0], top_k=2, **ALL)
    identity = State.identity(2, top_k=2, **ALL)
    assert (state | identity).pack() == (identity | state).pack() == state.pack()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", ["random", "rising", "falling", "rising slowly"])
def test_one_column_at_a_time_stays_within_4_ulp(dtype: str, order: str) -> None:
    x = logits(3, 1500, dtype=dtype)
    if order != "random":
        x = np.sort(x, axis=1)
    if order == "falling":
        x = x[:, ::-1]
    if order == "rising slowly":
        x = x / 500
    x = np.ascontiguousarray(x)
    states = parts(x, list(range(1, 1500)), top_k=4, **ALL)
    merged = functools.reduce(operator.or_, states)
    assert_is_read(merged, oneread.read(x, top_k=4, **ALL))
    updated = State.of(x[:, :0], top_k=4, **ALL)
    for i in range(1500):
        updated.update(x[:, i : i + 1])
    assert updated.pack() == merged.pack()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, None])
def test_any_axis(axis: int | None) -> None:
    x = logits(4, 6, 5)
    want = oneread.read(x, axis, top_k=3, select=1, **ALL)
    halves = np.array_split(x, 2, axis=axis or 0)
    state = State.of(halves[0], axis, top_k=3, select=1, **ALL).update(halves[1])
    assert_is_read(state, want)


def test_update_continues_the_columns_after_the_offset() -> None:
    x = logits(2, 12)
    state = State.of(x[:, 4:7], offset=4, argmax=True)
    assert state.update(x[:, 7:12]) is state
    np.testing.assert_array_equal(state.argmax, 4 + x[:, 4:].argmax(1))


def test_a_merged_state_goes_on_after_its_last_column() -> None:
    x = logits(2, 12)
    state = State.of(x[:, 3:6], offset=3, top_k=2) | State.of(x[:, :3], top_k=2)
    np.testing.assert_array_equal(state.update(x[:, 6:]).indices, oneread.top_k(x, 2).indices)


def test_merging_leaves_both_as_they_were() -> None:
    a, b = (State.of(logits(2, 3, seed=i), offset=3 * i, top_k=2) for i in range(2))
    before = a.pack(), b.pack()
    (a | b).update(logits(2, 5))
    assert (a.pack(), b.pack()) == before


def test_changing_a_field_leaves_the_state_as_it_was() -> None:
    state = State.of(logits(2, 3), top_k=2, argmax=True)
    before = state.pack()
    for field in (state.values, state.indices, state.argmax, state.lse):
        field[...] = 7
    assert state.pack() == before


def test_m_d_and_lse_fit_together() -> None:
    x = logits(3, 20)
    state = State.of(x, temperature=0.7)
    assert ulps(state.m, x.max(1) / 0.7) <= 1
    assert ulps(state.m + np.log(state.d), state.lse, "lse") <= 4


def test_rows_without_a_finite_number() -> None:
    x = np.array([[-np.inf] * 3, [0, np.inf, 1], [0, np.nan, 1]])
    state = functools.reduce(operator.or_, parts(x, [1, 2], top_k=3, **ALL))
    assert_is_read(state, oneread.read(x, top_k=3, **ALL))
    np.testing.assert_array_equal(state.d[0], 0.0)
    np.testing.assert_array_equal(state.lse, [-np.inf, np.inf, np.nan])


def test_no_columns_at_all() -> None:
    state = State.of(np.zeros((2, 0)), top_k=1, argmax=True)
    np.testing.assert_array_equal(state.lse, [-np.inf, -np.inf])
    np.testing.assert_array_equal(state.m, [-np.inf, -np.inf])
    for name in ("argmax", "indices", "values", "logprobs"):
        with pytest.raises(ShapeError, match=r"columns|none"):
            getattr(state, name)


def test_very_negative_rows_keep_their_digits() -> None:
    state = State.of(np.array([-3e38, -3e38])) | State.of(np.array([-np.inf]), offset=2)
    assert state.m == -3e38
    assert state.d == 2


@pytest.mark.parametrize("gap", [1.0, 5.0, 20.0, 40.0, 87.0])
def test_log_probability_near_0_keeps_its_digits(gap: float) -> None:
    for first, second in ((gap, 0.0), (0.0, gap)):
        state = State.of(np.array([first]), top_k=2).update(np.array([second]))
        assert ulps(state.logprobs[0], -np.log1p(np.exp(-gap))) <= 2


# top_k and logprob


def test_kinds_of_top_k() -> None:
    x = logits(3, 30)
    state = functools.reduce(operator.or_, parts(x, [7, 19], top_k=5))
    assert isinstance(state.top_k(), TopK)
    for kind in ("prob", "logprob"):
        for renormalize in (False, True):
            got = state.top_k(kind=kind, renormalize=renormalize)
            assert isinstance(got, SoftmaxTopK)
            want = oneread.softmax_topk(x, 5, kind=kind, renormalize=renormalize, return_lse=True)
            np.testing.assert_array_equal(got.indices, want.indices)
            assert ulps(got.values, want.values) <= 8
            assert ulps(got.lse, want.lse, "lse") <= 4
    with pytest.raises(ShapeError, match="kind is 'odds'"):
        state.top_k(kind="odds")


def test_fewer_columns_than_k_so_far() -> None:
    state = State.of(logits(2, 3), top_k=5)
    with pytest.raises(ShapeError, match=r"top_k is 5, .* 3 columns"):
        _ = state.values
    assert state.update(logits(2, 2)).values.shape == (2, 5)


def test_values_are_the_inputs_own_bits() -> None:
    x = np.array([[1.0, -0.0, 0.0, np.nan]], np.float16)
    x.view(np.uint16)[0, 3] = 0xFE01
    state = functools.reduce(operator.or_, parts(x, [1, 2, 3], top_k=4))
    np.testing.assert_array_equal(state.indices, [[3, 0, 1, 2]])
    np.testing.assert_array_equal(state.values.view(np.uint16), [[0xFE01, 0x3C00, 0x8000, 0]])


def test_logprob_of_numbers_and_chunks() -> None:
    x = logits(3, 8)
    state = State.of(x)
    assert ulps(state.logprob(x), oneread.log_softmax(x)) <= 8
    assert ulps(state.logprob(x[:, 2]), oneread.log_softmax(x)[:, 2]) <= 8
    across = State.of(x, axis=0)
    assert ulps(across.logprob(x[1:]), oneread.log_softmax(x, 0)[1:]) <= 8
    with pytest.raises(ShapeError, match="logits has shape"):
        state.logprob(x[:2])


# select and rank


def test_selected_column_may_lie_in_any_chunk() -> None:
    x = logits(2, 9)
    select = np.array([[0, 8], [4, 4]])
    states = parts(x, [3, 6], select=select)
    for state in states:
        with pytest.raises(ShapeError, match="selected column"):
            _ = state.selected
    merged = functools.reduce(operator.or_, states)
    assert ulps(merged.selected, oneread.read(x, select=select).selected) <= 4


def test_column_that_is_never_seen_is_named() -> None:
    state = State.of(logits(2, 5), select=[1, 12])
    with pytest.raises(ShapeError, match="column 12 lies in none of the 5 columns"):
        _ = state.selected


def test_column_that_is_read_twice_is_refused() -> None:
    state = State.of(logits(2, 5), select=3)
    with pytest.raises(ShapeError, match="column 3 was read by both states"):
        _ = state | State.of(logits(2, 5), select=3)


def test_negative_column_is_an_index_error() -> None:
    with pytest.raises(IndexError, match="-1"):
        State.of(logits(2, 5), select=-1)


def test_rank_needs_the_logit_beforehand() -> None:
    with pytest.raises(ShapeError, match="selected_logit"):
        State.of(logits(2, 5), select=1, rank=True)
    with pytest.raises(ShapeError, match="selected_logit"):
        State.of(logits(2, 5), rank=True, selected_logit=[1.0, 2.0])
    with pytest.raises(ShapeError, match="selected_logit has shape"):
        State.of(logits(2, 5), select=[[1], [2]], rank=True, selected_logit=[1.0, 2.0])


def test_rank_of_a_masked_column_is_refused() -> None:
    state = State.of(
        np.zeros((1, 3)), select=1, selected_logit=[0.0], rank=True, where=[True, False, True]
    )
    assert state.selected == -np.inf
    with pytest.raises(ShapeError, match="column 1 is masked"):
        _ = state.rank


# Masks


@settings(max_examples=100, deadline=None)
@given(rows_and_cuts(), st.integers(0, 2**40 - 1), st.lists(st.integers(0, 40), min_size=2,
                                                            max_size=2))  # fmt: skip
def test_masks_split_with_the_columns(
    case: tuple[Any, list[int]], bits: int, ends: list[int]
) -> None:
    x, cuts = case
    n = x.shape[1]
    where = np.array([bits >> i & 1 for i in range(n)], bool)
    lengths = np.minimum(ends, n)
    k = min(4, n)
    want = oneread.read(x, top_k=k, where=where, lengths=lengths, select=n - 1, **ALL)
    edges = [0, *sorted(cuts), n]
    state = State.identity(2, top_k=k, select=n - 1, **ALL)
    for a, b in itertools.pairwise(edges):
        state.update(x[:, a:b], where=where[a:b], lengths=np.clip(lengths - a, 0, b - a))
    for name in ("max", "argmax", "indices", "values"):
        np.testing.assert_array_equal(getattr(state, name), getattr(want, name), err_msg=name)
    for name in SUMS:
        got, expected = getattr(state, name), getattr(want, name)
        assert ulps(got, expected, name) <= 4, name


def test_masked_columns_come_after_kept_ones_of_later_chunks() -> None:
    x = np.full((1, 4), -np.inf)
    state = State.of(x, top_k=8, where=[True, False, True, False]).update(x)
    np.testing.assert_array_equal(state.indices, [[0, 2, 4, 5, 6, 7, 1, 3]])


# Threads, libraries


def test_state_reads_with_the_threads_it_is_given() -> None:
    x = logits(64, 4000)
    assert State.of(x, top_k=3, threads=1).pack() == State.of(x, top_k=3, threads=4).pack()
    with pytest.raises(ShapeError, match="threads is 0"):
        State.of(x, threads=0)


def test_state_of_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 arrays of NumPy")
    x = logits(2, 30).astype(ml_dtypes.bfloat16)
    state = functools.reduce(operator.or_, parts(x, [11], top_k=3, select=4, **ALL))
    assert_is_read(state, oneread.read(x, top_k=3, select=4, **ALL))
    assert State.unpack(state.pack()).values.dtype == ml_dtypes.bfloat16


def test_state_of_tensors_gives_tensors() -> None:
    torch = pytest.importorskip("torch", reason="torch in, torch out")
    x = logits(2, 30)
    t = torch.from_numpy(x)
    state = State.of(t[:, :9], top_k=3, select=4, **ALL) | State.of(
        x[:, 9:], offset=9, top_k=3, select=4, **ALL
    )
    want = oneread.read(x, top_k=3, select=4, **ALL)
    for name in want._fields:
        got = getattr(state, name)
        if got is not None:
            assert isinstance(got, torch.Tensor)
            assert ulps(got.numpy(), getattr(want, name)) <= 4
    assert isinstance(state.logprob(t), torch.Tensor)
    assert isinstance(pickle.loads(pickle.dumps(state)).lse, torch.Tensor)
