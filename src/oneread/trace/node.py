"""What the classes of the two trees are made by.

Knows no node. There are 77 kinds: as frozen dataclasses that compare and show themselves they cost
a third of the time in which the tracer is imported, so they get a constructor and slots only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def node(cls: type[T]) -> type[T]:
    """Make a class whose values nobody changes, which is left to the type checker to see."""
    return dataclass(slots=True, eq=False, repr=False, match_args=False)(cls)
