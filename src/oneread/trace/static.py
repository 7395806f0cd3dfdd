"""Faults that are seen without running: products that overflow for other sizes.

Knows the tree; knows no machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oneread.source.text import Position
from oneread.trace.tree import (
    Assign,
    Binary,
    Call,
    Declare,
    Expr,
    Index,
    Load,
    PointerAdd,
    Program,
    Special,
    Update,
    Variable,
    VariableRef,
)
from oneread.trace.types import Scalar
from oneread.trace.walking import Node, children, nodes, under


@dataclass(frozen=True, slots=True)
class NarrowOffset:
    """A 32-bit product of a block's number and a size that moves a pointer."""

    position: Position
    """Of its operator."""
    start: Position
    """Of its left operand, where a cast would stand."""
    limit: int
    """The product that no longer fits."""


def narrow_offsets(program: Program) -> list[NarrowOffset]:
    """Return the 32-bit products of block numbers and parameters in pointer arithmetic."""
    sizes = {parameter for parameter in program.kernel.parameters if _is_integer(parameter)}
    blocks = _closed(program, set(), lambda node: isinstance(node, Special) and _of_block(node))
    sizes = _closed(program, sizes, lambda node: False)
    found: dict[Position, NarrowOffset] = {}
    for node in nodes(program):
        if isinstance(node, PointerAdd | Index):
            for product in _products(node.index):
                sides = (product.left, product.right)
                if any(
                    _has(one, blocks, _of_block) and _has(other, sizes, _never)
                    for one, other in (sides, sides[::-1])
                ):
                    assert isinstance(product.type, Scalar)
                    start = _start(product)
                    limit = product.type.highest + 1
                    found[product.position] = NarrowOffset(product.position, start, limit)
    return list(found.values())


def _products(index: Node) -> list[Binary]:
    """Return the 32-bit products that an index is a sum of, those in what it reads left out."""
    found = []
    if isinstance(index, Binary) and index.operator == "*":
        if isinstance(index.type, Scalar) and index.type.size == 4:
            found.append(index)
    elif isinstance(index, Load | Index):
        return found
    return found + [product for child in children(index) for product in _products(child)]


def _is_integer(variable: Variable) -> bool:
    return isinstance(variable.type, Scalar) and variable.type.kind == "int"


def _of_block(node: Any) -> bool:
    return isinstance(node, Special) and node.name.startswith("blockIdx")


def _never(_: Any) -> bool:
    return False


def _has(node: Expr, variables: set[Variable], special: Any) -> bool:
    return any(
        special(one) or (isinstance(one, VariableRef) and one.variable in variables)
        for one in under(node)
    )


def _closed(program: Program, seeds: set[Variable], special: Any) -> set[Variable]:
    """Return the integer variables that get a value made of these."""
    pairs: list[tuple[Variable, Expr]] = []
    for node in nodes(program):
        if isinstance(node, Declare) and node.value is not None:
            pairs.append((node.variable, node.value))
        elif isinstance(node, Assign | Update) and isinstance(node.target, VariableRef):
            pairs.append((node.target.variable, node.value))
        elif isinstance(node, Call):
            pairs += zip(node.function.parameters, node.arguments, strict=True)
    pairs = [(variable, value) for variable, value in pairs if _is_integer(variable)]
    found = set(seeds)
    while True:
        more = {v for v, value in pairs if v not in found and _has(value, found, special)}
        if not more:
            return found
        found |= more


def _start(node: Expr) -> Position:
    """Return where the leftmost part of an expression starts."""
    while isinstance(node, Binary):
        node = node.left
    leftmost = [one.position for one in under(node) if one.position.line == node.position.line]
    return min(leftmost, key=lambda position: position.column)
