"""PyTorch as a peer: the calls that people write, and the same into kept tensors.

Knows no other library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Data, Forms

NAME: Final = "torch"
KEPT: Final = "torch out="
#: Top-k of the logits first, then only the winners' probabilities.
TOP_FIRST: Final = "torch topk first"


def version() -> str:
    """Return the version of the library."""
    import torch

    return str(torch.__version__)


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the ways in which PyTorch can do a case."""
    import torch

    torch.set_num_threads(threads)
    make = {
        "softmax": _whole,
        "log_softmax": _whole,
        "logsumexp": _logsumexp,
        "top_k": _top_k,
        "softmax_topk": _softmax_topk,
        "read": _read,
    }[case.op]
    fields, runs = make(torch, case, _tensor(torch, data.x), data)
    return {
        name: lambda run=run: Contestant(run, fields, threads)  # type: ignore[misc]
        for name, run in runs.items()
    }


_Runs = tuple[tuple[str, ...], dict[str, Callable[[], Any]]]


def _tensor(torch: Any, array: Any) -> Any:
    """Return a view of a NumPy array."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _whole(torch: Any, case: Case, x: Any, data: Data) -> _Runs:
    function, axis = getattr(torch, case.op), case.axis
    if case.memory == "fresh":
        return ("y",), {NAME: lambda: function(x, axis)}
    y = _tensor(torch, data.y)
    return ("y",), {KEPT: lambda: function(x, axis, out=y)}


def _logsumexp(torch: Any, case: Case, x: Any, data: Data) -> _Runs:
    axis, y = case.axis, torch.logsumexp(x, case.axis)
    return ("lse",), {KEPT: lambda: torch.logsumexp(x, axis, out=y)}


def _top_k(torch: Any, case: Case, x: Any, data: Data) -> _Runs:
    k = dict(case.options)["k"]
    kept = torch.topk(x, k)
    return ("values", "indices"), {
        NAME: lambda: torch.topk(x, k),
        KEPT: lambda: torch.topk(x, k, out=kept),
    }


def _softmax_topk(torch: Any, case: Case, x: Any, data: Data) -> _Runs:
    k, y = dict(case.options)["k"], torch.softmax(x, -1)
    kept = torch.topk(y, k)
    largest = tuple(torch.empty_like(part) for part in kept)
    lse = torch.empty(x.shape[0], 1)

    def top_first() -> Any:
        torch.topk(x, k, out=largest)
        torch.logsumexp(x, -1, keepdim=True, out=lse)
        torch.sub(largest[0], lse, out=kept[0])
        return torch.exp(kept[0], out=kept[0]), largest[1]

    return ("values", "indices"), {
        NAME: lambda: torch.topk(torch.softmax(x, -1), k),
        KEPT: lambda: torch.topk(torch.softmax(x, -1, out=y), k, out=kept),
        TOP_FIRST: top_first,
    }


def _read(torch: Any, case: Case, x: Any, data: Data) -> _Runs:
    k, column = dict(case.options)["top_k"], _tensor(torch, data.select)[:, None]

    def run() -> Any:
        lse = torch.logsumexp(x, -1, keepdim=True)
        largest, indices = torch.topk(x, k)
        logit = x.gather(-1, column)
        rank = (x > logit).sum(-1)
        logp = x - lse
        p = logp.exp()
        return (
            lse[:, 0], largest - lse, indices, (logit - lse)[:, 0], rank,
            -torch.linalg.vecdot(p, logp), torch.linalg.vecdot(p, p),
        )  # fmt: skip

    fields = ("lse", "logprobs", "indices", "selected", "rank", "entropy", "sum_p2")
    return fields, {NAME: run}
