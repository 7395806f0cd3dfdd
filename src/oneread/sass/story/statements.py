"""What a story is made of: sentences as ids with what stands in their gaps, tables, sections.

Knows no language and no fact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from oneread.sass.decode.instruction import Instruction

Gap: TypeAlias = str | int | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence: its id, what fills its gaps, the instructions it is about.

    A gap of several words is a list, of loops or of what each carries a value. ``quotes`` are the
    instructions that are shown in full; a sentence without instructions is about what is not there.
    """

    id: str
    gaps: Mapping[str, Gap] = field(default_factory=dict)
    cites: tuple[Instruction, ...] = ()
    quotes: tuple[Instruction, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table: ids of its columns, and rows of words."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the story; a table stands behind its sentences."""

    id: str
    statements: tuple[Statement, ...]
    table: Table | None = None
