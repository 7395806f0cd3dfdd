"""Masks, lengths and strides of arrays on a GPU: the kernels as they are, run on a CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import Array, Device, array, back, gpu_arrays  # noqa: F401
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

import oneread
from oneread.runtime import cuda
from oneread.testing import FAMILIES, assert_close_to_truth, assert_conforms

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu", "gpu_arrays"),
]

OPS = ("softmax", "log_softmax", "logsumexp")
each_op = pytest.mark.parametrize("op", OPS)


def call(op: str, x: Any, **options: Any) -> Any:
    """Do an op with all arrays on the GPU."""
    moved = {k: array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return back(getattr(oneread, op)(array(x), **moved))


def check(op: str, x: Any, **options: Any) -> None:
    assert_close_to_truth(call(op, x, **options), x, op, **options)


def normal(*shape: int, dtype: str = "float32") -> Any:
    return np.random.default_rng(0).normal(0, 3, shape).astype(dtype)


def mask(*shape: int) -> Any:
    return np.random.default_rng(1).random(shape) < 0.6


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@each_op
def test_every_family_with_masks_and_lengths_is_close_to_the_truth(op: str, dtype: str) -> None:
    families = ("normal", "nan", "plus_inf", "masked_all", "masked_first_tile", "spiky")
    found = [name for name in families if name in FAMILIES]
    assert len(found) > 3, list(FAMILIES)
    assert_conforms(
        lambda x, **options: call(op, x, **options), op, dtype=dtype, families=found, rows=3,
        vocab=75,
    )  # fmt: skip


#: Lengths of rows, one for each kernel and its ways to read: aligned and not.
ROWS = ((5, 20), (3, 1001), (2, 3000), (1, 40_003))


@pytest.mark.parametrize("shape", ROWS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_masked_columns_are_as_if_they_were_minus_infinity(dtype: str, shape: Any) -> None:
    x, where = normal(*shape).astype(_type(dtype)), mask(*shape)
    x[~where] = np.nan
    for op in OPS:
        check(op, x, where=where)
        check(op, x, where=where[:1] | where[-1:], lengths=None)


def _type(dtype: str) -> Any:
    return np.dtype(dtype) if dtype != "bfloat16" else FAMILIES["normal"](1, 1, dtype, 0).dtype


@pytest.mark.parametrize("shape", ROWS)
def test_columns_beyond_a_length_are_never_read(shape: Any) -> None:
    rows, vocab = shape
    lengths = np.random.default_rng(2).integers(0, vocab + 1, rows)
    memory = np.full((rows, vocab), np.nan, np.float32)
    for row, length in enumerate(lengths):
        memory[row, :length] = normal(int(length))
    for op in OPS:
        check(op, memory, lengths=lengths)


@pytest.mark.parametrize("vocab", [40, 3001, 70_000])
def test_rows_of_no_length_are_nan_and_their_logsumexp_minus_infinity(vocab: int) -> None:
    x, lengths = normal(3, vocab), np.array([0, 5, vocab])
    assert np.isnan(call("softmax", x, lengths=lengths)).all(-1).tolist() == [True, False, False]
    assert np.isneginf(call("logsumexp", x, lengths=lengths)).tolist() == [True, False, False]


@pytest.mark.parametrize("axis", [0, 1])
@each_op
def test_lengths_on_the_gpu_that_no_row_has_give_nan(op: str, axis: int) -> None:
    x, lengths = normal(4, 4), np.array([-1, 5, 4, 2])
    y = call(op, x, lengths=lengths, axis=axis)
    rows = y if op == "logsumexp" else np.moveaxis(y, axis, -1)
    bad = np.isnan(rows) if op == "logsumexp" else np.isnan(rows).all(-1)
    assert bad.tolist() == [True, True, False, False]


#: Masks that broadcast over an array of (3, 4, 5, 24).
BROADCAST = ((3, 4, 5, 24), (24,), (3, 1, 1, 24), (1, 1, 5, 24), (3, 1, 5, 24), (4, 5, 1), ())


@pytest.mark.parametrize("shape", BROADCAST)
@pytest.mark.parametrize("axis", [0, 2, 3, (1, 3), None])
def test_masks_broadcast(shape: Any, axis: Any) -> None:
    check("softmax", normal(3, 4, 5, 24), where=mask(*shape), axis=axis)
    check("logsumexp", normal(3, 4, 5, 24), where=mask(*shape), axis=axis)


def test_mask_of_one_row_is_read_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    inner = cuda.softmax
    monkeypatch.setattr(cuda, "softmax", lambda *a: (given.append(a[-1].where), inner(*a)))
    where = array(mask(24))
    oneread.softmax(array(normal(3, 4, 24)), where=where)
    assert given[0].address == where.data.ptr
    assert given[0].strides == (0, 0, 1)


@pytest.mark.parametrize("offset", range(1, 5))
def test_masks_lie_at_any_address(offset: int) -> None:
    held = np.zeros(offset + 4 * 37, bool)
    where = held[offset:].reshape(4, 37)
    where[...] = mask(4, 37)
    for dtype in ("float32", "float64", "float16"):
        check("softmax", normal(4, 37, dtype=dtype), where=where)


VIEWS = {
    "two loops": lambda x: x[:, :3],
    "three loops": lambda x: x[:, :3, ::2],
    "three loops apart": lambda x: x[::2, ::2, ::2, :9],
    "permuted": lambda x: x.transpose(2, 0, 3, 1),
    "permuted and apart": lambda x: x[:2, 1:, 2:].transpose(1, 3, 0, 2),
    "backward": lambda x: x[:, ::-1, ::-1, ::-1],
    "broadcast": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_lie_in_any_loops(view: Any, axis: int) -> None:
    x = view(normal(4, 5, 6, 12))
    for op in OPS:
        check(op, x, axis=axis)
    check("softmax", x, axis=axis, where=mask(*x.shape))
    out = np.full_like(x, 7, order="C")
    assert_close_to_truth(call("softmax", x, axis=axis, out=out), x, "softmax", axis=axis)


@pytest.mark.parametrize("axis", [-1, 0, (0, 2)])
@pytest.mark.parametrize(
    ("dtype", "written", "computed"),
    [
        ("float16", "float32", ("float16", "float32")),
        ("float32", "float16", ("float32", "float16")),
        ("float32", "float64", ("float64", "float64")),
        ("int8", "float16", ("float32", "float16")),
    ],
)
def test_other_types_are_written_by_the_kernel_where_it_can(
    dtype: str, written: str, computed: tuple[str, str], axis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    inner = cuda.softmax
    monkeypatch.setattr(
        cuda, "softmax", lambda x, y, *rest: (given.append((x.dtype, y.dtype)), inner(x, y, *rest))
    )
    x = normal(3, 4, 24).astype(dtype)
    check("softmax", x, dtype=written, axis=axis)
    out = np.full(x.shape, 7, written)
    got = call("softmax", x, dtype=written, axis=axis, out=out, where=mask(*x.shape))
    assert_close_to_truth(got, x, "softmax", dtype=written, axis=axis, where=mask(*x.shape))
    assert given == [computed] * 2


@pytest.mark.parametrize("order", [0, 1, 2])
def test_threads_may_run_in_any_order(order: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Launch, "order", order)
    check("softmax", normal(2, 3001), where=mask(2, 3001), lengths=np.array([7, 2999]))


def test_result_may_be_written_over_the_input() -> None:
    x, where = normal(4, 300), mask(4, 300)
    given = array(x.copy())
    assert oneread.softmax(given, where=array(where), out=given) is given
    assert_close_to_truth(back(given), x, "softmax", where=where)


def test_mask_and_lengths_may_lie_on_the_cpu() -> None:
    x, where, lengths = normal(4, 30), mask(4, 30), [1, 30, 4, 5]
    y = oneread.softmax(array(x), where=where, lengths=lengths)
    assert_close_to_truth(back(y), x, "softmax", where=where, lengths=np.array(lengths))


def test_wrong_masks_and_lengths_are_refused_as_on_a_cpu() -> None:
    x = normal(4, 30)
    wrong = (
        {"where": x}, {"where": mask(4, 29)}, {"lengths": np.array([1.0])},
        {"lengths": np.arange(3)}, {"lengths": np.array([1]), "axis": (0, 1)},
    )  # fmt: skip
    for options in wrong:
        with pytest.raises(Exception) as here:  # noqa: PT011
            oneread.softmax(x, **options)
        with pytest.raises(type(here.value)) as there:
            call("softmax", x, **options)
        assert str(there.value) == str(here.value)
    with pytest.raises(oneread.ShapeError, match="holds numbers from 31 to 31"):
        oneread.softmax(array(x), lengths=[31])


def test_out_must_not_be_the_mask_or_the_lengths() -> None:
    memory = np.zeros(1024, np.uint8)
    out = memory[:480].view(np.float32).reshape(4, 30)
    where, lengths = memory[400:520].view(bool).reshape(4, 30), memory[448:480].view(np.int64)
    with pytest.raises(oneread.ShapeError, match="shares memory with where"):
        call("softmax", normal(4, 30), where=where, out=out)
    with pytest.raises(oneread.ShapeError, match="shares memory with lengths"):
        call("softmax", normal(4, 30), lengths=lengths, out=out)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_first_columns_of_a_state_in_parts_are_those_of_a_cpu(dtype: str) -> None:
    x, kept = FAMILIES["ties"](4, 75, dtype), mask(4, 75)
    for where in (None, kept):
        want = oneread.State.of(x, top_k=60, where=where)
        parts = []
        for a, b in ((30, 75), (0, 30)):
            here = None if where is None else array(where[:, a:b])
            parts.append(oneread.State.of(array(x[:, a:b]), offset=a, top_k=60, where=here))
        got = parts[0] | parts[1]
        for one in (got, oneread.State.unpack(got.pack())):
            for name in ("values", "indices"):
                made = np.asarray(getattr(one, name).view(np.ndarray))
                assert made.tobytes() == getattr(want, name).tobytes()


def test_fields_of_a_state_on_a_second_gpu_are_made_there() -> None:
    x, heat = normal(4, 75), np.array([0.5, 1.0, 2.0, 0.25])
    options = {"entropy": True, "sum_p2": True, "argmax": True, "top_k": 7}
    with Device(1):
        given = {"select": array(np.array([3, 8, 1, 74])), "temperature": array(heat), **options}
        a, b = (
            oneread.State.of(array(x[:, i:j]), offset=i, **given) for i, j in ((0, 30), (30, 75))
        )
        logits = array(x[:, :2])
    with pytest.raises(ValueError, match="array on 1 while 0 is current"):
        logits + 1
    state = a | b
    made = [getattr(state, name) for name in oneread.Read._fields if name != "rank"]
    made += [state.m, state.d, state.logprob(logits), *state.top_k("prob", renormalize=True)]
    assert {one.on for one in made} == {1}
    want = oneread.State.of(x, select=np.array([3, 8, 1, 74]), temperature=heat, **options)
    assert (oneread.State.unpack(state.pack()).indices == want.indices).all()
    assert Device.current == 0


def test_a_temperature_for_all_rows_on_the_gpu_is_not_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Array, "item", property())
    x, given = normal(4, 75), array(np.float64(0.7))
    got = back(oneread.softmax(array(x), temperature=given))
    assert_close_to_truth(got, x, "softmax", temperature=0.7)
    parts = [
        oneread.State.of(array(x[:, i:j]), offset=i, temperature=given)
        for i, j in ((0, 30), (30, 75))
    ]
    lse = back((parts[0] | parts[1]).lse)
    assert_close_to_truth(lse, x, "logsumexp", temperature=0.7)
    bad = back(oneread.softmax(array(x), temperature=array(np.float64(0))))
    assert np.isnan(bad).all()
