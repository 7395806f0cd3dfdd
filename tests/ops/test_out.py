"""Where results may be written: `out` of every op."""

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
    SoftmaxTopK,
    TopK,
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


# out


@each_wide
@pytest.mark.parametrize("log_layout", ["C", "F", "strided", "reversed"])
def test_out_of_any_layout_is_filled_and_returned(op: Op, log_layout: str) -> None:
    x = logits(3, 4)
    base = np.full((3, 8), 7, np.float32)
    out = {
        "C": np.empty((3, 4), np.float32),
        "F": np.empty((4, 3), np.float32).T,
        "strided": base[:, ::2],
        "reversed": np.empty((3, 4), np.float32)[::-1, ::-1],
    }[log_layout]
    assert op(x, out=out) is out
    np.testing.assert_array_equal(out, op(x))
    assert (base[:, 1::2] == 7).all()


@each_wide
@pytest.mark.parametrize("layout", ["C", "T", "strided", "none"])
def test_out_may_be_x_itself(op: Op, layout: str) -> None:
    x = {
        "C": logits(4, 9), "T": logits(9, 4).T, "strided": logits(4, 18)[:, ::2],
        "none": np.array(2.0, np.float32),
    }[layout]  # fmt: skip
    want = op(x.copy())
    assert op(x, out=x) is x
    np.testing.assert_array_equal(x, want)
    same = np.asarray(memoryview(x)) if layout == "C" else x
    op(x, out=same)


@each_wide
def test_out_that_overlaps_x_in_part_is_refused(op: Op) -> None:
    base = logits(1, 12)
    before = base.copy()
    for x, out in ((base[:, :9], base[:, 3:]), (base[:, ::2], base[:, :6]), (base[:, ::-1], base)):
        with pytest.raises(ShapeError, match="shares memory with x"):
            op(x, out=out)
    np.testing.assert_array_equal(base, before)


@each_wide
def test_out_between_the_elements_of_x_is_fine(op: Op) -> None:
    base = logits(3, 8)
    want = op(base[:, ::2].copy())
    np.testing.assert_array_equal(op(base[:, ::2], out=base[:, 1::2]), want)


def test_out_that_overlaps_another_input_is_refused() -> None:
    x, memory = logits(4, 2), np.ones(8, np.int64)
    with pytest.raises(ShapeError, match="shares memory with lengths"):
        oneread.softmax(x, lengths=memory[:4], out=memory.view(np.float32).reshape(8, 2)[:4])
    mask = np.ones((4, 2, 4), bool)
    with pytest.raises(ShapeError, match="shares memory with where"):
        oneread.softmax(x, where=mask[..., 0], out=mask.view(np.float32)[..., 0])


@each_op
def test_out_that_overlaps_x_is_refused_where_it_cannot_be_x(op: Op) -> None:
    x = logits(4, 4)
    result = op(x)
    if isinstance(result, tuple) or result.shape != x.shape:
        names = [a for a in arrays(result) if a.dtype == np.float32]
        n = names[0].size
        taken = x.reshape(-1)[:n].reshape(names[0].shape)
        if isinstance(result, tuple):
            fields = [taken if a is names[0] else np.empty_like(a) for a in arrays(result)]
            out: Any = tuple(fields)
        else:
            out = taken
        with pytest.raises(ShapeError, match="shares memory with x"):
            op(x, out=out)


@each_op
def test_out_of_the_wrong_shape_type_or_library_is_refused_unchanged(op: Op) -> None:
    x = logits(2, 3)
    good = op(x)

    def replaced(make: Callable[[Any], Any]) -> Any:
        made = [make(a) for a in arrays(good)]
        return tuple(made) if isinstance(good, tuple) else made[0]

    def read_only(a: Any) -> Any:
        b = np.empty_like(a)
        b.flags.writeable = False
        return b

    wrong: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
        (ShapeError, "has shape", lambda a: np.full((9, *a.shape), 7, a.dtype)),
        (DtypeError, "holds", lambda a: np.full(a.shape, 7, "int16")),
        (DtypeError, "byte order", lambda a: np.full(a.shape, 7, a.dtype.newbyteorder(">"))),
        (ShapeError, "read-only", read_only),
        (DtypeError, "builtins.list", lambda a: a.tolist()),
    ]
    for error, message, make in wrong:
        out = replaced(make)
        with pytest.raises(error, match=message):
            op(x, out=out)
        for array in out if isinstance(out, tuple) else (out,):
            if message in ("has shape", "holds", "byte order"):
                assert (array == 7).all()


