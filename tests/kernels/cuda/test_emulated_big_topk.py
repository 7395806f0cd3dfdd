"""The kernel of top-k for large k, run on a CPU with all its threads, agrees with the CPU's op."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from emulated import COMPILER, Launch, on_cpu  # noqa: F401
from test_emulated_topk import (
    adversaries,
    assert_adversaries_agree,
    fresh,  # noqa: F401
    same_bits,
    top_k,
    winners,
)

import oneread
from oneread.runtime import cuda_topk, tuning
from oneread.testing import FAMILIES, assert_conforms
from oneread.testing.arrays import numpy_dtype

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu"),
]


class Shape(NamedTuple):
    """A launch; `capacity` candidates are few, so that short rows fill the pool many times."""

    threads: int
    vectors: int
    capacity: int
    cluster: int = 1


SHAPES = (Shape(64, 1, 512), Shape(128, 2, 640), Shape(96, 3, 576, 2), Shape(64, 2, 512, 8))


def force(monkeypatch: pytest.MonkeyPatch, shape: Shape) -> None:
    """Let every launch have a shape of its own, not the table's."""
    row = {
        "kernel": "big_topk", "block_threads": shape.threads, "per_thread": shape.vectors,
        "capacity": shape.capacity, "cluster": shape.cluster, "min_blocks": 1, "measured": "",
    }  # fmt: skip
    monkeypatch.setattr(tuning, "table", lambda: {"topk": [row]})


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("vocab", [65, 1000, 4001, 20_000])
def test_winners_of_adversarial_rows_are_those_of_the_cpu(
    shape: Shape, vocab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, shape)
    assert_adversaries_agree(vocab, (65, 128, 257, 350))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_threads_does_not_matter(
    shape: Shape, order: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, shape)
    x = np.concatenate([adversaries(1, 9001)[name] for name in ("random", "few_distinct")])
    want = winners(x, 300, return_lse=True)
    Launch.order = order
    got = winners(x, 300, return_lse=True)
    assert all(same_bits(a, b) for a, b in zip(got, want, strict=True))


@pytest.mark.parametrize("cluster", [1, 4])
@pytest.mark.parametrize("name", ["random", "ascending", "few_distinct", "masked", "with_nan"])
def test_the_largest_k_is_found(name: str, cluster: int, monkeypatch: pytest.MonkeyPatch) -> None:
    force(monkeypatch, Shape(256, 2, 4096, cluster))
    x = adversaries(1, 30_001)[name]
    for k in (1025, 2047, 2048):
        assert (winners(x, k).indices == oneread.softmax_topk(x, k).indices).all(), k


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("op", ["top_k", "softmax_topk"])
def test_every_family_is_close_to_the_truth(
    op: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, Shape(128, 2, 512))
    implementation = top_k if op == "top_k" else winners
    some = [name for name in FAMILIES if name != "empty"]  # for which nothing is launched
    assert_conforms(
        implementation, op, dtype=dtype, rows=3, families=some, without=("where", "lengths")
    )


@pytest.mark.parametrize("kind", ["prob", "logprob"])
@pytest.mark.parametrize("cluster", [1, 2])
def test_probabilities_over_the_winners_are_those_of_the_cpu(
    kind: str, cluster: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, Shape(64, 2, 512, cluster))
    x = np.random.default_rng(0).normal(0, 3, (3, 3000)).astype(np.float32)
    options = {"kind": kind, "renormalize": True, "temperature": 1.7}
    got, want = winners(x, 100, **options), oneread.softmax_topk(x, 100, **options)
    np.testing.assert_array_max_ulp(got.values, want.values, 8)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_every_shape_of_the_table_finds_the_winners(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for rows, vocab, k in ((2, 700, 65), (2, 40_000, 2048), (66, 900, 200)):
        x = rng.normal(0, 3, (rows, vocab)).astype(numpy_dtype(dtype))
        got, want = winners(x, k), oneread.softmax_topk(x, k)
        assert (got.indices == want.indices).all(), (rows, vocab)


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_may_begin_anywhere_and_nothing_beside_them_is_taken(
    offset: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    force(monkeypatch, Shape(64, 2, 512, 2))
    vocab = 1001
    memory = np.full(3 * (vocab + 3) + 16, np.inf, numpy_dtype(dtype))
    step = memory.itemsize
    x = np.lib.stride_tricks.as_strided(memory[offset:], (3, vocab), ((vocab + 3) * step, step))
    x[...] = np.random.default_rng(offset).normal(size=x.shape)
    got, want = winners(x, 133), oneread.softmax_topk(np.ascontiguousarray(x), 133)
    assert (got.indices == want.indices).all()
    assert np.isfinite(got.values.astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_columns_beyond_an_int_are_counted_in_64_bits(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda_topk, "_LONG", 0)
    force(monkeypatch, Shape(64, 2, 512, 2))
    for numbers in adversaries(1, 3001).values():
        x = numbers.astype(numpy_dtype(dtype))
        assert (winners(x, 200).indices == oneread.softmax_topk(x, 200).indices).all()
