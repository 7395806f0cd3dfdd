"""What public issues of other libraries report: strides, `out`, byte order, masked arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import DtypeError, ShapeError
from oneread.testing import assert_close_to_truth

BASE = np.random.default_rng(0).normal(size=(32, 48)).astype(np.float32)

VIEWS = {
    "transposed": BASE.T,
    "every_other_row": BASE[::2],
    "every_third_column": BASE[:, ::3],
    "reversed": BASE[::-1, ::-1],
    "broadcast": np.broadcast_to(BASE[0], (5, 48)),
    "fortran": np.asfortranarray(BASE),
    "moved_axes": BASE.reshape(4, 8, 48).transpose(2, 0, 1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_view_equals_its_contiguous_copy(view: Any) -> None:
    # flagos-ai/FlagGems#5723
    copy = np.ascontiguousarray(view)
    for axis in range(view.ndim):
        for op in (oneread.softmax, oneread.log_softmax, oneread.logsumexp):
            np.testing.assert_array_equal(op(view, axis=axis), op(copy, axis=axis))
    top, same = oneread.softmax_topk(view, 4), oneread.softmax_topk(copy, 4)
    np.testing.assert_array_equal(top.indices, same.indices)
    np.testing.assert_array_equal(top.values, same.values)


def test_strided_out_is_filled_and_nothing_between_it() -> None:
    # pytorch/pytorch#75923
    x = BASE[:3, :4]
    buffer = np.full((3, 8), 7, np.float32)
    y = oneread.softmax(x, out=buffer[:, ::2])
    assert np.shares_memory(y, buffer)
    np.testing.assert_array_equal(buffer[:, ::2], oneread.softmax(x))
    assert (buffer[:, 1::2] == 7).all()


def test_out_may_be_the_input_itself() -> None:
    # ggml-org/ggml#1521
    x = BASE[:4, :9].copy()
    want = oneread.softmax(x)
    assert oneread.softmax(x, out=x) is x
    np.testing.assert_array_equal(x, want)


def test_out_that_overlaps_the_input_in_part_is_refused() -> None:
    # ggml-org/ggml#1521
    line = BASE[:1, :12].copy()
    before = line.copy()
    with pytest.raises(ShapeError, match="memory"):
        oneread.softmax(line[:, :9], out=line[:, 3:])
    np.testing.assert_array_equal(line, before)


def test_out_is_really_written_and_the_input_is_not() -> None:
    # dphnAI/sonar#814
    x = np.array([[0, 2]], np.float16)
    out = np.empty_like(x)
    assert oneread.softmax(x, temperature=2.0, out=out) is out
    assert_close_to_truth(out, x, "softmax", temperature=2.0)
    assert x.tolist() == [[0, 2]]


def test_out_of_the_wrong_shape_or_type_or_read_only_is_refused() -> None:
    # pytorch/pytorch#75833
    x = np.zeros((2, 3), np.float32)
    read_only = np.empty((2, 3), np.float32)
    read_only.flags.writeable = False
    with pytest.raises(ShapeError, match=r"\(3, 2\)"):
        oneread.softmax(x, out=np.empty((3, 2), np.float32))
    with pytest.raises(DtypeError, match="int64"):
        oneread.softmax(x, out=np.empty((2, 3), np.int64))
    with pytest.raises(ShapeError, match="read-only"):
        oneread.softmax(x, out=read_only)


@pytest.mark.parametrize("op", [oneread.softmax, oneread.log_softmax, oneread.logsumexp])
def test_mask_of_a_masked_array_is_not_ignored_in_silence(op: Any) -> None:
    # scipy/scipy#3034
    with pytest.raises(DtypeError, match="where="):
        op(np.ma.array([0.0, 9.0, 0.0], mask=[0, 1, 0]))


def test_foreign_byte_order_gives_a_native_result() -> None:
    # cupy/cupy#3652
    x = np.array([[0, 1]], ">f4")
    y = oneread.softmax(x)
    assert y.dtype.isnative
    np.testing.assert_array_equal(y, oneread.softmax(x.astype("f4")))
    assert oneread.softmax_topk(x, 1).indices.tolist() == [[1]]
    assert (
        oneread.read(x, select=np.array([1], ">i8")).selected
        == oneread.log_softmax(y * 0 + x)[0, 1]
    )


def test_negative_stride_of_an_axis_of_length_one_is_ordinary() -> None:
    # numpy/numpy#23349
    x = np.random.default_rng(0).normal(size=(1, 6, 7))[::-1]
    np.testing.assert_array_equal(oneread.softmax(x), oneread.softmax(x.copy()))