@each_op
def test_out_with_elements_in_one_place_is_refused(op: Op) -> None:
    x = logits(3, 4)
    good = op(x)
    made = [np.broadcast_to(np.empty(1, a.dtype), a.shape) for a in arrays(good)]
    for array in made:
        array.flags.writeable = True
    with pytest.raises(ShapeError, match="one place"):
        op(x, out=tuple(made) if isinstance(good, tuple) else made[0])


def test_overlapping_windows_are_refused_as_out() -> None:
    windows = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (3, 4), (4, 4))
    with pytest.raises(ShapeError, match="one place"):
        oneread.softmax(logits(3, 4), out=windows)


def test_several_outputs_go_into_a_tuple_or_the_named_one() -> None:
    x = logits(3, 8)
    want = oneread.top_k(x, 2)
    values, indices = np.empty((3, 2), np.float32), np.empty((3, 2), np.int64)
    got = oneread.top_k(x, 2, out=(values, indices))
    assert isinstance(got, TopK)
    assert got.values is values
    assert got.indices is indices
    assert_same(got, want)
    values[:], indices[:] = 0, 0
    assert oneread.top_k(x, 2, out=got) is got
    assert_same(got, want)


def test_softmax_topk_fills_two_or_three_outputs() -> None:
    x = logits(3, 8)
    for lse in (False, True):
        want = oneread.softmax_topk(x, 2, return_lse=lse)
        named = SoftmaxTopK(*[np.empty_like(a) for a in arrays(want)])
        assert oneread.softmax_topk(x, 2, return_lse=lse, out=named) is named
        assert_same(named, want)
        plain = tuple(np.empty_like(a) for a in arrays(want))
        assert oneread.softmax_topk(x, 2, return_lse=lse, out=plain).indices is plain[1]


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_read_is_refilled(axis: int | None) -> None:
    def ask(seed: int, **options: Any) -> Read:
        return oneread.read(
            logits(3, 4, 5, seed=seed), axis, top_k=2, select=1, rank=True, entropy=True,
            argmax=True, **options,
        )  # fmt: skip

    r = ask(0)
    memory = [a.__array_interface__["data"] for a in arrays(r)]
    assert ask(1, out=r) is r
    assert_same(r, ask(1))
    assert [a.__array_interface__["data"] for a in arrays(r)] == memory


def test_read_of_one_row_is_refilled() -> None:
    r = oneread.read(logits(5), argmax=True)
    assert oneread.read(logits(5, seed=1), argmax=True, out=r) is r
    assert_same(r, oneread.read(logits(5, seed=1), argmax=True))


def test_strided_small_outputs_are_filled() -> None:
    x = logits(3, 8).astype(np.float16)
    base = np.full((3, 4), 7, np.float16)
    top = oneread.top_k(x, 2, out=(base[:, ::2], np.empty((2, 3), np.int64).T))
    assert_same(top, oneread.top_k(x, 2))
    assert (base[:, 1::2] == 7).all()
    lse = np.empty((3, 2), np.float16)[:, 0]
    assert oneread.logsumexp(x, dtype="float16", out=lse) is lse
    np.testing.assert_array_equal(lse, oneread.logsumexp(x).astype(np.float16))


def test_missing_and_superfluous_outputs_are_refused() -> None:
    x = logits(3, 4)
    r = oneread.read(x, entropy=True)
    with pytest.raises(ShapeError, match=r"out.argmax is missing"):
        oneread.read(x, entropy=True, argmax=True, out=r)
    with pytest.raises(ShapeError, match=r"out.entropy is given but was not asked for"):
        oneread.read(x, out=r)
    with pytest.raises(ShapeError, match=r"out.indices is missing"):
        oneread.top_k(x, 1, out=(np.empty((3, 1), np.float32),))
    with pytest.raises(ShapeError, match="holds 3 arrays"):
        oneread.top_k(x, 1, out=(np.empty(3),) * 3)
    with pytest.raises(DtypeError, match="a tuple is allowed"):
        oneread.top_k(x, 1, out=np.empty(3))


def test_two_outputs_in_one_place_are_refused() -> None:
    both = np.empty(3, np.float32)
    with pytest.raises(ShapeError, match=r"out.max shares memory with out.lse"):
        oneread.read(logits(3, 4), out=(both, both))
