"""Quack as a peer: kernels in CuTe-DSL, compiled for each length.

Knows no other library than PyTorch, whose tensors it takes. Its top-k is for rows of up to 4096
columns, which no case has, and its probabilities are those over the winners alone.
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
    known = metadata.version("quack-kernels")
    try:
        import quack  # noqa: F401
    except ModuleNotFoundError as error:  # of what it is made with, which comes in many parts
        raise ImportError(f"installed without a part: {error}") from error
    return known


def forms(case: Case, sets: Sets) -> Forms:
    """Return its softmax; for logsumexp its cross-entropy, which gives it, too."""
    if case.axis != -1:
        return {}
    if case.op == "softmax":
        return {NAME: lambda: _softmax(case, sets)}
    return {f"{NAME} cross_entropy": lambda: _lse(sets)} if case.op == "logsumexp" else {}


def _softmax(case: Case, sets: Sets) -> Contestant:
    # The package has a function of the module's name, with the bookkeeping of a gradient.
    from quack.softmax import _softmax_fwd, softmax_fwd

    x, y = sets.x, sets.y

    def kept(i: int = 0) -> Any:
        _softmax_fwd(x[i], y[i])
        return y[i]

    def fresh(i: int = 0) -> Any:
        return softmax_fwd(x[i])

    return Contestant(fresh if case.memory == "fresh" else kept, ("y",), None)


def _lse(sets: Sets) -> Contestant:
    from quack.cross_entropy import cross_entropy_fwd

    x, select = sets.x, sets.select

    def run(i: int = 0) -> Any:
        return cross_entropy_fwd(x[i], select, return_lse=True)[1]

    return Contestant(run, ("lse",), None)
