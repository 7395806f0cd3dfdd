"""States of rows on a GPU brought together: one kernel, launched on memory by address.

Knows no array library. Nothing here waits for the GPU, and nothing is allocated on it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from oneread.runtime import cubins, cuda, driver
from oneread.spec import KernelRecord

__all__ = ["Held", "ahead", "merge"]

_KERNEL: Final = "online_merge"
_BLOCK_THREADS: Final = 128
_DEFINES: Final = {"ELEMENT": 3, "VECTOR_BYTES": 8, "BLOCK_THREADS": _BLOCK_THREADS}


class Held(NamedTuple):
    """Addresses of what a state holds, each contiguous; 0 for what it does not.

    float64 sums of each row, the column of its maximum, and of each selected column whether it was
    seen (a byte), its logit and how many columns come before it.
    """

    m: int
    r: int
    s1: int = 0
    s2: int = 0
    column: int = 0
    seen: int = 0
    logit: int = 0
    rank: int = 0


def merge(
    a: Held, b: Held, to: Held, rows: int, selected: int, temperature: cuda.Temperature,
    device: int, stream: int,
) -> None:  # fmt: skip
    """Put into a stream what makes a state of the columns of two others.

    `selected` is how many columns are selected in all rows together.
    """
    where = driver.device(device)
    function = cuda._loaded(device, _KERNEL, tuple(_DEFINES.items()), 0, 1)
    grid = -(-max(rows, selected) // _BLOCK_THREADS)
    (a_m, *of_a), (b_m, *of_b), (m, *of_both) = a, b, to
    numbers = [rows, selected, b_m]
    for three in zip(of_a, of_b, of_both, strict=True):
        numbers += three
    record = KernelRecord(
        _KERNEL, where.target, "float64", "rows", 0, 1, "none", device=f"cuda:{device}"
    )
    launch = cuda.Launch(
        function, grid, _BLOCK_THREADS, 0, numbers, record, f"states of {rows} rows"
    )
    launch(stream, a_m, m, temperature.value, temperature.address)


def ahead() -> list[tuple[cubins.Source, dict[str, int]]]:
    """Return the kernel and what it is compiled with."""
    return [(cuda.source(_KERNEL), _DEFINES)]
