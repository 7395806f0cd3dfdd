"""Statements about a kernel's machine code, as data, judged for each build.

A claim is a sentence, what it expects of properties of the summary, and perhaps the line of machine
code that a note shows for it. Knows no note and no view.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from oneread.sass.errors import MachineCodeError
from oneread.sass.summary import Summary

Expected: TypeAlias = str | int | float | bool | tuple[Any, ...]

_PROPERTIES: Final = frozenset(
    [field.name for field in fields(Summary)]
    + [name for name, value in vars(Summary).items() if isinstance(value, property)]
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement: its sentence, properties of `Summary` with what they should be, a line.

    Of a property that is a list, a word stands for an entry of it, without its count or its line;
    a list stands for all of it. ``quote`` is a line of machine code that says the same, with an
    ellipsis for what may differ; empty where there is none.
    """

    sentence: str
    expect: Mapping[str, Expected]
    quote: str = ""

    def failing(self, summary: Summary) -> tuple[str, ...]:
        """Return the properties of a build that are not as the claim says."""
        return tuple(
            name
            for name, expected in self.expect.items()
            if not _holds(getattr(summary, name), expected)
        )


def _holds(value: Any, expected: Expected) -> bool:
    if isinstance(value, tuple) and not isinstance(expected, tuple):
        return any(f" {entry}".endswith(f" {expected}") for entry in value)
    return bool(value == expected)


def read_claims(text: str, name: str = "claims") -> list[Claim]:
    """Read claims from a table of TOML.

    Parameters
    ----------
    text : str
        An array of tables ``claims``, each with ``sentence``, ``expect``, a table of properties,
        and perhaps ``quote``.
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
    allowed, needed = {"sentence", "expect", "quote"}, {"sentence", "expect"}
    if not isinstance(table, dict) or not needed <= set(table) <= allowed:
        raise MachineCodeError(f"{place}: has to have sentence, expect, perhaps quote, and no more")
    expect = table["expect"]
    if not isinstance(expect, dict) or not expect:
        raise MachineCodeError(f"{place}: expect is no table of properties")
    for name in expect:
        if name not in _PROPERTIES:
            there = ", ".join(sorted(_PROPERTIES))
            raise MachineCodeError(f"{place}: no property {name!r}; there are {there}")
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in expect.items()
    }
    return Claim(str(table["sentence"]), values, str(table.get("quote", "")))
