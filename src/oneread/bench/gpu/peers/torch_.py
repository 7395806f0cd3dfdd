"""PyTorch as a peer on a GPU: the calls that people write, and the same into kept tensors.

Knows no other library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oneread.bench.cases import BARE_SUFFIX, Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu.sets import Sets

NAME: Final = "torch"
KEPT: Final = "torch out="
#: Top-k of the logits first, then only the winners' probabilities.
TOP_FIRST: Final = "torch topk first"
BARE: Final = f"torch topk{BARE_SUFFIX}"


def version() -> str:
    """Return the version of the library."""
    import torch

    return str(torch.__version__)


def forms(case: Case, sets: Sets) -> Forms:
    """Return the ways in which PyTorch can do a case."""
    import torch

    if case.memory == "out" and case.op == "softmax":
        x, y, axis = sets.x, sets.y, case.axis
        return {KEPT: _made(("y",), lambda i=0: torch.softmax(x[i], axis, out=y[i]))}
    return {name: _made(fields, _by_set(run, sets)) for name, (fields, run) in calls(case).items()}


#: What an op gives, and a function of the logits and of a column for each row that gives it.
Call = tuple[tuple[str, ...], Callable[[Any, Any], Any]]


def calls(case: Case) -> dict[str, Call]:
    """Return an op as people write it, in one way or several."""
    import torch

    axis = case.axis
    if case.op == "softmax":
        return {NAME: (("y",), lambda x, _: torch.softmax(x, axis))}
    if case.op == "logsumexp":
        return {NAME: (("lse",), lambda x, _: torch.logsumexp(x, axis))}
    if case.op == "softmax_topk":
        return _top_k(torch, dict(case.options)["k"])
    if case.op == "read":
        return {NAME: (("lse", "selected", "rank", "entropy"), _read)}
    return {}


def _top_k(torch: Any, k: int) -> dict[str, Call]:
    def top_first(x: Any, _: Any) -> Any:
        values, indices = torch.topk(x, k)
        return torch.exp(values - torch.logsumexp(x, -1, keepdim=True)), indices

    fields = ("values", "indices")
    return {
        NAME: (fields, lambda x, _: torch.topk(torch.softmax(x, -1), k)),
        TOP_FIRST: (fields, top_first),
        BARE: (fields, lambda x, _: (None, torch.topk(x, k)[1])),  # logits, not probabilities
    }


def _read(x: Any, column: Any) -> Any:
    """Return it in float32, as losses are computed."""
    logp = x.float().log_softmax(-1)
    logit = x.gather(-1, column[:, None])
    lse = logit[:, 0] - logp.gather(-1, column[:, None])[:, 0]
    rank = (x > logit).sum(-1)
    return lse, logp.gather(-1, column[:, None])[:, 0], rank, -(logp.exp() * logp).sum(-1)


def _by_set(run: Callable[[Any, Any], Any], sets: Sets) -> Callable[..., Any]:
    x, select = sets.x, sets.select
    return lambda i=0: run(x[i], select)


def _made(fields: tuple[str, ...], run: Callable[..., Any]) -> Callable[[], Contestant]:
    return lambda: Contestant(run, fields, None)
