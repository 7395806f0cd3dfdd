"""The words of the pages: one catalogue a language.

Knows no page.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


class Words:
    """The words of a language, by name, their gaps filled.

    Parameters
    ----------
    table : dict
        As the catalogue has it.
    """

    def __init__(self, table: dict[str, Any]) -> None:
        self._table = table

    def __call__(self, name: str, **gaps: object) -> str:
        text: str = self._table[name]
        return text.format(**gaps)

    def role(self, name: str) -> str:
        """Return the word for a role."""
        word: str = self._table["names"][name]
        return word

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles, in the order of their legend."""
        return tuple(self._table["names"])


@cache
def words(language: str) -> Words:
    """Return the words of a language that records are told in."""
    path = Path(__file__).with_name(f"{language}.toml")
    return Words(tomllib.loads(path.read_text(encoding="utf-8")))
