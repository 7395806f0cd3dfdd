"""Arrays of each library, element type and layout that an op takes; tests of speed."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneread.spec import FLOAT_DTYPES
from oneread.testing.arrays import as_numpy, numpy_dtype

pytest_plugins = ["oneread.pytest_plugin"]

LAYOUTS = ("contiguous", "strided")
BUILD = Path(__file__).parents[1] / "build"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Let what is marked ``alone`` run while the tests of other processes wait."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return (yield)
    alone = item.get_closest_marker("alone") is not None
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "tests.room").open("w") as room:
        # Who waits for all others to leave holds the gate, so that no others enter.
        with (BUILD / "tests.gate").open("w") as gate:
            fcntl.flock(gate, fcntl.LOCK_EX)
            fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        return (yield)


@pytest.fixture(scope="session")
def slowness() -> Callable[[], float]:
    """Return what tells how many times as long as 0.1 s a million squares take now, at least 1.

    Limits of time are for a core that takes no longer.
    """

    def measure() -> float:
        start = time.process_time()
        sum([i * i for i in range(1_000_000)])
        return max(1.0, (time.process_time() - start) / 0.1)

    return measure


@dataclass(frozen=True)
class Kind:
    """What an array is: of which library, of which type and how it lies in memory."""

    library: str
    dtype: str
    layout: str = "contiguous"

    def __call__(self, values: Any) -> Any:
        """Return an array of this kind; strided columns have NaN between them."""
        array = np.asarray(values)
        if array.dtype.name != self.dtype:
            with np.errstate(over="ignore"):
                array = array.astype(numpy_dtype(self.dtype))
        strided = self.layout == "strided" and array.ndim > 0
        if strided:
            *rows, vocab = array.shape
            buffer = np.full((*rows, 2 * vocab + 1), np.nan, array.dtype)
            buffer[..., 1::2] = array
            array = buffer
        made = self._of_library(np.ascontiguousarray(array).reshape(array.shape))
        return made[..., 1::2] if strided else made

    def _of_library(self, array: Any) -> Any:
        if self.library == "numpy":
            return array
        import torch

        if self.dtype == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(array)

    @staticmethod
    def numbers(result: Any) -> Any:
        """Return a result of any library as NumPy numbers: floats as float64."""
        array, dtype = as_numpy(result)
        return array.astype(np.float64) if dtype in FLOAT_DTYPES else array

    def __str__(self) -> str:
        return f"{self.library}-{self.dtype}-{self.layout}"


def _kinds(*layouts: str) -> list[Kind]:
    libraries = ("numpy", "torch")
    return [Kind(lib, d, lay) for lib in libraries for d in FLOAT_DTYPES for lay in layouts]


def _available(kind: Kind) -> Kind:
    if kind.library == "torch":
        pytest.importorskip("torch", reason="the arrays are PyTorch's")
    return kind


@pytest.fixture(params=_kinds(*LAYOUTS), ids=str)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each library, float type and layout."""
    return _available(request.param)


@pytest.fixture(params=_kinds("contiguous"), ids=str)
def plain_kind(request: pytest.FixtureRequest) -> Kind:
    """Each library and float type, contiguous."""
    return _available(request.param)
