"""The kernel of top-k, run on a CPU with all its threads, gives what the CPU's op gives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from emulated import COMPILER, Launch, on_cpu  # noqa: F401

import oneread
from oneread.runtime import cuda, cuda_topk, tuning
from oneread.spec import SoftmaxTopK, TopK
from oneread.testing import FAMILIES, assert_conforms
from oneread.testing.arrays import numpy_dtype

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu"),
]

KINDS = {"prob": 1, "logprob": 2, "logit": 0}
#: Threads of a block, vectors a thread, blocks of a cluster: those that wait for one another in
#: every way there is, and that need many steps for a short row; 0 blocks for a warp a row.
SHAPES = ((64, 1, 1), (128, 2, 1), (96, 3, 2), (64, 2, 4))


@pytest.fixture(autouse=True)
def fresh() -> None:
    cuda_topk.prepared.cache_clear()
    Launch.order = 0
    yield
    cuda_topk.prepared.cache_clear()
    Launch.order = 0


def force(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int, int]) -> None:
    """Let every launch have a shape of its own, not the table's."""
    block, vectors, cluster = shape
    row = {
        "kernel": "topk" if cluster else "topk_row", "block_threads": block,
        "row_threads": block if cluster else 32, "per_thread": vectors, "cluster": cluster or 1,
        "min_blocks": 1, "measured": "",
    }  # fmt: skip
    monkeypatch.setattr(tuning, "table", lambda: {"topk": [row]})


