"""The libraries that ours is compared with on a GPU, one file each.

Each file has `NAME`, `version()` and `forms(case, sets)`, imports its library when one of them is
called, and knows no other file. Runs take the number of a set.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, cast

from oneread.bench.cases import Case
from oneread.bench.contestants import Forms
from oneread.bench.gpu.sets import Sets


class Peer(Protocol):
    """What each file here offers."""

    NAME: str

    def version(self) -> str:
        """Return the version of the library; ImportError when it is not installed."""

    def forms(self, case: Case, sets: Sets) -> Forms:
        """Return the ways in which the library can do a case; none: it has no such op."""


#: In the order in which they are shown.
PEERS: Final = ("torch", "compile", "triton", "liger", "quack", "flashinfer", "cupy")


def load(name: str) -> Peer:
    """Return a peer by its name, one of `PEERS`."""
    return cast(Peer, import_module(f"{__name__}.{name}_"))
