"""Liger as a peer: kernels for training, in Triton.

Knows no other library than PyTorch, whose tensors it takes.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu.sets import Sets

NAME: Final = "liger"


def version() -> str:
    """Return the version of the library."""
    import liger_kernel  # noqa: F401

    return metadata.version("liger-kernel")


def forms(case: Case, sets: Sets) -> Forms:
    """Return its softmax, forward only, which refuses rows of more than 65,536 columns itself."""
    if case.op != "softmax" or case.axis != -1:
        return {}
    return {NAME: lambda: _contestant(sets)}


def _contestant(sets: Sets) -> Contestant:
    from liger_kernel.ops import softmax

    # What its autograd function runs, without the bookkeeping.
    forward: Any = softmax._softmax_forward
    x = sets.x

    def run(i: int = 0) -> Any:
        return forward(x[i])[0]

    return Contestant(run, ("y",), None)
