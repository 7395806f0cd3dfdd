"""The libraries that ours is compared with, one file each.

Each file has `NAME`, `version()` and `forms(case, data, threads)`, imports its library when one of
them is called, and knows no other file.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final, Protocol, cast

from oneread.bench.cases import Case
from oneread.bench.contestants import Data, Forms


class Peer(Protocol):
    """What each file here offers."""

    NAME: str

    def version(self) -> str:
        """Return the version of the library; ImportError when it is not installed."""

    def forms(self, case: Case, data: Data, threads: int) -> Forms:
        """Return the ways in which the library can do a case; none: it has no such op."""


#: In the order in which they are shown.
PEERS: Final = ("torch", "onnxruntime", "numpy", "scipy", "jax")


def load(name: str) -> Peer:
    """Return a peer by its name, one of `PEERS`."""
    module = {"numpy": "numpy_", "scipy": "scipy_", "torch": "torch_", "jax": "jax_"}
    return cast(Peer, import_module(f"{__name__}.{module.get(name, name + '_')}"))
