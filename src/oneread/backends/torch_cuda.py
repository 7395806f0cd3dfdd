"""PyTorch tensors on a GPU: their memory and stream by address, results as tensors.

Knows nothing of the maths of an op. Imported when the first such tensor is seen.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import torch

from oneread.backends import torch_
from oneread.backends.torch_ import DTYPES, NAMES, check_gradient
from oneread.runtime.cuda import Memory
from oneread.spec import FLOAT_DTYPES, BackendUnavailableError, DtypeError, ShapeError

#: The float types, by name.
FLOATS: Final = {dtype: name for dtype, name in NAMES.items() if name in FLOAT_DTYPES}

#: The raw number of the current stream, without an object around it. PyTorch for CPUs has neither.
raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_current_device: Any = getattr(torch._C, "_cuda_getDevice", None)
_HERE: Final = nullcontext()


def memory(x: torch.Tensor) -> Memory:
    """Return the memory of a tensor, and the stream that is current on its GPU."""
    device = x.device.index
    return Memory(
        x.data_ptr(), NAMES[x.dtype], tuple(x.shape), x.stride(), device, raw_stream(device)
    )


def plain_pair(x: Any, out: Any) -> torch.Tensor | None:
    """Return where the result of a CUDA tensor goes, if nothing is out of the ordinary.

    That is memory on the current GPU, with no gradient to it, and a result that lies as its input
    does. A long test on purpose: this is the cost of every small call.
    """
    if (
        x.get_device() != _current_device()
        or x.requires_grad
        or x.dtype not in FLOATS
        or torch_.is_compiling()
        or torch_.is_watched()
        or x.layout is not torch.strided
        or x.is_neg()
        or x.is_nested
    ):
        return None
    if out is None:
        return torch.empty_like(x)
    if out is not x and (
        type(out) is not torch.Tensor
        or out.dtype is not x.dtype
        or out.shape != x.shape
        or out.stride() != x.stride()
        or out.device != x.device
        or out.requires_grad
        or not out.is_contiguous()
        or -x.nbytes < out.data_ptr() - x.data_ptr() < x.nbytes
    ):
        return None
    return out if out.untyped_storage().nbytes() else None


def check(x: torch.Tensor, role: str) -> None:
    """Raise unless `x` is plain memory on a GPU whose gradient nobody expects."""
    check_gradient(x, role)
    if x.layout is not torch.strided or x.is_nested or x.is_quantized:
        raise DtypeError(f"{role} is {x.layout}, not plain memory: give a dense tensor")
    if x.is_neg() or x.is_conj():
        raise DtypeError(f"{role} is a view that negates or conjugates lazily: resolve it")
    if x.dtype not in NAMES:
        raise DtypeError(f"{role} holds {x.dtype}; one of {', '.join(DTYPES)} is allowed")
    if not x.is_cuda or torch.version.hip:
        raise BackendUnavailableError(f"{role} is on {x.device}; an NVIDIA GPU is allowed")


def check_out(
    out: Any, x: torch.Tensor, shape: tuple[int, ...], dtype: str, role: str = "out"
) -> None:
    """Raise when the result must not be written to `out`."""
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
    if any(step == 0 and n > 1 for n, step in zip(out.shape, out.stride(), strict=True)):
        raise ShapeError(f"{role} has several elements in one place (strides {out.stride()})")


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


def beside(x: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
    """Return a tensor of the CPU on the GPU of `x`, without waiting for it."""
    return held.pin_memory().to(x.device, non_blocking=True)


def cast(x: torch.Tensor, dtype: str) -> torch.Tensor:
    """Return `x` in another type, or itself."""
    return x.to(DTYPES[dtype])


def is_on_gpu(x: Any) -> bool:
    """Whether `x` is a tensor on a GPU."""
    return isinstance(x, torch.Tensor) and x.is_cuda


def per_row(numbers: Any, x: torch.Tensor, rows: tuple[int, ...]) -> torch.Tensor:
    """Return float64 numbers beside `x`, one for each row, side by side."""
    held = torch.as_tensor(numbers, dtype=torch.float64, device=x.device)
    try:
        return held.broadcast_to(rows).contiguous()
    except RuntimeError:
        raise ShapeError(
            f"temperature has shape {tuple(held.shape)}, which does not broadcast to {rows}, the "
            "shape of x without the axis"
        ) from None