def winners(
    x: Any, k: int, axis: int = -1, *, kind: str = "prob", renormalize: bool = False,
    return_lse: bool = False, temperature: Any = None, index: str = "int64",
    by_length: bool = False,
) -> SoftmaxTopK:  # fmt: skip
    """Do what oneread.ops._device_topk does with tensors on a GPU, with NumPy's arrays."""
    moved = np.moveaxis(x, axis, -1)
    rows = moved.reshape(int(np.prod(moved.shape[:-1])), moved.shape[-1])
    if rows.strides[1] != rows.itemsize:
        rows = np.ascontiguousarray(rows)
    statistic = np.float64 if x.dtype == np.float64 else np.float32
    values = np.full((len(rows), k), 7, x.dtype if kind == "logit" else statistic)
    indices = np.full((len(rows), k), -7, index)
    lse = np.full(len(rows), 7, statistic)
    given, held = None, None
    if temperature is not None:
        held = np.ascontiguousarray(np.broadcast_to(temperature, len(rows)), np.float64)
        given = cuda.Temperature(address=held.ctypes.data)
        if not np.ndim(temperature):
            given = cuda.Temperature(float(temperature))
    asked = cuda_topk.Asked(
        k, KINDS[kind] + 2 * renormalize, indices.itemsize,
        return_lse or (kind != "logit" and not renormalize),
    )  # fmt: skip
    if len(rows) and k:
        steps = (rows.strides[0] // x.itemsize, 1)
        cuda_topk.topk(
            cuda.Memory(rows.ctypes.data, x.dtype.name, rows.shape, steps, 0, 0), 1, asked,
            cuda_topk.Results(
                values.ctypes.data, indices.ctypes.data, lse.ctypes.data if return_lse else 0
            ),
            cuda.Manner(given, by_length),
        )  # fmt: skip
    shape = (*moved.shape[:-1], k)
    made = [np.moveaxis(one.reshape(shape), -1, axis) for one in (values, indices)]
    return SoftmaxTopK(*made, lse.reshape(shape[:-1]) if return_lse else None)


def top_k(x: Any, k: int, axis: int = -1, **options: Any) -> TopK:
    return TopK(*winners(x, k, axis, kind="logit", **options))


def adversaries(rows: int, vocab: int) -> dict[str, Any]:
    """Return rows that a bound or a list of limited length may fail at."""
    rng = np.random.default_rng(vocab)
    normal = rng.normal(0, 3, (rows, vocab)).astype(np.float32)
    found = {
        "random": normal,
        "ascending": np.sort(normal, axis=1),
        "descending": -np.sort(-normal, axis=1),
        "all_equal": np.full((rows, vocab), -1.5, np.float32),
        "few_distinct": rng.integers(0, 3, (rows, vocab)).astype(np.float32),
        "zeros_of_both_signs": np.copysign(np.float32(0), normal),
        "masked": np.where(rng.random((rows, vocab)) < 0.97, -np.inf, normal),
        "one_is_finite": np.where(np.arange(vocab) == vocab // 2, normal, -np.inf),
        "none_is_finite": np.full((rows, vocab), -np.inf, np.float32),
        "with_nan": np.where(rng.random((rows, vocab)) < 0.05, -np.nan, normal),
        "nan_alone": np.full((rows, vocab), np.nan, np.float32),
        "plus_inf": np.where(rng.random((rows, vocab)) < 0.1, np.inf, normal),
        "huge": np.where(rng.random((rows, vocab)) < 0.5, 3e38, -3e38),
        "denormal": normal * np.float32(1e-40),
        "largest_last": np.concatenate(
            [np.zeros((rows, vocab - vocab // 3)), np.ones((rows, vocab // 3))], axis=1
        ),
    }
    return {name: np.ascontiguousarray(x, np.float32) for name, x in found.items()}


def same_bits(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def assert_adversaries_agree(vocab: int, ks: tuple[int, ...]) -> None:
    """Assert that the kernel finds what the CPU finds, in turns of the order of threads."""
    orders = itertools.cycle((0, 1, 2, 3))
    for name, x in adversaries(1, vocab).items():
        for k in sorted({min(k, vocab) for k in ks}):
            Launch.order = next(orders)
            got, want = winners(x, k, return_lse=True), oneread.softmax_topk(x, k)
            assert (got.indices == want.indices).all(), (name, k, Launch.order)
            assert np.array_equal(np.isnan(got.values), np.isnan(want.values)), (name, k)
            plain = oneread.top_k(x, k)
            got = top_k(x, k, index="int32")
            assert (got.indices == plain.indices).all(), (name, k, Launch.order)
            assert same_bits(got.values, plain.values), (name, k)


@pytest.mark.parametrize(
    ("shape", "vocab"),
    [*itertools.product(SHAPES, (1, 37, 1000, 9001)), ((64, 8, 0), 1000), ((96, 3, 0), 37)],
)
def test_winners_of_adversarial_rows_are_those_of_the_cpu(
    shape: tuple[int, int, int], vocab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, shape)
    assert_adversaries_agree(vocab, (1, 5, 10, 64))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_threads_does_not_matter(
    shape: tuple[int, int, int], order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, shape)
    x = np.concatenate([adversaries(1, 9001)[name] for name in ("random", "few_distinct")])
    want = winners(x, 64, return_lse=True)
    Launch.order = order
    got = winners(x, 64, return_lse=True)
    assert all(same_bits(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("op", ["top_k", "softmax_topk"])
@pytest.mark.parametrize(
    ("dtype", "shape"),
    [
        ("float32", (64, 3, 0)), ("bfloat16", (64, 2, 0)), ("float64", (64, 6, 0)),
        ("float32", (64, 1, 2)), ("float16", (128, 2, 1)), ("float64", (96, 1, 1)),
    ],
)  # fmt: skip
def test_every_family_is_close_to_the_truth(
    op: str, dtype: str, shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, shape)
    implementation = top_k if op == "top_k" else winners
    some = [name for name in FAMILIES if name != "empty"]  # for which nothing is launched
    assert_conforms(
        implementation, op, dtype=dtype, rows=3, families=some, without=("where", "lengths")
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_every_shape_of_the_table_finds_the_winners(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for rows, vocab in ((2, 700), (2, 9000), (1, 40_000), (65, 90), (65, 2100)):
        x = rng.normal(0, 3, (rows, vocab)).astype(numpy_dtype(dtype))
        got, want = winners(x, 10), oneread.softmax_topk(x, 10)
        assert (got.indices == want.indices).all(), (rows, vocab)


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_may_begin_anywhere_and_nothing_beside_them_is_taken(
    offset: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, (64, 2, 2))
    vocab = 1001
    memory = np.full(3 * (vocab + 3) + 16, np.inf, numpy_dtype(dtype))
    step = memory.itemsize
    x = np.lib.stride_tricks.as_strided(memory[offset:], (3, vocab), ((vocab + 3) * step, step))
    x[...] = np.random.default_rng(offset).normal(size=x.shape)
    got, want = winners(x, 33), oneread.softmax_topk(np.ascontiguousarray(x), 33)
    assert (got.indices == want.indices).all()
    assert np.isfinite(got.values.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_columns_beyond_an_int_are_counted_in_64_bits(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_topk, "_LONG", 0)
    force(monkeypatch, (64, 2, 2))
    for numbers in adversaries(1, 3001).values():
        x = numbers.astype(numpy_dtype(dtype))
        assert (winners(x, 20).indices == oneread.softmax_topk(x, 20).indices).all()


def test_a_number_is_given_back_bit_for_bit() -> None:
    x = np.array([[0.0, -0.0, 1e-45, -np.inf] * 20], np.float32)
    x.view(np.uint32)[0, 7] = 0xFFC12345
    got = top_k(x, 64)
    assert same_bits(got.values, np.take_along_axis(x, got.indices, 1))
    assert got.values.view(np.uint32)[0, 0] == 0xFFC12345


@pytest.mark.parametrize("by_length", [False, True])
def test_vectors_beside_a_long_row_hold_no_winner(by_length: bool) -> None:
    x = np.full((3, 17_001), -np.inf, np.float32)
    for k in (1, 2, 10):
        assert (winners(x, k, by_length=by_length).indices == np.arange(k)).all()
