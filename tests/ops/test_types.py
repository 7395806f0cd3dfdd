"""Element types: what each op gives back, in which type it computes, what it refuses."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import oneread
from oneread import DtypeError, ShapeError
from oneread.spec import COMPUTE_DTYPE, FLOAT_DTYPES
from oneread.testing import FAMILIES, assert_close_to_truth, max_ulp_error
from oneread.testing.arrays import dtype_name, numpy_dtype

OPS: dict[str, Callable[..., Any]] = {
    "softmax": oneread.softmax,
    "log_softmax": oneread.log_softmax,
    "logsumexp": oneread.logsumexp,
    "top_k": lambda x, **options: oneread.top_k(x, 2, **options),
    "softmax_topk": lambda x, **options: oneread.softmax_topk(x, 2, return_lse=True, **options),
    "read": lambda x, **options: oneread.read(x, **ASKED, **options),
}
ASKED: dict[str, Any] = {
    "top_k": 2, "select": 0, "rank": True, "entropy": True, "sum_p2": True, "argmax": True,
}  # fmt: skip
INTEGERS = [name for name in COMPUTE_DTYPE if name not in FLOAT_DTYPES]

each_op = pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
each_whole = pytest.mark.parametrize("op", [oneread.softmax, oneread.log_softmax])
each_integer = pytest.mark.parametrize("dtype", INTEGERS)


def statistic_dtype(kind: Any) -> str:
    return "float64" if kind.dtype == "float64" else "float32"


def arrays(result: Any) -> list[Any]:
    return [a for a in (result if isinstance(result, tuple) else (result,)) if a is not None]


def assert_same(a: Any, b: Any) -> None:
    """Fail unless two NumPy results are the same bits in the same types."""
    for one, other in zip(arrays(a), arrays(b), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


# Floats


@each_whole
def test_softmax_has_the_type_and_library_of_its_input(op: Any, kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 9))
    assert type(op(x)) is type(x)
    assert op(x).dtype == x.dtype


def test_statistics_are_float32_or_float64_for_float64(kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 9))
    read, top = OPS["read"](x), OPS["softmax_topk"](x)
    state = oneread.State.of(x, top_k=2, select=0, entropy=True, sum_p2=True)
    fields = [oneread.logsumexp(x), top.values, top.lse, state.m, state.d, state.logprob(x)]
    for name in ("lse", "max", "logprobs", "selected", "entropy", "sum_p2"):
        fields += [getattr(read, name), getattr(state, name)]
    fields += [oneread.softmax_topk(x, 2, kind="logprob").values, state.top_k("prob").values]
    for field in fields:
        assert type(field) is type(x)
        assert dtype_name(field.dtype) == statistic_dtype(kind)


def test_logits_of_the_top_k_have_the_type_of_the_input(kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 9))
    results = (OPS["top_k"](x), oneread.softmax_topk(x, 2, kind="logit"), OPS["read"](x))
    for result in (*results, oneread.State.of(x, top_k=2), oneread.State.of(x, top_k=2).top_k()):
        assert result.values.dtype == x.dtype
        assert type(result.values) is type(x)


def test_columns_and_ranks_are_int64(kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 9))
    read = OPS["read"](x)
    for field in (OPS["top_k"](x)[1], OPS["softmax_topk"](x)[1], read[2], read[4], read.rank):
        assert dtype_name(field.dtype) == "int64"
        assert type(field) is type(x)


@pytest.mark.parametrize("op", [oneread.top_k, oneread.softmax_topk])
def test_index_dtype_narrows_the_columns(op: Any, kind: Any) -> None:
    x = kind(FAMILIES["normal"](2, 300))
    for name in ("int16", "int32", "int64"):
        narrow = op(x, 3, index_dtype=name).indices
        assert dtype_name(narrow.dtype) == name
        assert kind.numbers(narrow).tolist() == kind.numbers(op(x, 3).indices).tolist()


@pytest.mark.parametrize("op", [oneread.top_k, oneread.softmax_topk])
def test_index_dtype_too_small_for_the_last_column_is_refused(op: Any) -> None:
    x = np.zeros(257, np.float32)
    assert op(x[:256], 1, index_dtype="uint8").indices.dtype == np.uint8
    with pytest.raises(ShapeError, match=r"uint8.* 255.* 256"):
        op(x, 1, index_dtype="uint8")
    with pytest.raises(DtypeError, match="float32"):
        op(x, 1, index_dtype="float32")


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@each_whole
def test_dtype_overrides_the_type_of_probabilities(op: Any, dtype: str, plain_kind: Any) -> None:
    x = plain_kind(FAMILIES["normal"](3, 41))
    assert_close_to_truth(op(x, dtype=dtype), x, op.__name__, dtype=dtype)


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
def test_dtype_overrides_the_type_of_statistics(dtype: str, plain_kind: Any) -> None:
    x = plain_kind(FAMILIES["normal"](3, 41))
    assert_close_to_truth(oneread.logsumexp(x, dtype=dtype), x, "logsumexp", dtype=dtype)
    options = {"top_k": 2, "select": [0, 7, 40], "rank": True, "entropy": True, "dtype": dtype}
    assert_close_to_truth(oneread.read(x, **options), x, "read", **options)
    options = {"k": 2, "return_lse": True, "dtype": dtype}
    assert_close_to_truth(oneread.softmax_topk(x, **options), x, "softmax_topk", **options)


@each_whole
def test_dtype_float64_gives_float32_logits_the_accuracy_of_float64(op: Any) -> None:
    x = FAMILIES["normal"](3, 411)
    wide = op(x.astype(np.float64))
    assert max_ulp_error(op(x, dtype="float64"), wide) == 0


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64", "float128", "float8"])
@each_op
def test_dtype_that_is_no_float_type_is_refused(op: Any, dtype: str) -> None:
    with pytest.raises(DtypeError, match=dtype):
        op(np.zeros((2, 3), np.float32), dtype=dtype)


def test_float64_is_computed_in_float64(plain_kind: Any) -> None:
    x = plain_kind(np.array([1 + 2.0**-40, 1.0, 1 - 2.0**-40]))
    y = plain_kind.numbers(oneread.softmax(x))
    assert (len(set(y)) == 3) == (plain_kind.dtype == "float64")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_logits_are_summed_in_float32(dtype: str, plain_kind: Any) -> None:
    if plain_kind.dtype != dtype:
        return
    for number in (0.0, 5.0, -3.0):
        x = plain_kind(np.full((2, 70_000), number))
        for op in ("softmax", "log_softmax", "logsumexp"):
            assert_close_to_truth(getattr(oneread, op)(x), x, op)
        options = {"entropy": True, "sum_p2": True, "top_k": 2}
        assert_close_to_truth(oneread.read(x, **options), x, "read", **options)


# Integers


@each_integer
@each_op
def test_integers_are_converted_first(op: Any, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 100, (3, 17)).astype(dtype)
    assert_same(op(x), op(x.astype(COMPUTE_DTYPE[dtype])))


@each_integer
def test_integers_of_torch_are_converted_first(dtype: str) -> None:
    torch = pytest.importorskip("torch", reason="the integers are PyTorch's")
    x = np.random.default_rng(0).integers(0, 100, (3, 17)).astype(dtype)
    tensor = torch.from_numpy(x)
    for op in OPS.values():
        for got, want in zip(arrays(op(tensor)), arrays(op(x)), strict=True):
            assert got.dtype == torch.from_numpy(want).dtype
            np.testing.assert_array_equal(got.numpy(), want)


@pytest.mark.parametrize("dtype", [name for name in INTEGERS if name != "bool"])
def test_differences_of_integers_never_wrap(dtype: str) -> None:
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0], dtype)
    y = oneread.softmax(x)
    assert y.tolist() == [0, 1, 0]
    assert y.dtype == COMPUTE_DTYPE[dtype]
    lse = oneread.logsumexp(x)
    assert lse == np.array(info.max).astype(COMPUTE_DTYPE[dtype])
    assert oneread.top_k(x, 3).indices.tolist() == ([1, 2, 0] if info.min else [1, 0, 2])


def test_bool_logits_are_zero_and_one() -> None:
    x = np.array([True, False, True])
    assert_same(oneread.softmax(x), oneread.softmax(np.float32([1, 0, 1])))
    assert oneread.top_k(x, 3).indices.tolist() == [0, 2, 1]


# Other arrays


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">i4", ">u8"])
@each_op
def test_foreign_byte_order_is_converted(op: Any, dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 9, (3, 17)).astype(dtype)
    results = arrays(op(x))
    assert all(a.dtype.isnative for a in results)
    assert_same(tuple(results), tuple(arrays(op(x.astype(x.dtype.newbyteorder("="))))))


def test_lists_and_numbers_become_numpy_arrays() -> None:
    assert_same(oneread.softmax([[1, 2, 3]]), oneread.softmax(np.array([[1, 2, 3]])))
    assert_same(oneread.softmax([0.5, 2.0]), oneread.softmax(np.array([0.5, 2.0])))
    assert float(oneread.logsumexp(2.5)) == 2.5


class WithArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.float32([1.0, 2.0, 3.0])


class WithDLPack:
    def __init__(self) -> None:
        self.numbers = np.float32([1.0, 2.0, 3.0])

    def __dlpack__(self, **options: Any) -> Any:
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.numbers.__dlpack_device__()


@pytest.mark.parametrize("make", [WithArray, WithDLPack, lambda: array.array("f", [1, 2, 3])])
@each_op
def test_other_arrays_on_a_cpu_give_numpy_arrays(op: Any, make: Any) -> None:
    assert_same(op(make()), op(np.float32([1.0, 2.0, 3.0])))


REFUSED: dict[str, tuple[Any, str]] = {
    "complex": (np.array([1 + 2j, 0]), "no order"),
    "strings": (np.array(["a", "b"]), "not numbers"),
    "bytes": (np.array([b"a", b"b"]), "not numbers"),
    "objects": (np.array([1.0, 2.0], object), "convert them"),
    "longdouble": (np.array([1.0, 2.0], np.longdouble), "float64"),
    "masked array": (np.ma.array([0.0, 9.0, 0.0], mask=[0, 1, 0]), "where="),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "dates"),
    "structured": (np.zeros(2, [("a", "f4")]), "field"),
    "float8": (np.zeros(2, ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
    "any object": (object(), "object"),
    "None": (None, "NoneType"),
}


@pytest.mark.parametrize(("x", "reason"), REFUSED.values(), ids=list(REFUSED))
@each_op
def test_what_is_no_array_of_numbers_is_refused_with_the_reason(
    op: Any, x: Any, reason: str
) -> None:
    with pytest.raises(DtypeError, match=reason):
        op(x)


def test_tensors_that_are_not_plain_numbers_are_refused() -> None:
    torch = pytest.importorskip("torch", reason="the tensors are PyTorch's")
    for x in (torch.zeros(3, dtype=torch.complex64), torch.zeros(3).to_sparse()):
        for op in OPS.values():
            with pytest.raises(DtypeError, match=r"complex64|sparse"):
                op(x)


def test_bfloat16_of_numpy_comes_back_as_bfloat16() -> None:
    x = np.zeros((2, 3), ml_dtypes.bfloat16)
    assert oneread.softmax(x).dtype == numpy_dtype("bfloat16")
    assert oneread.top_k(x, 1).values.dtype == numpy_dtype("bfloat16")
