"""The ops as contestants, their kernels by name, and the yardsticks made of them.

Knows the ops by name only: which arguments a case has, it hands on.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any, Final

import oneread
from oneread.bench.cases import OWN_LOGSUMEXP, OWN_RANDOM, Case, own_kernel
from oneread.bench.contestants import AbsentError, Contestant, Data, Forms
from oneread.spec import OPS

#: The name of the op under test among the contestants of its case.
OURS: Final = "oneread"


def forms(case: Case, data: Data, threads: int) -> Forms:
    """Return the op of the case, its other kernels and its yardsticks as contestants."""
    oneread.set_threads(threads)
    made = {OURS: lambda: contestant(case, data, threads)}
    for kernel in case.kernels:
        asked = dataclasses.replace(case, options=(*case.options, ("kernel", kernel)))
        made[own_kernel(kernel)] = partial(contestant, asked, data, threads)
    if OWN_LOGSUMEXP in case.yardsticks:
        lse = Case(case.group, "logsumexp", case.shape, axis=case.axis, dtype=case.dtype)
        made[OWN_LOGSUMEXP] = lambda: contestant(lse, data, threads)
    if OWN_RANDOM in case.yardsticks:
        random = dataclasses.replace(case, order="random")
        made[OWN_RANDOM] = lambda: contestant(random, Data.of(random, False), threads)
    return made


def contestant(case: Case, data: Data, threads: int) -> Contestant:
    """Return the op of the case with its arguments."""
    op = getattr(oneread, case.op)
    x = _array(case, data.x)
    arguments = dict(case.options)
    if case.axis != -1:  # as people call it: arguments that say nothing cost time, too
        arguments["axis"] = case.axis
    if "select" in arguments:
        arguments["select"] = _array(case, data.select)
    first = op(x, **arguments)
    names = OPS[case.op].outputs
    fields = names if len(names) == 1 else names[: len(first)]
    if case.memory == "out":
        row_output = OPS[case.op].row_output
        arguments["out"] = _array(case, data.y) if row_output else first
    return Contestant(lambda: op(x, **arguments), fields, threads)


def _array(case: Case, array: Any) -> Any:
    """Return an array as the library's whose arrays the case asks for."""
    if case.arrays == "numpy":
        return array
    try:
        import torch
    except ImportError:
        raise AbsentError("PyTorch is not installed") from None
    return torch.from_numpy(array)
