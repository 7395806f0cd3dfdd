"""Faults that are seen without running: products that overflow for other sizes.

Knows the tree; knows no machine.
"""

from __future__ import annotations

from collections.abc import Callable
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
    PointerAdd,
    Program,
    Special,
    Update,
    Variable,
    VariableRef,
)
from oneread.trace.types import Pointer, Scalar
from oneread.trace.walking import Node, nodes, under

Test = Callable[[Any], bool]


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
    """Return the 32-bit products of block numbers and parameters that move pointers."""
    integers = {parameter for parameter in program.kernel.parameters if _is_integer(parameter)}
    blocks = _closed(program, set(), _of_block)
    sizes = _closed(program, integers, _never)
    moves = [index for node in nodes(program) for index in _moves(node)]
    found: dict[Position, NarrowOffset] = {}
    for product in _products(program, (blocks, _of_block), sizes):
        if isinstance(product.type, Scalar) and product.type.size == 4:
            same = _is(product)
            carriers = _closed(program, set(), same)
            if any(_has(index, carriers, same) for index in moves):
                limit = product.type.highest + 1
                found[product.position] = NarrowOffset(product.position, _start(product), limit)
    return list(found.values())


def has_rows(program: Program, width: str) -> bool:
    """Say whether a kernel multiplies something of its block or thread by the length of a row."""
    lengths = {parameter for parameter in program.kernel.parameters if parameter.name == width}
    own = _closed(program, set(), _of_thread)
    return bool(_products(program, (own, _of_thread), _closed(program, lengths, _never)))


def spanning_indices(program: Program, width: str) -> set[tuple[int, int]]:
    """Return line and column of each index that counts from a buffer's start, not from a row's.

    Such an index is made of the block's number or of the length of a row.
    """
    lengths = {parameter for parameter in program.kernel.parameters if parameter.name == width}
    wide = _closed(program, lengths, _of_block)
    return {
        (node.position.line, node.position.column)
        for node in nodes(program)
        if isinstance(node, Index) and _has(node.index, wide, _of_block)
    }


def _products(
    program: Program, one: tuple[set[Variable], Test], other: set[Variable]
) -> list[Binary]:
    """Return the products of something made of one kind with something made of the other."""
    variables, special = one
    return [
        node
        for node in nodes(program)
        if isinstance(node, Binary)
        and node.operator == "*"
        and any(
            _has(a, variables, special) and _has(b, other, _never)
            for a, b in ((node.left, node.right), (node.right, node.left))
        )
    ]


def _moves(node: Node) -> list[Expr]:
    """Return by what a node moves a pointer."""
    if isinstance(node, PointerAdd | Index):
        return [node.index]
    if isinstance(node, Update) and isinstance(node.compute, Pointer):
        return [node.value]
    return []


def _is_integer(variable: Variable) -> bool:
    return isinstance(variable.type, Scalar) and variable.type.kind == "int"


def _of_block(node: Any) -> bool:
    return isinstance(node, Special) and node.name.startswith("blockIdx")


def _of_thread(node: Any) -> bool:
    return isinstance(node, Special) and node.name.startswith(("blockIdx", "threadIdx"))


def _is(one: Node) -> Test:
    return lambda node: node is one


def _never(_: Any) -> bool:
    return False


def _has(node: Expr, variables: set[Variable], special: Test) -> bool:
    return any(
        special(one) or (isinstance(one, VariableRef) and one.variable in variables)
        for one in under(node)
    )


def _closed(program: Program, seeds: set[Variable], special: Test) -> set[Variable]:
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
