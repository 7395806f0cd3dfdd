"""JAX as a peer: jitted functions, waited for.

Knows no other library. XLA uses as many threads as the process may use processors; it has no
`out=`.
"""

from __future__ import annotations

import os
from typing import Any, Final

from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Data, Forms

NAME: Final = "jax"


def version() -> str:
    """Return the version of the library."""
    import jax

    return str(jax.__version__)


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the ways in which JAX can do a case."""
    import jax

    jax.config.update("jax_enable_x64", case.dtype == "float64")
    fields, function = {
        "softmax": _softmax,
        "log_softmax": _softmax,
        "logsumexp": _logsumexp,
        "top_k": _top_k,
        "softmax_topk": _softmax_topk,
        "read": _read,
    }[case.op](jax, case)

    def make() -> Contestant:
        arguments = [jax.device_put(data.x)]
        if case.op == "read":
            arguments.append(jax.device_put(data.select)[:, None])
        jitted = jax.jit(function)
        cores = len(os.sched_getaffinity(0))
        return Contestant(lambda: jax.block_until_ready(jitted(*arguments)), fields, cores)

    return {NAME: make}


_Made = tuple[tuple[str, ...], Any]


def _softmax(jax: Any, case: Case) -> _Made:
    function = getattr(jax.nn, case.op)
    return ("y",), lambda x: function(x, axis=case.axis)


def _logsumexp(jax: Any, case: Case) -> _Made:
    return ("lse",), lambda x: jax.nn.logsumexp(x, axis=case.axis)


def _top_k(jax: Any, case: Case) -> _Made:
    k = dict(case.options)["k"]
    return ("values", "indices"), lambda x: jax.lax.top_k(x, k)


def _softmax_topk(jax: Any, case: Case) -> _Made:
    k = dict(case.options)["k"]
    return ("values", "indices"), lambda x: jax.lax.top_k(jax.nn.softmax(x, axis=-1), k)


def _read(jax: Any, case: Case) -> _Made:
    import jax.numpy as jnp

    k = dict(case.options)["top_k"]

    def function(x: Any, column: Any) -> Any:
        lse = jax.nn.logsumexp(x, axis=-1, keepdims=True)
        largest, indices = jax.lax.top_k(x, k)
        logit = jnp.take_along_axis(x, column, -1)
        logp = x - lse
        p = jnp.exp(logp)
        return (
            lse[:, 0], largest - lse, indices, (logit - lse)[:, 0], (x > logit).sum(-1),
            -(p * logp).sum(-1), (p * p).sum(-1),
        )  # fmt: skip

    fields = ("lse", "logprobs", "indices", "selected", "rank", "entropy", "sum_p2")
    return fields, function
