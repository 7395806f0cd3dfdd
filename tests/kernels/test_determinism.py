"""The bits of a row depend on that row alone: not on its company, its memory or the threads.

Each row is computed alone first. Then the same numbers come among other rows, at other addresses,
with other strides and on more threads, and every byte of every output must be equal.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneread
from oneread.spec import FLOAT_DTYPES, OPS

Everything = Callable[..., Any]

#: One column; less than a vector; less and more than a group of sums; one span, one column more,
#: and rows of several spans.
VOCABS = (1, 5, 100, 1000, 32768, 32769, 100_003, 300_001)
THREADS = (1, 2, 3, 8)

each_op = pytest.mark.parametrize("op", OPS)
each_dtype = pytest.mark.parametrize("dtype", FLOAT_DTYPES)
each_vocab = pytest.mark.parametrize("vocab", VOCABS)


@each_vocab
@each_dtype
@each_op
def test_bits_do_not_depend_on_other_rows_threads_or_turn(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any
) -> None:
    key, x = (op, dtype, vocab), alone.logits(dtype, vocab)
    for threads in THREADS:
        for turn in range(2):
            got = everything(op, x, threads=threads)
            alone.check(got, key, f"{threads} threads, turn {turn}", "rows")
    backwards = alone.bits(everything(op, np.ascontiguousarray(x[::-1])))
    alone.check(backwards[::-1], key, "rows in another order")
    some = alone.bits(everything(op, x[1:3]))
    assert (some == alone.expected(*key)[1:3]).all()


@pytest.mark.parametrize("vocab", [vocab for vocab in VOCABS if vocab > 32768])
@each_dtype
@each_op
def test_bits_of_a_long_row_do_not_depend_on_who_shares_it(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any, memory: Any
) -> None:
    for layout, step in (("rows", 1), ("staged", 2)):
        for threads in THREADS[1:]:
            got = []
            for row in alone.logits(dtype, vocab):
                one = memory.spread(row[None], 1, step)
                got.append(alone.bits(everything(op, one, threads=threads)))
                assert oneread.last_kernel().spans > 1
                assert oneread.last_kernel().threads == threads
            how = f"a row on {threads} threads"
            alone.check(np.vstack(got), (op, dtype, vocab), how, layout)


@each_vocab
@each_dtype
@each_op
def test_bits_do_not_depend_on_alignment(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any, memory: Any
) -> None:
    key, x = (op, dtype, vocab), alone.logits(dtype, vocab)
    for offset in range(1, 16):
        got = everything(op, memory.moved(x, offset * x.itemsize))
        alone.check(got, key, f"{offset} elements behind a line", "rows")
    for offset in (1, x.itemsize - 1, x.itemsize + 1):
        got = everything(op, memory.moved(x, offset))
        alone.check(got, key, f"{offset} bytes behind a line", "staged")


@each_vocab
@each_dtype
@each_op
def test_bits_do_not_depend_on_strides(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any, memory: Any
) -> None:
    for how, x, layout in memory.strided(alone.logits(dtype, vocab)):
        for threads in (1, 3):
            got = everything(op, x, threads=threads)
            alone.check(got, (op, dtype, vocab), f"{how}, {threads} threads", layout)


@each_vocab
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@each_op
def test_bits_do_not_depend_on_the_byte_order(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any
) -> None:
    x = alone.logits(dtype, vocab)
    foreign = x.astype(x.dtype.newbyteorder())
    alone.check(everything(op, foreign), (op, dtype, vocab), "foreign byte order", "staged")


@each_vocab
@each_dtype
@each_op
def test_bits_of_a_row_that_is_repeated_are_those_of_the_row(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any
) -> None:
    row = alone.logits(dtype, vocab)[1]
    got = everything(op, np.broadcast_to(row, (alone.rows, vocab)), threads=2)
    assert (alone.bits(got) == alone.expected(op, dtype, vocab)[1]).all()


@pytest.mark.parametrize("vocab", [2, 15, 16, 17, 63, 64, 65, 100, 1000, 4000, 4096, 4097])
@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
@each_dtype
def test_bits_of_neighbouring_rows_are_those_of_rows_that_lie_whole(
    op: str, dtype: str, vocab: int, alone: Any, memory: Any
) -> None:
    def bits(y: Any) -> Any:
        return np.ascontiguousarray(y).view(np.uint8)

    call = getattr(oneread, op)
    x = np.tile(alone.logits(dtype, vocab), (29, 1)).reshape(3, 58, vocab)
    x[2] = x[2, ::-1] / x.dtype.type(2)
    expected = bits(call(x, threads=1))
    for threads, offset, rows in ((1, 0, 58), (2, 16, 58), (1, 0, 37), (2, 8, 9), (1, 4, 5)):
        across = memory.moved(np.moveaxis(x[:, :rows], -1, 1), offset * x.itemsize // 4)
        y = memory.moved(across, offset * x.itemsize // 4)
        for got in (
            call(across, axis=1, out=y, threads=threads),
            call(y := across.copy(), axis=1, out=y, threads=threads),
        ):  # in place
            found = bits(np.moveaxis(got, 1, -1))
            assert (found == expected[:, :rows]).all()


@pytest.mark.parametrize("threads", [1, 2, 8])
@each_dtype
@each_op
def test_bits_of_equal_columns_are_the_same_without_strides(
    op: str, dtype: str, threads: int, everything: Everything, alone: Any
) -> None:
    x = np.broadcast_to(alone.logits(dtype, 1000)[:4, :1], (4, 70_003))
    expected = alone.bits(everything(op, np.ascontiguousarray(x), threads=1))
    assert (alone.bits(everything(op, x, threads=threads)) == expected).all()
    assert oneread.last_kernel().layout == "staged"


@pytest.mark.parametrize("op", [name for name, spec in OPS.items() if spec.tuple_axes])
@each_dtype
def test_bits_of_a_row_over_two_axes_are_those_of_the_row(op: str, dtype: str, alone: Any) -> None:
    x = alone.logits(dtype, 1000).reshape(alone.rows, 10, 100)
    pieces = np.empty((alone.rows, 10, 128), x.dtype)[:, :, :100]
    pieces[...] = x
    got = getattr(oneread, op)(pieces, axis=(1, 2))
    alone.check(got, (op, dtype, 1000), "a row of ten pieces", "staged")


@pytest.mark.parametrize(
    ("vocab", "length"), [(1000, 1), (1000, 999), (32769, 32768), (100_003, 70_001)]
)
@each_dtype
@each_op
def test_bits_with_lengths_are_those_of_the_cut_row(
    op: str, dtype: str, vocab: int, length: int, everything: Everything, alone: Any
) -> None:
    x = alone.logits(dtype, vocab)
    cut = everything(op, np.ascontiguousarray(x[:, :length]), threads=1)
    lengths = np.full(alone.rows, length)
    for where, layout in ((None, "rows"), (True, "staged")):
        for threads in (1, 2, 8):
            got = everything(op, x, length, lengths=lengths, where=where, threads=threads)
            assert oneread.last_kernel().layout == layout
            if OPS[op].row_output:
                got = got[:, :length]
            assert (alone.bits(got) == alone.bits(cut)).all(), (layout, threads)


@pytest.mark.parametrize("vocab", [100, 32769, 100_003])
@each_dtype
@each_op
def test_bits_with_where_are_those_of_minus_inf(
    op: str, dtype: str, vocab: int, everything: Everything, alone: Any
) -> None:
    def without_rank(result: Any) -> Any:
        # Columns that are left out come after those of -inf.
        return result._replace(rank=None) if op == "read" else result

    x = alone.logits(dtype, vocab)
    where = np.random.default_rng(1).random(x.shape) < 0.8
    masked = np.where(where, x, np.array(-np.inf, x.dtype))
    expected = alone.bits(without_rank(everything(op, masked, threads=1)))
    for threads in (1, 2, 8):
        got = without_rank(everything(op, x, where=where, threads=threads))
        assert (alone.bits(got) == expected).all(), threads


@pytest.mark.parametrize("other", [1.0, 0.3, 1e-37, 1e-300, 1e300])
@each_dtype
@each_op
def test_bits_do_not_depend_on_the_temperature_of_other_rows(
    op: str, dtype: str, other: float, everything: Everything, alone: Any
) -> None:
    x = alone.logits(dtype, 1000)
    temperature = np.full(alone.rows, 0.7)
    expected = alone.bits(everything(op, x, temperature=temperature))
    temperature[1::2] = other
    got = alone.bits(everything(op, x, temperature=temperature))
    assert (got[::2] == expected[::2]).all()


@each_dtype
@each_op
def test_bits_do_not_depend_on_whether_a_temperature_is_one_a_row(
    op: str, dtype: str, everything: Everything, alone: Any
) -> None:
    for vocab in (1000, 32769):
        x = alone.logits(dtype, vocab)
        for temperature in (1.0, 0.7):
            one = alone.bits(everything(op, x, temperature=temperature))
            many = everything(op, x, temperature=np.full(alone.rows, temperature))
            assert (alone.bits(many) == one).all()
        alone.check(everything(op, x, temperature=1.0), (op, dtype, vocab), "temperature 1")
