"""Changes of a source that make fewer instructions: what they are, where they can be made.

Knows the source alone: whether a change is worth anything, a compiler has to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from oneread.sass.advice.edits import (
    Change,
    Edit,
    LoopText,
    closing,
    expression,
    loops_of,
    replaced,
    same,
    text_of,
    tokens_of,
    top_level,
)
from oneread.source.text import SourceText
from oneread.source.tokens import Token

_COMPARES: Final = {">": True, ">=": True, "<": False, "<=": False}
_ASSIGNS: Final = frozenset({"=", "+=", "-=", "*=", "/=", "++", "--"})
#: Behind a minus that has a value before it.
_NO_VALUE: Final = frozenset({"(", ",", "=", "+", "-", "*", "/", "%", "return", "<", ">", "?", ":"})
_EXPONENTIALS: Final = ("expf", "__expf")
#: log2(e), rounded to float32 by the compiler.
_LOG2_E: Final = "1.4426950408889634f"


def ternaries(source: SourceText) -> Iterator[Change]:
    """Yield changes of ``a > b ? a : b`` to ``fmaxf(a, b)``, and of the smaller to ``fminf``."""
    tokens = tokens_of(source)
    for at, token in enumerate(tokens):
        if token.text == "?" and (edit := _ternary(tokens, at)):
            yield Change("ternary", (edit,))


def quotients(source: SourceText) -> Iterator[Change]:
    """Yield changes of ``a / d`` in a loop to products with 1 / d, taken before the loop.

    Of loops inside of each other it is the outermost that leaves d as it is.
    """
    tokens = tokens_of(source)
    until: dict[tuple[str, ...], int] = {}
    for loop in loops_of(tokens):
        for path in dict.fromkeys(_divisors(tokens, loop)):
            if loop.start >= until.get(path, 0):
                until[path] = loop.stop
                yield _hoisted(tokens, loop, path)


def exponentials(source: SourceText) -> Iterator[Change]:
    """Yield the change of all ``expf(a - b)`` to powers of two of differences of products."""
    tokens = tokens_of(source)
    edits = [
        edit
        for at, token in enumerate(tokens)
        if token.text in _EXPONENTIALS and (edit := _power(tokens, at))
    ]
    if edits:
        yield Change("exp2", tuple(edits))


def _ternary(tokens: Sequence[Token], at: int) -> Edit | None:
    start = expression(tokens, at - 1, -1) + 1
    middle = expression(tokens, at + 1, 1)
    stop = expression(tokens, middle + 1, 1)
    condition, yes, no = tokens[start:at], tokens[at + 1 : middle], tokens[middle + 1 : stop]
    if tokens[middle].text != ":" or tokens[stop].text == "?" or not (condition and yes and no):
        return None
    if condition[0].text == "(" and closing(condition, 0) == len(condition) - 1:
        condition = condition[1:-1]
    signs = top_level(condition, _COMPARES)
    if len(signs) != 1 or any(one.text in _ASSIGNS for one in tokens[start:stop]):
        return None
    left, right = condition[: signs[0]], condition[signs[0] + 1 :]
    larger = _COMPARES[condition[signs[0]].text]
    if same(left, no) and same(right, yes):
        larger = not larger
    elif not (same(left, yes) and same(right, no)):
        return None
    name = "fmaxf" if larger else "fminf"
    return replaced(tokens[start:stop], f"{name}({text_of(left)}, {text_of(right)})")


def _divisors(tokens: Sequence[Token], loop: LoopText) -> Iterator[tuple[str, ...]]:
    """Yield what a loop divides by and leaves as it is: a float variable, or a member of one."""
    for at in range(loop.start, loop.stop - 2):
        if tokens[at].text != "/" or tokens[at + 1].kind != "name":
            continue
        stop = at + 2
        while tokens[stop].text == "." and tokens[stop + 1].kind == "name":
            stop += 2
        path = tuple(token.text for token in tokens[at + 1 : stop])
        is_number = len(path) > 1 or _is_float(tokens[: loop.start], path[0])
        is_whole = tokens[stop].text not in ("(", "[", "->", "::")
        if is_number and is_whole and not _changes(tokens[loop.start : loop.stop], path[0]):
            yield path


def _is_float(tokens: Sequence[Token], name: str) -> bool:
    """Say whether the last declaration of a name says float."""
    before = [tokens[at - 1].text for at, one in enumerate(tokens) if at and one.text == name]
    types = [text for text in before if text in ("float", "int", "double", "auto", "unsigned")]
    return bool(types) and types[-1] == "float"


def _changes(tokens: Sequence[Token], name: str) -> bool:
    """Say whether a name or a member of it is assigned, declared anew, or its address taken."""
    for at in range(1, len(tokens) - 1):
        if tokens[at].text == name:
            after = at + 1
            while tokens[after].text == "." and after + 2 < len(tokens):
                after += 2
            before = tokens[at - 1]
            is_declared = before.kind == "name" and before.text != "return"
            if is_declared or before.text in ("&", "++", "--") or tokens[after].text in _ASSIGNS:
                return True
    return False


def _hoisted(tokens: Sequence[Token], loop: LoopText, path: tuple[str, ...]) -> Change:
    inverse = "_".join((*path[::2], "inverse"))
    while any(token.text == inverse for token in tokens):
        inverse += "_"
    place = tokens[loop.start].position
    first = f"const float {inverse} = 1.0f / {''.join(path)}; "
    edits = [Edit(place.line, place.column, place.column, first)]
    for at in range(loop.start, loop.stop - len(path)):
        divisor = tokens[at + 1 : at + 1 + len(path)]
        if tokens[at].text == "/" and tuple(token.text for token in divisor) == path:
            edits += filter(None, (replaced([tokens[at]], "*"), replaced(divisor, inverse)))
    return Change("reciprocal", tuple(edits))


def _power(tokens: Sequence[Token], at: int) -> Edit | None:
    if tokens[at + 1].text != "(":
        return None
    stop = closing(tokens, at + 1)
    inside = tokens[at + 2 : stop]
    minus = [one for one in top_level(inside, "-") if one and inside[one - 1].text not in _NO_VALUE]
    if len(minus) != 1 or top_level(inside, ("+", ",", "?", "<", ">")):
        return None
    left, right = inside[: minus[0]], inside[minus[0] + 1 :]
    if not right:
        return None
    parts = (f"{_factor(left)} * {_LOG2_E}", f"{_factor(right)} * {_LOG2_E}")
    return replaced(tokens[at : stop + 1], f"exp2f({parts[0]} - {parts[1]})")


def _factor(tokens: Sequence[Token]) -> str:
    """Return an operand of a product, in brackets where it is a sum."""
    text = text_of(tokens)
    return f"({text})" if top_level(tokens, ("-", "+", "/", "*")) else text
