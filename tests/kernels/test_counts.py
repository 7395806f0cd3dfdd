"""Loads and stores as the counted build of the kernels counts them: the table tells the truth.

The numbers of the paper are here as numbers: 3, 4 and 3 accesses an element for Algorithms 1 to 3,
and 5, 4, 2 and 1 for softmax followed by, or fused with, top-k.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import oneread
from oneread.runtime import cpu
from oneread.spec import FLOAT_DTYPES, OPS, KernelSpec

KERNELS = {kernel.name: kernel for spec in OPS.values() for kernel in spec.kernels}
ROWS, K = 3, 5
VOCABS = (1000, 4099, 100_000)
SHORT = 4096  # up to here our own kernels find the maximum of a row first
#: Such rows are reduced as many at a time, and the logarithms of their sums taken in vectors.
NEIGHBOURS = 16
#: From here on the exponentials of a short row are kept where its results go.
IN_Y = 256
SPAN = 32_768
#: Columns that the online sums of a span look at once more, when the reference moves under way.
AGAIN = 600
#: Columns of a block that has one maximum in each lane, in the vectors of the counted build.
BLOCK = 16 * 4
LINE = 64

PAPER = {
    "naive_softmax": 3, "safe_softmax": 4, "online_softmax": 3, "two_pass_softmax": 3,
    "safe_unfused_softmax_topk": 5, "online_unfused_softmax_topk": 4,
    "safe_fused_softmax_topk": 2, "online_fused_softmax_topk": 1,
}  # fmt: skip


class Counts(NamedTuple):
    """What the native module counts."""

    x_loads: int
    x_stores: int
    y_loads: int
    y_stores: int
    scratch_loads: int
    scratch_stores: int
    x_fetched_bytes: int

    @property
    def loads(self) -> int:
        return self.x_loads + self.y_loads + self.scratch_loads

    @property
    def stores(self) -> int:
        return self.x_stores + self.y_stores + self.scratch_stores


def counted(call: Callable[[], Any]) -> Counts:
    return Counts(*cpu.native.count(call)[1:])


def logits(vocab: int, dtype: str = "float32") -> Any:
    x = np.random.default_rng(vocab).normal(0, 4, (ROWS, vocab))
    if dtype == "bfloat16":
        import ml_dtypes

        return x.astype(ml_dtypes.bfloat16)
    return x.astype(dtype)


def call_of(kernel: KernelSpec, x: Any, **options: Any) -> Callable[[], Any]:
    if kernel.op in ("top_k", "softmax_topk"):
        options["k"] = K
    if kernel.op == "read":
        options["top_k"] = K
    return lambda: getattr(oneread, kernel.op)(x, kernel=kernel.algorithm, **options)


@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", PAPER)
def test_textbook_kernel_makes_the_accesses_of_the_paper(name: str, dtype: str, vocab: int) -> None:
    kernel, x = KERNELS[name], logits(vocab, dtype)
    seen = counted(call_of(kernel, x))
    assert seen.loads + seen.stores == PAPER[name] * x.size
    assert (seen.loads, seen.stores) == (kernel.loads * x.size, kernel.stores * x.size)
    assert seen.x_loads == kernel.reads * x.size
    assert oneread.last_kernel().isa == "counting"


def test_paper_has_every_textbook_kernel() -> None:
    assert set(PAPER) == {kernel.name for kernel in KERNELS.values() if kernel.textbook}


def again(kernel: KernelSpec, vocab: int) -> int:
    """Return how many columns the sums of our own kernels may load once more in all."""
    return ROWS * -(-vocab // SPAN) * AGAIN if kernel.algorithm == "lazy" else 0


@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize("name", KERNELS)
def test_counts_are_those_of_the_table(name: str, vocab: int) -> None:
    kernel = KERNELS[name]
    vocab = SHORT if kernel.algorithm == "sort" else vocab
    x = logits(vocab)
    seen = counted(call_of(kernel, x))
    # A row's second look: at k blocks or a quarter more, and at what reaches the bound. Then the
    # maxima of blocks, and counts of how many reach a bound: one for each bit of it, of a few
    # times k.
    selects = kernel.op in ("top_k", "softmax_topk", "read") and not kernel.textbook
    look = ROWS * (K + K // 4) * (BLOCK + 4) if selects else 0
    maxima = x.size // 2 + ROWS * 32 * 4 * K if selects else 0
    # Of a short row the maximum is found first, and the maxima of blocks last.
    first = kernel.algorithm == "lazy" and vocab <= SHORT
    loads, stores = (kernel.loads + first * (1 + selects)) * x.size, kernel.stores * x.size
    more = look + again(kernel, vocab)
    log_sums = NEIGHBOURS if first else 0
    assert loads <= seen.loads <= loads + more + maxima + log_sums
    assert stores <= seen.stores <= stores + maxima + log_sums
    sweeps = seen.x_loads // x.size
    assert sweeps >= kernel.reads
    assert sweeps * x.size <= seen.x_loads <= sweeps * x.size + more
    assert seen.x_stores == 0


@pytest.mark.parametrize("name", KERNELS)
def test_reads_are_what_a_small_cache_lacks(name: str) -> None:
    kernel = KERNELS[name]
    x = logits(4096 if kernel.algorithm == "sort" else 100_000)
    seen = counted(call_of(kernel, x))
    # Lines at both ends of a row hold others' columns; winners and their blocks are fetched again.
    least = kernel.reads * x.nbytes
    ends = 2 * ROWS * LINE * kernel.reads
    winners = (
        ROWS * LINE * K * (BLOCK * x.itemsize // LINE + 2)
        if kernel.op in ("top_k", "softmax_topk", "read")
        else 0
    )
    assert least <= seen.x_fetched_bytes <= least + ends + winners


@pytest.mark.parametrize("name", ["safe_softmax", "online_softmax", "lazy_log_softmax"])
def test_row_that_fits_in_the_cache_is_fetched_once(name: str) -> None:
    x = logits(2000)
    seen = counted(call_of(KERNELS[name], x))
    assert seen.x_loads >= 2 * x.size
    assert x.nbytes <= seen.x_fetched_bytes <= x.nbytes + 2 * ROWS * LINE


def test_short_rows_are_reduced_sixteen_at_a_time() -> None:
    x = np.random.default_rng(0).normal(0, 4, (2 * NEIGHBOURS, 1000)).astype(np.float32)
    some, many = (counted(partial(oneread.logsumexp, x[:rows])) for rows in (4, 2 * NEIGHBOURS))
    assert some.x_loads == 2 * 4 * 1000
    assert many.x_loads == 2 * x.size
    assert round(some.x_fetched_bytes / x[:4].nbytes, 1) == 1
    assert round(many.x_fetched_bytes / x.nbytes, 1) == 2  # 16 rows are more than 32 KiB


def test_read_looks_at_a_block_once_more_for_each_rank_of_several() -> None:
    x = logits(100_000)
    for ranks, looks in ((1, 1), (2, 3), (3, 4)):
        select = np.zeros((ROWS, ranks), np.int64)
        seen = counted(partial(oneread.read, x, top_k=K, select=select, rank=True))
        assert round(seen.x_loads / x.size, 2) == looks
        assert round(seen.x_fetched_bytes / x.nbytes, 2) == 1
    seen = counted(lambda: oneread.read(x, entropy=True, sum_p2=True))
    assert x.size <= seen.x_loads <= x.size + again(KERNELS["lazy_read"], 100_000)
    assert seen[1:6] == (0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("vocab", "in_y"), [(IN_Y - 1, False), (IN_Y, True), (SHORT, True), (SHORT + 1, True)]
)
def test_exponentials_of_a_short_row_are_kept_in_y_unless_it_is_very_short(
    vocab: int, in_y: bool
) -> None:
    x = logits(vocab)
    seen = counted(lambda: oneread.softmax(x))
    kept = (0, x.size, 2 * x.size, 0, 0) if in_y else (0, 0, x.size, x.size, x.size)
    assert seen[1:6] == kept


def test_exponentials_of_16_bit_rows_are_kept_in_scratch() -> None:
    x = logits(100_000, "float16")
    y = np.empty_like(x)
    seen = counted(lambda: oneread.softmax(x, out=y))
    assert x.size <= seen.x_loads <= x.size + again(KERNELS["lazy_softmax"], 100_000)
    assert seen[1:6] == (0, 0, x.size, x.size, x.size)


def test_exponentials_of_a_row_beyond_scratch_are_kept_in_y_or_computed_again() -> None:
    x = logits(1_000_000)
    seen = counted(lambda: oneread.softmax(x))
    assert round(seen.x_loads / x.size, 2) == 1
    assert seen[1:6] == (0, x.size, 2 * x.size, 0, 0)
    seen = counted(lambda: oneread.softmax(x.astype(np.float16)))
    assert round(seen.x_loads / x.size, 2) == 2
    assert seen[1:6] == (0, 0, x.size, 0, 0)


def test_masked_columns_and_strides_are_counted_where_they_lie() -> None:
    x = logits(9001)
    wide = np.zeros((ROWS, 2 * 9001), np.float32)
    wide[:, ::2] = x
    seen = counted(lambda: oneread.logsumexp(wide[:, ::2]))
    assert (seen.x_loads, seen.scratch_stores) == (x.size, x.size)
    assert x.size <= seen.scratch_loads <= x.size + again(KERNELS["lazy_logsumexp"], 9001)
    # Two columns share what was one.
    assert 2 * x.nbytes <= seen.x_fetched_bytes <= 2 * x.nbytes + 2 * ROWS * LINE
    seen = counted(lambda: oneread.logsumexp(x, lengths=5000))
    assert 5000 * ROWS <= seen.x_loads <= (5000 + AGAIN) * ROWS


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("op", "loads", "stores"), [("softmax", 2, 2), ("log_softmax", 2, 1)])
def test_short_rows_side_by_side_are_read_once_and_written_once(
    op: str, loads: int, stores: int, dtype: str, memory: Any
) -> None:
    x = np.random.default_rng(0).normal(0, 4, (2, 1000, 128)).astype(dtype)
    x, y = memory.moved(x, 0), memory.empty(x.shape, x.dtype, 0)
    seen = counted(lambda: getattr(oneread, op)(x, axis=1, out=y))
    more = NEIGHBOURS * 16 if stores == 1 else 0  # logarithms of sums
    assert seen[:4] == (x.size, 0, 0, x.size)
    assert loads * x.size <= seen.scratch_loads <= loads * x.size + more
    assert stores * x.size <= seen.scratch_stores <= stores * x.size + more
    assert seen.x_fetched_bytes == x.nbytes


def test_counted_op_gives_the_numbers_of_the_smallest_vectors(fresh: Callable[..., Any]) -> None:
    code = """
