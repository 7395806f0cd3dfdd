"""Triton as a peer: softmax as its tutorial teaches it, one program that holds a row in registers.

Knows no other library than PyTorch, whose tensors it takes. The kernel is our own, in that manner.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.contestants import AbsentError, Contestant, Forms
from oneread.bench.gpu.sets import Sets

NAME: Final = "triton"

#: Columns of the longest row: beyond it the row does not fit the registers of one block.
MOST_COLUMNS: Final = 1 << 16
#: Columns that one warp may hold, and the warps that are tried.
_COLUMNS_A_WARP: Final = (64, 4096)
_WARPS: Final = (1, 4, 8, 16, 32)
_TRIED: Final = 3
_CALLS: Final = 10


def version() -> str:
    """Return the version of the library."""
    import triton

    return str(triton.__version__)


def forms(case: Case, sets: Sets) -> Forms:
    """Return the kernel with the number of warps that is fastest here."""
    if case.op != "softmax" or case.axis != -1:
        return {}
    return {NAME: lambda: _contestant(case, sets)}


def _contestant(case: Case, sets: Sets) -> Contestant:
    if case.vocab > MOST_COLUMNS:
        raise AbsentError(f"one program holds a row of up to {MOST_COLUMNS} columns")
    runs = [_run(case, sets, warps) for warps in warps_for(case.vocab)]
    return Contestant(min(runs, key=_seconds), ("y",), None)


def warps_for(vocab: int) -> tuple[int, ...]:
    """Return the numbers of warps to try for a row."""
    block = _block(vocab)
    least, most = _COLUMNS_A_WARP
    fitting = tuple(warps for warps in _WARPS if least <= block // warps <= most)
    return fitting[-_TRIED:] or (_WARPS[-1],)


def _block(vocab: int) -> int:
    return 1 << (vocab - 1).bit_length()


def _run(case: Case, sets: Sets, warps: int) -> Callable[..., Any]:
    kernel, x, y = _kernel(), sets.x, sets.y
    rows, vocab, block = case.rows, case.vocab, _block(case.vocab)

    def run(i: int = 0) -> Any:
        kernel[(rows,)](x[i], y[i], vocab, vocab, vocab, block=block, num_warps=warps)
        return y[i]

    return run


def _seconds(run: Callable[..., Any]) -> float:
    """Return how long some calls take, after one that compiles."""
    import torch

    run()
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(_CALLS):
        run()
    stop.record()
    stop.synchronize()
    return float(start.elapsed_time(stop))


@cache
def _kernel() -> Any:
    from oneread.bench.gpu.peers import triton_kernel

    return triton_kernel.softmax_program
