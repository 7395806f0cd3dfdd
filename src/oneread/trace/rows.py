"""What rows and columns are to a kernel, as far as its own indices and comparisons say it.

Knows the tree; runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from oneread.trace.static import Test, closed, has, moves
from oneread.trace.tree import (
    Binary,
    Convert,
    Declare,
    Expr,
    For,
    Index,
    Literal,
    Load,
    PointerAdd,
    Program,
    Special,
    Update,
    Variable,
    VariableRef,
)
from oneread.trace.types import Pointer, Scalar
from oneread.trace.walking import Node, children, nodes, under

_BOUNDS = frozenset({"<", "<=", ">", ">="})


def bounds_blocks(program: Program) -> bool:
    """Say whether a kernel has work for any number of blocks.

    It has if it compares something made of the block's number with a size, or never asks for that
    number.
    """
    if not any(map(_of_block, nodes(program))):
        return True
    blocks = closed(program, set(), _of_block)
    sizes = closed(program, set(filter(_is_integer, program.kernel.parameters)), _never)
    return any(
        has(one, blocks, _of_block) and not has(other, blocks, _of_block) and _is_size(other, sizes)
        for one, other in _compared(program)
    )


def row_shapes(program: Program, sizes: Mapping[str, str | float]) -> dict[str, str]:
    """Return how many elements buffers have, as far as the kernel's own indices say it.

    Parameters
    ----------
    program : Program
        The kernel.
    sizes : mapping
        What its parameters mean, in terms of rows, vocab and k.

    Returns
    -------
    dict
        ``rows*vocab``, ``rows*k`` or ``vocab*rows`` for a buffer with an index that something is
        multiplied by such a size in, the second one: ``k*vocab`` if that runs below k, and
        ``rows*5`` if it is the number of a row that a constant is multiplied with; ``rows`` for one
        whose only index is what is multiplied by the length of a row elsewhere; ``vocab`` for one
        whose indices run below that length and are not made of the block's number; a number for
        one whose index is counted up to it. Where the kernel has no rows, ``vocab`` for a buffer
        whose only index is made of the block's number and compared with that size. Nothing of a
        buffer with other uses.
    """
    known = frozenset(one for one in sizes.items() if one[1] in ("rows", "vocab", "k"))
    return dict(_row_shapes(program, known))


@lru_cache(maxsize=8)  # a program is launched many times
def _row_shapes(program: Program, sizes: frozenset[tuple[str, str | float]]) -> Mapping[str, str]:
    facts = _Facts(program, {name: str(size) for name, size in sizes})
    pointers = [one for one in program.kernel.parameters if isinstance(one.type, Pointer)]
    found = {one.name: facts.shape(one) for one in pointers}
    return {name: shape for name, shape in found.items() if shape}


class _Facts:
    """What is known of a kernel's integers before its buffers are looked at."""

    def __init__(self, program: Program, sizes: Mapping[str, str]) -> None:
        self.program = program
        named = {size: set[Variable]() for size in ("rows", "vocab", "k")}
        for one in filter(_is_integer, program.kernel.parameters):
            if one.name in sizes:
                named[sizes[one.name]].add(one)
        self.lengths = closed(program, named["vocab"], _never)
        #: What lies in remainders by the length of a row: of it only that is known.
        self.cut = {
            id(one) for node in filter(self.is_column, nodes(program)) for one in children(node)
        }
        times = self.multiplied(self.lengths)
        self.numbers = {name for _, other in times for name in self.names(other)}
        self.blocks = closed(program, set(), _of_block, self.cut)
        self.few = self.counted(closed(program, named["k"], _never))
        self.products = {
            "k*vocab": [product for product, other in times if self.is_of_few(other)],
            "rows*vocab": [product for product, _ in times],
            "rows*k": [one for one, _ in self.multiplied(closed(program, named["k"], _never))],
            "vocab*rows": [
                one for one, _ in self.multiplied(closed(program, named["rows"], _never))
            ],
            **self.constant_rows(),
        }
        self.limits = dict(_limits(program))
        self.offsets = {
            shape: closed(program, set(), _among(these), self.cut)
            for shape, these in self.products.items()
        }
        below = {
            one
            for side, bound in _compared(program)
            if has(bound, self.lengths, _never) and not has(side, self.lengths, _never)
            for one in under(side)
        }
        self.below_special = {one.name for one in below if isinstance(one, Special)}
        variables = {one.variable for one in below if isinstance(one, VariableRef)}
        self.below = closed(program, variables, _never)

    def multiplied(self, sizes: set[Variable]) -> list[tuple[Binary, Expr]]:
        """Return the products of one of these sizes with a variable, and that variable's side."""
        return [
            (node, other)
            for node in nodes(self.program)
            if isinstance(node, Binary) and node.operator == "*"
            for one, other in ((node.left, node.right), (node.right, node.left))
            if has(one, sizes, _never) and not has(other, sizes, _never)
            if any(isinstance(leaf, VariableRef | Special) for leaf in under(other))
        ]

    def counted(self, sizes: set[Variable]) -> set[Variable]:
        """Return the variables that are compared with nothing but one of these sizes."""
        return {
            name
            for side, bound in _compared(self.program)
            if isinstance(name := _name(side), Variable) and _name(bound) in sizes
        }

    def is_of_few(self, number: Expr) -> bool:
        """Say whether a number runs below k and is not made of the block's."""
        return has(number, self.few, _never) and not has(number, self.blocks, _of_block)

    def constant_rows(self) -> dict[str, list[Binary]]:
        """Return the products of the number of a row with a constant, by the shape they say."""
        found: dict[str, list[Binary]] = {}
        for node in nodes(self.program):
            if isinstance(node, Binary) and node.operator == "*":
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    many = _bare(other)
                    if _name(one) in self.numbers and isinstance(many, Literal):
                        found.setdefault(f"rows*{many.value}", []).append(node)
        return found

    def names(self, number: Expr) -> Iterator[Variable | str]:
        """Yield the variable or the word of CUDA that an expression is, and what that copies."""
        name = _name(number)
        if name is not None:
            yield name
        for node in nodes(self.program):
            if isinstance(node, Declare) and node.variable is name and node.value is not None:
                copied = _name(node.value)
                if isinstance(copied, str):
                    yield copied

    def is_column(self, node: Node) -> bool:
        """Say whether a node is a remainder by the length of a row."""
        if not isinstance(node, Binary) or node.operator != "%":
            return False
        return has(node.right, self.lengths, _never)

    def shape(self, pointer: Variable) -> str | None:
        """Return the shape of a buffer, None where its uses do not say it."""
        found: set[str | None] = set()
        uses = 0
        for node in nodes(self.program):
            uses += isinstance(node, VariableRef) and node.variable is pointer
            if _moved(node) is pointer:
                uses -= 1
                found |= {self.of_index(index) for index in moves(node)}
        whole = found & {*self.products}
        if whole:
            return whole.pop() if len(whole) == 1 else None
        alone = len(found) == 1 and not uses
        # An index counts vectors, a size their numbers.
        counted = isinstance(pointer.type, Pointer) and isinstance(pointer.type.target, Scalar)
        return found.pop() if alone and (counted or self.numbers) else None

    def of_index(self, index: Expr) -> str | None:
        """Return the shape of a buffer with this index."""
        for shape, products in self.products.items():
            if has(index, self.offsets[shape], _among(products), self.cut):
                return shape
        name = _name(index)
        if name in self.numbers:
            return "rows"
        if isinstance(name, Variable) and name in self.limits:
            return self.limits[name]
        if not self.numbers:
            flat = name in self.counted(self.lengths) and has(index, self.blocks, _of_block)
            return "vocab" if flat else None
        below = has(index, self.below, self.is_below)
        return "vocab" if below and not has(index, self.blocks, _of_block, self.cut) else None

    def is_below(self, node: Node) -> bool:
        """Say whether a node that is no variable runs below the length of a row."""
        if isinstance(node, Special):
            return node.name in self.below_special
        return self.is_column(node)


