"""Top-k of long rows, of any k, by each kernel: dense ties, k beyond every inner limit, threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread import ShapeError
from oneread.spec import OPS
from oneread.testing import FAMILIES, assert_close_to_truth

INF = np.inf
KERNELS = {kernel.algorithm: kernel.name for kernel in OPS["top_k"].kernels}

each_kernel = pytest.mark.parametrize("kernel", KERNELS)


def longest(kernel: str, vocab: int) -> int:
    """Return the length of a row that a kernel takes: `vocab`, or the longest that is sorted."""
    return min(vocab, 4096) if kernel == "sort" else vocab


#: Rows that overflow a buffer of candidates, or that a bound of the k-th value cannot thin out.
DENSE: dict[str, Callable[[Any, int], Any]] = {
    "narrow_band": lambda rng, n: 1 + rng.random(n) * 1e-3,
    "all_equal": lambda rng, n: np.ones(n),
    "all_zero": lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, 0.0),
    "two_values": lambda rng, n: rng.integers(0, 2, n),
    "two_negative_values": lambda rng, n: -rng.integers(1, 3, n),
    "sorted_up": lambda rng, n: np.arange(n),
    "sorted_down": lambda rng, n: -np.arange(n),
    "largest_at_the_end": lambda rng, n: np.where(np.arange(n) > n - 2100, 5 + rng.random(n), 0),
    "mostly_minus_inf": lambda rng, n: np.where(rng.random(n) < 1e-3, rng.random(n), -np.inf),
    "mostly_nan": lambda rng, n: np.where(rng.random(n) < 1e-3, rng.random(n), np.nan),
    "mostly_plus_inf": lambda rng, n: np.where(rng.random(n) < 1e-3, rng.random(n), np.inf),
}
each_dense = pytest.mark.parametrize("dense", DENSE.values(), ids=list(DENSE))


def stable_columns(x: Any, k: int) -> Any:
    """Return the k first columns by the rule itself: NaN, then value, then column."""
    key = np.where(np.isnan(x), -np.inf, -x.astype(np.float64))
    not_nan = ~np.isnan(x)
    return np.lexsort((key, not_nan))[:k]


@each_kernel
@each_dense
def test_dense_values_are_ranked_exactly(dense: Any, kernel: str) -> None:
    vocab, k = longest(kernel, (1 << 20) + 77), 1999
    x = dense(np.random.default_rng(0), vocab).astype(np.float32)
    top = oneread.top_k(x, k, kernel=kernel)
    assert oneread.last_kernel().name == KERNELS[kernel]
    want = stable_columns(x, k)
    np.testing.assert_array_equal(top.indices, want)
    np.testing.assert_array_equal(top.values.view(np.uint32), x[want].view(np.uint32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("name", ["narrow_band", "two_values", "sorted_up", "mostly_nan"])
@each_kernel
def test_dense_values_of_other_types_are_ranked_exactly(kernel: str, name: str, dtype: str) -> None:
    like = FAMILIES["constant"](1, 1, dtype).dtype
    with np.errstate(over="ignore"):
        x = DENSE[name](np.random.default_rng(0), longest(kernel, 100_003)).astype(like)
    top = oneread.top_k(x, 999, kernel=kernel)
    want = stable_columns(x.astype(np.float64), 999)
    np.testing.assert_array_equal(top.indices, want)
    np.testing.assert_array_equal(top.values.view(f"u{x.itemsize}"), x[want].view(f"u{x.itemsize}"))


@each_kernel
@pytest.mark.parametrize("name", FAMILIES)
def test_kernels_agree_on_every_family(name: str, kernel: str) -> None:
    x = FAMILIES[name](3, longest(kernel, 9001))
    for k in (1, 5, 50, 500):
        options = {"k": min(k, x.shape[1]), "kernel": kernel}
        top = oneread.top_k(x, **options)
        assert_close_to_truth(top, x, "top_k", **options)


@each_kernel
def test_kernels_agree_under_masks(kernel: str) -> None:
    vocab = longest(kernel, 9001)
    x = FAMILIES["ties"](4, vocab)
    rng = np.random.default_rng(5)
    where, lengths = rng.random(x.shape) < 0.01, np.array([0, 7, vocab // 2, vocab])
    for options in ({"where": where}, {"lengths": lengths}, {"where": where, "lengths": lengths}):
        top = oneread.top_k(x, 200, kernel=kernel, **options)
        assert_close_to_truth(top, x, "top_k", k=200, **options)


LIMITS = (2048, 4096, 8192)


@pytest.mark.parametrize("k", [limit + step for limit in LIMITS for step in (-1, 0, 1)])
@pytest.mark.parametrize("name", ["normal", "ties", "sorted_up"])
def test_k_on_either_side_of_every_limit_is_exact(name: str, k: int) -> None:
    x = FAMILIES[name](2, 70_001)
    top = oneread.top_k(x, k)
    want = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(top.indices, want)
    for kernel, full_name in KERNELS.items():
        if kernel == "radix" or (kernel == "block_max" and k <= LIMITS[0]):
            forced = oneread.top_k(x, k, kernel=kernel)
            np.testing.assert_array_equal(forced.indices, want)
            assert oneread.last_kernel().name == full_name


@pytest.mark.parametrize("vocab", [1, 2, 31, 2049, 4095, 4096, 4097, 8193, 70_001])
def test_k_may_be_the_whole_row(vocab: int) -> None:
    x = FAMILIES["ties"](2, vocab)
    want = np.argsort(-x, axis=1, kind="stable")
    for kernel in (None, "radix"):
        np.testing.assert_array_equal(oneread.top_k(x, vocab, kernel=kernel).indices, want)
    top = oneread.softmax_topk(x, vocab)
    np.testing.assert_array_equal(top.indices, want)


@pytest.mark.parametrize("k", [1, 31, 32, 33, 255, 256, 257, 700, 999, 1000])
def test_k_between_a_vector_and_the_row_is_exact(k: int, plain_kind: Any) -> None:
    x = plain_kind(np.random.default_rng(0).permutation(1000)[None] / 8)
    top = oneread.softmax_topk(x, k)
    assert_close_to_truth(top, x, "softmax_topk", k=k)


def test_block_maxima_that_cannot_bound_k_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"k = 5000 of 9000 columns; use radix"):
        oneread.top_k(np.zeros((1, 9000), np.float32), 5000, kernel="block_max")


# Whatever the threads, the batch and the layout


@each_kernel
def test_order_does_not_depend_on_threads(kernel: str) -> None:
    x = FAMILIES["ties"](5, longest(kernel, 100_003))
    one = oneread.top_k(x, 100, threads=1, kernel=kernel)
    for threads in (2, 3, 7):
        many = oneread.top_k(x, 100, threads=threads, kernel=kernel)
        np.testing.assert_array_equal(many.indices, one.indices)
        alone = oneread.top_k(x[2], 100, threads=threads, kernel=kernel)
        np.testing.assert_array_equal(alone.indices, one.indices[2])


@each_kernel
def test_order_does_not_depend_on_strides(kernel: str) -> None:
    x = FAMILIES["ties"](5, longest(kernel, 9001))
    want = oneread.top_k(x, 70, kernel=kernel).indices
    wide = np.repeat(x, 3, axis=1)
    views = (np.asfortranarray(x), wide[:, ::3], x[:, ::-1].copy()[:, ::-1])
    for view in views:
        np.testing.assert_array_equal(oneread.top_k(view, 70, kernel=kernel).indices, want)
    columns_first = oneread.top_k(np.ascontiguousarray(x.T), 70, axis=0, kernel=kernel).indices
    np.testing.assert_array_equal(columns_first, want.T)


def test_merge_of_states_keeps_the_order_of_one_read() -> None:
    x = FAMILIES["ties"](3, 5000)
    state = oneread.State.identity(3, top_k=600)
    for part in np.array_split(x, [3, 3, 1000, 1001, 4000], axis=1):
        state.update(part)
    want = np.argsort(-x, axis=1, kind="stable")[:, :600]
    np.testing.assert_array_equal(state.indices, want)
