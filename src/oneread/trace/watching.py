"""m, d and the correction factor, found in code that nobody annotated, and their values in a run.

Knows the tree; knows no machine. The rules:

- m is a variable that is assigned a maximum, or a copy of one;
- d is a variable that exponentials are added to;
- a factor is an exponential of the difference of two variables that are both m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oneread.trace.errors import UsageError
from oneread.trace.formulas import Formula
from oneread.trace.tree import (
    Assign,
    Binary,
    BuiltinCall,
    Conditional,
    Convert,
    Declare,
    Deref,
    Expr,
    Index,
    Load,
    Member,
    Program,
    Update,
    VariableRef,
)
from oneread.trace.walking import nodes, under

_EXPONENTIALS = frozenset(["expf", "exp", "exp2f", "exp2", "__expf"])
_MAXIMA = frozenset(["fmaxf", "fmax", "max"])


@dataclass
class Watch:
    """One thing that is watched, and every value it took."""

    label: str
    """``m``, ``d``, ``factor`` or, for an expression of the user, ``user``."""
    name: str
    """The variable, the line of the factor, or the expression."""
    line: int
    """Where it first gets a value."""
    step: list[int] = field(default_factory=list)
    block: list[int] = field(default_factory=list)
    warp: list[int] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    """First lane that took part."""
    value: list[float] = field(default_factory=list)
    """Its value."""


class Watches:
    """What is watched, by the node of the tree that gives it a value.

    Parameters
    ----------
    program : Program
        The kernel; m, d and the factor are found in it by rule.
    expressions : sequence of str
        What else is watched: arithmetic over variables, taken anew when one of them changes.

    Raises
    ------
    UsageError
        When an expression cannot be read, or names a variable that is not there.
    """

    def __init__(self, program: Program, expressions: Sequence[str] = ()) -> None:
        self._by_node: dict[int, list[Watch]] = {}
        self._known: dict[tuple[str, str], Watch] = {}
        self.expressions: dict[str, Formula] = {}
        """Those of the user, by their text."""
        self._program = program  # keeps the nodes, whose numbers are the keys
        maxima = _maxima(program)
        for node in nodes(program):
            target, value = _assigned(node)
            if target is not None and value is not None and not _in_array(node):
                if target in maxima:
                    self._watch(node, "m", target[1])
                elif _adds_exponential(node, target, value):
                    self._watch(node, "d", target[1])
            if _is_factor(node, maxima):
                self._watch(node, "factor", f"line {node.position.line}")
        for text in expressions:
            self._follow(text)

    def _follow(self, text: str) -> None:
        formula = self.expressions[text] = Formula(text)
        targets = [(node, _assigned(node)[0]) for node in nodes(self._program)]
        named = {target[1] for _, target in targets if target is not None}
        for name in formula.names:
            if name not in named:
                raise UsageError(
                    f"watch {text!r}: nothing assigns to {name!r}; there are "
                    + ", ".join(sorted(named))
                )
        for node, target in targets:
            if target is not None and target[1] in formula.names:
                self._watch(node, "user", text)

    def _watch(self, node: Any, label: str, name: str) -> None:
        key = (label, name)
        watch = self._known.setdefault(key, Watch(label, name, node.position.line))
        self._by_node.setdefault(id(node), []).append(watch)

    def of(self, node: Any) -> Sequence[Watch]:
        """Return the watches of a node."""
        return self._by_node.get(id(node), ())

    def variables(self, name: str) -> list[Any]:
        """Return the nodes of the tree that give a variable of this name a value."""
        return [node for node in nodes(self._program) if (_assigned(node)[0] or (0, ""))[1] == name]

    def all(self) -> list[Watch]:
        """Return those that got a value, in order of lines."""
        return sorted(
            (watch for watch in self._known.values() if watch.step),
            key=lambda watch: (watch.line, watch.label),
        )


Target = tuple[int, str]


def _variable(place: Any) -> Target | None:
    """Return the variable that a place is, or is a part of."""
    names: list[str] = []
    while True:
        if isinstance(place, Member):
            names.append(place.field.name)
            place = place.base
        elif isinstance(place, Index | Deref):
            place = place.pointer
        elif isinstance(place, VariableRef):
            name = ".".join([place.variable.name, *reversed(names)])
            return (id(place.variable), name)
        elif hasattr(place, "place"):
            place = place.place
        else:
            return None


def _assigned(node: Any) -> tuple[Target | None, Expr | None]:
    if isinstance(node, Declare) and node.value is not None:
        return (id(node.variable), node.variable.name), node.value
    if isinstance(node, Assign | Update):
        return _variable(node.target), node.value
    return None, None


def _in_array(node: Any) -> bool:
    """Say whether what is assigned is an element: scratch of a reduction, not a running value."""
    return not isinstance(node, Declare) and any(isinstance(n, Index) for n in under(node.target))


def _bare(value: Any) -> Any:
    while isinstance(value, Convert):
        value = value.value
    return value


def _read(value: Any) -> Target | None:
    """Return the variable that an expression reads, if it does nothing else."""
    value = _bare(value)
    if isinstance(value, Load) and isinstance(value.place, VariableRef | Member):
        return _variable(value.place)
    return None


def _is_maximum(value: Any) -> bool:
    value = _bare(value)
    if isinstance(value, BuiltinCall):
        return value.builtin.name in _MAXIMA and _floating(value)
    if isinstance(value, Conditional) and isinstance(value.condition, Binary):
        condition = value.condition
        return condition.operator in {"<", ">", "<=", ">="} and _floating(value)
    return False


def _floating(value: Expr) -> bool:
    return getattr(value.type, "kind", "") == "float"


def _maxima(program: Program) -> set[Target]:
    """Return the variables that hold maxima: assigned one, or copied from such a variable."""
    pairs = [(t, v) for t, v in map(_assigned, nodes(program)) if t is not None]
    maxima = {target for target, value in pairs if _is_maximum(value)}
    while True:
        copies = {t for t, v in pairs if t not in maxima and _read(v) in maxima}
        if not copies:
            return maxima
        maxima |= copies


def _contains_exponential(value: Any) -> bool:
    return any(
        isinstance(node, BuiltinCall) and node.builtin.name in _EXPONENTIALS
        for node in under(value)
    )


def _adds_exponential(node: Any, target: Target, value: Any) -> bool:
    if isinstance(node, Update):
        return node.operator == "+" and _contains_exponential(value)
    bare = _bare(value)
    return (
        isinstance(bare, Binary)
        and bare.operator == "+"
        and _contains_exponential(bare)
        and any(_variable(n.place) == target for n in under(bare) if isinstance(n, Load))
    )


def _is_factor(node: Any, maxima: set[Target]) -> bool:
    if not isinstance(node, BuiltinCall) or node.builtin.name not in _EXPONENTIALS:
        return False
    argument = _bare(node.arguments[0])
    return (
        isinstance(argument, Binary)
        and argument.operator == "-"
        and _read(argument.left) in maxima
        and _read(argument.right) in maxima
    )
