"""A library of arrays that say they lie on a GPU, in NumPy's memory, in the place of CuPy.

Has what oneread.backends.cupy_ asks of CuPy and no more.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import oneread.backends

MODULE = "oneread.backends.cupy_"


class Device:
    """A GPU that can be made the current one."""

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


class Array(np.ndarray):
    """Memory by its address, as CuPy's arrays have it."""

    on = 0

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def device(self) -> Any:
        return Device(self.on)

    @property
    def __array_interface__(self) -> Any:
        raise TypeError("memory of a GPU is not NumPy's")


def array(values: Any) -> Array:
    """Return an array on the GPU with the strides of an array of NumPy."""
    return np.asarray(values).view(Array)


def back(values: Any) -> Any:
    """Return an array of NumPy."""
    assert type(values) is Array, type(values)
    return values.view(np.ndarray)


def library() -> ModuleType:
    cupy = ModuleType("cupy")
    cupy.ndarray = Array
    cupy.may_share_memory = np.may_share_memory
    cupy.broadcast_to = lambda x, shape: np.broadcast_to(x, shape, subok=True)
    cupy.empty = lambda shape, dtype: np.full(shape, 7, dtype).view(Array)
    cupy.empty_like = np.empty_like
    cupy.asarray = lambda x, dtype: np.asarray(x, dtype).view(Array)
    cupy.ascontiguousarray = lambda x: np.ascontiguousarray(x).view(Array)
    cupy.cuda = SimpleNamespace(
        get_current_stream=lambda device: SimpleNamespace(ptr=0),
        runtime=SimpleNamespace(is_hip=False),
    )
    return cupy


@pytest.fixture
def gpu_arrays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let this library be CuPy."""
    monkeypatch.setitem(sys.modules, "cupy", library())
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    monkeypatch.delattr(oneread.backends, "cupy_", raising=False)
    yield
    sys.modules.pop(MODULE, None)
    vars(oneread.backends).pop("cupy_", None)
