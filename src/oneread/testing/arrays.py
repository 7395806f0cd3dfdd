"""Arrays of any library as NumPy arrays, and the names of element types.

Imports no array library but NumPy: a tensor's own library is already loaded.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oneread.spec import BackendUnavailableError


def as_numpy(array: Any) -> tuple[NDArray[Any], str]:
    """Return the numbers of an array on any device as a NumPy array, and their type's name.

    A bfloat16 tensor comes back as float32, which holds each of its numbers, with the name
    ``bfloat16``.
    """
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        name = dtype_name(array.dtype)
        return (_widened(array) if name == "bfloat16" else array.numpy()), name
    if hasattr(array, "get"):  # CuPy
        array = array.get()
    array = np.asarray(array)
    return array, array.dtype.name


def dtype_name(dtype: Any) -> str:
    """Return the name of an element type of any library, for example ``bfloat16``."""
    name = str(dtype)
    if name.startswith("torch.") or name == "bfloat16":
        return name.removeprefix("torch.")
    return str(np.dtype(dtype).name)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's type of that name; bfloat16 is that of ml_dtypes, which must be installed."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise BackendUnavailableError(
            "NumPy has no bfloat16 of its own; install ml_dtypes, which brings it"
        ) from error
    bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return bfloat16


def _widened(tensor: Any) -> NDArray[np.float32]:
    """Return a bfloat16 tensor as float32: its bits are the upper half of a float32's."""
    bits = tensor.contiguous().view(sys.modules["torch"].int16).numpy()
    upper = bits.view(np.uint16).astype(np.uint32) << 16
    return np.asarray(upper).view(np.float32)
