"""The ops as contestants on a GPU, and the kernels of the gallery that a case names.

Knows the ops by name only: which arguments a case has, it hands on.
"""

from __future__ import annotations

from typing import Any

import oneread
from oneread.bench.cases import Case
from oneread.bench.contestants import Contestant, Forms
from oneread.bench.gpu import gallery
from oneread.bench.gpu.sets import Sets
from oneread.bench.ours import OURS
from oneread.spec import OPS


def forms(case: Case, sets: Sets) -> Forms:
    """Return the op of the case as a contestant, then the gallery's."""
    return {OURS: lambda: contestant(case, sets), **gallery.forms(case, sets)}


def contestant(case: Case, sets: Sets) -> Contestant:
    """Return the op of the case with its arguments, by the number of a set."""
    op = getattr(oneread, case.op)
    arguments = dict(case.options)
    if case.axis != -1:  # as people call it: arguments that say nothing cost time, too
        arguments["axis"] = case.axis
    if "select" in arguments:
        arguments["select"] = sets.select
    first = op(sets.x[0], **arguments)
    names = OPS[case.op].outputs
    fields = names if len(names) == 1 else names[: len(first)]
    if case.memory == "fresh":
        return Contestant(_by_set(op, sets.x, arguments), fields, None)
    kept = sets.y
    if not OPS[case.op].row_output:
        kept = (first, *(op(x, **arguments) for x in sets.x[1:]))
    return Contestant(_into_kept(op, sets.x, kept, arguments), fields, None)


def _by_set(op: Any, x: Any, arguments: dict[str, Any]) -> Any:
    return lambda i=0: op(x[i], **arguments)


def _into_kept(op: Any, x: Any, kept: Any, arguments: dict[str, Any]) -> Any:
    return lambda i=0: op(x[i], out=kept[i], **arguments)
