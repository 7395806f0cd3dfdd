"""Laws that hold for every row: of merging, shifting, permuting, masking and splitting."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oneread
from oneread import State
from oneread.spec import OPS
from oneread.testing import assert_close_to_truth, max_ulp_error, ulp

INF, NAN = np.inf, np.nan

law = settings(deadline=None, max_examples=60, derandomize=True)

#: Numbers that meet in ties, and eighths, of which small integers can be added without rounding.
TIES = st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0])
EIGHTHS = st.integers(-200, 200).map(lambda n: n / 8)
SPECIAL = st.sampled_from([-INF, INF, NAN, -NAN])
SOME_MASKED = st.one_of(EIGHTHS, EIGHTHS, TIES, st.just(-INF))
ANY = st.one_of(EIGHTHS, EIGHTHS, TIES, SPECIAL)
FLOATS = st.sampled_from([np.float32, np.float64])

ASKED: dict[str, Any] = {"top_k": 3, "entropy": True, "sum_p2": True, "argmax": True}


@st.composite
def logits(
    draw: st.DrawFn, elements: Any = ANY, dtypes: Any = FLOATS, least: int = 3, most: int = 40
) -> Any:
    """Draw rows of logits, shape (1 to 3, least to most)."""
    shape = (draw(st.integers(1, 3)), draw(st.integers(least, most)))
    return draw(hnp.arrays(draw(dtypes), shape, elements=elements))


def cuts(draw: Any, vocab: int) -> list[int]:
    """Draw where a row is cut, empty parts included."""
    return sorted(draw(st.lists(st.integers(0, vocab), min_size=1, max_size=5)))


def state(x: Any, offset: int = 0, **options: Any) -> State:
    return State.of(x, offset=offset, **(ASKED | options))


def parts(x: Any, at: list[int], **options: Any) -> list[State]:
    edges = [0, *at, x.shape[1]]
    return [state(x[:, a:b], a, **options) for a, b in pairwise(edges)]


def assert_identical(a: Any, b: Any, *names: str) -> None:
    """Fail unless these fields are the same numbers, NaN for NaN."""
    for name in names:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def assert_sums_within_4_ulp(a: Any, b: Any) -> None:
    """Fail unless lse, entropy and sum_p2 agree; lse is rounded at the size of m and of log d."""
    size = np.maximum(np.abs(b.max), 1)
    for name, floor in (("lse", size), ("entropy", 0), ("sum_p2", 0)):
        got, want = getattr(a, name).astype(np.float64), getattr(b, name).astype(np.float64)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        unit = ulp(np.maximum(np.abs(want), floor), getattr(b, name).dtype)
        with np.errstate(invalid="ignore"):
            assert (same | (np.abs(got - want) <= 4 * unit)).all(), (name, got, want)


# Merging


@law
@given(logits(), st.data())
def test_merging_is_commutative_bit_for_bit(x: Any, data: Any) -> None:
    at = data.draw(st.integers(0, x.shape[1]))
    a, b = parts(x, [at])
    assert (a | b).pack() == (b | a).pack()


@law
@given(logits(), st.data())
def test_merging_is_associative(x: Any, data: Any) -> None:
    at = sorted(data.draw(st.lists(st.integers(0, x.shape[1]), min_size=2, max_size=2)))
    a, b, c = parts(x, at)
    left, right = (a | b) | c, a | (b | c)
    assert_identical(left, right, "m", "max", "argmax", "values", "indices")
    assert_sums_within_4_ulp(left, right)


@law
@given(logits())
def test_identity_changes_nothing(x: Any) -> None:
    a = state(x)
    nothing = State.identity(len(x), **ASKED)
    for merged in (a | nothing, nothing | a):
        assert merged.pack() == a.pack()
    assert State.identity(len(x), **ASKED).update(x).pack() == a.pack()


@law
@given(logits(), st.data())
def test_part_of_minus_inf_leaves_the_sums_alone(x: Any, data: Any) -> None:
    a = state(x)
    masked = state(np.full((len(x), data.draw(st.integers(1, 9))), -INF, x.dtype), x.shape[1])
    assert_identical(a | masked, a, "lse", "max", "entropy", "sum_p2", "d", "values", "indices")


@law
@given(logits(), st.data())
def test_merge_of_any_split_is_one_read(x: Any, data: Any) -> None:
    chosen = np.array(
        [[data.draw(st.integers(0, x.shape[1] - 1)) for _ in range(2)] for _ in range(len(x))]
    )
    options = {"select": chosen, "selected_logit": np.take_along_axis(x, chosen, 1), "rank": True}
    pieces = parts(x, cuts(data.draw, x.shape[1]), **options)
    merged = pieces[0]
    for piece in data.draw(st.permutations(pieces[1:])):
        merged = merged | piece
    whole = oneread.read(x, select=chosen, rank=True, **ASKED)
    assert_identical(merged, whole, "max", "argmax", "values", "indices", "rank")
    assert_sums_within_4_ulp(merged, whole)
    finite = np.isfinite(whole.lse)
    if finite.any():
        assert_close_to_truth(merged.selected[finite], x[finite], "read", field="selected",
                              select=chosen[finite])  # fmt: skip


@law
@given(logits(), st.data())
def test_updates_are_the_merge_of_their_parts(x: Any, data: Any) -> None:
    at = cuts(data.draw, x.shape[1])
    pieces = parts(x, at)
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged | piece
    updated = State.identity(len(x), **ASKED)
    for part in np.split(x, at, axis=1):
        updated.update(part)
    assert updated.pack() == merged.pack()


@law
@given(logits(), st.data())
def test_packed_states_merge_like_those_they_were_made_of(x: Any, data: Any) -> None:
    a, b = parts(x, [data.draw(st.integers(0, x.shape[1]))])
    assert (State.unpack(a.pack()) | State.unpack(b.pack())).pack() == (a | b).pack()


# Shifting and permuting


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@law
@given(x=logits(SOME_MASKED), shift=st.integers(-4000, 4000))
def test_number_added_to_a_row_changes_nothing(op: str, x: Any, shift: int) -> None:
    shifted = x + x.dtype.type(shift)
    assert_close_to_truth(getattr(oneread, op)(shifted), x, op)


@law
@given(logits(SOME_MASKED), st.integers(-4000, 4000))
def test_number_added_to_a_row_is_added_to_its_lse(x: Any, shift: int) -> None:
    shifted = x + x.dtype.type(shift)
    assert_close_to_truth(oneread.logsumexp(shifted), shifted, "logsumexp")
    read, moved = oneread.read(x, **ASKED), oneread.read(shifted, **ASKED)
    assert_identical(moved, read, "indices", "argmax")
    np.testing.assert_array_equal(moved.max, read.max + x.dtype.type(shift))
    for field in ("entropy", "sum_p2", "logprobs"):
        assert_close_to_truth(getattr(moved, field), x, "read", field=field, **ASKED)


@law
@given(logits(), st.randoms(use_true_random=False))
def test_permuted_columns_give_permuted_results(x: Any, random: Any) -> None:
    order = np.array(random.sample(range(x.shape[1]), x.shape[1]))
    back = np.argsort(order)
    for op in ("softmax", "log_softmax"):
        assert_close_to_truth(getattr(oneread, op)(x[:, order])[:, back], x, op)
    for op in ("logsumexp", "read"):
        assert_close_to_truth(getattr(oneread, op)(x[:, order]), x, op)
    kept = oneread.top_k(x[:, order], 3).values
    np.testing.assert_array_equal(kept, oneread.top_k(x, 3).values)


# Sums and bounds


@law
@given(logits(SOME_MASKED))
def test_probabilities_of_a_row_sum_to_one(x: Any) -> None:
    y = oneread.softmax(x)
    for row in y[np.isfinite(x.max(axis=1))]:
        total = row.astype(np.longdouble).sum()
        assert max_ulp_error(np.array(total, x.dtype), 1.0) <= OPS["softmax"].max_ulp


@law
@given(logits(EIGHTHS, least=1))
def test_lse_lies_between_the_maximum_and_log_vocab_above_it(x: Any) -> None:
    read = oneread.read(x)
    top = read.max + ulp(np.maximum(np.abs(read.max), 1), x.dtype) * OPS["read"].max_ulp
    assert (read.lse >= read.max).all()
    assert (read.lse <= top + np.log(x.shape[1])).all()


@law
@given(logits())
def test_lse_of_every_op_is_the_same_to_4_ulp(x: Any) -> None:
    read = oneread.read(x, **ASKED)
    others = (oneread.logsumexp(x), oneread.softmax_topk(x, 2, return_lse=True).lse)
    for lse in (*others, oneread.read(x).lse, State.of(x).lse):
        assert_sums_within_4_ulp(read._replace(lse=lse), read)


@law
@given(logits(EIGHTHS))
def test_entropy_and_sum_p2_are_within_their_bounds(x: Any) -> None:
    read = oneread.read(x, **ASKED)
    slack = 1 + ulp(1.0, x.dtype) * OPS["read"].max_ulp
    assert (read.entropy >= 0).all()
    assert (read.entropy <= np.log(x.shape[1]) * slack).all()
    assert (read.sum_p2 <= slack).all()
    assert (read.sum_p2 * slack >= 1 / x.shape[1]).all()


# Order and masks


def sorted_columns(row: Any) -> list[int]:
    """Return columns by the rule: NaN, then the larger value; a stable sort keeps ties."""
    return sorted(range(len(row)), key=lambda j: (not np.isnan(row[j]), -np.nan_to_num(row[j])))


@law
@given(logits(), st.data())
def test_top_k_is_the_stable_sorted_row(x: Any, data: Any) -> None:
    k = data.draw(st.integers(0, x.shape[1]))
    for kernel in (None, "radix", "sort"):
        top = oneread.top_k(x, k, kernel=kernel)
        assert top.indices.tolist() == [sorted_columns(row)[:k] for row in x]


@law
@given(logits(), st.data())
def test_masked_columns_are_as_good_as_removed(x: Any, data: Any) -> None:
    kept = data.draw(hnp.arrays(np.bool_, x.shape[1]))
    assume(kept.any())
    rest = x[:, kept]
    for op in ("softmax", "log_softmax"):
        assert_close_to_truth(getattr(oneread, op)(x, where=kept)[:, kept], rest, op)
    for op in ("logsumexp", "read"):
        assert_close_to_truth(getattr(oneread, op)(x, where=kept), rest, op)
    k = min(3, rest.shape[1])
    top = oneread.top_k(x, k, where=kept)
    inside = oneread.top_k(rest, k)
    np.testing.assert_array_equal(top.values, inside.values)
    np.testing.assert_array_equal(top.indices, np.flatnonzero(kept)[inside.indices])


@law
@given(logits(), st.data())
def test_columns_beyond_lengths_are_as_good_as_cut_off(x: Any, data: Any) -> None:
    n = data.draw(st.integers(1, x.shape[1]))
    lengths = np.full(len(x), n)
    for op in ("softmax", "log_softmax"):
        assert_close_to_truth(getattr(oneread, op)(x, lengths=lengths)[:, :n], x[:, :n], op)
    assert_close_to_truth(oneread.logsumexp(x, lengths=lengths), x[:, :n], "logsumexp")
    top = oneread.top_k(x, min(3, n), lengths=lengths)
    np.testing.assert_array_equal(top.indices, oneread.top_k(x[:, :n], min(3, n)).indices)


@law
@given(logits())
def test_row_does_not_depend_on_its_neighbours(x: Any) -> None:
    for op in (oneread.softmax, oneread.log_softmax, oneread.logsumexp):
        together = op(x)
        for row, alone in zip(together, x, strict=True):
            np.testing.assert_array_equal(row, op(alone))
