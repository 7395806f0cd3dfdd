"""Statements in which threads read, change and store one place, and what does that at once.

Knows the tree and the columns of a line; runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from oneread.trace.builtins import FUNCTIONS
from oneread.trace.tree import Assign, Binary, Evaluate, Expr, Lvalue, Program, Update
from oneread.trace.types import Pointer, Scalar
from oneread.trace.walking import nodes

_ATOMICS: Final = {
    "+": "atomicAdd", "-": "atomicSub", "&": "atomicAnd", "|": "atomicOr", "^": "atomicXor",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A statement ``place += value;``, or with another operator, or written out."""

    column: int
    """Where it begins."""
    name: str
    """Of the atomic."""
    negated: bool
    """Whether that adds what is subtracted."""
    operator: int
    """Column of ``+=``, ``=`` or ``++``."""
    second: int
    """Column of the operator behind ``=``, where that is written out; 0 otherwise."""

    def atomic(self, line: str) -> str | None:
        """Return the statement with the atomic, None where the line does not hold it as a whole."""
        end = _end(line, self.operator - 1)
        place, value = line[self.column - 1 : self.operator - 1], line[self.operator - 1 : end]
        if value.startswith(("++", "--")):
            place, value = place or value[2:], "1"
        elif self.second:
            twin, value = line[self.operator : self.second - 1], line[self.second : end]
            if "".join(twin.split()) != "".join(place.split()):
                return None
        else:
            value = value.partition("=")[2]
        place, value = place.strip(), value.strip()
        if end < 0 or not place or any(place.count(a) != place.count(b) for a, b in ("()", "[]")):
            return None
        address = place[1:].strip() if place.startswith("*") else f"&{place}"
        return f"{self.name}({address}, {f'-({value})' if self.negated else value})"

    def span(self, line: str) -> str:
        """Return the statement as it stands, its semicolon left out."""
        return line[self.column - 1 : _end(line, self.operator - 1)]


@lru_cache(maxsize=8)  # a program is launched many times
def changes(program: Program) -> Mapping[tuple[int, int], Change]:
    """Return the statements that an atomic could do, by line and column of the place."""
    found: dict[tuple[int, int], Change] = {}
    for node in nodes(program):
        if isinstance(node, Evaluate):
            change = _change(node)
            if change is not None:
                where, place = node.position, node.value
                assert isinstance(place, Update | Assign)
                found[where.line, place.target.position.column] = change
    return found


def _change(node: Evaluate) -> Change | None:
    value = node.value
    column = node.position.column
    if isinstance(value, Update):
        operator, kind, second = value.operator, value.compute, 0
    elif isinstance(value, Assign) and isinstance(value.value, Binary):
        operator, kind, second = value.value.operator, value.value.type, value.value.position.column
    else:
        return None
    place: Expr = value.target
    if {place.position.line, value.position.line} != {node.position.line}:
        return None
    if not isinstance(place, Lvalue) or place.type != kind or operator not in _ATOMICS:
        return None
    name, negated = _ATOMICS[operator], False
    if operator == "-" and isinstance(kind, Scalar) and kind.kind == "float":
        name, negated = "atomicAdd", True
    if not any(one.parameters[0] == Pointer(kind) for one in FUNCTIONS[name]):
        return None
    return Change(column, name, negated, value.position.column, second)


def _end(line: str, start: int) -> int:
    """Return where the semicolon of a statement stands in its line, -1 if it does not."""
    depth = 0
    for place in range(start, len(line)):
        depth += (line[place] in "([{") - (line[place] in ")]}")
        if line[place] == ";" and not depth:
            return place
    return -1
