"""A fresh interpreter; every op with all that it gives; memory in any layout; what a row gives.

Knows nothing of how a kernel works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import oneread
from oneread.runtime import cpu

Array = NDArray[Any]

SECONDS = 120
LINE = 64


@pytest.fixture(scope="session")
def fresh() -> Callable[..., Any]:
    """Return a function that runs code in an interpreter of its own, outside of the checkout.

    It gives back what the code prints, as JSON. Keywords are environment variables.
    """

    def run(code: str, *prefix: str, warnings: str = "error", **variables: str) -> Any:
        kept = {n: v for n, v in os.environ.items() if not n.startswith("ONEREAD_")}
        said = subprocess.run(
            [*prefix, sys.executable, "-W", warnings, "-c", code], cwd="/", env=kept | variables,
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert said.returncode == 0, said.stderr
        return json.loads(said.stdout)

    return run


@pytest.fixture
def streaming() -> Iterator[None]:
    """Stores past the caches wherever they can be, whatever this processor likes."""
    cpu.native.set_stores("streaming")
    yield
    cpu.native.set_stores("any")


def ask_everything(op: str, x: Any, columns: int | None = None, **options: Any) -> Any:
    """Run an op by name and ask for all that it can give about the first columns of each row."""
    rows, vocab = x.shape
    last = (vocab if columns is None else columns) - 1
    k = min(7, last + 1)
    own: dict[str, Any] = {}
    if op == "top_k":
        own = {"k": k}
    elif op == "softmax_topk":
        own = {"k": k, "return_lse": True}
    elif op == "read":
        select = np.tile([0, (last + 1) // 2, last], (rows, 1))
        own = {"top_k": k, "select": select, "rank": True, "argmax": True}
        own |= {"entropy": True, "sum_p2": True}
    return getattr(oneread, op)(x, **own, **options)


@pytest.fixture(scope="session")
def everything() -> Callable[..., Any]:
    """Return `ask_everything`."""
    return ask_everything


class Memory:
    """Arrays at any address and with any strides."""

    @staticmethod
    def empty(shape: tuple[int, ...], dtype: Any, n_bytes: int) -> Array:
        """Return an array that starts `n_bytes` behind a cache line."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        memory = np.empty(size + LINE + n_bytes, np.uint8)
        return np.ndarray(shape, dtype, memory, -memory.ctypes.data % LINE + n_bytes)

    @classmethod
    def moved(cls, x: Array, n_bytes: int) -> Array:
        """Return a copy that starts `n_bytes` behind a cache line."""
        made = cls.empty(x.shape, x.dtype, n_bytes)
        made[...] = x
        return made

    @staticmethod
    def spread(x: Array, rows: int, columns: int) -> Array:
        """Return a copy that steps over so many rows and columns of memory, or backwards."""
        memory = np.empty((abs(rows) * x.shape[0], abs(columns) * x.shape[1]), x.dtype)
        view = memory[::rows, ::columns]
        view[...] = x
        return view

    @classmethod
    def strided(cls, x: Array) -> Iterator[tuple[str, Array, str]]:
        """Yield copies in other layouts: how, the array, the layout of the kernel."""
        columns = "staged" if x.shape[1] > 1 else "rows"
        yield "rows side by side, as in x.T", x.T.copy().T, columns
        yield "every other column", cls.spread(x, 1, 2), columns
        yield "columns backwards", cls.spread(x, 1, -1), columns
        yield "rows and columns backwards", cls.spread(x, -1, -3), columns
        yield "every third row", cls.spread(x, 3, 1), "rows"
        yield "rows backwards", cls.spread(x, -1, 1), "rows"


@pytest.fixture(scope="session")
def memory() -> type[Memory]:
    """Return `Memory`."""
    return Memory


class Alone:
    """Six rows, and what each of them gives when nothing else is around.

    Alone: contiguous, at a cache line, on one thread, into fresh memory.
    """

    rows = 6

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], Array] = {}

    @staticmethod
    @lru_cache(maxsize=4)
    def logits(dtype: str, vocab: int) -> Array:
        """Return rows that keep a kernel busy: new maxima, masks, ties, offsets, NaN and +inf."""
        rng = np.random.default_rng(vocab)
        x = rng.normal(0, 4, (Alone.rows, vocab))
        x[1] = np.sort(20 * x[1])
        x[2] = np.where(rng.random(vocab) < 0.3, -np.inf, np.round(x[2]) + 40_000)
        x[3] = np.sort(200 * x[3])[::-1]
        x[4, vocab // 3] = np.inf
        x[5, vocab // 2 :: 7] = np.nan
        x = x.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        x.flags.writeable = False
        return x

    @staticmethod
    def bits(result: Any) -> Array:
        """Return the bytes of all outputs as an array (rows, bytes)."""
        fields = result if isinstance(result, tuple) else (result,)
        arrays = [np.ascontiguousarray(field) for field in fields if field is not None]
        return np.hstack([a.view(np.uint8).reshape(len(a), -1) for a in arrays])

    def expected(self, op: str, dtype: str, vocab: int) -> Array:
        """Return the bytes of each row of `logits`, each computed alone."""
        key = op, dtype, vocab
        if key not in self._kept:
            x = self.logits(dtype, vocab)
            alone = [ask_everything(op, Memory.moved(row[None], 0), threads=1) for row in x]
            self._kept = {key: np.vstack([self.bits(result) for result in alone])}
        return self._kept[key]

    def check(self, result: Any, key: tuple[str, str, int], how: str, layout: str = "") -> None:
        """Fail unless each row of a result has its bits, and the layout was the one named."""
        record = oneread.last_kernel()
        if layout:
            assert record.layout == layout, how
        got, expected = self.bits(result), self.expected(*key)
        assert got.shape == expected.shape, how
        rows = np.flatnonzero((got != expected).any(axis=1))
        assert not rows.size, f"{how}: other bits in rows {rows.tolist()}; ran {record}"


@pytest.fixture(scope="session")
def alone() -> Alone:
    """Return what each of six rows gives alone."""
    return Alone()
