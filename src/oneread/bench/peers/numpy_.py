"""NumPy as a peer: the safe formulas in as few passes as its functions allow.

Knows no other library. NumPy runs these on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Data, Forms

NAME: Final = "numpy"


def version() -> str:
    """Return the version of the library."""
    return np.__version__


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the ways in which NumPy can do a case."""
    make = _OPS[case.op]
    name = f"{NAME} out=" if case.memory == "out" and case.op != "logsumexp" else NAME
    return {name: lambda: Contestant(make(case, data), *_shown(case))}


def _shown(case: Case) -> tuple[tuple[str, ...], int]:
    fields = {
        "softmax": ("y",),
        "log_softmax": ("y",),
        "logsumexp": ("lse",),
        "top_k": ("values", "indices"),
        "softmax_topk": ("values", "indices"),
        "read": ("lse", "logprobs", "indices", "selected", "rank", "entropy", "sum_p2"),
    }[case.op]
    return fields, 1


def _softmax(case: Case, data: Data) -> Callable[[], Any]:
    x, axis = data.x, case.axis
    out = data.y if case.memory == "out" else None

    def run() -> Any:
        y = np.subtract(x, x.max(axis, keepdims=True), out=out)
        np.exp(y, out=y)
        y /= y.sum(axis, keepdims=True)
        return y

    return run


def _log_softmax(case: Case, data: Data) -> Callable[[], Any]:
    x, axis = data.x, case.axis
    out = data.y if case.memory == "out" else None

    def run() -> Any:
        y = np.subtract(x, x.max(axis, keepdims=True), out=out)
        y -= np.log(np.exp(y).sum(axis, keepdims=True))
        return y

    return run


def _logsumexp(case: Case, data: Data) -> Callable[[], Any]:
    x, axis = data.x, case.axis

    def run() -> Any:
        m = x.max(axis, keepdims=True)
        y = x - m
        np.exp(y, out=y)
        return np.log(y.sum(axis)) + m.squeeze(axis)

    return run


def _top(x: Any, k: int) -> tuple[Any, Any]:
    """Return the k largest of each row, by partition."""
    columns = np.argpartition(x, x.shape[-1] - k, -1)[:, -k:]
    values = np.take_along_axis(x, columns, -1)
    order = np.argsort(-values, -1)
    return np.take_along_axis(values, order, -1), np.take_along_axis(columns, order, -1)


def _top_k(case: Case, data: Data) -> Callable[[], Any]:
    k = dict(case.options)["k"]
    return lambda: _top(data.x, k)


def _softmax_topk(case: Case, data: Data) -> Callable[[], Any]:
    x, k = data.x, dict(case.options)["k"]

    def run() -> Any:
        values, columns = _top(x, k)
        e = x - values[:, :1]
        np.exp(e, out=e)
        return np.exp(values - values[:, :1]) / e.sum(-1, keepdims=True), columns

    return run


def _dot(a: Any, b: Any) -> Any:
    """Return the product of each row with its other, by BLAS."""
    return np.matmul(a[:, None, :], b[:, :, None])[:, 0, 0]


def _read(case: Case, data: Data) -> Callable[[], Any]:
    x, select, k = data.x, data.select[:, None], dict(case.options)["top_k"]

    def run() -> Any:
        values, columns = _top(x, k)
        z = x - values[:, :1]
        p = np.exp(z)
        d = p.sum(-1, keepdims=True)
        log_d = np.log(d)
        p /= d
        z -= log_d
        selected = np.take_along_axis(z, select, -1)
        return (
            (values[:, :1] + log_d)[:, 0], values - values[:, :1] - log_d, columns, selected[:, 0],
            (z > selected).sum(-1), -_dot(p, z), _dot(p, p),
        )  # fmt: skip

    return run


_OPS: Final = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "top_k": _top_k,
    "softmax_topk": _softmax_topk,
    "read": _read,
}
