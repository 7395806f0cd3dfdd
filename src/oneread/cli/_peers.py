"""The demo's comparison: the same jobs as people write them in NumPy, SciPy and PyTorch.

Knows nothing of printing. The benchmark room will do this thoroughly; here are two jobs, a few
interleaved rounds and the median.
"""

import importlib.util
import statistics
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

#: Pause before each timed call, so that the threads of the one before have gone to sleep.
_IDLE_S = 0.1

TOP_K = 5


class Peer(NamedTuple):
    """One library's way of doing the two jobs."""

    name: str
    version: str
    read: Callable[[], Any]
    """lse or log-probs, top-k, log-prob and rank of the next token, entropy."""
    softmax: Callable[[], Any]
    one_thread: bool
    """Whether both jobs run on one thread, whatever the machine has."""
    copies: float
    """Most memory beyond the input that `read` needs at once, in copies of the input."""


def peers(x: Any, following: Any) -> list[Peer]:
    """Return the libraries that are installed, NumPy first.

    Parameters
    ----------
    x : ndarray, shape (rows, vocab), float32
        Logits.
    following : ndarray, shape (rows,), int64
        Column to look up in each row.
    """
    found = [_numpy(x, following)]
    if importlib.util.find_spec("scipy") is not None:
        found.append(_scipy(x, following))
    if importlib.util.find_spec("torch") is not None:
        found.append(_torch(x, following))
    return found


def quartiles(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the quartiles, in seconds, of each job over rounds in which each runs once.

    A warm-up comes before them. The second quartile is the median.

    Results are fresh every time and thrown away outside of what is timed.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for i in range(rounds + 1):
        for name, job in jobs.items():
            time.sleep(_IDLE_S)
            start = time.perf_counter()
            result = job()
            if i > 0:
                times[name].append(time.perf_counter() - start)
            del result
    return {
        name: statistics.quantiles(values, n=4, method="inclusive")
        for name, values in times.items()
    }


def _numpy(x: Any, following: Any) -> Peer:
    import numpy as np

    def softmax() -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def read() -> Any:
        z = x - x.max(-1, keepdims=True)
        logp = z - np.log(np.exp(z).sum(-1, keepdims=True))
        return _summary(np, logp, following)

    # At the top: z, logp, their exponentials' product and the partition's int64 columns.
    return Peer("NumPy", np.__version__, read, softmax, True, 5)


def _scipy(x: Any, following: Any) -> Peer:
    import numpy as np
    from scipy import special

    def read() -> Any:
        return _summary(np, special.log_softmax(x, -1), following)

    return Peer("SciPy", metadata.version("scipy"), read, lambda: special.softmax(x, -1), True, 4)


def _summary(np: Any, logp: Any, following: Any) -> Any:
    """Return top-k, log-prob, rank and entropy from log-probabilities, with NumPy."""
    top = np.argpartition(logp, -TOP_K, -1)[:, -TOP_K:]
    values = np.take_along_axis(logp, top, -1)
    order = np.argsort(-values, -1)
    selected = np.take_along_axis(logp, following[:, None], -1)
    rank = (logp > selected).sum(-1)
    entropy = -(np.exp(logp) * logp).sum(-1)
    columns = np.take_along_axis(top, order, -1)
    return np.take_along_axis(values, order, -1), columns, selected, rank, entropy


def _torch(x: Any, following: Any) -> Peer:
    import torch

    logits, column = torch.from_numpy(x), torch.from_numpy(following)[:, None]

    def read() -> Any:
        logp = torch.log_softmax(logits, -1)
        top = logp.topk(TOP_K, -1)
        selected = logp.gather(-1, column)
        rank = (logp > selected).sum(-1)
        entropy = -(logp.exp() * logp).sum(-1)
        return top, selected, rank, entropy

    # At the top: logp, its exponential and their product.
    return Peer("PyTorch", torch.__version__, read, lambda: torch.softmax(logits, -1), False, 3)
