"""Which buffers hold something before a kernel begins, as its own uses of them say it.

Knows the tree; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal

from oneread.trace.tree import (
    AddressOf,
    Assign,
    BuiltinCall,
    Call,
    Convert,
    Decay,
    Declare,
    Deref,
    Expr,
    Index,
    Load,
    Member,
    PointerAdd,
    Program,
    Update,
    Variable,
    VariableRef,
)
from oneread.trace.types import Pointer
from oneread.trace.walking import Node, children, nodes

#: ``zeros`` of a buffer that atomics gather in, ``changed`` of one that is read and then written,
#: ``read`` of one that is never written.
Held = Literal["zeros", "changed", "read"]

#: What changes a number without a look at what it was.
_BLIND = "atomicExch"


@lru_cache(maxsize=8)  # a program is launched many times
def held(program: Program) -> Mapping[str, Held]:
    """Return what buffers hold from the start, of those that are not to const.

    A buffer whose first use in the source is a store holds nothing, and is left out.
    """
    roots = _roots(program)
    uses: dict[Variable, list[str]] = {}
    for pointer, use in _uses(program.kernel.body):
        for root in roots.get(pointer, ()):
            uses.setdefault(root, []).append(use)
    for node in nodes(program):
        if isinstance(node, Call):  # what a function does with a pointer, in its place unknown
            for parameter, use in _uses(node.function.body):
                for root in roots.get(parameter, ()):
                    uses.setdefault(root, []).append(use)
    found: dict[str, Held] = {}
    for root, these in uses.items():
        assert isinstance(root.type, Pointer)
        if root.type.const or these[0] == "store":
            continue
        if these[0] == "atomic":
            found[root.name] = "zeros"
        else:
            found[root.name] = "read" if set(these) == {"load"} else "changed"
    return found


def _roots(program: Program) -> dict[Variable, set[Variable]]:
    """Return which parameters of the kernel each pointer may come from."""
    roots = {one: {one} for one in program.kernel.parameters if isinstance(one.type, Pointer)}
    given = [(v, base) for v, value in _given(program) if (base := _base(value)) is not None]
    while True:
        before = sum(map(len, roots.values()))
        for variable, base in given:
            if base in roots:
                roots.setdefault(variable, set()).update(roots[base])
        if sum(map(len, roots.values())) == before:
            return roots


def _given(program: Program) -> Iterator[tuple[Variable, Expr]]:
    for node in nodes(program):
        if isinstance(node, Declare) and node.value is not None:
            yield node.variable, node.value
        elif isinstance(node, Assign) and isinstance(node.target, VariableRef):
            yield node.target.variable, node.value
        elif isinstance(node, Call):
            yield from zip(node.function.parameters, node.arguments, strict=True)


def _base(node: Node) -> Variable | None:
    """Return the pointer that an address or a place is counted from."""
    while not isinstance(node, VariableRef):
        if isinstance(node, PointerAdd | Index | Deref):
            node = node.pointer
        elif isinstance(node, Member):
            node = node.base
        elif isinstance(node, Load | AddressOf | Decay):
            node = node.place
        elif isinstance(node, Convert):
            node = node.value
        else:
            return None
    return node.variable if isinstance(node.variable.type, Pointer) else None


def _uses(node: Node) -> Iterator[tuple[Variable, str]]:
    """Yield the pointers that memory is reached through, in order, and what is done there."""
    if isinstance(node, Assign):
        yield from _uses(node.value)
        yield from _place(node.target, "store")
    elif isinstance(node, Update):
        yield from _uses(node.value)
        yield from _place(node.target, "load")
        yield from _place(node.target, "store")
    elif isinstance(node, Load):
        yield from _place(node.place, "load")
    elif isinstance(node, BuiltinCall) and node.builtin.kind == "atomic":
        for one in node.arguments:
            yield from _uses(one)
        base = _base(node.arguments[0])
        if base is not None:
            yield base, "store" if node.builtin.name == _BLIND else "atomic"
    else:
        for child in children(node):
            yield from _uses(child)


def _place(place: Expr, use: str) -> Iterator[tuple[Variable, str]]:
    """Yield what reaching a place uses, then the place's own pointer if it lies in memory."""
    for child in children(place):
        yield from _uses(child)
    base = None if isinstance(place, VariableRef) else _base(place)
    if base is not None:
        yield base, use
