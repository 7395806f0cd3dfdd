"""Quack as a peer: kernels in CuTe-DSL, compiled for each length.

Knows no other library than PyTorch, whose tensors it takes.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu.sets import Sets

NAME: Final = "quack"


def version() -> str:
    """Return the version of the library."""
    import quack  # noqa: F401

    return metadata.version("quack-kernels")


def forms(case: Case, sets: Sets) -> Forms:
    """Return its softmax into kept memory; for logsumexp its cross-entropy, which gives it, too."""
    if case.axis != -1:
        return {}
    if case.op == "softmax":
        return {NAME: lambda: _softmax(sets)}
    return {f"{NAME} cross_entropy": lambda: _lse(sets)} if case.op == "logsumexp" else {}


def _softmax(sets: Sets) -> Contestant:
    from quack import softmax

    into: Any = softmax._softmax_fwd
    x, y = sets.x, sets.y

    def run(i: int = 0) -> Any:
        into(x[i], y[i])
        return y[i]

    return Contestant(run, ("y",), None)


def _lse(sets: Sets) -> Contestant:
    from quack.cross_entropy import cross_entropy_fwd

    x, select = sets.x, sets.select

    def run(i: int = 0) -> Any:
        return cross_entropy_fwd(x[i], select, return_lse=True)[1]

    return Contestant(run, ("lse",), None)
