"""Plain traffic of a case's size, as jobs beside the contestants: what memory can do at best.

Knows no op.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from oneread.bench.gpu.sets import Sets
from oneread.bench.gpu.timing import Job
from oneread.runtime import cubins, driver

SOURCE: Final = Path(__file__).with_name("traffic.cu")
_VECTOR_BYTES: Final = 16
#: Threads of a block and vectors of a thread: the best of these counts.
LAUNCHES: Final = ((256, 4), (512, 4), (1024, 4), (256, 8))


def jobs(sets: Sets, copied: bool, stream: Callable[[], int], device: int) -> dict[str, Job]:
    """Return the ways to copy, or else to read, the inputs of a case.

    Parameters
    ----------
    sets : Sets
        Tensors on the GPU, of a multiple of 16 bytes.
    copied : bool
        Whether `y` is written.
    stream : callable
        Returns the driver's number of the current stream.
    device : int
        Number of the GPU.
    """
    kind = "copy" if copied else "read"
    found: dict[str, Job] = {
        f"{kind} {threads}x{vectors}": partial(
            _launch, _start(kind, threads, vectors, device), threads, vectors, sets, stream
        )
        for threads, vectors in LAUNCHES
    }
    if copied:
        found["memcpy"] = lambda i: sets.y[i].copy_(sets.x[i])
    return found


def _launch(
    start: Any, threads: int, vectors: int, sets: Sets, stream: Callable[[], int], i: int
) -> None:
    x = sets.x[i]
    y = sets.y[i] if sets.y else sets.select
    count, rest = divmod(x.nbytes, _VECTOR_BYTES)
    assert not rest
    blocks = -(-count // (threads * vectors))
    held = (
        ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(y.data_ptr()), ctypes.c_longlong(count)
    )  # fmt: skip
    arguments = (ctypes.c_void_p * len(held))(*(ctypes.addressof(one) for one in held))
    status = start(blocks, 1, 1, threads, 1, 1, 0, stream(), arguments, None)
    if status:
        raise RuntimeError(f"the driver gave error {status}")


@cache
def _start(kind: str, threads: int, vectors: int, device: int) -> Any:
    """Return what launches one of the kernels: grid, block, shared bytes, stream, arguments."""
    where = driver.device(device)
    source = cubins.Source(SOURCE.name, SOURCE.read_text("utf-8"), {})
    code = cubins.compiled(source, where.target, {"THREADS": threads, "VECTORS": vectors})
    function = driver.load(where, code, kind)
    size = ctypes.c_uint
    prototype = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, *[size] * 7, *[ctypes.c_void_p] * 3
    )  # fmt: skip
    return partial(prototype(driver.addresses()[0]), function.handle)
