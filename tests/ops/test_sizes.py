"""Axes of length 0 and 1, empty batches, numbers without axes, and short rows of every length."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import ShapeError
from oneread.testing import assert_close_to_truth

INF = np.inf

each_whole = pytest.mark.parametrize("op", [oneread.softmax, oneread.log_softmax])

#: Shapes with a middle axis of length 0, and with rows but none of them.
EMPTY_AXIS, EMPTY_BATCH = (2, 0, 3), (0, 5)


def empty(kind: Any, shape: tuple[int, ...]) -> Any:
    return kind(np.empty(shape))


# An axis of length 0


@each_whole
def test_empty_axis_gives_an_empty_result(op: Any, kind: Any) -> None:
    for shape, axis in ((EMPTY_AXIS, 1), ((3, 0), -1), ((0,), 0), ((0,), None)):
        x = empty(kind, shape)
        y = op(x, axis=axis)
        assert tuple(y.shape) == shape
        assert y.dtype == x.dtype


def test_logsumexp_of_an_empty_axis_is_minus_inf(kind: Any) -> None:
    x = empty(kind, EMPTY_AXIS)
    for lse in (oneread.logsumexp(x, 1), oneread.read(x, 1).lse, oneread.State.of(x, 1).lse):
        assert tuple(lse.shape) == (2, 3)
        assert (kind.numbers(lse) == -INF).all()
    assert oneread.logsumexp(x, 1, keepdims=True).shape == (2, 1, 3)
    assert kind.numbers(oneread.logsumexp(empty(kind, (0,)))) == -INF


def test_logsumexp_over_several_axes_one_of_them_empty_is_minus_inf(kind: Any) -> None:
    lse = oneread.logsumexp(empty(kind, EMPTY_AXIS), (0, 1))
    assert (kind.numbers(lse) == [-INF] * 3).all()


def test_statistics_of_an_empty_axis_are_nan(kind: Any) -> None:
    read = oneread.read(empty(kind, (2, 0)), entropy=True, sum_p2=True)
    assert kind.numbers(read.max).tolist() == [-INF, -INF]
    assert np.isnan(kind.numbers(read.entropy)).all()
    assert np.isnan(kind.numbers(read.sum_p2)).all()


def test_argmax_of_an_empty_axis_is_an_error(kind: Any) -> None:
    with pytest.raises(ShapeError, match="length 0"):
        oneread.read(empty(kind, (2, 0)), argmax=True)


def test_top_k_of_an_empty_axis_names_k_and_0(kind: Any) -> None:
    x = empty(kind, (2, 0))
    for ask in (oneread.top_k, oneread.softmax_topk, lambda x, k: oneread.read(x, top_k=k)):
        with pytest.raises(ShapeError, match="is 1; 0 to 0"):
            ask(x, 1)


def test_top_0_of_an_empty_axis_is_empty(kind: Any) -> None:
    for result in (oneread.top_k(empty(kind, (2, 0)), 0), oneread.softmax_topk(kind([[]]), 0)):
        assert 0 in result.values.shape
        assert 0 in result.indices.shape


def test_column_of_an_empty_axis_is_an_index_error(kind: Any) -> None:
    with pytest.raises(IndexError):
        oneread.read(empty(kind, (2, 0)), select=0)


# No rows


@each_whole
def test_empty_batch_gives_an_empty_result(op: Any, kind: Any) -> None:
    x = empty(kind, EMPTY_BATCH)
    assert tuple(op(x).shape) == EMPTY_BATCH
    assert op(x).dtype == x.dtype


def test_empty_batch_gives_empty_statistics(kind: Any) -> None:
    x = empty(kind, EMPTY_BATCH)
    assert tuple(oneread.logsumexp(x).shape) == (0,)
    assert tuple(oneread.top_k(x, 3).indices.shape) == (0, 3)
    assert tuple(oneread.softmax_topk(x, 3).values.shape) == (0, 3)
    read = oneread.read(x, top_k=2, select=1, rank=True, argmax=True, entropy=True, sum_p2=True)
    shapes = {name: tuple(field.shape) for name, field in read._asdict().items()}
    tops = dict.fromkeys(("values", "indices", "logprobs"), (0, 2))
    assert shapes == dict.fromkeys(shapes, (0,)) | tops
    assert tuple(oneread.State.of(x).lse.shape) == (0,)


# Numbers without axes


def test_number_without_axes_has_probability_one(kind: Any) -> None:
    x = kind(3.0)
    for axis in (-1, 0, None):
        y = oneread.softmax(x, axis)
        assert tuple(y.shape) == ()
        assert y.dtype == x.dtype
        assert kind.numbers(y) == 1
        assert kind.numbers(oneread.log_softmax(x, axis)) == 0


def test_logsumexp_of_a_number_without_axes_is_that_number(kind: Any) -> None:
    for number in (3.0, -2.0, 0.0, INF, -INF):
        lse = oneread.logsumexp(kind(number))
        assert tuple(lse.shape) == ()
        assert kind.numbers(lse) == number


def test_special_numbers_without_axes_have_no_probability(kind: Any) -> None:
    for number in (np.nan, INF, -INF):
        assert np.isnan(kind.numbers(oneread.softmax(kind(number))))
        assert np.isnan(kind.numbers(oneread.log_softmax(kind(number))))


def test_top_k_of_a_number_without_axes_is_an_error(kind: Any) -> None:
    for ask in (oneread.top_k, oneread.softmax_topk, lambda x, k: oneread.read(x, top_k=k)):
        with pytest.raises(ShapeError, match="without axes"):
            ask(kind(3.0), 1)


# Rows of one column, and of every short length


def test_single_column_has_probability_one_unless_special(kind: Any) -> None:
    x = kind([[3.0], [-60000.0], [0.0], [np.nan], [INF], [-INF]])
    y, log_y = (kind.numbers(op(x)) for op in (oneread.softmax, oneread.log_softmax))
    assert (y[:3] == 1).all()
    assert (log_y[:3] == 0).all()
    assert np.isnan(y[3:]).all()
    assert np.isnan(log_y[3:]).all()


def test_single_column_is_its_own_lse(kind: Any) -> None:
    x = kind([[3.0], [-1000.0], [0.0]])
    read = oneread.read(x, entropy=True, sum_p2=True, argmax=True)
    assert (kind.numbers(read.lse) == kind.numbers(x)[:, 0]).all()
    assert (kind.numbers(read.entropy) == 0).all()
    assert (kind.numbers(read.sum_p2) == 1).all()
    assert (kind.numbers(read.argmax) == 0).all()


LENGTHS = [*range(1, 131), 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097]


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp"])
def test_rows_of_every_short_length_are_right(op: str, plain_kind: Any) -> None:
    rng = np.random.default_rng(0)
    for vocab in LENGTHS:
        x = plain_kind(rng.normal(0, 3, (2, vocab)))
        assert_close_to_truth(getattr(oneread, op)(x), x, op)


def test_top_k_of_rows_of_every_short_length_is_right(plain_kind: Any) -> None:
    rng = np.random.default_rng(1)
    for vocab in LENGTHS:
        x, k = plain_kind(rng.integers(-9, 9, (2, vocab))), min(vocab, 7)
        assert_close_to_truth(oneread.top_k(x, k), x, "top_k", k=k)


@pytest.mark.parametrize("vocab", [32_767, 32_768, 32_769, 65_535, 65_536, 65_537, 262_145])
def test_rows_longer_than_one_span_are_right(vocab: int) -> None:
    x = np.random.default_rng(2).normal(0, 3, (2, vocab)).astype(np.float32)
    for op in ("softmax", "log_softmax", "logsumexp"):
        assert_close_to_truth(getattr(oneread, op)(x), x, op)
    options = {"top_k": 5, "select": [0, vocab - 1], "rank": True, "entropy": True}
    assert_close_to_truth(oneread.read(x, **options), x, "read", **options)
