"""torch.compile as a peer: what Inductor makes of the calls that people write.

Knows no other library than PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oneread.bench.cases import BARE_SUFFIX, Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu.peers import torch_
from oneread.bench.gpu.sets import Sets

NAME: Final = "compile"


def version() -> str:
    """Return the version of the library."""
    return torch_.version()


def forms(case: Case, sets: Sets) -> Forms:
    """Return what is made of each of PyTorch's ways; compiled when it is first called."""
    return {
        name.replace("torch", "torch.compile", 1): _made(fields, run, sets)
        for name, (fields, run) in torch_.calls(case).items()
        if not name.endswith(BARE_SUFFIX)  # the call that eager PyTorch makes
    }


def _made(
    fields: tuple[str, ...], run: Callable[[Any, Any], Any], sets: Sets
) -> Callable[[], Contestant]:
    def make() -> Contestant:
        import torch

        torch.compiler.reset()  # else the ninth shape of a function is not compiled any more
        compiled: Any = torch.compile(run, dynamic=False)
        x, select = sets.x, sets.select

        def run_set(i: int = 0) -> Any:
            return compiled(x[i], select)

        return Contestant(run_set, fields, None)

    return make
