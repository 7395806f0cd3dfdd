"""Which backend an array belongs to, found by its type.

Knows no array library but NumPy: another one is asked only when somebody has imported it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from oneread.backends import numpy_
from oneread.backends.base import Backend, Memory

P = ParamSpec("P")
R = TypeVar("R")

#: The backend of PyTorch once it was found, for calls that count nanoseconds.
torch_found: Any = None
#: Its type of tensors, likewise.
tensor_found: Any = None


def torch_backend() -> Any:
    """Return the backend of PyTorch, or None as long as nobody has imported torch."""
    return torch_found or _seen_torch()


def _seen_torch() -> Any:
    global torch_found, tensor_found
    library = sys.modules.get("torch")
    if library is None or not hasattr(library, "compile"):  # absent, or half imported elsewhere
        return None
    from oneread.backends import torch_

    torch_found, tensor_found = torch_, torch_.TENSOR
    return torch_


def is_whole(n: Any) -> bool:
    """Whether a number is an int, or stands for one in a graph of PyTorch's."""
    return type(n) is int or (torch_found is not None and type(n) in torch_found.INTEGERS)


def find(x: Any) -> Backend:
    """Return the backend of `x`; what is of no known library belongs to NumPy."""
    if isinstance(x, np.ndarray):
        return numpy_
    torch_ = torch_backend()
    if torch_ is not None and torch_.owns(x):
        return torch_  # type: ignore[no-any-return]
    return numpy_


def by_name(name: str) -> Backend | None:
    """Return the backend with that name, or None when nobody has imported its library."""
    if name == numpy_.NAME:
        return numpy_
    torch_ = torch_backend()
    return torch_ if torch_ is not None and name == torch_.NAME else None


def view(x: Any, role: str) -> Memory:
    """Return the memory of an argument of any library."""
    return find(x).view(x, role)


def gpu_backend(x: Any) -> Any:
    """Return what handles an array on an NVIDIA GPU; None for all others."""
    torch_ = torch_backend()
    if torch_ is not None and torch_.owns(x):
        if not x.is_cuda:
            return None
        from oneread.backends import torch_cuda

        return torch_cuda
    cupy = sys.modules.get("cupy")
    if cupy is None or not isinstance(x, getattr(cupy, "ndarray", ())):
        return None
    from oneread.backends import cupy_

    return cupy_


def on_gpu(x: Any) -> bool:
    """Whether `x` is an array on an NVIDIA GPU that its library lets be read as memory."""
    if gpu_backend(x) is None:
        return False
    torch_ = torch_backend()
    return torch_ is None or not torch_.owns(x) or not torch_.dispatched(x)


def in_graph(x: Any) -> bool:
    """Whether `x` is a tensor whose library must see the call, or wants its derivatives."""
    torch_ = torch_backend()
    return (
        torch_ is not None and torch_.owns(x) and (torch_.dispatched(x) or torch_.differentiated(x))
    )


def outside_graphs(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function run as it is under torch.compile, which must not trace its NumPy."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        torch_ = torch_backend()
        if torch_ is not None and torch_.compiler_watches():
            from oneread.backends import torch_untraced

            result: R = torch_untraced.run(function, args, kwargs)
            return result
        return function(*args, **kwargs)

    return call
