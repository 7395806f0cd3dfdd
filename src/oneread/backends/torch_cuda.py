"""PyTorch tensors on a GPU: their memory and stream by address, results as tensors.

Knows nothing of the maths of an op. Imported when the first such tensor is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.autograd import forward_ad

from oneread.backends import torch_
from oneread.backends.base import check_places, misfit
from oneread.backends.torch_ import DTYPES, NAMES, check_gradient, detached, written
from oneread.backends.torch_order import first_columns
from oneread.runtime.cpu import native
from oneread.runtime.cuda import Memory
from oneread.spec import FLOAT_DTYPES, BackendUnavailableError, DtypeError, ShapeError

__all__ = [
    "LIBRARY", "NAMESPACE", "address", "beside", "calls", "cast", "check", "check_out",
    "contiguous", "copied", "copy_into", "dense_like", "detached", "dtype_of", "empty",
    "empty_like", "first_columns", "full", "is_contiguous", "is_on_gpu", "memory", "numbered", "on",
    "permuted", "place", "plain_beside", "spread", "take",
    "to_numpy", "written",
]  # fmt: skip

#: The name of the library for those who hold its arrays on a CPU.
LIBRARY: Final = torch_.NAME
#: Functions on arrays, as far as NumPy and CuPy have the same.
NAMESPACE: Final = torch

#: The float types, by name.
FLOATS: Final = {dtype: name for dtype, name in NAMES.items() if name in FLOAT_DTYPES}
#: Types of what plain calls read and write, likewise.
TYPES: Final = FLOATS | {torch.int64: "int64"}

#: The raw number of the current stream, without an object around it. PyTorch for CPUs has neither.
raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
#: Fresh memory on the current GPU past the dispatcher, by shape, strides and type: half the time.
_packed: Any = getattr(getattr(torch._C._dynamo, "guards", None), "_empty_strided_cuda", None)
_current_device: Any = getattr(torch._C, "_cuda_getDevice", None)
_HERE: Final = nullcontext()


def calls(prepare: Callable[..., Any]) -> Callable[[int, Any, Any, Any], Any]:
    """Return what makes plain calls with as little Python as possible: see `native.CudaCalls`.

    torch.compile cannot look into it: ask `torch_.in_dynamo` before.
    """
    return native.CudaCalls(
        torch.Tensor, TYPES, torch_.WATCHERS, forward_ad, raw_stream, fresh, _packed,
        torch_.count_writes, prepare,
    ).function()  # fmt: skip


def fresh(x: torch.Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Return memory for a result of a plain call of `x`."""
    return x.new_empty(shape, dtype=dtype)


def memory(x: torch.Tensor) -> Memory:
    """Return the memory of a tensor, and the stream that is current on its GPU."""
    device = x.device.index
    return Memory(
        x.data_ptr(), NAMES[x.dtype], tuple(x.shape), x.stride(), device, raw_stream(device)
    )


def address(x: torch.Tensor) -> int:
    """Return where the memory of a tensor begins."""
    return int(x.data_ptr())


def plain_beside(numbers: Any, x: torch.Tensor) -> tuple[tuple[int, ...], str, int] | None:
    """Return shape, type and address of a tensor that is nothing but memory beside `x`; or None."""
    if (
        type(numbers) is not torch.Tensor
        or numbers.device != x.device
        or numbers.layout is not torch.strided
        or numbers.dtype not in NAMES
        or not numbers.is_contiguous()
        or numbers.is_neg()
    ):
        return None
    return tuple(numbers.shape), NAMES[numbers.dtype], numbers.data_ptr()


def dtype_of(x: torch.Tensor) -> str:
    """Return the name of the element type."""
    return NAMES[x.dtype]


def place(x: torch.Tensor) -> str:
    """Say which GPU a tensor is on."""
    return str(x.device)


def check(x: torch.Tensor, role: str) -> None:
    """Raise unless `x` is plain memory on a GPU whose gradient nobody expects."""
    check_gradient(x, role)
    if x.layout is not torch.strided or x.is_nested or x.is_quantized:
        raise DtypeError(f"{role} is {x.layout}, not plain memory: give a dense tensor")
    if x.is_neg() or x.is_conj():
        raise DtypeError(f"{role} is a view that negates or conjugates lazily: resolve it")
    if x._is_zerotensor():
        raise DtypeError(f"{role} is zeros without memory: give torch.zeros_like({role})")
    if x.dtype not in NAMES:
        raise DtypeError(f"{role} holds {x.dtype}; one of {', '.join(DTYPES)} is allowed")
    if not x.is_cuda or torch.version.hip:
        raise BackendUnavailableError(f"{role} is on {x.device}; an NVIDIA GPU is allowed")


