"""Plain traffic of a case's size, as jobs beside the contestants: what memory can do at best.

Knows no op.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from oneread.bench.gpu import launching
from oneread.bench.gpu.sets import Sets
from oneread.bench.gpu.timing import Job

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
    start(blocks, threads, 0, stream(), held)


def _start(kind: str, threads: int, vectors: int, device: int) -> Any:
    """Return what launches one of the kernels."""
    defines = {"THREADS": threads, "VECTORS": vectors}
    return launching.loaded(SOURCE.name, SOURCE.read_text("utf-8"), kind, defines, device)
