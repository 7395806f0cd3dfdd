"""Statements about a kernel's machine code, as data, judged for each build.

A claim is a property of the summary, what it should be, and the sentence that says so. Knows no
note and no view.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from oneread.sass.errors import MachineCodeError
from oneread.sass.summary import Summary

Expected: TypeAlias = str | int | float | bool | tuple[str, ...]

_PROPERTIES: Final = frozenset(field.name for field in fields(Summary))


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement: a property of `Summary`, what it should be, and the sentence that says so.

    Of a property that is a list, a word stands for an entry of it, without its count or its line;
    a list stands for all of it.
    """

    sentence: str
    property: str
    expected: Expected

    def holds(self, summary: Summary) -> bool:
        """Say whether a build is as the claim says."""
        value = getattr(summary, self.property)
        if isinstance(value, tuple) and not isinstance(self.expected, tuple):
            return any(f" {entry}".endswith(f" {self.expected}") for entry in value)
        return bool(value == self.expected)


def read_claims(text: str, name: str = "claims") -> list[Claim]:
    """Read claims from a table of TOML.

    Parameters
    ----------
    text : str
        An array of tables ``claims``, each with ``sentence``, ``property`` and ``expected``.
    name : str
        What to call the text where it is refused.

    Returns
    -------
    list of Claim
        In their order.

    Raises
    ------
    MachineCodeError
        When it is no such table, or names a property that there is not.
    """
    try:
        tables = tomllib.loads(text).get("claims")
    except tomllib.TOMLDecodeError as error:
        raise MachineCodeError(f"{name}: {error}") from None
    if not isinstance(tables, list) or not tables:
        raise MachineCodeError(f"{name}: has no [[claims]]")
    return [_claim(table, f"{name}, claim {number}") for number, table in enumerate(tables, 1)]


def _claim(table: Any, place: str) -> Claim:
    known = ("sentence", "property", "expected")
    if not isinstance(table, dict) or set(table) != set(known):
        raise MachineCodeError(f"{place}: has to have {', '.join(known)} and nothing else")
    if table["property"] not in _PROPERTIES:
        there = ", ".join(sorted(_PROPERTIES))
        raise MachineCodeError(f"{place}: no property {table['property']!r}; there are {there}")
    expected = table["expected"]
    if isinstance(expected, list):
        expected = tuple(map(str, expected))
    return Claim(str(table["sentence"]), table["property"], expected)
