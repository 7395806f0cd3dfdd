"""The order of the top k: value descending, then column ascending, whatever the input is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import DtypeError, ShapeError
from oneread.testing import FAMILIES, assert_close_to_truth, faithful
from oneread.testing.arrays import as_numpy

INF, NAN = np.inf, np.nan


def top_k(x: Any, k: int, **options: Any) -> oneread.TopK:
    return oneread.top_k(x, k, **options)


def softmax_top_k(x: Any, k: int, **options: Any) -> oneread.SoftmaxTopK:
    return oneread.softmax_topk(x, k, kind="logit", **options)


def read_top_k(x: Any, k: int, **options: Any) -> oneread.Read:
    return oneread.read(x, top_k=k, **options)


def state_top_k(x: Any, k: int, **options: Any) -> oneread.State:
    return oneread.State.of(x, top_k=k, **options)


each_op = pytest.mark.parametrize("op", [top_k, softmax_top_k, read_top_k, state_top_k])


def columns(result: Any) -> Any:
    return as_numpy(result.indices)[0].tolist()


def bits(array: Any) -> Any:
    """Return the bits of an array of floats of either library."""
    if hasattr(array, "detach"):
        import torch

        words = {2: torch.int16, 4: torch.int32, 8: torch.int64}
        return array.contiguous().view(words[array.itemsize]).numpy()
    return np.ascontiguousarray(array).view(f"i{array.itemsize}")


# The order


@each_op
@pytest.mark.parametrize("row", [[5, 7, 5, 7, 7], [-5, -3, -5, -3, -3], [0, 1, 0, 1, 1]])
def test_equal_values_come_by_column(row: list[int], op: Any, kind: Any) -> None:
    assert columns(op(kind([row]), 5)) == [[1, 3, 4, 0, 2]]


@each_op
def test_larger_values_come_first_whatever_their_sign(op: Any, kind: Any) -> None:
    x = kind([[-2.0, 3.0, 0.5, -100.0, 3.5, -0.5, 60000.0, -60000.0]])
    assert columns(op(x, 8)) == [[6, 4, 1, 2, 5, 0, 3, 7]]


@each_op
def test_logits_are_compared_and_not_rounded_probabilities(op: Any) -> None:
    close = np.full(3000, 0.1, np.float32)
    close[[7, 2999]] = np.nextafter(close[0], np.float32(1))
    assert len(np.unique(faithful("softmax")(close))) == 1
    assert columns(op(close, 3)) == [7, 2999, 0]
    far = np.float32([-300.0, -200.0, 0.0, -250.0])
    assert (oneread.softmax(far)[[0, 1, 3]] == 0).all()
    assert columns(op(far, 4)) == [2, 1, 3, 0]


@each_op
def test_order_of_logits_holds_at_any_temperature(op: Any) -> None:
    x = FAMILIES["normal"](2, 500)
    for temperature in (1e-30, 0.3, 1e30):
        assert columns(op(x, 9, temperature=temperature)) == columns(oneread.top_k(x, 9))


@each_op
def test_nan_comes_first_and_by_column(op: Any, kind: Any) -> None:
    x = kind([[1.0, NAN, INF, NAN, -INF, 3.0]])
    assert columns(op(x, 6)) == [[1, 3, 2, 5, 0, 4]]


@each_op
def test_sign_and_payload_of_a_nan_do_not_matter(op: Any) -> None:
    words = [0x3F800000, 0xFFC00000, 0x7FC00001, 0xFF800000, 0x7F800000, 0xFF800001]
    x = np.array([words], np.uint32).view(np.float32)
    assert columns(op(x, 6)) == [[1, 2, 5, 4, 0, 3]]


@each_op
def test_zeros_of_both_signs_are_equal(op: Any, kind: Any) -> None:
    x = kind([[-0.0, 0.0, -0.0, -1.0, 0.0], [0.0, -0.0, 0.0, 0.0, -0.0]])
    assert columns(op(x, 5)) == [[0, 1, 2, 4, 3], [0, 1, 2, 3, 4]]


@each_op
def test_row_with_fewer_than_k_finite_values_is_filled_with_columns_of_minus_inf(
    op: Any, plain_kind: Any
) -> None:
    values = np.full((1, 7777), -INF)
    values[0, [7000, 17, 400]] = [1, 3, 2]
    result = op(plain_kind(values), 10)
    assert columns(result) == [[17, 400, 7000, 0, 1, 2, 3, 4, 5, 6]]
    top = plain_kind.numbers(result.values if hasattr(result, "values") else result)
    assert top.tolist() == [[3, 2, 1, *[-INF] * 7]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@each_op
def test_subnormal_logits_keep_their_order(op: Any, dtype: str) -> None:
    word = {"float16": np.uint16, "bfloat16": np.uint16, "float32": np.uint32}.get(dtype, np.uint64)
    negative = word(1) << word(8 * np.dtype(word).itemsize - 1)
    words = np.array([1, 3, 0, negative + word(1), 2, negative + word(3), 40], word)
    x = FAMILIES["constant"](1, 1, dtype).dtype
    assert columns(op(words.view(x)[None], 7)) == [[6, 1, 4, 0, 2, 3, 5]]


# How many


@each_op
def test_columns_of_smaller_k_are_a_prefix(op: Any, kind: Any) -> None:
    x = kind([[4.0, 9.0, 1.0, 9.0, 7.0, 9.0, -INF, NAN]])
    full = columns(op(x, 8))[0]
    assert full == [7, 1, 3, 5, 4, 0, 2, 6]
    for k in range(1, 9):
        assert columns(op(x, k)) == [full[:k]]


@pytest.mark.parametrize("op", [top_k, softmax_top_k])
def test_top_0_is_empty(op: Any, kind: Any) -> None:
    result = op(kind(np.zeros((3, 5))), 0)
    assert tuple(result.values.shape) == tuple(result.indices.shape) == (3, 0)


def test_top_0_of_read_is_not_asked_for(kind: Any) -> None:
    read = oneread.read(kind(np.zeros((3, 5))), top_k=0)
    assert (read.values, read.indices, read.logprobs) == (None, None, None)


@pytest.mark.parametrize("op", [top_k, softmax_top_k, read_top_k])
@pytest.mark.parametrize("k", [6, -1, 10**6])
def test_k_outside_the_row_names_both_numbers(k: int, op: Any, kind: Any) -> None:
    with pytest.raises(ShapeError, match=f"is {k}; 0 to 5"):
        op(kind(np.zeros((3, 5))), k)


@each_op
@pytest.mark.parametrize("k", [2.0, 2.5, True, "2", None])
def test_k_that_is_no_integer_is_refused(k: Any, op: Any) -> None:
    with pytest.raises(DtypeError, match="integer"):
        op(np.zeros((3, 5), np.float32), k)


@each_op
def test_numpy_integer_is_a_k(op: Any) -> None:
    assert columns(op(np.float32([1, 3, 2]), np.int64(2))) == [1, 2]


@pytest.mark.parametrize(("axis", "shape"), [(0, (3, 4, 5)), (1, (2, 3, 5)), (2, (2, 4, 3))])
@each_op
def test_k_takes_the_place_of_the_axis(
    op: Any, axis: int, shape: tuple[int, ...], kind: Any
) -> None:
    values = np.random.default_rng(0).permutation(2 * 4 * 5).reshape(2, 4, 5)
    values = np.concatenate([values, values + 40]) if axis == 0 else values
    result = op(kind(values), 3, axis=axis)
    want = np.argsort(-values, axis=axis, kind="stable").take(range(3), axis=axis)
    assert want.shape == shape
    assert columns(result) == want.tolist()


@pytest.mark.parametrize("op", [top_k, softmax_top_k])
def test_axis_none_ranks_all_elements_in_c_order(op: Any, kind: Any) -> None:
    result = op(kind([[1.0, 5.0, 2.0], [9.0, 5.0, -1.0]]), 4, axis=None)
    assert columns(result) == [3, 1, 4, 2]


# The values


@pytest.mark.parametrize("op", [top_k, softmax_top_k, read_top_k])
def test_values_are_the_inputs_own_bits(op: Any, kind: Any) -> None:
    rows = [[1.5, -0.0, 0.0, -2.75, 1e-7], [-INF] * 5, [NAN, -NAN, 1.0, INF, -INF]]
    rows += [[INF, INF, 0.0, 1.0, -INF]]
    x = kind(rows)
    for temperature in (None, 0.5, 1e-30):
        result = op(x, 5, temperature=temperature)
        own = np.take_along_axis(bits(x), as_numpy(result.indices)[0], 1)
        np.testing.assert_array_equal(bits(result.values), own)


def test_nan_keeps_its_payload_among_the_values() -> None:
    x = np.array([0x7FC01234, 0xFFFABCDE, 0x3F800000], np.uint32).view(np.float32)
    values = oneread.top_k(x, 2).values
    assert values.view(np.uint32).tolist() == [0x7FC01234, 0xFFFABCDE]


def test_scores_are_those_of_the_whole_row_in_the_order_of_the_logits(kind: Any) -> None:
    x = kind(FAMILIES["ties"](3, 41))
    top = oneread.softmax_topk(x, 41)
    assert columns(top) == columns(oneread.top_k(x, 41))
    assert_close_to_truth(top, x, "softmax_topk", k=41)


# Masked columns


@each_op
def test_masked_columns_come_after_columns_of_minus_inf(op: Any, kind: Any) -> None:
    x = kind([[9.0, -INF, 1.0, NAN, 5.0, -INF]])
    kept = np.array([[False, True, True, False, True, True]])
    assert columns(op(x, 6, where=kept)) == [[4, 2, 1, 5, 0, 3]]


@each_op
def test_columns_beyond_lengths_come_last(op: Any, kind: Any) -> None:
    x = kind([[-INF, 2.0, 9.0, NAN], [-INF, 2.0, 9.0, INF]])
    lengths = np.array([2, 3])
    assert columns(op(x, 4, lengths=lengths)) == [[1, 0, 2, 3], [2, 1, 0, 3]]


@each_op
def test_columns_masked_either_way_come_by_column(op: Any, kind: Any) -> None:
    x = kind([[4.0, 3.0, -INF, 2.0, 1.0, 0.0]])
    kept = np.array([[False, True, True, False, True, True]])
    assert columns(op(x, 6, where=kept, lengths=np.array([4]))) == [[1, 2, 0, 3, 4, 5]]


def test_masked_columns_have_value_of_minus_inf_and_no_probability(kind: Any) -> None:
    x = kind([[9.0, 1.0, NAN, 5.0]])
    kept = np.array([False, True, False, True])
    top = oneread.softmax_topk(x, 4, where=kept)
    assert kind.numbers(top.values)[0, 2:].tolist() == [0, 0]
    logits = oneread.top_k(x, 4, where=kept).values
    assert kind.numbers(logits).tolist() == [[5, 1, -INF, -INF]]


def test_row_that_is_masked_whole_ranks_its_lowest_columns_first(kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 9))
    for options in ({"where": np.zeros((2, 9), bool)}, {"lengths": np.zeros(2, int)}):
        assert columns(oneread.top_k(x, 4, **options)) == [[0, 1, 2, 3]] * 2
        assert np.isnan(kind.numbers(oneread.softmax_topk(x, 4, **options).values)).all()
