"""What is watched in a run: m, d, the correction factor and expressions of the user.

Knows the tree; knows no machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from oneread.trace.errors import UsageError
from oneread.trace.formulas import Formula
from oneread.trace.roles import Roles, assigned
from oneread.trace.tree import Program
from oneread.trace.walking import nodes


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
        for node, label, name in Roles(program).found():
            self._watch(node, label, name)
        for text in expressions:
            self._follow(text)

    def _follow(self, text: str) -> None:
        formula = self.expressions[text] = Formula(text)
        targets = [(node, assigned(node)[0]) for node in nodes(self._program)]
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
        return [node for node in nodes(self._program) if (assigned(node)[0] or (0, ""))[1] == name]

    def all(self) -> list[Watch]:
        """Return those that got a value, in order of lines."""
        return sorted(
            (watch for watch in self._known.values() if watch.step),
            key=lambda watch: (watch.line, watch.label),
        )
