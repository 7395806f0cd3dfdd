"""CuPy arrays: their memory and stream by address, results as CuPy arrays.

Knows nothing of the maths of an op. Imported only when somebody has imported cupy. What it offers
is what `torch_cuda` offers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

import cupy
import numpy as np
from numpy.typing import NDArray

from oneread.backends.base import STORAGE, check_places, misfit
from oneread.backends.numpy_ import bfloat16
from oneread.runtime.cuda import Memory
from oneread.spec import BackendUnavailableError, DtypeError, ShapeError

#: The name of the library for those who hold its arrays on a CPU: there they are NumPy's.
LIBRARY: Final = "numpy"
#: Functions on arrays, as far as NumPy and PyTorch have the same.
NAMESPACE: Final = cupy


def memory(x: Any) -> Memory:
    """Return the memory of an array, and the stream that is current on its GPU."""
    device = x.device.id
    strides = tuple([step // x.itemsize for step in x.strides])
    stream = cupy.cuda.get_current_stream(device).ptr
    return Memory(x.data.ptr, x.dtype.name, x.shape, strides, device, stream)


def address(x: Any) -> int:
    """Return where the memory of an array begins."""
    return int(x.data.ptr)


def dtype_of(x: Any) -> str:
    """Return the name of the element type."""
    return str(x.dtype.name)


def detached(x: Any) -> Any:
    """CuPy has no gradients."""
    return x


def plain_beside(numbers: Any, x: Any) -> tuple[tuple[int, ...], str, int] | None:
    """Return None: whether an array is nothing but memory is not known at once."""
    return None


def place(x: Any) -> str:
    """Say which GPU an array is on."""
    return f"cuda:{x.device.id}"


def check(x: Any, role: str) -> None:
    """Raise unless `x` holds numbers that an op takes, in whole steps."""
    if x.dtype.name not in STORAGE:
        raise DtypeError(f"{role} holds {x.dtype}; one of {', '.join(STORAGE)} is allowed")
    if any(step % x.itemsize for step in x.strides):
        raise ShapeError(f"{role} has strides {x.strides}, no multiples of its elements")
    if cupy.cuda.runtime.is_hip:
        raise BackendUnavailableError(f"{role} is on a GPU of AMD; an NVIDIA GPU is allowed")


def check_out(
    out: Any,
    x: Any,
    shape: tuple[int, ...],
    dtype: str,
    reads: Sequence[tuple[str, Any]] = (),
    role: str = "out",
) -> None:
    """Raise when the result must not be written to `out`; `reads` is what is read beside `x`."""
    if not isinstance(out, cupy.ndarray):
        raise DtypeError(f"{role} is a {type(out).__qualname__}; a CuPy array is allowed")
    check(out, role)
    if out.device.id != x.device.id:
        raise BackendUnavailableError(f"{role} is on {place(out)}; x is on {place(x)}")
    if out.dtype.name != dtype:
        raise DtypeError(f"{role} holds {out.dtype}; the result is {dtype}")
    if out.shape != shape:
        raise ShapeError(f"{role} has shape {out.shape}; the result has shape {shape}")
    if cupy.may_share_memory(out, x) and not _is_same(out, x):
        raise ShapeError(f"{role} shares memory with x; give x itself, or memory of its own")
    for other, held in reads:
        if cupy.may_share_memory(out, held):
            raise ShapeError(f"{role} shares memory with {other}; give memory of its own")
    check_places(out.shape, out.strides, role)


def _is_same(a: Any, b: Any) -> bool:
    return bool(a.data.ptr == b.data.ptr and a.dtype == b.dtype and a.strides == b.strides)


def on(x: Any) -> AbstractContextManager[Any]:
    """Make the GPU of `x` the current one for a while."""
    device: AbstractContextManager[Any] = x.device
    return device


def empty(x: Any, shape: tuple[int, ...], dtype: str) -> Any:
    """Return fresh memory beside `x`, as CuPy keeps it ready."""
    return cupy.empty(shape, _type(dtype, x))


def empty_like(x: Any, dtype: str) -> Any:
    """Return fresh memory of the shape of `x`, in the order of its axes where these are dense."""
    return cupy.empty_like(x, _type(dtype, x))


def cast(x: Any, dtype: str) -> Any:
    """Return `x` in another type, or itself."""
    return x.astype(_type(dtype, x), copy=False)


def permuted(x: Any, order: Sequence[int]) -> Any:
    """Return a view with the axes in another order."""
    return x.transpose(tuple(order))


def is_contiguous(x: Any) -> bool:
    """Whether the elements lie in C order."""
    return bool(x.flags.c_contiguous)


def contiguous(x: Any) -> Any:
    """Return `x`, copied unless its elements lie in C order."""
    return cupy.ascontiguousarray(x)


def dense_like(x: Any, like: Any) -> Any:
    """Return a copy of `x` with its axes in the order of those of `like`."""
    return copy_into(cupy.empty_like(like, x.dtype), x)


def copy_into(out: Any, y: Any) -> Any:
    """Copy a result to where the caller wants it."""
    out[...] = y
    return out


def is_on_gpu(x: Any) -> bool:
    """Whether `x` is a CuPy array."""
    return isinstance(x, cupy.ndarray)


def written(out: Any) -> None:
    """CuPy keeps no count of writes."""


def spread(numbers: Any, x: Any, shape: tuple[int, ...], dtype: str, role: str, of: str) -> Any:
    """Return numbers beside `x`, broadcast to a shape, which is that of `of`."""
    held = cupy.asarray(numbers, _type(dtype, x))
    try:
        return cupy.broadcast_to(held, shape)
    except ValueError:
        raise misfit(role, held.shape, shape, of) from None


def _type(name: str, like: Any) -> np.dtype[Any]:
    return bfloat16(like) if name == "bfloat16" else np.dtype(name)


def full(x: Any, shape: tuple[int, ...], value: float, dtype: str) -> Any:
    """Return memory beside `x` that holds one number."""
    return cupy.full(shape, value, _type(dtype, x))


def numbered(x: Any, n: int) -> Any:
    """Return the numbers from 0 to n - 1 beside `x`."""
    return cupy.arange(n)


def beside(x: Any, array: NDArray[Any]) -> Any:
    """Return an array of NumPy on the GPU of `x`."""
    return cupy.asarray(array, array.dtype)


def to_numpy(x: Any) -> NDArray[Any]:
    """Return an array of NumPy, bfloat16 as uint16; waits for the GPU."""
    array: NDArray[Any] = x.get()
    return array.view(STORAGE[x.dtype.name])


def copied(x: Any) -> Any:
    """Return a copy."""
    return x.copy()


def take(x: Any, columns: Any) -> Any:
    """Return the elements of each row, along the last axis, in its columns."""
    return cupy.take_along_axis(x, columns, -1)


def first_columns(x: Any, k: int, kept: Any = None) -> Any:
    """Return the columns of the k first numbers of each row: NaN, then larger, then by column.

    Columns that are not kept come last.
    """
    whole = np.dtype(f"int{8 * x.itemsize}")
    least, most = np.iinfo(whole).min, np.iinfo(whole).max
    bits = (x + x.dtype.type(0)).view(whole)  # -0 + 0 is 0
    keys = cupy.where(bits < 0, bits ^ whole.type(most), bits)
    keys = cupy.where(cupy.isnan(x), whole.type(most), keys)
    if kept is not None:
        keys = cupy.where(kept, keys, whole.type(least))  # which is no number's
    return cupy.argsort(~keys, axis=-1)[:, :k]  # of equal ones the first column comes first
