"""SciPy as a peer: the functions of `scipy.special`.

Knows no other library. SciPy runs these on one thread and has no `out=`.
"""

from __future__ import annotations

from typing import Final

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Data, Forms

NAME: Final = "scipy"


def version() -> str:
    """Return the version of the library."""
    import scipy

    return str(scipy.__version__)


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the ways in which SciPy can do a case: each call makes its own output."""
    from scipy import special

    fields = {"softmax": ("y",), "log_softmax": ("y",), "logsumexp": ("lse",)}
    if case.op not in fields:
        return {}
    function = getattr(special, case.op)
    run = lambda: function(data.x, axis=case.axis)  # noqa: E731
    return {NAME: lambda: Contestant(run, fields[case.op], 1)}
