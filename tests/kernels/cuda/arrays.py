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

    current = 0

    def __init__(self, number: int = 0) -> None:
        self.id, self._before = number, 0

    def __enter__(self) -> None:
        self._before, Device.current = Device.current, self.id

    def __exit__(self, *_: object) -> None:
        Device.current = self._before


class Array(np.ndarray):
    """Memory by its address, as CuPy's arrays have it; nothing is computed on another GPU."""

    def __array_finalize__(self, source: Any) -> None:
        self.on = getattr(source, "on", Device.current)

    def __array_ufunc__(self, ufunc: Any, method: str, *given: Any, **options: Any) -> Any:
        out = options.pop("out", ())
        if out:
            options["out"] = tuple([_plain(one) for one in out])
        made = getattr(ufunc, method)(*[_plain(one) for one in given], **options)
        return out[0] if out else np.asarray(made).view(Array)

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> Any:
        for one in given:
            _plain(one)
        return super().__array_function__(function, types, given, options)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)

    @property
    def device(self) -> Any:
        return Device(self.on)

    def get(self) -> Any:
        return self.view(np.ndarray)

    @property
    def __array_interface__(self) -> Any:
        raise TypeError("memory of a GPU is not NumPy's")


def _plain(x: Any) -> Any:
    """Return what NumPy computes with."""
    if not isinstance(x, Array):
        return x
    if x.on != Device.current:
        raise ValueError(f"array on {x.on} while {Device.current} is current")
    return x.view(np.ndarray)


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
    cupy.arange = lambda n: np.arange(n).view(Array)
    cupy.isnan = np.isnan
    cupy.where = lambda *given: np.where(*given).view(Array)
    cupy.argsort = lambda x, axis=-1: np.argsort(x, axis, kind="stable").view(Array)
    cupy.take_along_axis = np.take_along_axis
    for name in ("moveaxis", "isinf", "log1p", "log", "exp", "isfinite", "square"):
        setattr(cupy, name, getattr(np, name))
    cupy.concatenate = lambda parts, axis: np.concatenate(parts, axis).view(Array)
    cupy.full = lambda shape, value, dtype: np.full(shape, value, dtype).view(Array)
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
