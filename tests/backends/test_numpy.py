"""What counts as an input for NumPy, and what comes back."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import BackendUnavailableError, DtypeError, ShapeError
from oneread.testing import max_ulp_error

X = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)


class Producer:
    """An array of a library that nobody knows, on a device."""

    def __init__(self, data: Any, device: tuple[int, int] = (1, 0)) -> None:
        self._data, self._device = data, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, **options: Any) -> Any:
        return self._data.__dlpack__(**options)


class Convertible:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X


class Odd:
    pass


@pytest.mark.parametrize(
    "x",
    [
        X.tolist(), tuple(map(tuple, X.tolist())), X.astype(np.float64), Convertible(),
        Producer(X), memoryview(X),
    ],
    ids=["list", "tuple", "array", "__array__", "__dlpack__", "memoryview"],
)  # fmt: skip
def test_what_numpy_can_see_is_an_input(x: Any) -> None:
    y = oneread.softmax(x)
    assert type(y) is np.ndarray
    assert max_ulp_error(np.float32(y), oneread.softmax(X)) <= 1


def test_numbers_and_buffers_are_inputs() -> None:
    assert oneread.softmax(3) == oneread.softmax(3.0) == oneread.softmax(True) == 1
    assert oneread.softmax(np.float16(3)).dtype == np.float16
    y = oneread.softmax(array.array("f", [0.0, 0.0]))
    np.testing.assert_array_equal(y, np.array([0.5, 0.5], np.float32))
    np.testing.assert_array_equal(oneread.softmax(range(3)), oneread.softmax([0, 1, 2]))


@pytest.mark.parametrize(
    ("x", "reason"),
    [
        (np.array([1 + 2j]), "complex number has no order"),
        (1j, "complex number has no order"),
        (np.array(["a", "b"]), "strings are not numbers"),
        ("text", "strings are not numbers"),
        (b"text", "bytes are not numbers"),
        (np.array([None, 1]), "objects have no fixed size"),
        ([None], "objects have no fixed size"),
        (np.array(["2020-01-01"], "M8[D]"), "dates are not logits"),
        (np.array([3], "m8[s]"), "times are not logits"),
        (np.zeros(2, [("a", "f4")]), "give one field"),
        (Odd(), "test_numpy.*Odd"),
        ({1.0, 2.0}, "builtins.set"),
        (None, "NoneType"),
        (iter([1.0]), "list_iterator"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_with_the_reason(x: Any, reason: str) -> None:
    for op in (oneread.softmax, oneread.logsumexp, lambda a: oneread.top_k(a, 0)):
        with pytest.raises(DtypeError, match=reason):
            op(x)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="longdouble is float64 here")
def test_longdouble_is_refused_with_the_reason() -> None:
    with pytest.raises(DtypeError, match="convert to float64"):
        oneread.softmax(np.zeros(3, np.longdouble))


def test_ragged_list_is_refused() -> None:
    with pytest.raises(ShapeError, match="x cannot be an array"):
        oneread.softmax([[1.0], [1.0, 2.0]])


def test_masked_array_is_refused_with_advice() -> None:
    x = np.ma.array([0.0, 9.0, 0.0], mask=[0, 1, 0])
    for op in (oneread.softmax, oneread.log_softmax, oneread.logsumexp, oneread.read):
        with pytest.raises(DtypeError, match=r"filled\(-inf\).*where=~x.mask"):
            op(x)
    np.testing.assert_array_equal(oneread.softmax(x.data, where=~x.mask), [0.5, 0, 0.5])


def test_subclasses_come_back_as_plain_arrays() -> None:
    class Mine(np.ndarray):
        pass

    mine = X.view(Mine)
    assert type(oneread.softmax(mine)) is np.ndarray
    assert type(oneread.top_k(mine, 2).indices) is np.ndarray
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix(X)
    np.testing.assert_array_equal(oneread.softmax(matrix), oneread.softmax(X))


def test_memory_mapped_files_are_inputs(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(oneread.softmax(mapped), oneread.softmax(X))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "u4", "i8"])
def test_foreign_byte_order_gives_native_results(dtype: str) -> None:
    native = (X * 9).astype(np.dtype(dtype).newbyteorder("="))
    foreign = native.astype(native.dtype.newbyteorder())
    assert not foreign.dtype.isnative
    for op in (
        oneread.softmax, oneread.log_softmax, oneread.logsumexp,
        lambda a: oneread.top_k(a, 3).values, lambda a: oneread.softmax_topk(a, 3).values,
        lambda a: oneread.read(a, select=1, entropy=True).selected,
        lambda a: oneread.State.of(a, top_k=3).values,
    ):  # fmt: skip
        got = op(foreign)
        assert got.dtype.isnative
        np.testing.assert_array_equal(got, op(native))


def test_fortran_order_comes_back_in_fortran_order() -> None:
    assert oneread.softmax(np.asfortranarray(X), 0).flags.f_contiguous
    assert oneread.softmax(X).flags.c_contiguous


def test_memory_of_a_gpu_is_refused() -> None:
    with pytest.raises(BackendUnavailableError, match="computes on a CPU"):
        oneread.softmax(Producer(X, device=(2, 0)))


def test_producer_that_numpy_cannot_see_is_refused() -> None:
    class Broken(Producer):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("no bfloat16 here")

    with pytest.raises(DtypeError, match="no bfloat16 here"):
        oneread.softmax(Broken(X))


# bfloat16


@pytest.fixture
def bfloat16() -> Any:
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 arrays of NumPy")
    return np.dtype(ml_dtypes.bfloat16)


def test_bfloat16_comes_back_as_bfloat16(bfloat16: Any) -> None:
    x = X.astype(bfloat16)
    assert oneread.softmax(x).dtype == oneread.log_softmax(x, 0).dtype == bfloat16
    assert oneread.logsumexp(x).dtype == np.float32
    top = oneread.top_k(x, 2)
    assert top.values.dtype == bfloat16
    np.testing.assert_array_equal(np.take_along_axis(x, top.indices, 1), top.values)
    np.testing.assert_array_equal(
        oneread.softmax(x), oneread.softmax(x.astype(np.float32)).astype(bfloat16)
    )


def test_bfloat16_out_and_dtype(bfloat16: Any) -> None:
    x = X.astype(bfloat16)
    out = np.empty_like(x)[:, ::-1]
    assert oneread.softmax(x, out=out) is out
    np.testing.assert_array_equal(out, oneread.softmax(x))
    assert oneread.softmax(x, out=x) is x
    np.testing.assert_array_equal(x, out)
    for dtype in ("bfloat16", bfloat16, bfloat16.type):
        assert oneread.logsumexp(X, dtype=dtype).dtype == bfloat16
        assert oneread.softmax(X, dtype=dtype).dtype == bfloat16
    lse = np.empty(6, bfloat16)[::2]
    oneread.logsumexp(X, dtype="bfloat16", out=lse)
    np.testing.assert_array_equal(lse, oneread.logsumexp(X).astype(bfloat16))
    with pytest.raises(DtypeError, match="out holds float16; the result is bfloat16"):
        oneread.softmax(x, out=np.empty(x.shape, np.float16))
    with pytest.raises(DtypeError, match="out holds uint16"):
        oneread.softmax(x, out=np.empty(x.shape, np.uint16))


def test_bfloat16_values_keep_their_bits_in_a_strided_out(bfloat16: Any) -> None:
    x = np.array([0xFFC1, 0x3F80, 0x7F80, 0xC000], np.uint16).view(bfloat16)
    values = np.empty(8, bfloat16)[::2]
    top = oneread.top_k(x, 4, out=(values, np.empty(4, np.int64)))
    np.testing.assert_array_equal(top.values.view(np.uint16), [0xFFC1, 0x7F80, 0x3F80, 0xC000])


def test_temperature_may_be_bfloat16(bfloat16: Any) -> None:
    np.testing.assert_array_equal(
        oneread.softmax(X, temperature=np.full(3, 2, bfloat16)), oneread.softmax(X, temperature=2.0)
    )
