"""What public issues of other libraries report about top-k: k, ties, NaN and order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import DtypeError, ShapeError
from oneread.testing import assert_close_to_truth

INF, NAN = np.inf, np.nan


def columns(row: Any, k: int) -> list[Any]:
    return oneread.softmax_topk(np.asarray(row, np.float32), k).indices.tolist()


def stable(x: Any, k: int) -> Any:
    return np.argsort(-x, axis=-1, kind="stable")[..., :k]


# k


def test_columns_are_int64() -> None:
    # jax-ml/jax#29254
    top = oneread.softmax_topk(np.arange(6, dtype=np.float32), 2)
    assert top.indices.dtype == np.int64


@pytest.mark.parametrize("vocab", [65_535, 65_536, 65_537, 102_400, 151_936, 262_145])
def test_vocabulary_above_65536_is_ordinary(vocab: int) -> None:
    # unslothai/unsloth#19
    x = np.random.default_rng(0).normal(size=(2, vocab)).astype(np.float32)
    np.testing.assert_array_equal(oneread.softmax_topk(x, 5).indices, stable(x, 5))
    labels = np.array([0, vocab - 1])
    assert_close_to_truth(oneread.read(x, select=labels), x, "read", select=labels)


@pytest.mark.parametrize("k", [1, 31, 32, 33, 255, 256, 257, 700, 999, 1000])
def test_k_larger_than_a_tile_is_exact(k: int) -> None:
    # dask/dask#490
    x = np.random.default_rng(0).permutation(1000).astype(np.float32)[None] / 50
    top = oneread.softmax_topk(x, k)
    np.testing.assert_array_equal(top.indices, stable(x, k))
    assert_close_to_truth(top, x, "softmax_topk", k=k)


def test_row_with_fewer_than_k_finite_entries_has_no_sentinel_columns() -> None:
    # NVIDIA/raft#2814
    top = oneread.softmax_topk(np.float32([[2, -INF, -INF]]), 3)
    assert top.indices.tolist() == [[0, 1, 2]]
    assert top.values.tolist() == [[1, 0, 0]]


def test_number_without_axes_has_no_top_k() -> None:
    # NVIDIA/Fuser#5053
    with pytest.raises(ShapeError, match="without axes"):
        oneread.softmax_topk(np.float32(3.0), 1)


@pytest.mark.parametrize("k", [2.0, "2", None, True])
def test_k_of_an_odd_type_is_refused(k: Any) -> None:
    # flagos-ai/FlagGems#1578
    x = np.zeros(3, np.float32)
    assert oneread.softmax_topk(x, np.int64(2)).values.shape == (2,)
    with pytest.raises(DtypeError, match="k is"):
        oneread.softmax_topk(x, k)


# Ties and exactness


def test_columns_of_k_are_a_prefix_of_those_of_k_plus_1() -> None:
    # pytorch/pytorch#27542
    row = [4, 9, 1, 9, 7, 9]
    assert columns(row, 6) == [1, 3, 5, 4, 0, 2]
    for k in range(7):
        assert columns(row, k) == [1, 3, 5, 4, 0, 2][:k]


@pytest.mark.parametrize("name", ["narrow", "equal", "two_values", "sorted", "reversed"])
def test_dense_values_do_not_overflow_a_buffer_of_candidates(name: str) -> None:
    # sgl-project/sglang#36807
    rng, vocab, k = np.random.default_rng(0), (1 << 20) + 77, 1999
    x = {
        "narrow": lambda: 1 + rng.random(vocab) * 1e-3,
        "equal": lambda: np.ones(vocab),
        "two_values": lambda: rng.integers(0, 2, vocab),
        "sorted": lambda: np.arange(vocab),
        "reversed": lambda: -np.arange(vocab),
    }[name]().astype(np.float32)
    np.testing.assert_array_equal(oneread.softmax_topk(x, k).indices, stable(x, k))


def test_value_is_the_probability_at_its_column_bit_for_bit() -> None:
    # NVIDIA/raft#660
    x = np.random.default_rng(1).integers(-20, 20, (50, 3000)).astype(np.float32) / 4
    top = oneread.softmax_topk(x, 1500)
    there = np.take_along_axis(oneread.softmax(x), top.indices, 1)
    np.testing.assert_array_equal(top.values, there)
    assert all(len(set(row)) == 1500 for row in top.indices.tolist())


def test_rule_for_ties_does_not_turn_with_the_sign() -> None:
    # tenstorrent/tt-metal#53705
    assert columns([-1, -1, 2, 2], 4) == [2, 3, 0, 1]
    x = np.tile(np.float32([-4, 0, 3]), 400)
    assert columns(x, 1200) == stable(x, 1200).tolist()


# NaN, -inf and zeros


def test_nan_gives_valid_columns_and_no_probabilities() -> None:
    # pytorch/pytorch#1810
    top = oneread.softmax_topk(np.float32([[0.25, NAN, -4]]), 2)
    assert np.isnan(top.values).all()
    assert top.indices.tolist() == [[1, 0]]


def test_nan_of_either_sign_is_one_class() -> None:
    # pytorch/pytorch#117617
    words = np.array([0x3F800000, 0xFFC00000, 0x7FC00001, 0xFF800000], np.uint32)
    assert columns(words.view(np.float32), 4) == [1, 2, 0, 3]


def test_entries_above_minus_inf_come_first_and_then_the_lowest_columns() -> None:
    # microsoft/onnxruntime#9843
    x = np.full((1, 7777), -INF, np.float32)
    x[0, [7000, 17, 400]] = [1, 3, 2]
    top = oneread.softmax_topk(x, 10)
    assert top.indices.tolist() == [[17, 400, 7000, 0, 1, 2, 3, 4, 5, 6]]
    assert (top.values[0, 3:] == 0).all()


def test_zeros_of_either_sign_are_equal() -> None:
    # jax-ml/jax#3785
    assert columns([-0.0, 0.0, -0.0], 3) == [0, 1, 2]
