"""Walks over the typed tree.

Knows the tree's shape only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Any

from oneread.trace.tree import Expr, Program, Statement

Node = Expr | Statement


@lru_cache(maxsize=None)
def _names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind) if one.name not in {"position", "type"})


def children(node: Node) -> Iterator[Node]:
    """Yield the statements and expressions directly in a node, in order."""
    for name in _names(type(node)):
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
