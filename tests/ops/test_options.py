"""The options that all ops have: where, lengths, temperature, threads, kernel, dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import (
    DtypeError,
    Read,
    ShapeError,
)

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


# where, lengths, temperature


@each_op
@pytest.mark.parametrize("where", [[1, 0, 1], np.ones(3, np.float32), "yes"])
def test_where_is_bool(op: Op, where: Any) -> None:
    with pytest.raises(DtypeError, match="where"):
        op(logits(2, 3), where=where)


@each_op
def test_where_must_broadcast_to_x(op: Op) -> None:
    with pytest.raises(ShapeError, match=r"where has shape \(4,\).*\(2, 3\)"):
        op(logits(2, 3), where=np.ones(4, bool))


@each_op
@pytest.mark.parametrize("shape", [(3,), (2, 1), (2, 3), (1, 1), ()])
def test_where_broadcasts(op: Op, shape: tuple[int, ...]) -> None:
    where = np.random.default_rng(1).random(shape) < 0.7
    x = logits(2, 3)
    assert_same(op(x, where=where), op(x, where=np.broadcast_to(where, x.shape).copy()))


@each_wide
def test_where_false_acts_as_minus_inf(op: Op) -> None:
    x, where = logits(4, 9), np.random.default_rng(2).random((4, 9)) < 0.6
    np.testing.assert_array_equal(op(x, where=where), op(np.where(where, x, -np.inf)))


@each_op
@pytest.mark.parametrize("lengths", [[1.0, 2.0], [True, False]])
def test_lengths_are_integers(op: Op, lengths: Any) -> None:
    with pytest.raises(DtypeError, match="lengths"):
        op(logits(2, 3), lengths=lengths)


@each_op
@pytest.mark.parametrize("lengths", [[0, 4], [-1, 2], 4, np.array([3, 2**63], np.uint64)])
def test_lengths_lie_within_the_axis(op: Op, lengths: Any) -> None:
    with pytest.raises((ShapeError, IndexError), match="lengths"):
        op(logits(2, 3), lengths=lengths)


@each_op
def test_lengths_must_broadcast_to_the_rows(op: Op) -> None:
    with pytest.raises(ShapeError, match=r"lengths has shape \(3,\).*\(2,\)"):
        op(logits(2, 3), lengths=[1, 1, 1])


def test_lengths_take_one_axis_or_none() -> None:
    with pytest.raises(ShapeError, match="lengths"):
        oneread.softmax(logits(2, 3), (0, 1), lengths=2)
    np.testing.assert_array_equal(
        oneread.softmax(logits(2, 3), None, lengths=4).reshape(-1)[4:], [0, 0]
    )


@each_wide
@pytest.mark.parametrize("dtype", ["int8", "uint64", ">i4"])
def test_lengths_of_any_integer_type_act_as_a_mask(op: Op, dtype: str) -> None:
    x, lengths = logits(3, 5), np.array([2, 5, 0], dtype)
    where = np.arange(5) < lengths[:, None].astype(int)
    np.testing.assert_array_equal(op(x, lengths=lengths), op(x, where=where))


@each_op
@pytest.mark.parametrize("bad", [0, 0.0, -1, np.nan, np.inf, [1.0, 0.0], np.float16(0)])
def test_temperature_is_finite_and_above_0_and_names_argmax(op: Op, bad: Any) -> None:
    with pytest.raises(ShapeError, match=r"temperature is .*argmax=True"):
        op(logits(2, 3), temperature=bad)


@each_op
@pytest.mark.parametrize("bad", [True, "1", 1j, [None]])
def test_temperature_is_a_number(op: Op, bad: Any) -> None:
    with pytest.raises(DtypeError, match="temperature"):
        op(logits(2, 3), temperature=bad)


@each_wide
@pytest.mark.parametrize("scale", [2, 2.0, np.float32(2), np.array(2, ">f8"), [2.0, 2.0]])
def test_temperature_of_any_number_type(op: Op, scale: Any) -> None:
    x = logits(2, 3)
    np.testing.assert_array_equal(op(x, temperature=scale), op(x, temperature=2.0))


def test_temperature_must_broadcast_to_the_rows() -> None:
    with pytest.raises(ShapeError, match=r"temperature has shape \(2, 1\).*\(2,\)"):
        oneread.softmax(logits(2, 3), temperature=np.full((2, 1), 2.0))


def test_temperature_of_each_row() -> None:
    x, scale = logits(3, 5), np.array([0.5, 1.0, 3.0])
    rows = [oneread.read(row, temperature=t, entropy=True) for row, t in zip(x, scale, strict=True)]
    both = oneread.read(x, temperature=scale, entropy=True)
    for name in ("lse", "max", "entropy"):
        np.testing.assert_array_equal(getattr(both, name), [getattr(r, name) for r in rows])


# The other common options


@each_op
def test_workspace_is_refused(op: Op) -> None:
    with pytest.raises(ShapeError, match="workspace"):
        op(logits(2, 3), workspace=np.empty(10))


@each_op
@pytest.mark.parametrize("threads", [0, -2])
def test_threads_below_1_are_refused(op: Op, threads: int) -> None:
    with pytest.raises(ShapeError, match=rf"threads is {threads}"):
        op(logits(2, 3), threads=threads)


@each_op
@pytest.mark.parametrize("threads", [1.0, True, "2"])
def test_threads_of_another_type_are_refused(op: Op, threads: Any) -> None:
    with pytest.raises(DtypeError, match="threads is"):
        op(logits(2, 3), threads=threads)


@each_op
def test_deterministic_run_and_batch_hold(op: Op) -> None:
    for promise in (None, "run", "batch"):
        assert_same(op(logits(2, 3), deterministic=promise), op(logits(2, 3)))
    with pytest.raises(ShapeError, match="deterministic is 'yes'"):
        op(logits(2, 3), deterministic="yes")


@each_op
@pytest.mark.parametrize("value", [np.zeros(2), np.array(["run", "batch"]), 3], ids=str)
@pytest.mark.parametrize("name", ["deterministic", "kernel"])
def test_promise_or_kernel_that_is_no_text_is_refused(op: Op, name: str, value: Any) -> None:
    with pytest.raises(DtypeError, match=f"{name} is"):
        op(logits(2, 3), **{name: value})


@each_op
def test_unknown_kernel_is_refused_with_the_names(op: Op) -> None:
    with pytest.raises(ShapeError, match=r"kernel is 'fast'; .*(lazy|radix)"):
        op(logits(2, 3), kernel="fast")


def test_forced_kernel_runs() -> None:
    x = logits(2, 300)
    for algorithm in ("block_max", "radix", "sort"):
        top = oneread.top_k(x, 7, kernel=algorithm)
        last = oneread.last_kernel()
        assert last is not None
        assert last.name == f"{algorithm}_top_k"
        assert_same(top, oneread.top_k(x, 7))
    for name, op in OPS.items():
        if name != "top_k":
            op(x, kernel="lazy")
            last = oneread.last_kernel()
            assert last is not None
            assert last.name == f"lazy_{name}"


# Output types


@each_wide
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_probabilities_come_in_the_type_of_the_input(op: Op, dtype: str) -> None:
    assert op(logits(2, 3, dtype=dtype)).dtype == dtype


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                                   "int64", "uint64"])  # fmt: skip
def test_integers_are_converted_first(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    wide = "float32" if x.itemsize <= 2 else "float64"
    assert_same(oneread.softmax(x), oneread.softmax(x.astype(wide)))
    r = oneread.read(x, top_k=2, entropy=True)
    assert_same(r, oneread.read(x.astype(wide), top_k=2, entropy=True))
    assert {r.lse.dtype, r.values.dtype, r.entropy.dtype, oneread.softmax(x).dtype} == {
        np.dtype(wide)
    }


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_statistics_are_float32_for_inputs_up_to_32_bits(dtype: str) -> None:
    x = logits(2, 5, dtype=dtype)
    r = oneread.read(x, top_k=2, select=0, entropy=True, sum_p2=True)
    for name in ("lse", "max", "logprobs", "selected", "entropy", "sum_p2"):
        assert getattr(r, name).dtype == np.float32
    assert r.values.dtype == dtype
    assert oneread.softmax_topk(x, 2).values.dtype == np.float32
    assert oneread.logsumexp(x).dtype == np.float32


def test_statistics_are_float64_for_float64() -> None:
    r = oneread.read(logits(2, 5, dtype="float64"), top_k=2, select=0, argmax=True, rank=True)
    assert {a.dtype.name for a in arrays(r)} == {"float64", "int64"}


@each_op
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", np.float64, np.dtype(">f4")])
def test_dtype_sets_the_type_of_floats(op: Op, dtype: Any) -> None:
    result = op(logits(2, 5), dtype=dtype)
    expected = {np.dtype(dtype).newbyteorder("=")}
    kept = result._replace(values=None) if isinstance(result, Read) else result
    assert {a.dtype for a in arrays(kept) if a.dtype.kind == "f"} == expected


@each_op
def test_dtype_float64_computes_in_float64(op: Op) -> None:
    x = logits(3, 50)
    wide, truth = op(x, dtype="float64"), op(x.astype(np.float64))
    for got, want in zip(arrays(wide), arrays(truth), strict=True):
        np.testing.assert_array_equal(got, want)


@each_op
@pytest.mark.parametrize("dtype", ["int32", bool, "complex64", "U3", object, "nonsense"])
def test_dtype_is_a_float_type(op: Op, dtype: Any) -> None:
    with pytest.raises(DtypeError, match=r"dtype|element type"):
        op(logits(2, 3), dtype=dtype)


@pytest.mark.parametrize("dtype", ["int8", "bool", "uint16"])
def test_integers_read_in_float64(dtype: str) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    r = oneread.read(x, top_k=2, dtype="float64")
    truth = oneread.read(x.astype("float64"), top_k=2)
    np.testing.assert_array_equal(r.lse, truth.lse)
    np.testing.assert_array_equal(r.values, truth.values)
    assert r.values.dtype == np.float32
    assert oneread.softmax_topk(
        x, 2, kind="logit", dtype="float64", return_lse=True
    ).lse.dtype == np.float64  # fmt: skip
