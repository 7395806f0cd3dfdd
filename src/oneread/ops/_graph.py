"""The ops as torch operators, for graphs that are captured and tensors without numbers.

Knows torch only by its backend. Imported when the first such call is made; that registers them.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from oneread.backends import torch_, torch_autograd
from oneread.backends.base import dtype_name
from oneread.ops import _device, logsumexp, read, softmax, topk
from oneread.ops._arguments import Call, Options, Source, check_workspace, source_of
from oneread.ops._derive_batch import batching
from oneread.ops._derive_read import ReadRule
from oneread.ops._derive_softmax import SoftmaxRule
from oneread.ops._face import Op
from oneread.ops._numbers import integer
from oneread.ops._output import Slot, by_field
from oneread.spec import DtypeError, Read, SoftmaxTopK, TopK


class _Operator(NamedTuple):
    op: Op
    result: Any = None
    own: tuple[tuple[str, str], ...] = ()
    """Arguments that the op alone has: (name, schema type)."""


_TOP: Final = (("k", "SymInt"), ("index_dtype", "str?"))
_OPERATORS: Final = {
    operator.op.name: operator
    for operator in (
        _Operator(softmax.SOFTMAX),
        _Operator(softmax.LOG_SOFTMAX),
        _Operator(logsumexp.LOGSUMEXP, None, (("keepdims", "bool"),)),
        _Operator(topk.TOP_K, TopK, _TOP),
        _Operator(
            topk.SOFTMAX_TOPK, SoftmaxTopK,
            (*_TOP, ("kind", "str"), ("renormalize", "bool"), ("return_lse", "bool")),
        ),
        _Operator(
            read.READ, Read,
            (("top_k", "SymInt"), ("select", "Tensor?"), ("rank", "bool"), ("entropy", "bool"),
             ("sum_p2", "bool"), ("argmax", "bool"), ("keepdims", "bool")),
        ),
    )
}  # fmt: skip
#: Arguments of every operator after x: (name, schema type).
_COMMON: Final = (
    ("axis", "int[]?"), ("dtype", "str?"), ("where", "Tensor?"), ("lengths", "Tensor?"),
    ("temperature", "Tensor?"), ("threads", "int?"), ("kernel", "str?"), ("deterministic", "str?"),
)  # fmt: skip


def call(
    op: str,
    x: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    own: dict[str, Any],
    options: Options,
) -> Any:
    """Run an op as torch's operator: in graphs, and where derivatives are wanted."""
    check_workspace(options.workspace)
    if out is not None:
        torch_.check_gradient(x, "x, of which the result goes to out,")
    operator = _OPERATORS[op]
    given = {**options._asdict(), **own, "axis": _axes(axis), "dtype": dtype}
    for name in ("dtype", "index_dtype"):
        if given.get(name) is not None:
            given[name] = dtype_name(given[name])
    for name in ("k", "top_k"):
        if name in given and type(given[name]) not in torch_.INTEGERS:
            given[name] = integer(given[name], name)
    arguments = [torch_.argument(given[n], kind) for n, kind in (*_COMMON, *operator.own)]
    result = torch_autograd.call(op, x, *arguments)
    if operator.result is None:
        return result if out is None else torch_.copy_into(out, result, "out")
    fields = dict(zip(_asked(op, own), result, strict=True))
    if out is None:
        return operator.result(**fields)
    targets = by_field(out, operator.result._fields, tuple(fields))
    for name, value in fields.items():
        torch_.copy_into(targets[name], value, f"out.{name}")
    return out if isinstance(out, operator.result) else operator.result(**targets)


def _axes(axis: Any) -> list[int] | None:
    if axis is None:
        return None
    if isinstance(axis, (tuple, list)):
        return [integer(a, "axis") for a in axis]
    return [integer(axis, "axis")]


def _asked(op: str, own: dict[str, Any]) -> tuple[str, ...]:
    """Return the fields of the result that are not None, in order."""
    if op == "logsumexp":
        return ("lse",)
    if op == "top_k":
        return TopK._fields
    if op == "softmax_topk":
        return SoftmaxTopK._fields if own["return_lse"] else SoftmaxTopK._fields[:2]
    options = {"values": "top_k", "indices": "top_k", "logprobs": "top_k"}
    asked = {name: bool(own.get(options.get(name, name))) for name in Read._fields}
    asked |= {"lse": True, "max": True, "selected": own["select"] is not None}
    return tuple([name for name in Read._fields if asked[name]])


def _register(operator: _Operator) -> None:
    op, single = operator.op, operator.result is None
    arguments = (*_COMMON, *operator.own)

    def run(x: Any, *values: Any) -> Any:
        axis, dtype, options, own = _split(arguments, values)
        if x.is_cuda:
            result = _device.run(op.name, x, axis, dtype, None, own, options)
        else:
            call = Call(op.name, source_of(x), axis, options)
            result = op.run(call, op.plan(call, dtype, **own), None)
        return result if single else [field for field in result if field is not None]

    def shapes(x: Any, *values: Any) -> Any:
        axis, dtype, options, own = _split(arguments, values)
        if x.dtype not in torch_.NAMES:
            raise DtypeError(f"x holds {x.dtype}, which is not supported")
        source = Source(torch_, x, tuple(x.shape), torch_.NAMES[x.dtype], None)
        numberless = options._replace(where=None, lengths=None, temperature=None)
        call = Call(op.name, source, axis, numberless)
        made = [_empty(x, call, slot) for slot in op.plan(call, dtype, **own).slots.values()]
        return made[0] if single else made

    schema = ", ".join(f"{kind} {name}" for name, kind in (("x", "Tensor"), *arguments))
    returns = "Tensor" if single else "Tensor[]"
    names = tuple([name for name, _ in arguments])
    rule: Any = SoftmaxRule(op.name)
    if operator.result is not None or operator.own:
        rule = ReadRule(
            op.name, tuple([name for name, _ in operator.own]), partial(_asked, op.name)
        )
    torch_autograd.define(
        f"{op.name}({schema}) -> {returns}", run, shapes, rule, batching(op.name, names, single)
    )


def _split(
    arguments: tuple[tuple[str, str], ...], values: tuple[Any, ...]
) -> tuple[Any, Any, Options, dict[str, Any]]:
    """Return axis, dtype, options and the op's own arguments from those of an operator."""
    own = dict(zip([name for name, _ in arguments], values, strict=True))
    axis, dtype = own.pop("axis"), own.pop("dtype")
    if axis is not None:
        axis = axis[0] if len(axis) == 1 else tuple(axis)
    options = Options(**{name: own.pop(name) for name in Options._fields if name in own})
    return axis, dtype, options, own


def _empty(x: Any, call: Call, slot: Slot) -> Any:
    if slot.place is None:
        return torch_.empty(x, slot.shape, slot.dtype)
    shape = (*call.rows, slot.shape[slot.place])
    return torch_.empty(x, shape, slot.dtype).movedim(-1, slot.place)


for _operator in _OPERATORS.values():
    _register(_operator)
    if _operator.result is not None:
        torch_.name_in_exports(_operator.result)
