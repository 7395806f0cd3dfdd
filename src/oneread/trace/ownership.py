"""Which rows are whose: those of a block by the shape of the launch, those of a thread by its code.

Knows the tree and the shape; knows no machine.

Where a block has several rows, a thread's own row is what the kernel multiplies by the length of a
row: `x + row * vocab`. That holds if all pointers that go from row to row do so in this way, and
what they multiply is made of the same numbers everywhere. With `x + blockIdx.x * 4 * vocab` and
`x_row[threadIdx.y * vocab + i]` no product is the row, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from oneread.trace.static import Test, closed, has, moved_by, moves, pairs, products
from oneread.trace.tree import (
    Binary,
    BuiltinCall,
    Convert,
    Expr,
    Literal,
    Load,
    Program,
    Special,
    Variable,
    VariableRef,
)
from oneread.trace.walking import nodes

Owner = Callable[[int], frozenset[int] | None]


def rows_of_blocks(rows: int, blocks: int) -> Owner:
    """Return which rows a block may touch, whichever way blocks are dealt to rows."""
    if not rows or (blocks > rows and blocks % rows):
        return lambda _: None
    if blocks >= rows:
        each = blocks // rows
        return lambda number: frozenset({number // each, number % rows})
    each = -(-rows // blocks)

    def owned(number: int) -> frozenset[int]:
        side_by_side = range(number * each, min(rows, (number + 1) * each))
        return frozenset(side_by_side) | frozenset(range(number, rows, blocks))

    return owned


@lru_cache(maxsize=8)
def axes_of_blocks(program: Program) -> int:
    """Return how many of the numbers of a block are used; which one the row is, is not said."""
    names = {one.name for one in nodes(program) if isinstance(one, Special)}
    return sum(name.startswith("blockIdx") for name in names)


@lru_cache(maxsize=8)
def rows_of_threads(program: Program, width: str) -> tuple[Expr, ...]:
    """Return the expressions whose value is the row of a thread; none where nothing says so.

    Parameters
    ----------
    program : Program
        The kernel.
    width : str
        The parameter that holds the length of a row.
    """
    lengths = {one for one in program.kernel.parameters if one.name == width}
    made = closed(program, lengths, _never)
    if not products(program, _made_of(program, _of_thread), made):
        return ()
    steps = moved_by(program, products(program, _made_of(program, _is_number), made))
    whole = _copies(program, lengths)
    factors = [factor for step in steps if (factor := _factor(step, whole)) is not None]
    if len(factors) < len(steps) or _goes_on(program, whole, steps):
        return ()
    origins = [_origins(program, factor) for factor in factors]
    alike = all(one == origins[0] for one in origins)
    by_thread = any(name.startswith("threadIdx") for name in frozenset().union(*origins))
    return tuple(factors) if alike and by_thread else ()


def _made_of(program: Program, special: Test) -> tuple[set[Variable], Test]:
    """Return variables made of some nodes, and which these are."""
    return closed(program, set(), special), special


def _goes_on(program: Program, whole: set[Variable], steps: Sequence[Binary]) -> bool:
    """Say whether a pointer moves by whole lengths in another way: `x += 4 * vocab` in a loop."""
    but = {id(one) for one in nodes(program) if _is_part(one) and not _is_length(one, whole)}
    but |= set(map(id, steps))
    made = closed(program, whole, _never, but)
    return any(has(step, made, _never, but) for node in nodes(program) for step in moves(node))


def _is_part(node: Any) -> bool:
    """Say whether a node is a condition or a number of columns, whatever it is made of."""
    if isinstance(node, Binary):
        return node.operator not in {"+", "-", "*"}
    return isinstance(node, BuiltinCall)


def _copies(program: Program, lengths: set[Variable]) -> set[Variable]:
    """Return the variables that hold a length and nothing else, or the number of its vectors."""
    found = set(lengths)
    while True:
        more = {v for v, value in pairs(program) if v not in found and _is_length(value, found)}
        more -= {v for v, value in pairs(program) if not _is_length(value, found)}
        if not more:
            return found
        found |= more


def _is_length(value: Any, whole: set[Variable]) -> bool:
    value = _bare(value)
    if isinstance(value, Binary) and value.operator in {"/", ">>"}:
        return isinstance(_bare(value.right), Literal) and _is_length(value.left, whole)
    return (
        isinstance(value, Load)
        and isinstance(value.place, VariableRef)
        and value.place.variable in whole
    )


def _factor(product: Binary, whole: set[Variable]) -> Expr | None:
    """Return what is multiplied by a length, if it is one."""
    for length, factor in ((product.right, product.left), (product.left, product.right)):
        if _is_length(length, whole):
            return factor
    return None


def _origins(program: Program, factor: Expr) -> frozenset[str]:
    """Return the numbers of block and thread that a value is made of."""
    used = {one.name for one in nodes(program) if isinstance(one, Special) and _is_number(one)}
    return frozenset(
        name for name in used if has(factor, closed(program, set(), _named(name)), _named(name))
    )


def _named(name: str) -> Test:
    return lambda node: isinstance(node, Special) and node.name == name


def _of_thread(node: Any) -> bool:
    return isinstance(node, Special) and node.name.startswith("threadIdx")


def _is_number(node: Any) -> bool:
    return isinstance(node, Special) and node.name.startswith(("blockIdx", "threadIdx"))


def _never(_: Any) -> bool:
    return False


def _bare(value: Any) -> Any:
    while isinstance(value, Convert):
        value = value.value
    return value


__all__ = ["axes_of_blocks", "rows_of_blocks", "rows_of_threads"]
