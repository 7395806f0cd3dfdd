"""Walks over the typed tree.

Knows the tree's shape only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from oneread.trace.tree import Expr, Program, Statement

Node = Expr | Statement


_names: dict[type[Node], tuple[str, ...]] = {}
"""Fields of each kind of node that may hold others."""


def children(node: Node) -> Iterator[Node]:
    """Yield the statements and expressions directly in a node, in order."""
    names = _names.get(type(node))
    if names is None:
        names = tuple(one.name for one in fields(node) if one.name not in {"position", "type"})
        _names[type(node)] = names
    for name in names:
        value = getattr(node, name)
        if isinstance(value, Expr | Statement):
            yield value
        elif isinstance(value, tuple):
            for one in value:
                if isinstance(one, Expr | Statement):
                    yield one


def under(node: Node) -> Iterator[Node]:
    """Yield a node and all below it."""
    yield node
    for child in children(node):
        yield from under(child)


def nodes(program: Program) -> Iterator[Node]:
    """Yield every statement and expression of a program."""
    for function in program.functions:
        yield from under(function.body)
