"""Every kernel of the table, in every way that it can run, is reached by a call in this file.

The ways: rows read in place or staged; whole rows or spans of rows handed to the threads; results
stored through the caches or past them. What ran is asserted, and that it gave what the simplest way
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.runtime import cpu
from oneread.spec import FLOAT_DTYPES, OPS, KernelSpec

Array = NDArray[Any]

pytestmark = pytest.mark.usefixtures("streaming")

KERNELS = {kernel.name: kernel for spec in OPS.values() for kernel in spec.kernels}
VOCAB = 40_000  # two spans
SHORT = 4096  # the longest row that is sorted
MANY, FEW = 450, 1  # rows: enough to be stored past the caches, and to be shared by span
THREADS = 2

#: A call that reaches each kernel of our own; those of the textbooks are reached by their names.
CALLS: dict[str, Callable[..., Any]] = {
    "lazy_softmax": oneread.softmax,
    "lazy_log_softmax": oneread.log_softmax,
    "lazy_logsumexp": oneread.logsumexp,
    "block_max_top_k": lambda x, **o: oneread.top_k(x, 5, **o),
    "radix_top_k": lambda x, **o: oneread.top_k(x, 5, kernel="radix", **o),
    "sort_top_k": lambda x, **o: oneread.top_k(x, 3000, **o),
    "lazy_softmax_topk": lambda x, **o: oneread.softmax_topk(x, 5, return_lse=True, **o),
    "lazy_read": lambda x, **o: oneread.read(x, top_k=5, select=3, rank=True, entropy=True, **o),
} | {
    kernel.name: partial(getattr(oneread, kernel.op), kernel=kernel.algorithm, **own)
    for kernel in KERNELS.values()
    if kernel.textbook
    for own in [{"k": 5} if kernel.op == "softmax_topk" else {}]
}


class Way(NamedTuple):
    """One way that a kernel can run."""

    layout: str
    cut: str
    stores: str


def vocab_of(kernel: KernelSpec) -> int:
    return SHORT if kernel.algorithm == "sort" else VOCAB


def layouts(kernel: KernelSpec) -> tuple[str, ...]:
    """Return how rows can lie: those of the textbooks side by side alone."""
    return ("rows",) if kernel.textbook else ("rows", "staged")


def cuts(kernel: KernelSpec) -> tuple[str, ...]:
    """Return how the work can be handed out: only rows of several spans are shared."""
    whole = kernel.textbook or vocab_of(kernel) == SHORT
    return ("by row",) if whole else ("by row", "by span")


def ways(kernel: KernelSpec) -> Iterator[Way]:
    """Yield the ways in which a kernel can run."""
    for layout, cut in product(layouts(kernel), cuts(kernel)):
        if not OPS[kernel.op].row_output:
            yield Way(layout, cut, "none")
            continue
        yield Way(layout, cut, "regular")
        if layout == "rows" and cut == "by row":
            yield Way(layout, cut, "streaming")


ALL = [(name, way) for name, kernel in KERNELS.items() for way in ways(kernel)]


def input_for(kernel: KernelSpec, way: Way, dtype: str = "float32") -> Array:
    """Return logits that a kernel can only read in that way."""
    vocab = vocab_of(kernel)
    enough = 2 * THREADS * VOCAB // vocab
    rows = FEW if way.cut == "by span" else MANY if way.stores == "streaming" else enough
    row = (np.arange(vocab) * 7919 % 1021 / 64).astype(np.float32)
    x = np.empty((rows, vocab), np.float32)
    x[...] = row
    x = typed(x, dtype)
    if way.layout == "rows":
        return x
    wide = np.empty((rows, 2 * vocab), x.dtype)[:, ::2]
    wide[...] = x
    return wide


def typed(x: Array, dtype: str) -> Array:
    if dtype != "bfloat16":
        return x.astype(dtype, copy=False)
    import ml_dtypes

    return x.astype(ml_dtypes.bfloat16)


def run(name: str, way: Way, x: Array) -> Any:
    out = {"out": np.empty(x.shape, x.dtype)} if way.stores == "streaming" else {}
    return CALLS[name](x, threads=THREADS, **out)


def fields(result: Any) -> list[Array]:
    return [f for f in (result if isinstance(result, tuple) else (result,)) if f is not None]


def test_every_kernel_has_a_call() -> None:
    assert set(CALLS) == set(KERNELS)


def test_ways_are_those_that_the_records_tell_apart() -> None:
    assert len(ALL) == len(set(ALL))
    for kernel in KERNELS.values():
        found = set(ways(kernel))
        assert {way.layout for way in found} == set(layouts(kernel))
        assert {way.cut for way in found} == set(cuts(kernel))
    assert {way.stores for _, way in ALL} == {"none", "regular", "streaming"}


@pytest.mark.parametrize(("name", "way"), ALL, ids=[f"{n}-{'-'.join(w)}" for n, w in ALL])
def test_kernel_is_reached(name: str, way: Way) -> None:
    kernel = KERNELS[name]
    x = input_for(kernel, way)
    result = run(name, way, x)
    record = oneread.last_kernel()
    assert (record.name, record.layout, record.stores) == (name, way.layout, way.stores)
    assert (record.dtype, record.device, record.isa) == ("float32", "cpu", isa())
    assert (record.threads, record.spans) == (THREADS, len(cuts(kernel)))
    assert (len(x) < 2 * THREADS) == (way.cut == "by span")
    simplest = CALLS[name](np.ascontiguousarray(x[:1]), threads=1)
    for got, one in zip(fields(result), fields(simplest), strict=True):
        assert all(np.array_equal(row, one[0]) for row in got[:: max(1, len(got) // 8)])


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_reached_in_each_type(name: str, dtype: str) -> None:
    kernel = KERNELS[name]
    for layout, cut in product(layouts(kernel), cuts(kernel)):
        way = Way(layout, cut, "none")
        run(name, way, input_for(kernel, way, dtype))
        record = oneread.last_kernel()
        assert (record.name, record.dtype, record.layout) == (name, dtype, layout)
        assert record.stores == ("regular" if OPS[KERNELS[name].op].row_output else "none")


@pytest.mark.parametrize(("name", "way"), ALL, ids=[f"{n}-{'-'.join(w)}" for n, w in ALL])
def test_explain_tells_what_will_run(name: str, way: Way) -> None:
    kernel, x = KERNELS[name], input_for(KERNELS[name], way)
    out = {"out": np.empty(x.shape, x.dtype)} if way.stores == "streaming" else {}
    options: dict[str, Any] = {"kernel": kernel.algorithm, "threads": THREADS, **out}
    if kernel.op in ("top_k", "softmax_topk"):
        options["k"] = 3000 if kernel.algorithm == "sort" else 5
    if kernel.op == "read":
        options["top_k"] = 5
    said = oneread.explain(x, kernel.op, **options)
    run(name, way, x)
    record = oneread.last_kernel()
    for field in ("isa", "dtype", "layout", "threads", "spans", "stores", "selection"):
        assert getattr(said, field) == getattr(record, field)
    assert said.kernel == record.name


def isa() -> str:

    return str(cpu.native.isa())


# How the k best of a row are found.


def normal(*shape: int) -> Array:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def selection() -> tuple[str, int]:
    record = oneread.last_kernel()
    return record.selection, record.radix_rows


@pytest.mark.parametrize(
    ("vocab", "k", "found_by"),
    [(300, 7, "block_max"), (4096, 1, "block_max"), (4096, 3000, "sort"), (4096, 4096, "sort"),
     (5000, 2500, "radix"), (40_000, 2048, "block_max"), (40_000, 2049, "radix")],
)  # fmt: skip
def test_selection_that_ran_is_named(vocab: int, k: int, found_by: str) -> None:
    x = normal(3, vocab)
    want = np.argsort(-x, axis=1, kind="stable")[:, :k]
    calls = {
        "top_k": lambda **o: oneread.top_k(x, k, **o),
        "softmax_topk": lambda **o: oneread.softmax_topk(x, k, **o),
        "read": lambda **o: oneread.read(x, top_k=k, **o),
    }
    for op, call in calls.items():
        assert np.array_equal(call().indices, want)
        assert selection() == (found_by, 0)
        assert oneread.last_kernel().name == (
            f"{found_by}_top_k" if op == "top_k" else f"lazy_{op}"
        )
        named = {"top_k": k} if op == "read" else {"k": k}
        said = oneread.explain(x, op, **named)
        assert said.selection == found_by
        assert any(why.startswith(f"selection: {found_by}, ") for why in said.why)


def test_ops_without_top_k_select_nothing() -> None:
    oneread.logsumexp(normal(3, 300))
    assert selection() == ("none", 0)


@pytest.mark.parametrize(
    ("kernel", "vocab", "k", "message"),
    [("block_max", 5000, 2500, r"2500.*5000 columns; use radix"),
     ("block_max", 4096, 3000, r"3000.*4096 columns; use sort"),
     ("sort", 4097, 3, r"up to 4096 columns are sorted, not k = 3 of 4097")],
)  # fmt: skip
def test_selection_that_cannot_run_is_refused_when_forced(
    kernel: str, vocab: int, k: int, message: str
) -> None:
    with pytest.raises(oneread.ShapeError, match=message):
        oneread.top_k(np.zeros((3, vocab), np.float32), k, kernel=kernel)


@pytest.mark.parametrize("kernel", [None, "block_max"])
@pytest.mark.parametrize("threads", [1, 2])
def test_rows_with_nan_are_left_to_radix_and_counted(kernel: str | None, threads: int) -> None:
    x = normal(9, 40_000)
    x[2, 39_000] = x[5, 3] = x[5, 7] = np.nan
    top = oneread.top_k(x, 5, kernel=kernel, threads=threads)
    assert top.indices[2, 0] == 39_000
    assert top.indices[5, :2].tolist() == [3, 7]
    assert oneread.last_kernel().name == "block_max_top_k"
    assert selection() == ("block_max", 2)
    oneread.softmax_topk(x[2:3], 5, threads=threads)  # shared by span
    assert selection() == ("block_max", 1)


def test_rows_of_minus_infinity_need_no_radix_selection() -> None:
    x = np.full((2, 40_000), -np.inf, np.float32)
    x[:, 39_000:39_003] = 1.0, 3.0, 2.0
    top = oneread.top_k(x, 5)
    assert top.indices.tolist() == [[39_001, 39_002, 39_000, 0, 1]] * 2
    assert selection() == ("block_max", 0)


def test_ties_beyond_the_room_for_candidates_are_in_order() -> None:
    x = np.zeros((1, 100_000), np.float32)
    x[0, 99_999] = 1.0
    top = oneread.top_k(x, 2000)
    assert selection() == ("block_max", 0)
    assert top.indices[0].tolist() == [99_999, *range(1999)]