def check_out(
    out: Any,
    x: torch.Tensor,
    shape: tuple[int, ...],
    dtype: str,
    reads: Sequence[tuple[str, torch.Tensor]] = (),
    role: str = "out",
) -> None:
    """Raise when the result must not be written to `out`; `reads` is what is read beside `x`."""
    if not isinstance(out, torch.Tensor):
        raise DtypeError(f"{role} is a {type(out).__qualname__}; a tensor is allowed")
    check(out, role)
    if out.device != x.device:
        raise BackendUnavailableError(f"{role} is on {out.device}; x is on {x.device}")
    if NAMES[out.dtype] != dtype:
        raise DtypeError(f"{role} holds {out.dtype}; the result is {dtype}")
    if tuple(out.shape) != shape:
        raise ShapeError(f"{role} has shape {tuple(out.shape)}; the result has shape {shape}")
    if torch._C._overlaps(out, x) and not _is_same(out, x):
        raise ShapeError(f"{role} shares memory with x; give x itself, or memory of its own")
    for other, held in reads:
        if torch._C._overlaps(out, held):
            raise ShapeError(f"{role} shares memory with {other}; give memory of its own")
    check_places(out.shape, out.stride(), role)


def _is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(a.data_ptr() == b.data_ptr() and a.dtype == b.dtype and a.stride() == b.stride())


def on(x: torch.Tensor) -> AbstractContextManager[Any]:
    """Make the GPU of `x` the current one for a while."""
    index = x.device.index
    return _HERE if _current_device() == index else torch.cuda.device(index)


def empty(x: torch.Tensor, shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    """Return fresh memory beside `x`, as PyTorch keeps it ready."""
    return torch.empty(shape, dtype=DTYPES[dtype], device=x.device)


def empty_like(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return fresh memory of the shape of `x`, in the order of its axes where these are dense."""
    return torch.empty_like(x, dtype=DTYPES[dtype])


def cast(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return `x` in another type, or itself."""
    return x.to(DTYPES[dtype])


def permuted(x: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """Return a view with the axes in another order."""
    return x.permute(*order)


def is_contiguous(x: torch.Tensor) -> bool:
    """Whether the elements lie in C order."""
    return bool(x.is_contiguous())


def contiguous(x: torch.Tensor) -> torch.Tensor:
    """Return `x`, copied unless its elements lie in C order."""
    return x.contiguous()


def dense_like(x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Return a copy of `x` with its axes in the order of those of `like`."""
    return torch.empty_like(like, dtype=x.dtype).copy_(x)


def copy_into(out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Copy a result to where the caller wants it."""
    return out.copy_(y)


def is_on_gpu(x: Any) -> bool:
    """Whether `x` is a tensor on a GPU."""
    return isinstance(x, torch.Tensor) and x.is_cuda


def spread(
    numbers: Any, x: torch.Tensor, shape: tuple[int, ...], dtype: str, role: str, of: str
) -> torch.Tensor:
    """Return numbers beside `x`, broadcast to a shape, which is that of `of`."""
    if isinstance(numbers, np.ndarray):  # torch takes neither read-only memory nor backward steps
        numbers = np.array(numbers, order="C")
    held = torch.as_tensor(numbers, dtype=DTYPES[dtype], device=x.device)
    try:
        return held.broadcast_to(shape)
    except RuntimeError:
        raise misfit(role, tuple(held.shape), shape, of) from None


def full(x: torch.Tensor, shape: tuple[int, ...], value: float, dtype: str) -> torch.Tensor:
    """Return memory beside `x` that holds one number."""
    return torch.full(shape, value, dtype=DTYPES[dtype], device=x.device)


def numbered(x: torch.Tensor, n: int) -> torch.Tensor:
    """Return the numbers from 0 to n - 1 beside `x`."""
    return torch.arange(n, device=x.device)


def beside(x: torch.Tensor, array: NDArray[Any]) -> torch.Tensor:
    """Return an array of NumPy as a tensor on the GPU of `x`, without waiting for that."""
    return torch.from_numpy(array).pin_memory().to(x.device, non_blocking=True)


def to_numpy(x: torch.Tensor) -> NDArray[Any]:
    """Return a tensor as an array of NumPy, bfloat16 as uint16; waits for the GPU."""
    here = x.cpu()
    array: NDArray[Any] = (here.view(torch.uint16) if x.dtype == torch.bfloat16 else here).numpy()
    return array


def copied(x: torch.Tensor) -> torch.Tensor:
    """Return a copy."""
    return x.clone()


def take(x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Return the elements of each row, along the last axis, in its columns."""
    return torch.gather(x, -1, columns)
