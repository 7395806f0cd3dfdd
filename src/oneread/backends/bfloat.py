"""Numbers between float32, float64 and the 16-bit types, bfloat16 held as uint16.

Knows bits only, so that bfloat16 needs no library of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import STORAGE, Memory


def widened(view: Memory) -> NDArray[Any]:
    """Return the numbers of `view` in a type that NumPy computes in: bfloat16 as float32."""
    if view.dtype != "bfloat16":
        return view.array
    return (view.array.astype(np.uint32) << np.uint32(16)).view(np.float32)


def cast(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return `array` in the named type, rounded once to nearest even; overflow gives infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype == "bfloat16":
            return _to_bfloat16(array)
        return array.astype(STORAGE[dtype], copy=False)


def _to_bfloat16(array: NDArray[Any]) -> NDArray[Any]:
    single = np.ascontiguousarray(array, dtype=np.float32).reshape(array.shape)
    bits = single.view(np.uint32)
    if array.dtype == np.float64:
        # Round to odd on the way, or the second rounding would see a tie that is none:
        # bits of the number cut off toward zero, with the last bit set when anything was lost.
        lost = (single != array) & np.isfinite(array)
        bits = bits - (lost & (np.abs(single) > np.abs(array))) | lost
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(single), 0x7FC0, rounded).astype(np.uint16)
