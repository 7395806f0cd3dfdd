"""Ranks of long rows, which the loop that sums counts, against a count in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.runtime import cpu

Array = NDArray[Any]

VOCABS = (4097, 5003, 40_000, 100_003)
each_isa = pytest.mark.parametrize("isa", cpu.native.supported_isas(), indirect=True)


def kinds(vocab: int) -> dict[str, Array]:
    rng = np.random.default_rng(vocab)
    x = rng.normal(0, 4, vocab)
    some = rng.random(vocab)
    return {
        "normal": x,
        "ties": np.round(x),
        "constant": np.full(vocab, 2.5),
        "rising": np.linspace(-300, 300, vocab),
        "falling": np.linspace(300, -300, vocab),
        "zeros of both signs": np.where(some < 0.5, -0.0, np.where(some < 0.9, 0.0, x)),
        "some -inf": np.where(some < 0.3, -np.inf, x),
        "some +inf": np.where(some < 0.001, np.inf, x),
        "some NaN": np.where(some < 0.001, np.nan, x),
    }


def columns(row: Array) -> Array:
    last = len(row) - 1
    edges = [0, 1, 15, 16, 63, 64, last // 2, 4095, 4096, last - 1, last]
    special = [
        int(np.flatnonzero(found)[0]) for found in (np.isinf(row), np.isnan(row)) if found.any()
    ]
    return np.unique([*edges, *(c for c in (32_767, 32_768, 65_536) if c < last), *special])


def place(row: Array, column: int) -> int:
    """Return how many columns come before: NaN, then larger ones, then equal ones to the left."""
    nan, v = np.isnan(row), row[column]
    if np.isnan(v):
        return int(nan[:column].sum())
    return int(nan.sum() + (row > v).sum() + (row[:column] == v).sum())


@each_isa
@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("vocab", VOCABS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_rank_of_a_long_row_is_a_count(dtype: str, vocab: int) -> None:
    for kind, row in kinds(vocab).items():
        x = row.astype(dtype)
        for column in columns(x):
            for options in ({}, {"top_k": 3, "entropy": True}, {"threads": 2, "top_k": 3}):
                got = oneread.read(x[None], select=np.array([column]), rank=True, **options)
                assert got.rank[0] == place(x, column), (kind, column, options)


@pytest.mark.parametrize("vocab", VOCABS)
def test_rank_within_a_length_leaves_the_rest_out(vocab: int) -> None:
    x = np.random.default_rng(vocab).normal(0, 4, (3, vocab)).astype("f4")
    lengths = np.array([vocab, vocab - 7, vocab // 2])
    column = np.array([vocab // 3] * 3)
    got = oneread.read(x, select=column, rank=True, lengths=lengths)
    for row, n, c, rank in zip(x, lengths, column, got.rank, strict=True):
        assert rank == place(row[:n], c)


def test_rank_of_one_column_agrees_with_that_of_several() -> None:
    x = np.random.default_rng(5).normal(0, 4, (4, 50_000)).round(1).astype("f4")
    several = np.random.default_rng(6).integers(0, 50_000, (4, 6))
    together = oneread.read(x, select=several, rank=True).rank
    for j in range(6):
        alone = oneread.read(x, select=several[:, j], rank=True).rank
        assert (alone == together[:, j]).all()
