"""What every op accepts and refuses as axis, k, select and input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import (
    AxisError,
    BackendUnavailableError,
    DtypeError,
    OneReadError,
    ShapeError,
    reference,
)
from oneread.testing import assert_close_to_truth

Op = Callable[..., Any]

WIDE: dict[str, Op] = {"softmax": oneread.softmax, "log_softmax": oneread.log_softmax}
OPS: dict[str, Op] = {
    **WIDE,
    "logsumexp": oneread.logsumexp,
    "top_k": lambda x, axis=-1, **options: oneread.top_k(x, 1, axis, **options),
    "softmax_topk": lambda x, axis=-1, **options: oneread.softmax_topk(x, 1, axis, **options),
    "read": oneread.read,
}
RANKED = ("top_k", "softmax_topk", "read")

each_op = pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
each_wide = pytest.mark.parametrize("op", WIDE.values(), ids=list(WIDE))
each_ranked = pytest.mark.parametrize("op", [OPS[name] for name in RANKED], ids=RANKED)


def logits(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def arrays(result: Any) -> list[Any]:
    return [a for a in (result if isinstance(result, tuple) else (result,)) if a is not None]


def assert_same(a: Any, b: Any) -> None:
    for one, other in zip(arrays(a), arrays(b), strict=True):
        np.testing.assert_array_equal(one, other)


# Axes


@each_op
def test_axis_defaults_to_the_last(op: Op) -> None:
    assert_same(op(logits(2, 3, 4)), op(logits(2, 3, 4), axis=2))


@each_op
def test_negative_axis_counts_from_the_end(op: Op) -> None:
    for axis in range(3):
        assert_same(op(logits(2, 3, 4), axis=axis), op(logits(2, 3, 4), axis=axis - 3))


@each_op
def test_numpy_integer_is_an_axis(op: Op) -> None:
    assert_same(op(logits(2, 3), axis=np.int8(0)), op(logits(2, 3), axis=0))


@each_op
@pytest.mark.parametrize("axis", [3, -4, 100])
def test_axis_outside_names_axis_and_number_of_axes(op: Op, axis: int) -> None:
    with pytest.raises(AxisError, match=rf"axis {axis} .* 3 axes") as caught:
        op(logits(2, 3, 4), axis=axis)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, IndexError)


@each_op
@pytest.mark.parametrize("axis", [True, 1.0, "0", np.bool_(0)])
def test_axis_of_another_type_is_refused(op: Op, axis: Any) -> None:
    with pytest.raises(DtypeError, match="axis is"):
        op(logits(2, 3), axis=axis)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
@pytest.mark.parametrize("axis", [(0, 0), (0, -3), (1, -2)])
def test_axis_named_twice_is_refused(name: str, axis: Any) -> None:
    with pytest.raises(ShapeError, match="twice"):
        OPS[name](logits(2, 3, 4), axis=axis)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_empty_tuple_of_axes_is_refused(name: str) -> None:
    with pytest.raises(ShapeError, match="axis is empty"):
        OPS[name](logits(2, 3), axis=())


@each_ranked
def test_several_axes_are_refused_where_columns_are_numbered(op: Op) -> None:
    with pytest.raises(DtypeError, match="one axis"):
        op(logits(2, 3, 4), axis=(0, 1))


@each_wide
@pytest.mark.parametrize("axis", [(0, 2), (2, 0), (-1, 0), [0, 2]])
def test_tuple_of_axes_is_one_row_each(op: Op, axis: Any) -> None:
    x = logits(2, 3, 4)
    moved = op(x.transpose(1, 0, 2).reshape(3, 8)).reshape(3, 2, 4).transpose(1, 0, 2)
    np.testing.assert_array_equal(op(x, axis=axis), moved)


@each_wide
def test_axis_none_is_one_row(op: Op) -> None:
    x = logits(2, 3, 4)
    np.testing.assert_array_equal(op(x, axis=None), op(x.reshape(-1)).reshape(2, 3, 4))


@each_ranked
def test_axis_none_numbers_columns_in_c_order(op: Op) -> None:
    x = logits(3, 4).T
    assert_same(op(x, axis=None), op(np.ascontiguousarray(x).reshape(-1)))


def test_keepdims_keeps_axes_of_length_1() -> None:
    x = logits(2, 3, 4)
    assert oneread.logsumexp(x, (0, 2), keepdims=True).shape == (1, 3, 1)
    assert oneread.logsumexp(x, None, keepdims=True).shape == (1, 1, 1)
    kept = oneread.read(
        x, 1, top_k=2, select=0, rank=True, entropy=True, sum_p2=True, argmax=True, keepdims=True
    )
    assert kept.values.shape == kept.indices.shape == kept.logprobs.shape == (2, 2, 4)
    rows = ("lse", "max", "argmax", "entropy", "sum_p2")
    assert all(getattr(kept, name).shape == (2, 1, 4) for name in rows)


@pytest.mark.parametrize("shape", [(2, 4), (2, 4, 5), (2, 4, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_selected_and_rank_keep_the_shape_of_select(shape: Any, keepdims: bool) -> None:
    x, select = logits(2, 3, 4), np.zeros(shape, int)
    asked: Any = {"select": select, "rank": True, "keepdims": keepdims}
    r, truth = oneread.read(x, 1, **asked), reference.read(x, 1, **asked)
    assert r.selected.shape == r.rank.shape == truth.selected.shape == shape
    np.testing.assert_array_equal(r.rank, truth.rank)


def test_k_takes_the_place_of_the_axis() -> None:
    x = logits(2, 5, 4)
    for axis in range(3):
        shape = list(x.shape)
        shape[axis] = 2
        top = oneread.top_k(x, 2, axis)
        assert top.values.shape == top.indices.shape == tuple(shape)
        np.testing.assert_array_equal(np.take_along_axis(x, top.indices, axis), top.values)
    assert oneread.top_k(x, 7, None).indices.shape == (7,)


# One number, nothing


@pytest.mark.parametrize("axis", [-1, 0, None])
def test_number_without_axes_is_a_row_of_one(axis: Any) -> None:
    assert oneread.softmax(np.float32(3), axis) == 1.0
    assert oneread.log_softmax(3.0, axis) == 0.0
    assert oneread.logsumexp(np.float32(3), axis) == 3.0
    assert oneread.softmax(np.float32(3)).shape == ()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_number_without_axes_follows_the_policy_for_rows(bad: float) -> None:
    assert np.isnan(oneread.softmax(bad))
    assert np.isnan(oneread.log_softmax(bad))
    np.testing.assert_array_equal(oneread.logsumexp(bad), bad)


@each_ranked
def test_number_without_axes_has_no_columns(op: Op) -> None:
    with pytest.raises(ShapeError, match="without axes"):
        op(np.float32(3))


def test_number_without_axes_has_no_axis_1() -> None:
    with pytest.raises(AxisError, match="axis 1"):
        oneread.softmax(np.float32(3), 1)


def test_empty_axis() -> None:
    x = np.zeros((3, 0), np.float32)
    assert oneread.softmax(x).shape == oneread.log_softmax(x).shape == (3, 0)
    np.testing.assert_array_equal(oneread.logsumexp(x), [-np.inf] * 3)
    r = oneread.read(x, entropy=True)
    np.testing.assert_array_equal(r.lse, [-np.inf] * 3)
    assert np.isnan(r.entropy).all()
    assert oneread.top_k(x, 0).values.shape == (3, 0)
    with pytest.raises(ShapeError, match="argmax"):
        oneread.read(x, argmax=True)
    with pytest.raises(ShapeError, match=r"k is 1; 0 to 0"):
        oneread.top_k(x, 1)


@each_op
def test_empty_batch_is_fine(op: Op) -> None:
    for result in arrays(op(np.zeros((0, 6), np.float32))):
        assert result.shape[0] == 0


# k, index_dtype, kind


@pytest.mark.parametrize("k", [-1, 5, 10**9])
def test_k_outside_names_both_numbers(k: int) -> None:
    for op in (oneread.top_k, oneread.softmax_topk):
        with pytest.raises(ShapeError, match=rf"k is {k}; 0 to 4"):
            op(logits(2, 4), k)
    with pytest.raises(ShapeError, match=rf"top_k is {k}; 0 to 4"):
        oneread.read(logits(2, 4), top_k=k)


@pytest.mark.parametrize("k", [True, np.bool_(1), 2.0, np.float32(2), "2", None, [2]])
def test_k_of_another_type_is_refused(k: Any) -> None:
    for op in (oneread.top_k, oneread.softmax_topk):
        with pytest.raises(DtypeError, match="k is"):
            op(logits(2, 4), k)


def test_refusing_a_type_survives_an_equal_call_before() -> None:
    x = logits(2, 4)
    oneread.top_k(x, 1)
    oneread.logsumexp(x, 1)
    with pytest.raises(DtypeError):
        oneread.top_k(x, True)
    with pytest.raises(DtypeError):
        oneread.logsumexp(x, True)
    oneread.softmax(x, (0, 1))
    with pytest.raises(DtypeError):
        oneread.softmax(x, (0, True))


def test_numpy_integer_is_a_k() -> None:
    assert oneread.top_k(logits(4), np.uint8(2)).values.shape == (2,)


def test_k_0_gives_empty_arrays() -> None:
    top = oneread.softmax_topk(logits(2, 3, 4), 0, axis=1, return_lse=True)
    assert top.values.shape == top.indices.shape == (2, 0, 4)
    assert top.lse.shape == (2, 4)


@pytest.mark.parametrize("dtype", ["int8", np.uint16, np.dtype("int32"), "uint64", int])
def test_index_dtype_sets_the_type_of_columns(dtype: Any) -> None:
    x = logits(3, 100)
    for op in (oneread.top_k, oneread.softmax_topk):
        narrow = op(x, 5, index_dtype=dtype).indices
        assert narrow.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(narrow, op(x, 5).indices)


def test_index_dtype_must_hold_the_last_column() -> None:
    x = logits(2, 129)
    assert oneread.top_k(x[:, :128], 1, index_dtype="int8").indices.dtype == np.int8
    with pytest.raises(ShapeError, match=r"int8, which ends at 127; .* 128"):
        oneread.top_k(x, 1, index_dtype="int8")


@pytest.mark.parametrize("dtype", ["float32", bool, "complex64"])
def test_index_dtype_is_an_integer_type(dtype: Any) -> None:
    with pytest.raises(DtypeError, match="index_dtype is"):
        oneread.top_k(logits(3), 1, index_dtype=dtype)


def test_kinds_of_values() -> None:
    x = logits(2, 9).astype(np.float16)
    logit = oneread.softmax_topk(x, 3, kind="logit", return_lse=True)
    np.testing.assert_array_equal(logit.values, oneread.top_k(x, 3).values)
    assert logit.values.dtype == np.float16
    logprob = oneread.softmax_topk(x, 3, kind="logprob")
    assert_close_to_truth(logprob, x, "softmax_topk", k=3, kind="logprob")
    prob = oneread.softmax_topk(x, 3, renormalize=True)
    assert_close_to_truth(prob, x, "softmax_topk", k=3, renormalize=True)
    assert prob.lse is None


def test_unknown_kind_is_refused() -> None:
    for kind in ("probs", None, 1):
        with pytest.raises(ShapeError, match=r"kind is .*'logprob'"):
            oneread.softmax_topk(logits(3), 1, kind=kind)  # type: ignore[arg-type]


def test_renormalised_logits_are_refused() -> None:
    with pytest.raises(ShapeError, match="renormalize"):
        oneread.softmax_topk(logits(3), 1, kind="logit", renormalize=True)


# select and rank


@pytest.mark.parametrize("select", [3, [[0, 1], [2, 3]], [-1, 0], np.array([0, 2**63], np.uint64)])
def test_column_outside_the_row_is_an_index_error(select: Any) -> None:
    with pytest.raises(IndexError):
        oneread.read(logits(2, 3), select=select)


@pytest.mark.parametrize("select", [[0.0, 1.0], [True, False], "a", None])
def test_select_is_integers(select: Any) -> None:
    if select is None:
        assert oneread.read(logits(2, 3), select=select).selected is None
    else:
        with pytest.raises(DtypeError, match="select"):
            oneread.read(logits(2, 3), select=select)


@pytest.mark.parametrize("shape", [(3,), (2, 3, 1, 1), (3, 2), (1, 3)])
def test_select_has_the_shape_of_the_rows_or_one_axis_more(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"select has shape"):
        oneread.read(logits(2, 3, 4), select=np.zeros(shape, int))


def test_one_column_for_all_rows() -> None:
    x = logits(2, 3, 4)
    assert_same(oneread.read(x, select=2), oneread.read(x, select=np.full((2, 3), 2)))


def test_selected_columns_have_their_log_probability_and_rank() -> None:
    x = logits(4, 6)
    r = oneread.read(x, top_k=6, select=oneread.top_k(x, 6).indices, rank=True)
    np.testing.assert_array_equal(r.rank, np.tile(np.arange(6), (4, 1)))
    np.testing.assert_array_equal(r.selected, r.logprobs)


def test_rank_needs_select() -> None:
    with pytest.raises(ShapeError, match="rank is asked for without select"):
        oneread.read(logits(2, 3), rank=True)


def test_unasked_fields_are_none() -> None:
    r = oneread.read(logits(2, 3))
    assert r.lse is not None
    assert r.max is not None
    assert all(field is None for field in r[2:])


# Inputs


@each_op
def test_input_is_never_written(op: Op) -> None:
    x = logits(3, 4)
    before = x.copy()
    x.flags.writeable = False
    op(x)
    np.testing.assert_array_equal(x, before)


@each_op
def test_views_give_what_their_copies_give(op: Op) -> None:
    base = logits(32, 48)
    views = [
        base.T, base[::2], base[:, ::3], base[::-1, ::-1], np.broadcast_to(base[0], (5, 48)),
        np.asfortranarray(base), base.reshape(4, 8, 48).transpose(2, 0, 1), base[None, ::-1][:, :1],
    ]  # fmt: skip
    for x in views:
        for axis in range(x.ndim):
            assert_same(op(x, axis=axis), op(np.ascontiguousarray(x), axis=axis))


@each_op
def test_unaligned_memory_gives_the_same_bits(op: Op) -> None:
    x = logits(3, 7)
    raw = np.zeros(x.nbytes + 1, np.uint8)
    raw[1:] = x.view(np.uint8).reshape(-1)
    shifted = raw[1:].view(np.float32).reshape(x.shape)
    assert not shifted.flags.aligned
    assert_same(op(shifted), op(x))


@each_op
def test_every_error_is_one_of_ours(op: Op) -> None:
    for options in ({"axis": 9}, {"axis": 0.5}, {"temperature": 0}, {"kernel": 3}, {"threads": 0}):
        with pytest.raises(OneReadError):
            op(logits(2, 3), **options)
    with pytest.raises(OneReadError):
        op(object())


def test_bfloat16_without_its_library_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "ml_dtypes", raising=False)
    with pytest.raises(BackendUnavailableError, match="import ml_dtypes"):
        oneread.softmax(logits(2, 3), dtype="bfloat16")
