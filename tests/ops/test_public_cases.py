"""What public issues of other libraries report: special values, sums, axes, types, layouts.

Each test names its issue. Those about top-k and about PyTorch are in files of their own.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import oneread
from oneread import AxisError, DtypeError, ShapeError, State
from oneread.testing import assert_close_to_truth, max_ulp_error

INF, NAN = np.inf, np.nan


def f32(*values: Any) -> Any:
    return np.array(values, np.float32)


# -inf, +inf and NaN


def test_fully_masked_row_is_nan_and_leaves_its_neighbour_alone() -> None:
    # pytorch/pytorch#25110, pytorch/pytorch#24816, tenstorrent/tt-metal#56056
    y = oneread.softmax(f32([-INF] * 3, [0, 1, 2]))
    assert np.isnan(y[0]).all()
    assert_close_to_truth(y[1], f32(0, 1, 2), "softmax")


def test_nan_is_not_laundered_into_numbers() -> None:
    # tenstorrent/tt-metal#56056
    y = oneread.softmax(f32([0.5, NAN, 2], [NAN] * 3, [1, 1, 1]))
    assert np.isnan(y[:2]).all()
    assert len(set(y[2].tolist())) == 1
    assert np.isnan(oneread.logsumexp(np.array([0, NAN])))


def test_single_plus_inf_makes_all_of_its_row_nan() -> None:
    # jax-ml/jax#21495, jax-ml/jax#21501, pytorch/pytorch#6864, FluxML/NNlib.jl#206
    for row in (f32(INF, 0, -3), f32(0, INF)):
        assert np.isnan(oneread.softmax(row)).all()
        assert np.isnan(oneread.log_softmax(row)).all()


@pytest.mark.parametrize("place", [0, 1, 1023, 1024, 4097, 45_000, 90_000])
def test_finite_column_after_blocks_of_minus_inf_has_probability_one(place: int) -> None:
    # Dao-AILab/flash-attention#1930
    x = np.full((1, 90_001), -INF, np.float32)
    x[0, place] = 4
    y = oneread.softmax(x)
    assert (y[0, place], y.sum(), oneread.logsumexp(x)[0]) == (1, 1, 4)
    assert oneread.read(x, select=place).selected[0] == 0


def test_rows_narrower_than_a_block_are_right() -> None:
    # gabrieldemarmiesse/torch-mojo-backend#319
    rng = np.random.default_rng(0)
    for vocab in (*range(1, 131), 1023, 1024, 1025, 2047, 2048, 2049):
        x = rng.normal(size=(3, vocab)).astype(np.float32)
        assert_close_to_truth(oneread.softmax(x), x, "softmax")
        assert_close_to_truth(oneread.log_softmax(x), x, "log_softmax")


def test_masked_entry_moves_neither_the_maximum_nor_the_sum() -> None:
    # jax-ml/jax#16208
    x = f32(-INF, 0, 1)
    assert oneread.softmax(x)[0] == 0
    assert oneread.log_softmax(x)[0] == -INF
    assert_close_to_truth(oneread.softmax(x)[1:], x[1:], "softmax")
    large = f32(1e4, 0, 1)
    np.testing.assert_array_equal(oneread.softmax(large, where=large < 1e4), oneread.softmax(x))


# Merging states


def test_states_of_nothing_but_minus_inf_stay_empty() -> None:
    # vllm-project/vllm#39148
    merged = State.of(np.array([-INF, -INF])) | State.of(np.array([-INF]))
    assert (merged.lse, merged.d) == (-INF, 0)
    for pair in ((INF, 0.0), (0.0, INF)):
        a, b = (State.of(np.array([number])) for number in pair)
        assert (a | b).lse == INF


def test_state_is_in_natural_units() -> None:
    # meta-pytorch/attention-gym#205
    state = State.of(np.zeros(4))
    assert (state.m, state.d) == (0, 4)
    assert max_ulp_error(state.lse, np.log(4)) <= 1
    assert max_ulp_error(state.m + np.log(state.d), state.lse) <= 1


@pytest.mark.parametrize("cuts", [[0, 37, 37, 37, 37], [0, 0, 0, 37], [0, 1, 2, 36, 37]])
def test_idle_split_does_not_overwrite_the_result(cuts: list[int]) -> None:
    # sgl-project/sgl-kernel-xpu#487
    x = np.random.default_rng(1).normal(size=37)
    merged = State.identity(())
    for start, stop in pairwise(cuts):
        merged = merged | State.of(x[start:stop], offset=start)
    assert max_ulp_error(merged.lse, State.of(x).lse) <= 4
    assert merged.m == x.max()


def test_no_epsilon_guards_a_maximum_that_is_very_negative() -> None:
    # vllm-project/vllm#39148
    merged = State.of(np.array([-3e38, -3e38])) | State.of(np.array([-INF]))
    assert (merged.m, merged.d) == (-3e38, 2)


# Low precision and cancellation


@pytest.mark.parametrize("vocab", [640, 50_257])
def test_bfloat16_sum_does_not_stall(vocab: int) -> None:
    # pytorch/executorch#20090
    x = np.zeros((2, vocab), ml_dtypes.bfloat16)
    y = oneread.softmax(x)
    assert y.dtype == x.dtype
    assert_close_to_truth(y, x, "softmax")
    assert_close_to_truth(oneread.log_softmax(x), x, "log_softmax")
    assert_close_to_truth(oneread.logsumexp(x), x, "logsumexp")


def test_long_float16_row_is_right_to_one_ulp() -> None:
    # sonos/tract#2586
    x = (np.random.default_rng(0).normal(size=(4, 6000)) * 0.5).astype(np.float16)
    assert_close_to_truth(oneread.softmax(x), x, "softmax", max_ulp=1)


def test_float16_sum_of_more_than_65504_terms_does_not_overflow() -> None:
    # google-research/last#43
    x = np.zeros(70_000, np.float16)
    assert (oneread.softmax(x) > 0).all()
    for op in ("softmax", "log_softmax", "logsumexp"):
        assert_close_to_truth(getattr(oneread, op)(x), x, op)


def test_large_offset_of_float16_logits_along_any_axis_cancels() -> None:
    # pytorch/pytorch#158310
    x = np.full((2, 3, 2), -20_000, np.float16)
    assert_close_to_truth(oneread.log_softmax(x, axis=1), x, "log_softmax", axis=1)
    x = np.full(2, 60_000, np.float16)
    assert_close_to_truth(oneread.log_softmax(x), x, "log_softmax")


@pytest.mark.parametrize("vocab", [262_145, 1 << 20])
def test_lse_of_a_very_large_vocabulary_in_16_bits_is_right(vocab: int) -> None:
    # NVIDIA/Megatron-LM#2206
    x = np.random.default_rng(0).normal(size=(2, vocab)).astype(ml_dtypes.bfloat16)
    assert_close_to_truth(oneread.logsumexp(x), x, "logsumexp")
    columns = np.array([0, vocab - 1])
    read = oneread.read(x, select=columns)
    assert_close_to_truth(read, x, "read", select=columns)


@pytest.mark.parametrize("value", [2.0, 3e5, 7e9, 5e22, 2e37])
def test_log_softmax_of_equal_logits_is_right_at_every_magnitude(value: float) -> None:
    # ml-explore/mlx#4169
    x = f32(value, value, value)
    assert max_ulp_error(oneread.log_softmax(x), np.full(3, -np.log(3))) <= 1


def test_log_probability_of_a_very_likely_class_is_not_rounded_to_0() -> None:
    # pytorch/pytorch#113708
    x = f32(20, 0)
    assert max_ulp_error(oneread.log_softmax(x)[0], -np.log1p(np.exp(-20))) <= 2
    assert max_ulp_error(oneread.read(x, select=0).selected, -np.log1p(np.exp(-20))) <= 2


# Sizes and limits


@pytest.mark.parametrize("vocab", [*range(120, 400, 7), 128, 129, 383, 384, 385])
def test_lengths_between_the_usual_ones_are_right(vocab: int) -> None:
    # NVIDIA/TensorRT#1097
    x = np.linspace(-3, 3, vocab).astype(np.float16)[None]
    assert_close_to_truth(oneread.softmax(x), x, "softmax")


def test_axis_of_length_one_has_probability_exactly_one() -> None:
    # onnx/onnx#3244
    x = np.random.default_rng(0).normal(0, 30, (1, 1023))
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        assert (oneread.softmax(x.astype(dtype), axis=-2) == 1).all()
        assert (oneread.log_softmax(x.astype(dtype), axis=-2) == 0).all()
    column = np.array([[3.0], [-7.0], [1e30]])
    assert (oneread.softmax(column) == 1).all()
    assert (oneread.log_softmax(column) == 0).all()


def test_logsumexp_of_nothing_is_minus_inf() -> None:
    # scipy/scipy#20399
    assert oneread.logsumexp(np.zeros(0)) == -INF
    assert oneread.logsumexp(np.zeros((3, 0), np.float32)).tolist() == [-INF] * 3


def test_empty_batch_is_no_error() -> None:
    # tensorflow/tensorflow#6766
    x = np.zeros((0, 6), np.float32)
    assert oneread.softmax(x).shape == oneread.log_softmax(x).shape == (0, 6)
    assert oneread.logsumexp(x).shape == oneread.read(x, select=np.zeros(0, int))[6].shape == (0,)


# Axes


def test_logsumexp_takes_a_tuple_of_axes() -> None:
    # pytorch/pytorch#31084
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for axis in ((0, 2), (-1, 0), None, 1):
        assert_close_to_truth(oneread.logsumexp(x, axis), x, "logsumexp", axis=axis)
    assert oneread.logsumexp(x, (0, 2), keepdims=True).shape == (1, 3, 1)
    for axis in ((0, 0), (0, -3)):
        with pytest.raises(ShapeError, match="twice"):
            oneread.logsumexp(x, axis)
    for axis in (3, -4, (0, 5)):
        with pytest.raises(AxisError, match="3 axes"):
            oneread.logsumexp(x, axis)


def test_default_axis_is_the_last_whatever_the_number_of_axes() -> None:
    # scipy/scipy#8556
    for shape in ((5,), (2, 3), (2, 3, 4), (2, 2, 2, 2)):
        x = np.random.default_rng(0).normal(size=shape)
        np.testing.assert_array_equal(oneread.softmax(x), oneread.softmax(x, axis=len(shape) - 1))
        assert oneread.logsumexp(x).shape == shape[:-1]


def test_negative_axis_is_the_same_axis_counted_from_the_end() -> None:
    # chainer/chainer#5496
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    for axis in range(3):
        for op in (oneread.softmax, oneread.log_softmax):
            np.testing.assert_array_equal(op(x, axis), op(x, axis - 3))
        for a, b in zip(
            oneread.softmax_topk(x, 2, axis)[:2], oneread.softmax_topk(x, 2, axis - 3)[:2],
            strict=True,
        ):  # fmt: skip
            np.testing.assert_array_equal(a, b)
    for axis in (3, -4):
        with pytest.raises(AxisError, match=f"axis {axis}"):
            oneread.softmax(x, axis)


@pytest.mark.parametrize("shape", [(3, 5), (5, 5), (3, 5, 2), (4, 4, 4)])
def test_axis_that_is_dropped_is_the_right_one_also_in_squares(shape: tuple[int, ...]) -> None:
    # pytorch/pytorch#8762
    x = np.random.default_rng(0).normal(size=shape)
    for axis in range(len(shape)):
        assert_close_to_truth(oneread.logsumexp(x, axis), x, "logsumexp", axis=axis)


# Types


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.uint8, bool])
def test_integers_and_bool_become_floats(dtype: Any) -> None:
    # scikit-learn/scikit-learn#11226
    x = np.array([[0, 1, 1]], dtype)
    y = oneread.softmax(x)
    assert y.dtype == (np.float64 if x.itemsize >= 4 else np.float32)
    assert_close_to_truth(y, x.astype(y.dtype), "softmax")


def test_maximum_is_never_subtracted_in_an_integer_type() -> None:
    # rsokl/MyGrad#268
    for low, high, dtype in (
        (0, 255, "uint8"), (-100, 100, "int8"), (0, 100, "uint16"), (0, 2**32 - 1, "uint32"),
        (-(2**62), 2**62, "int64"),
    ):  # fmt: skip
        x = np.array([low, high], dtype)
        y = oneread.softmax(x)
        assert y[1] == 1
        assert_close_to_truth(y, x, "softmax")
        assert oneread.logsumexp(x) == float(high)


def test_logsumexp_of_integers_is_a_float64() -> None:
    # pytorch/pytorch#56132
    x = np.array([2, 5, 3])
    assert oneread.logsumexp(x).dtype == np.float64
    assert_close_to_truth(oneread.logsumexp(x), x, "logsumexp")


def test_large_integers_do_not_overflow_the_sum() -> None:
    # pytorch/pytorch#91843
    x = np.array([5, 40, 900])
    assert oneread.logsumexp(x) == 900
    assert oneread.log_softmax(x).tolist() == [-895, -860, 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint16])
def test_small_integers_do_not_become_float16(dtype: Any) -> None:
    # cupy/cupy#6823
    assert oneread.softmax(np.array([1, 2], dtype)).dtype == np.float32


# Threads


def test_first_calls_of_many_threads_at_once_are_right() -> None:
    # triton-lang/triton#8437
    x = np.random.default_rng(0).normal(size=(50, 999)).astype(np.float32)
    want, wrong = oneread.softmax(x), []
    barrier = threading.Barrier(16)

    def work() -> None:
        barrier.wait()
        for _ in range(5):
            same = np.array_equal(oneread.softmax(x), want)
            if not same or oneread.softmax_topk(x, 3).indices.shape != (50, 3):
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_is_no_array_is_refused_with_its_type() -> None:
    # scipy/scipy#22633
    assert oneread.softmax([[0.0, 0.0]]).tolist() == [[0.5, 0.5]]
    for x, word in ((object(), "object"), (np.array(["a"]), "<U1"), (np.array([1j]), "complex")):
        with pytest.raises(DtypeError, match=word):
            oneread.softmax(x)
