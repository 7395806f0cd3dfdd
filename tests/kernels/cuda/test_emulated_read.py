"""The kernel of `read`, run on a CPU with all its threads, gives what the op promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emulated import COMPILER, Launch, on_cpu  # noqa: F401
from oneread.runtime import cuda, cuda_read
from oneread.spec import Read
from oneread.testing import assert_close_to_truth, assert_conforms

pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler"),
    pytest.mark.usefixtures("on_cpu"),
]


def read(
    x: Any, axis: int = -1, *, select: Any = None, rank: bool = False, entropy: bool = False,
    sum_p2: bool = False, argmax: bool = False, temperature: Any = None,
    dtype: str | None = None,
) -> Read:  # fmt: skip
    """Do what oneread.ops._device_read does with tensors on a GPU, with NumPy's arrays."""
    name = dtype or x.dtype.name
    rows = tuple(n for i, n in enumerate(x.shape) if i != axis % x.ndim)
    statistic = np.float64 if name == "float64" else np.float32
    made = {field: np.full(rows, 7, statistic) for field in ("lse", "max")}
    if argmax:
        made["argmax"] = np.full(rows, 7)
    chosen = None
    if select is not None:
        chosen = np.ascontiguousarray(select, np.int64)
        made["selected"] = np.full(chosen.shape, 7, statistic)
        if rank:
            made["rank"] = np.full(chosen.shape, 7)
    made |= {
        field: np.full(rows, 7, statistic)
        for field, asked in (("entropy", entropy), ("sum_p2", sum_p2))
        if asked
    }
    selects = 0 if chosen is None else chosen.size // max(np.prod(rows, dtype=int), 1)
    at = {field: array.ctypes.data for field, array in made.items()}
    if chosen is not None:
        at["select"] = chosen.ctypes.data
    given, held = None, None
    if temperature is not None:
        held = np.ascontiguousarray(np.broadcast_to(temperature, rows), np.float64)
        given = cuda.Temperature(address=held.ctypes.data) if np.ndim(temperature) else (
            cuda.Temperature(float(temperature)))
    steps = tuple(step // x.itemsize for step in x.strides)
    cuda_read.read(
        cuda.Memory(x.ctypes.data, name, x.shape, steps, 0, 0), axis % x.ndim,
        cuda_read.Asked(entropy, sum_p2, argmax, selects if rank else 0),
        cuda_read.Places(at.pop("lse"), **at), selects, cuda.Manner(given),
    )  # fmt: skip
    return Read(**made)
