"""Faults that are seen without running: products that overflow for other sizes.

Knows the tree; knows no machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
from oneread.trace.walking import Node, children, nodes, under

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
    blocks = closed(program, set(), _of_block)
    sizes = closed(program, integers, _never)
    narrow = [
        one
        for one in products(program, (blocks, _of_block), sizes)
        if isinstance(one.type, Scalar) and one.type.size == 4
    ]
    found: dict[Position, NarrowOffset] = {}
    for product in moved_by(program, narrow):
        assert isinstance(product.type, Scalar)
        limit = product.type.highest + 1
        found[product.position] = NarrowOffset(product.position, _start(product), limit)
    return list(found.values())


def moved_by(program: Program, values: Sequence[Binary]) -> list[Binary]:
    """Return those of some values that move pointers, by way of variables too."""
    steps = [step for node in nodes(program) for step in moves(node)] if values else []
    found = []
    for value in values:
        same = _is(value)
        carriers = closed(program, set(), same)
        if any(has(step, carriers, same) for step in steps):
            found.append(value)
    return found


def has_rows(program: Program, width: str) -> bool:
    """Say whether a kernel multiplies something of its block or thread by the length of a row."""
    lengths = {parameter for parameter in program.kernel.parameters if parameter.name == width}
    own = closed(program, set(), _of_thread)
    return bool(products(program, (own, _of_thread), closed(program, lengths, _never)))


def spanning_indices(program: Program, width: str) -> set[tuple[int, int]]:
    """Return line and column of each index that counts from a buffer's start, not from a row's.

    Such an index is made of the block's number or of the length of a row.
    """
    lengths = {parameter for parameter in program.kernel.parameters if parameter.name == width}
    wide = closed(program, lengths, _of_block)
    return {
        (node.position.line, node.position.column)
        for node in nodes(program)
        if isinstance(node, Index) and has(node.index, wide, _of_block)
    }


def products(
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
            has(a, variables, special) and has(b, other, _never)
            for a, b in ((node.left, node.right), (node.right, node.left))
        )
    ]


def moves(node: Node) -> list[Expr]:
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


def has(node: Node, variables: set[Variable], special: Test, but: Collection[int] = ()) -> bool:
    """Say whether a node holds one of some variables or special nodes.

    What lies in the nodes with the numbers of `but` does not count.
    """
    if id(node) in but:
        return False
    if special(node) or (isinstance(node, VariableRef) and node.variable in variables):
        return True
    return any(has(child, variables, special, but) for child in children(node))


@lru_cache(maxsize=8)
def pairs(program: Program) -> tuple[tuple[Variable, Expr], ...]:
    """Return each integer variable and parameter with a value that it gets."""
    found: list[tuple[Variable, Expr]] = []
    for node in nodes(program):
        if isinstance(node, Declare) and node.value is not None:
            found.append((node.variable, node.value))
        elif isinstance(node, Assign | Update) and isinstance(node.target, VariableRef):
            found.append((node.target.variable, node.value))
        elif isinstance(node, Call):
            found += zip(node.function.parameters, node.arguments, strict=True)
    return tuple((variable, value) for variable, value in found if _is_integer(variable))


def closed(
    program: Program, seeds: set[Variable], special: Test, but: Collection[int] = ()
) -> set[Variable]:
    """Return the integer variables that get a value made of these, as `has` finds it."""
    given = pairs(program)
    found = set(seeds)
    while True:
        more = {v for v, value in given if v not in found and has(value, found, special, but)}
        if not more:
            return found
        found |= more


def _start(node: Expr) -> Position:
    """Return where the leftmost part of an expression starts."""
    while isinstance(node, Binary):
        node = node.left
    leftmost = [one.position for one in under(node) if one.position.line == node.position.line]
    return min(leftmost, key=lambda position: position.column)
