"""How near the arguments of a call are to parameters, and what they show of a template's.

Knows types and the conversions between them; knows no scope and reports nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TypeAlias

from oneread.trace import tree
from oneread.trace.builtins import Builtin
from oneread.trace.front import nodes, syntax
from oneread.trace.front.names import TYPE_NAMES, Constant, Named
from oneread.trace.types import Pointer, Scalar, Type, common, promote

#: An argument of a template, settled: a type, or a number with its type.
TemplateValue: TypeAlias = Named | Constant

#: Arguments of a call; of braces, whose type is the parameter's, None.
Arguments: TypeAlias = Sequence[tree.Expr | None]


def settles(
    head: syntax.FunctionHead, written: int, shown: Mapping[str, Sequence[TemplateValue]]
) -> bool:
    """Say whether a call gives each argument of a template, and gives it once."""
    if written > len(head.template):
        return False
    for parameter in head.template[written:]:
        count = len(shown.get(parameter.name, ()))
        if count > 1 or (count == 0 and parameter.default is None):
            return False
    return True


def best(overloads: Sequence[Builtin], arguments: Sequence[tree.Expr]) -> Builtin | None:
    """Return the overload whose parameters are nearest to the arguments, the first of equals."""
    kinds = [argument.type for argument in arguments]
    if overloads[0].kind == "maths" and all(isinstance(kind, Scalar) for kind in kinds):
        # As CUDA's own max and min do it, numbers of several types meet as in arithmetic.
        met = reduce(common, (promote(kind) for kind in kinds if isinstance(kind, Scalar)))
        for one in overloads:
            if all(kind == met for kind in one.parameters):
                return one
    best, least = None, None
    for one in overloads:
        total = distance(one, arguments)
        if total is not None and (least is None or total < least):
            best, least = one, total
    return best


def distance(builtin: Builtin, arguments: Sequence[tree.Expr]) -> int | None:
    """Return how far arguments are from a built-in's parameters; None where they do not fit."""
    most = len(builtin.parameters)
    if not most - len(builtin.defaults) <= len(arguments) <= most:
        return None
    total = 0
    for argument, kind in zip(arguments, builtin.parameters, strict=False):
        far = rank(argument, kind)
        if far is None:
            return None
        total += far
    return total


def rank(argument: tree.Expr, kind: Type) -> int | None:
    """Return how far an argument is from a parameter; None where it does not fit at all."""
    have = argument.type
    if have == kind:
        return 0
    if nodes.implicit(argument, kind) is None:
        return None
    if not isinstance(have, Scalar) or not isinstance(kind, Scalar):
        return 4
    if promote(have) == kind:
        return 1
    # Of C++'s equal conversions, the one that loses least: kept as a float, or wide enough.
    if (have.kind == "float") == (kind.kind == "float") and kind.size >= have.size:
        return (
            2
            + 2 * (kind.size > have.size and kind.kind != "float")
            + (have.kind != "float" and have.signed != kind.signed)
        )
    if kind.kind == "float" and have.kind != "float":
        return 8 - (kind.size == 8)
    return 16


def deduced(head: syntax.FunctionHead, arguments: Arguments) -> dict[str, list[TemplateValue]]:
    """Return what a call's arguments show of a template's types: of each all that were seen."""
    found: dict[str, list[TemplateValue]] = {}
    names = {one.name for one in head.template if one.words is None} - TYPE_NAMES
    for parameter, argument in zip(head.parameters, arguments, strict=False):
        if parameter.type.words.name in names and argument is not None:
            shown = shown_by(argument, parameter.type)
            seen = found.setdefault(parameter.type.words.name, [])
            if shown is not None and shown not in seen:
                seen.append(shown)
    return found


def shown_by(value: tree.Expr, node: syntax.TypeId) -> Named | None:
    """Return the type that a value shows for the name, or ``auto``, in a type set to it."""
    words, declarator = node.words, node.declarator
    const = volatile = False
    if not declarator.reference:
        value = nodes.loaded(value)
    elif isinstance(value, tree.Lvalue):
        const, volatile = nodes.qualifiers(value)
    kind = value.type
    for _ in (*declarator.pointers, *declarator.dimensions):
        if not isinstance(kind, Pointer):
            return None
        const, volatile, kind = kind.const, kind.volatile, kind.target
    return Named(kind, const and not words.const, volatile and not words.volatile)