import json, platform, numpy as np, oneread
from oneread.runtime import cpu
x = np.random.default_rng(0).normal(0, 4, (5, 40_003)).astype("f4")
def all_of_it():
    return oneread.softmax(x), oneread.read(x, top_k=7, select=3, rank=True, entropy=True)
plain, seen = all_of_it(), cpu.native.count(all_of_it)[0]
equal = [np.array_equal(plain[0], seen[0])]
equal += [np.array_equal(a, b) for a, b in zip(plain[1], seen[1]) if a is not None]
oneread.softmax(x, threads=2)
print(json.dumps([all(equal), oneread.last_kernel().isa, oneread.last_kernel().threads]))
"""
    least = next(n for n in cpu.native.supported_isas()[::-1] if n != "scalar")
    assert fresh(code, ONEREAD_ISA=least) == [True, least, 2]


def test_counting_is_no_instruction_set(fresh: Callable[..., Any]) -> None:
    assert "counting" not in cpu.native.compiled_isas()
    with pytest.raises(ValueError, match="counting"):
        cpu.native.set_isa("counting")


def test_counts_do_not_nest_and_end_with_an_error() -> None:
    x = logits(1000)

    def inner() -> None:
        cpu.native.count(lambda: oneread.softmax(x))

    with pytest.raises(ValueError, match="already"):
        cpu.native.count(inner)
    oneread.softmax(x)
    assert oneread.last_kernel().isa == cpu.native.isa()
