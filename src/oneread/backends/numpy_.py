"""NumPy arrays, numbers and lists, and what other libraries offer as memory of a CPU.

Knows nothing of ops. bfloat16 arrays are recognised by their type's name: whoever made one has
imported `ml_dtypes`, so it is never imported here.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import STORAGE, View
from oneread.spec import INPUT_DTYPES, BackendUnavailableError, DtypeError, ShapeError

NAME: Final = "numpy"
ORDER: Final = "K"

#: Types whose arrays hold memory in this machine's byte order, and their names.
NATIVE: Final = {dtype: name for name, dtype in STORAGE.items() if name != "bfloat16"}

_CPU_DEVICES: Final = (1, 3, 11, 13)  # DLPack: CPU, pinned and managed host memory of CUDA and ROCm
_REASONS: Final = {
    "c": "a complex number has no order",
    "M": "dates are not logits",
    "m": "times are not logits",
    "O": "objects have no fixed size; convert them to numbers",
    "S": "bytes are not numbers",
    "U": "strings are not numbers",
    "V": "structured and raw memory has no order; give one field",
    "f": "wider floats are not computed; convert to float64",
}


def owns(x: Any) -> bool:
    """Whether `x` is a NumPy array."""
    return isinstance(x, np.ndarray)


def view(x: Any, role: str, write: bool = False) -> View:
    """Return the memory of `x`, of a NumPy array or of anything that NumPy can see as one."""
    if type(x) is not np.ndarray:
        x = _as_array(x, role)
    name = NATIVE.get(x.dtype)
    if name is None:
        name = x.dtype.name
        if name == "bfloat16":
            x = x.view(np.uint16)
        elif name not in INPUT_DTYPES:
            raise DtypeError(
                f"{role} holds {x.dtype}: {_REASONS.get(x.dtype.kind, 'it is not supported')}. "
                f"Allowed are {', '.join(INPUT_DTYPES)}"
            )
    if write and not x.flags.writeable:
        raise ShapeError(f"{role} is read-only; give an array that can be written")
    return View(x, name)


def detached(x: Any) -> Any:
    """NumPy has no gradients."""
    return x


def wrap(array: NDArray[Any], dtype: str, like: Any) -> NDArray[Any]:
    """Return `array` itself, seen as bfloat16 where its memory holds that."""
    if dtype != "bfloat16":
        return array
    return array.view(bfloat16(like))


def written(out: Any) -> None:
    """NumPy keeps no count of writes."""


def bfloat16(like: Any) -> np.dtype[Any]:
    """Return the bfloat16 type of `like`, or that of the `ml_dtypes` which the caller imported."""
    dtype = getattr(like, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.name == "bfloat16":
        return dtype
    library = sys.modules.get("ml_dtypes")
    if library is None:
        raise BackendUnavailableError(
            "NumPy has no bfloat16 of its own: import ml_dtypes before asking for dtype='bfloat16'"
        )
    own: np.dtype[Any] = np.dtype(library.bfloat16)
    return own


def _as_array(x: Any, role: str) -> NDArray[Any]:
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise DtypeError(
                f"{role} is a masked array, whose mask would be lost; give x.filled(-inf), or "
                "x.data with where=~x.mask"
            )
        return x.view(np.ndarray)
    if isinstance(x, (int, float, complex, str, bytes, list, tuple, np.generic, range, memoryview)):
        return _converted(x, role)
    device = getattr(x, "__dlpack_device__", None)
    if device is not None and (where := device())[0] not in _CPU_DEVICES:
        raise BackendUnavailableError(
            f"{role} is a {_type_name(x)} on DLPack device {tuple(map(int, where))}; this version "
            "computes on a CPU: copy it to the host first"
        )
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__") or _has_buffer(x):
        return _converted(x, role)
    if device is not None:
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError) as error:
            raise DtypeError(
                f"{role} is a {_type_name(x)} that NumPy cannot see: {error}"
            ) from None
    raise DtypeError(
        f"{role} is a {_type_name(x)}; an array, a number, a list of numbers, or an object with "
        "__array__ or __dlpack__ is allowed"
    )


def _converted(x: Any, role: str) -> NDArray[Any]:
    try:
        array = np.asarray(x)
    except ValueError as error:  # a ragged list
        raise ShapeError(f"{role} cannot be an array: {error}") from None
    except TypeError as error:
        raise DtypeError(f"{role} cannot be an array: {error}") from None
    return array.view(np.ndarray)


def _has_buffer(x: Any) -> bool:
    try:
        memoryview(x).release()
    except TypeError:
        return False
    return True


def _type_name(x: Any) -> str:
    kind = type(x)
    return f"{kind.__module__}.{kind.__qualname__}"
