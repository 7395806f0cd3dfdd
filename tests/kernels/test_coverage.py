"""Every kernel of the table, in every way that it can run, is reached by a call in this file.

The ways: rows read in place or staged; whole rows or spans of rows handed to the threads; results
stored through the caches or past them. What ran is asserted, and that it gave what the simplest way
gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.spec import FLOAT_DTYPES, OPS, KernelSpec

Array = NDArray[Any]

KERNELS = {kernel.name: kernel for spec in OPS.values() for kernel in spec.kernels}
VOCAB = 40_000  # two spans
MANY, FEW = 450, 1  # rows: enough to be stored past the caches, and to be shared by span
THREADS = 2

#: A call that reaches each kernel.
CALLS: dict[str, Callable[..., Any]] = {
    "online_softmax": oneread.softmax,
    "online_log_softmax": oneread.log_softmax,
    "online_logsumexp": oneread.logsumexp,
    "block_max_top_k": lambda x, **o: oneread.top_k(x, 5, **o),
    "radix_top_k": lambda x, **o: oneread.top_k(x, 5, kernel="radix", **o),
    "online_softmax_topk": lambda x, **o: oneread.softmax_topk(x, 5, return_lse=True, **o),
    "online_read": lambda x, **o: oneread.read(x, top_k=5, select=3, rank=True, entropy=True, **o),
}


class Way(NamedTuple):
    """One way that a kernel can run."""

    layout: str
    cut: str
    stores: str


def ways(kernel: KernelSpec) -> Iterator[Way]:
    """Yield the ways in which a kernel can run."""
    for layout, cut in product(("rows", "staged"), ("by row", "by span")):
        if not OPS[kernel.op].row_output:
            yield Way(layout, cut, "none")
            continue
        yield Way(layout, cut, "regular")
        if layout == "rows" and cut == "by row":
            yield Way(layout, cut, "streaming")


ALL = [(name, way) for name, kernel in KERNELS.items() for way in ways(kernel)]


def input_for(way: Way, dtype: str = "float32") -> Array:
    """Return logits that a kernel can only read in that way."""
    rows = FEW if way.cut == "by span" else MANY if way.stores == "streaming" else 2 * THREADS
    row = (np.arange(VOCAB) * 7919 % 1021 / 64).astype(np.float32)
    x = np.empty((rows, VOCAB), np.float32)
    x[...] = row
    x = typed(x, dtype)
    if way.layout == "rows":
        return x
    wide = np.empty((rows, 2 * VOCAB), x.dtype)[:, ::2]
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
        assert {way.layout for way in found} == {"rows", "staged"}
        assert {way.cut for way in found} == {"by row", "by span"}
    assert {way.stores for _, way in ALL} == {"none", "regular", "streaming"}


@pytest.mark.parametrize(("name", "way"), ALL, ids=[f"{n}-{'-'.join(w)}" for n, w in ALL])
def test_kernel_is_reached(name: str, way: Way) -> None:
    x = input_for(way)
    result = run(name, way, x)
    record = oneread.last_kernel()
    assert (record.name, record.layout, record.stores) == (name, way.layout, way.stores)
    assert (record.dtype, record.device, record.isa) == ("float32", "cpu", isa())
    assert (record.threads, record.spans) == (THREADS, 2)
    assert (len(x) < 2 * THREADS) == (way.cut == "by span")
    simplest = CALLS[name](np.ascontiguousarray(x[:1]), threads=1)
    for got, one in zip(fields(result), fields(simplest), strict=True):
        assert all(np.array_equal(row, one[0]) for row in got[:: max(1, len(got) // 8)])


@pytest.mark.parametrize("dtype", FLOAT_DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_kernel_is_reached_in_each_type(name: str, dtype: str) -> None:
    for layout, cut in product(("rows", "staged"), ("by row", "by span")):
        way = Way(layout, cut, "none")
        run(name, way, input_for(way, dtype))
        record = oneread.last_kernel()
        assert (record.name, record.dtype, record.layout) == (name, dtype, layout)
        assert record.stores == ("regular" if OPS[KERNELS[name].op].row_output else "none")


@pytest.mark.parametrize(("name", "way"), ALL, ids=[f"{n}-{'-'.join(w)}" for n, w in ALL])
def test_explain_tells_what_will_run(name: str, way: Way) -> None:
    kernel, x = KERNELS[name], input_for(way)
    out = {"out": np.empty(x.shape, x.dtype)} if way.stores == "streaming" else {}
    options: dict[str, Any] = {"kernel": kernel.algorithm, "threads": THREADS, **out}
    if kernel.op in ("top_k", "softmax_topk"):
        options["k"] = 5
    said = oneread.explain(x, kernel.op, **options)
    run(name, way, x)
    record = oneread.last_kernel()
    for field in ("isa", "dtype", "layout", "threads", "spans", "stores"):
        assert getattr(said, field) == getattr(record, field)
    assert said.kernel == record.name


def isa() -> str:
    from oneread.runtime import cpu

    return str(cpu.native.isa())


# What `last_kernel` does not tell apart: how the k best are found in a row.


def test_few_columns_are_sorted() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4096)).astype(np.float32)
    for k in (1, 3000, 4096):
        top = oneread.top_k(x, k)
        assert oneread.last_kernel().name == "block_max_top_k"
        assert np.array_equal(top.indices, np.argsort(-x, axis=1, kind="stable")[:, :k])


def test_many_of_the_columns_take_radix_selection() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5000)).astype(np.float32)
    top = oneread.top_k(x, 2500)
    assert oneread.last_kernel().name == "radix_top_k"
    assert np.array_equal(top.indices, np.argsort(-x, axis=1, kind="stable")[:, :2500])


def test_block_maxima_that_cannot_bound_are_refused_when_forced() -> None:
    x = np.zeros((3, 5000), np.float32)
    with pytest.raises(oneread.ShapeError, match=r"2500.*5000"):
        oneread.top_k(x, 2500, kernel="block_max")


@pytest.mark.parametrize("special", [np.nan, -np.inf])
def test_rows_that_block_maxima_cannot_bound_are_right(special: float) -> None:
    x = np.full((2, 40_000), special, np.float32)
    x[:, 39_000:39_003] = 1.0, 3.0, 2.0
    top = oneread.top_k(x, 5)
    first = [39_001, 39_002, 39_000, 0, 1] if special < 0 else [0, 1, 2, 3, 4]
    assert top.indices.tolist() == [first, first]
    assert oneread.last_kernel().name == "block_max_top_k"


def test_ties_beyond_the_room_for_candidates_are_in_order() -> None:
    x = np.zeros((1, 100_000), np.float32)
    x[0, 99_999] = 1.0
    top = oneread.top_k(x, 2000)
    assert oneread.last_kernel().name == "block_max_top_k"
    assert top.indices[0].tolist() == [99_999, *range(1999)]
