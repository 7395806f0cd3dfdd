"""C types as the machine has them: letters of scalars, shapes in memory, values in registers.

Knows no expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from oneread.trace.machine.memory import SIZES, Layout, Shape
from oneread.trace.machine.values import choose, choose_bits, spread
from oneread.trace.types import Array, Pointer, Scalar, Struct, Type, Void

_LETTERS = {
    ("bool", 1, False): "?",
    ("int", 1, True): "b",
    ("int", 1, False): "B",
    ("int", 2, True): "h",
    ("int", 2, False): "H",
    ("int", 4, True): "i",
    ("int", 4, False): "I",
    ("int", 8, True): "q",
    ("int", 8, False): "Q",
    ("float", 4, True): "f",
    ("float", 8, True): "d",
}

#: Bytes that a lane can load or store at once.
_WIDEST = 16

Chooser = Callable[[int, Any, Any], Any]


def letter(kind: Scalar | Pointer) -> str:
    """Return the letter that `struct` has for a scalar or an address."""
    return "Q" if isinstance(kind, Pointer) else _LETTERS[kind.kind, kind.size, kind.signed]


@lru_cache(maxsize=8)  # a few large structs, each in many statements
def layout(kind: Type) -> Layout:
    """Return where the scalars of a type lie, and what they are."""
    return tuple(_scalars(kind, 0))


def shape(kind: Type) -> Shape:
    """Return how a value of a type is loaded and stored."""
    parts = layout(kind)
    return Shape(
        kind.size,
        kind.align,
        parts,
        min((SIZES[code] for _, code in parts), default=1),
        _pieces(parts, kind.align),
        _pieces(parts, kind.size & -kind.size),
    )


def _pieces(parts: Layout, align: int) -> tuple[tuple[int, int], ...]:
    """Return the accesses that reach all parts, where addresses are multiples of `align`."""
    width = max(1, min(align, _WIDEST))
    return tuple((at, width) for at in sorted({at // width * width for at, _ in parts}))


def _scalars(kind: Type, at: int) -> Iterator[tuple[int, str]]:
    if isinstance(kind, Struct):
        for field in kind.fields:
            yield from _scalars(field.type, at + field.offset)
    elif isinstance(kind, Array):
        for place in range(kind.length or 0):
            yield from _scalars(kind.element, at + place * kind.element.size)
    elif not isinstance(kind, Void):
        yield at, letter(kind)


class Leaf(NamedTuple):
    """A member of a struct that has no members itself."""

    path: tuple[int, ...]
    """Numbers of the fields and elements on the way there."""
    name: str
    """What is written behind the struct: ``.m``."""
    type: Type


def leaves(kind: Type) -> list[Leaf]:
    """Return what a value in registers is made of; one that is no struct, of itself."""
    if not isinstance(kind, Struct | Array):
        return [Leaf((), "", kind)]
    if isinstance(kind, Struct):
        parts = [(f".{field.name}", field.type) for field in kind.fields]
    else:
        parts = [(f"[{place}]", kind.element) for place in range(kind.length or 0)]
    return [
        Leaf((number, *leaf.path), name + leaf.name, leaf.type)
        for number, (name, part) in enumerate(parts)
        for leaf in leaves(part)
    ]


def lane_value(kind: Type, value: Any, lane: int) -> Any:
    """Return what one lane holds of a value of all lanes."""
    if isinstance(kind, Scalar) and kind.kind == "bool":
        return value >> lane & 1
    return spread(value)[lane]


def assemble(kind: Type, scalars: Iterator[Any]) -> Any:
    """Return a value of a type made of its scalars in order."""
    if isinstance(kind, Struct):
        return [assemble(field.type, scalars) for field in kind.fields]
    if isinstance(kind, Array):
        return [assemble(kind.element, scalars) for _ in range(kind.length or 0)]
    return next(scalars)


def scalars_of(value: Any) -> list[Any]:
    """Return the scalars of a value in order; the reverse of `assemble`."""
    if type(value) is not list:
        return [value]
    return [scalar for part in value for scalar in scalars_of(part)]


def zero(kind: Type) -> Any:
    """Return the value of a type that is 0 all over."""
    if isinstance(kind, Void):
        return 0
    return assemble(kind, iter([0.0 if code in "fd" else 0 for _, code in layout(kind)]))


def chooser(kind: Type) -> Chooser:
    """Return the function that takes a value of this type from one of two, lane by lane."""
    if isinstance(kind, Scalar) and kind.kind == "bool":
        return choose_bits
    if isinstance(kind, Struct):
        parts = [chooser(field.type) for field in kind.fields]
    elif isinstance(kind, Array):
        parts = [chooser(kind.element)] * (kind.length or 0)
    else:
        return choose

    def pick(bits: int, yes: Any, no: Any) -> Any:
        return [one(bits, y, n) for one, y, n in zip(parts, yes, no, strict=True)]

    return pick


def base_element(kind: Type) -> Type:
    """Return what an array of any number of dimensions is made of."""
    while isinstance(kind, Array):
        kind = kind.element
    return kind