def _limits(program: Program) -> Iterator[tuple[Variable, str]]:
    """Yield the variables of loops that count up to a constant, and that."""
    for node in nodes(program):
        if not isinstance(node, For) or not isinstance(node.condition, Binary):
            continue
        bound = _bare(node.condition.right)
        counted = _name(node.condition.left)
        own = [one.variable for one in node.start if isinstance(one, Declare)]
        if node.condition.operator == "<" and isinstance(bound, Literal) and counted in own:
            assert isinstance(counted, Variable)
            yield counted, str(bound.value)


def _of_block(node: Node) -> bool:
    return isinstance(node, Special) and node.name.startswith("blockIdx")


def _is_integer(variable: Variable) -> bool:
    return isinstance(variable.type, Scalar) and variable.type.kind == "int"


def _never(_: Node) -> bool:
    return False


def _among(these: Sequence[Node]) -> Test:
    return lambda node: any(node is one for one in these)


def _compared(program: Program) -> Iterator[tuple[Expr, Expr]]:
    """Yield both sides of each comparison, either one first."""
    for node in nodes(program):
        if isinstance(node, Binary) and node.operator in _BOUNDS:
            yield node.left, node.right
            yield node.right, node.left


def _is_size(node: Expr, sizes: set[Variable]) -> bool:
    """Say whether an expression is made of nothing but sizes and constants."""
    leaves = [one for one in under(node) if isinstance(one, VariableRef | Special | Literal)]
    return all(
        isinstance(one, Literal) or (isinstance(one, VariableRef) and one.variable in sizes)
        for one in leaves
    )


def _moved(node: Node) -> Variable | None:
    """Return the pointer that a node moves or indexes."""
    if isinstance(node, PointerAdd | Index):
        base = _bare(node.pointer)
    elif isinstance(node, Update) and isinstance(node.compute, Pointer):
        base = node.target
    else:
        return None
    return base.variable if isinstance(base, VariableRef) else None


def _name(node: Expr) -> Variable | str | None:
    """Return the variable, or the word of CUDA, that an expression is nothing but."""
    bare = _bare(node)
    if isinstance(bare, Special):
        return bare.name
    return bare.variable if isinstance(bare, VariableRef) else None


def _bare(node: Expr) -> Expr:
    """Return an expression without the loads and conversions around it."""
    while isinstance(node, Load | Convert):
        node = node.place if isinstance(node, Load) else node.value
    return node
