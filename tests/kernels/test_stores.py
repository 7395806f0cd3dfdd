"""The bits of a row do not depend on where they are written, or whether past the caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.runtime import cpu, reuse
from oneread.spec import FLOAT_DTYPES, OPS

Array = NDArray[Any]
Everything = Callable[..., Any]

VOCABS = (1, 5, 100, 1000, 32768, 32769, 100_003, 300_001)
#: How often the rows of `alone` are repeated: enough for several items a thread.
TIMES = 12

each_row_op = pytest.mark.parametrize("op", [n for n, spec in OPS.items() if spec.row_output])
each_small_op = pytest.mark.parametrize("op", [n for n, spec in OPS.items() if not spec.row_output])
each_dtype = pytest.mark.parametrize("dtype", FLOAT_DTYPES)
each_vocab = pytest.mark.parametrize("vocab", VOCABS)


@each_vocab
@each_dtype
@each_row_op
def test_bits_do_not_depend_on_out(
    op: str, dtype: str, vocab: int, alone: Any, memory: Any
) -> None:
    key, x = (op, dtype, vocab), alone.logits(dtype, vocab)
    run = getattr(oneread, op)
    outs = [
        ("at a line", memory.empty(x.shape, x.dtype, 0), "rows"),
        ("one element behind a line", memory.empty(x.shape, x.dtype, x.itemsize), "rows"),
        ("one byte behind a line", memory.empty(x.shape, x.dtype, 1), "staged"),
        *memory.strided(x),
    ]
    for how, out, layout in outs:
        for threads in (1, 2, 8):
            got = run(x, out=out, threads=threads)
            assert got is out
            alone.check(got, key, f"out {how}, {threads} threads", layout)


@each_vocab
@each_dtype
@each_row_op
def test_bits_are_the_same_in_place(
    op: str, dtype: str, vocab: int, alone: Any, memory: Any
) -> None:
    key, x = (op, dtype, vocab), alone.logits(dtype, vocab)
    for threads in (1, 2, 3, 8):
        copies = [
            ("one element behind a line", memory.moved(x, x.itemsize), "rows"),
            ("one byte behind a line", memory.moved(x, 1), "staged"),
            *memory.strided(x),
        ]
        for how, mine, layout in copies:
            got = getattr(oneread, op)(mine, out=mine, threads=threads)
            alone.check(got, key, f"in place, {how}, {threads} threads", layout)


@each_dtype
@each_row_op
def test_bits_of_a_long_row_in_place_do_not_depend_on_threads(
    op: str, dtype: str, alone: Any, memory: Any
) -> None:
    x = alone.logits(dtype, 100_003)
    for threads in (1, 2, 8):
        for step in (1, 2):
            got = []
            for row in x:
                mine = memory.spread(row[None], 1, step)
                got.append(getattr(oneread, op)(mine, out=mine, threads=threads).copy())
            alone.check(np.vstack(got), (op, dtype, 100_003), f"{threads} threads, step {step}")


@pytest.mark.parametrize("vocab", [100, 32769])
@each_dtype
@each_small_op
def test_bits_of_small_outputs_do_not_depend_on_out(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any
) -> None:
    def given(like: Array | None, step: int) -> Array | None:
        if like is None:
            return None
        return np.empty((abs(step) * len(like), *like.shape[1:]), like.dtype)[::step]

    x = alone.logits(dtype, vocab)
    first = everything(op, x)
    for step in (1, 2, -1):
        if isinstance(first, tuple):
            out: Any = type(first)(*(given(field, step) for field in first))
        else:
            out = given(first, step)
        assert everything(op, x, out=out) is out
        alone.check(out, (op, dtype, vocab), f"out with step {step}")


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize(
    ("dtype", "vocab", "stores"),
    [
        ("float32", 1000, "regular"),
        ("float32", 32769, "streaming"),
        ("float32", 100_003, "streaming"),
        ("float64", 50_001, "streaming"),
        ("float16", 100_003, "regular"),
        ("bfloat16", 1000, "regular"),
    ],
)
@each_row_op
def test_bits_do_not_depend_on_the_kind_of_store(
    op: str, dtype: str, vocab: int, stores: str, alone: Any, memory: Any
) -> None:
    x = alone.logits(dtype, vocab)
    many = np.tile(x, (TIMES, 1))
    run, expected = getattr(oneread, op), alone.expected(op, dtype, vocab)

    def check(result: Array, kind: str, how: str) -> None:
        record = oneread.last_kernel()
        assert (record.stores, record.layout) == (kind, "rows"), how
        assert (alone.bits(result).reshape(TIMES, alone.rows, -1) == expected).all(), how

    reuse.forget()
    check(run(many), "regular", "a fresh output")
    large = many.nbytes >= reuse.LARGE_BYTES
    check(run(many), stores if large else "regular", "the memory of the one before")
    y = memory.empty(many.shape, many.dtype, 0)
    check(run(many, out=y, threads=1), stores, "an output at a line")
    y = memory.empty(many.shape, many.dtype, many.itemsize)
    check(run(many, out=y, threads=2), stores, "an output one element further")
    cpu.native.set_stores("regular")
    check(run(many, out=y), "regular", "stores through the caches")
    cpu.native.set_stores("streaming")
    check(run(many, out=many), stores, "in place")


@pytest.mark.parametrize(("rows", "stores"), [(100, "regular"), (700, "streaming")])
def test_outputs_far_larger_than_caches_are_stored_past_them_but_for_new_memory(
    rows: int, stores: str
) -> None:
    x = np.zeros((rows, 25_000), "f4")
    oneread.softmax(x, out=np.empty_like(x))
    assert oneread.last_kernel().stores == stores
    reuse.forget()
    oneread.softmax(x)
    assert oneread.last_kernel().stores == "regular"
    oneread.softmax(x)
    assert oneread.last_kernel().stores == stores


@pytest.mark.parametrize(("name", "stores"), [("regular", "regular"), ("streaming", "streaming")])
def test_variable_forces_the_stores(name: str, stores: str, fresh: Callable[..., Any]) -> None:
    code = (
        "import json, numpy as np, oneread; x = np.zeros((10, 20_000), 'f4')\n"
        "oneread.log_softmax(x, out=np.zeros_like(x))\n"
        "print(json.dumps(oneread.last_kernel().stores))"
    )
    assert fresh(code, ONEREAD_STORES=name) == stores


def test_unknown_stores_are_refused(fresh: Callable[..., Any]) -> None:
    code = (
        "import json, oneread\n"
        "try: oneread.get_threads()\n"
        "except oneread.BackendUnavailableError as error: print(json.dumps(str(error)))"
    )
    assert "ONEREAD_STORES is 'quick'" in fresh(code, ONEREAD_STORES="quick")


#: Short rows, rows that a thread keeps as a whole, and longer ones.
STREAMED = [
    ("float32", 3100), ("float32", 4000), ("float32", 4096), ("float64", 1600),
    ("float32", 4097), ("float32", 66_003), ("float32", 300_001), ("float64", 150_001),
]  # fmt: skip


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize(("dtype", "vocab"), STREAMED)
def test_bits_of_uneven_rows_do_not_depend_on_the_kind_of_store(
    dtype: str, vocab: int, alone: Any, memory: Any
) -> None:
    rng = np.random.default_rng(vocab)
    x = rng.permutation(np.tile(alone.logits(dtype, vocab), (6, 1)))
    lengths = np.where(rng.random(len(x)) < 0.3, vocab, rng.integers(0, vocab + 1, len(x)))
    lengths[:3] = vocab, 0, vocab - 1
    temperatures = rng.choice([1.0, 0.7, 3.0, 1e-30], len(x))
    for options in ({"lengths": lengths}, {"temperature": temperatures}):
        for threads in (1, 2):
            results = []
            for stores, n_bytes in (("regular", x.itemsize), ("streaming", 5 * x.itemsize)):
                cpu.native.set_stores(stores)
                y = memory.empty(x.shape, x.dtype, n_bytes)
                oneread.softmax(x, out=y, threads=threads, **options)
                assert oneread.last_kernel().stores == stores
                results.append(alone.bits(y))
            assert (results[0] == results[1]).all(), (options.keys(), threads)


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize(("dtype", "vocab"), STREAMED)
def test_bits_of_even_rows_do_not_depend_on_the_kind_of_store(
    dtype: str, vocab: int, alone: Any, memory: Any
) -> None:
    x = np.tile(alone.logits(dtype, vocab), (TIMES, 1))
    expected = alone.expected("softmax", dtype, vocab)
    for n_bytes in (0, x.itemsize):
        for threads in (1, 2):
            y = memory.empty(x.shape, x.dtype, n_bytes)
            oneread.softmax(x, out=y, threads=threads)
            assert oneread.last_kernel().stores == "streaming"
            assert (alone.bits(y).reshape(TIMES, alone.rows, -1) == expected).all()
    oneread.softmax(x, out=x)
    assert oneread.last_kernel().stores == "streaming"
    assert (alone.bits(x).reshape(TIMES, alone.rows, -1) == expected).all()


@pytest.mark.usefixtures("streaming")
def test_short_rows_of_logarithms_are_stored_through_the_caches() -> None:
    x = np.zeros((100, 4096), "f4")
    oneread.log_softmax(x, out=np.empty_like(x))
    assert oneread.last_kernel().stores == "regular"
