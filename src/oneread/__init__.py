"""Read the logits once, get everything.

Knows the names of the public functions and where they live; loads them when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneread._lazy import lazy

if TYPE_CHECKING:
    from oneread.ops._explain import explain, kernels, warm
    from oneread.ops.logsumexp import logsumexp
    from oneread.ops.read import read
    from oneread.ops.softmax import log_softmax, softmax
    from oneread.ops.state import State
    from oneread.ops.topk import softmax_topk, top_k
    from oneread.runtime.cpu import get_threads, last_kernel, set_threads
    from oneread.spec import (
        AxisError,
        BackendUnavailableError,
        DtypeError,
        Explanation,
        KernelCompileError,
        KernelRecord,
        OneReadError,
        Read,
        ShapeError,
        SoftmaxTopK,
        TopK,
    )

__version__ = "0.1.0"

_HOMES = {
    "oneread.ops._explain": ("explain", "kernels", "warm"),
    "oneread.ops.logsumexp": ("logsumexp",),
    "oneread.ops.read": ("read",),
    "oneread.ops.softmax": ("log_softmax", "softmax"),
    "oneread.ops.state": ("State",),
    "oneread.ops.topk": ("softmax_topk", "top_k"),
    "oneread.runtime.cpu": ("get_threads", "last_kernel", "set_threads"),
    "oneread.spec": (
        "AxisError", "BackendUnavailableError", "DtypeError", "Explanation", "KernelCompileError",
        "KernelRecord", "OneReadError", "Read", "ShapeError", "SoftmaxTopK", "TopK",
    ),
}  # fmt: skip

__all__ = [
    "AxisError",
    "BackendUnavailableError",
    "DtypeError",
    "Explanation",
    "KernelCompileError",
    "KernelRecord",
    "OneReadError",
    "Read",
    "ShapeError",
    "SoftmaxTopK",
    "State",
    "TopK",
    "__version__",
    "explain",
    "get_threads",
    "kernels",
    "last_kernel",
    "log_softmax",
    "logsumexp",
    "read",
    "set_threads",
    "softmax",
    "softmax_topk",
    "top_k",
    "warm",
]


__getattr__, __dir__ = lazy(__name__, _HOMES)
