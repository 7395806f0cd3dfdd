"""What names mean: variables, constants, types, and those whose declaration was lost.

Knows scopes; knows no syntax.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from oneread.trace import tree
from oneread.trace.builtins import CONSTANTS
from oneread.trace.front.fold import Number
from oneread.trace.types import NAMED, SCALARS, VECTORS, VOID, Scalar, Type


@dataclass(frozen=True, slots=True)
class Bound:
    """A variable; as a reference it holds the address of what it stands for."""

    variable: tree.Variable
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Constant:
    """A number known at compile time; a const variable has an address beside its value."""

    type: Scalar
    value: Number
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a type."""

    type: Type
    const: bool = False
    volatile: bool = False

    def __str__(self) -> str:
        return "const " * self.const + "volatile " * self.volatile + str(self.type)


class Lost(Enum):
    """A name whose declaration has an error of its own, so that its uses say nothing more."""

    LOST = "lost"


Meaning: TypeAlias = Bound | Constant | Named | Lost

#: What every file knows before its first line.
BUILT_IN: Final[dict[str, Meaning]] = {
    **{kind.name: Named(kind) for kind in SCALARS},
    **{name: Named(kind) for name, kind in NAMED.items()},
    **{name: Named(struct) for name, struct in VECTORS.items()},
    **{name: Constant(kind, value) for name, (kind, value) in CONSTANTS.items()},
    "void": Named(VOID),
}

#: Those of them that are types and no keywords.
TYPE_NAMES: Final = frozenset({*NAMED, *VECTORS})


class Names:
    """Scopes within each other, the innermost last.

    Parameters
    ----------
    outer : list of dict
        Scopes that are there already, such as that of the file.
    """

    def __init__(self, outer: list[dict[str, Meaning]]) -> None:
        self.scopes = [*outer, {}]

    def find(self, name: str) -> Meaning | None:
        """Return what a name means here."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def here(self, name: str) -> bool:
        """Say whether the innermost scope has a name already."""
        return name in self.scopes[-1]

    def add(self, name: str, meaning: Meaning) -> None:
        """Give a name a meaning in the innermost scope."""
        self.scopes[-1][name] = meaning

    def known(self) -> Iterator[str]:
        """Yield all names that mean something here."""
        for scope in self.scopes:
            yield from scope

    @contextmanager
    def inner(self) -> Iterator[None]:
        """Open a scope for a while."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()
