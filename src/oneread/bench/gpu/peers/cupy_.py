"""CuPy as a peer: the formula as its scipy names have it, on the same memory.

Knows no other library than PyTorch, whose tensors it looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.contestants import AbsentError, Contestant, Forms
from oneread.bench.gpu.sets import Sets

NAME: Final = "cupy"


def version() -> str:
    """Return the version of the library."""
    import cupy

    return str(cupy.__version__)


def forms(case: Case, sets: Sets) -> Forms:
    """Return its softmax or logsumexp."""
    if case.op not in ("softmax", "logsumexp"):
        return {}
    return {NAME: lambda: _contestant(case, sets)}


def _contestant(case: Case, sets: Sets) -> Contestant:
    import cupy
    import torch
    from cupyx.scipy import special

    if case.dtype == "bfloat16":
        raise AbsentError("has no bfloat16")
    # PyTorch's allocator, so that a graph keeps what a call makes.
    cupy.cuda.set_allocator(_allocator(cupy, torch))
    function = getattr(special, case.op)
    arrays = [cupy.from_dlpack(x) for x in sets.x]
    field = "y" if case.op == "softmax" else "lse"

    def run(i: int = 0) -> Any:
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            return function(arrays[i], axis=case.axis)

    return Contestant(run, (field,), None)


def _allocator(cupy: Any, torch: Any) -> Callable[[int], Any]:
    def allocate(size: int) -> Any:
        held = torch.empty(max(size, 1), dtype=torch.uint8, device="cuda")
        memory = cupy.cuda.UnownedMemory(held.data_ptr(), size, held)
        return cupy.cuda.MemoryPointer(memory, 0)

    return allocate
