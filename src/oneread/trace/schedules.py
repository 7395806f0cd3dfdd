"""Orders in which warps and blocks run.

Knows no machine. Between barriers any order is allowed, so a result that depends on it is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from oneread.trace.errors import UsageError
from oneread.trace.inputs import uniforms

Thing = TypeVar("Thing")

#: What may be asked for, for messages.
KNOWN = ("in-order", "reverse", "random:SEED", "switch", "switch:SEED")


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order: of warps between barriers, or of every statement."""

    name: str
    reverse: bool = False
    seed: int | None = None
    switching: bool = False
    """Whether another warp may go on before every statement that touches memory."""

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Return the schedule of this name.

        Raises
        ------
        UsageError
            When there is none.
        """
        if text in {"in-order", "reverse"}:
            return cls(text, reverse=text == "reverse")
        match = re.fullmatch(r"(random|switch)(?::([0-9]{1,9}))?", text)
        if match is None:
            raise UsageError(f"schedule {text!r} is none of {', '.join(KNOWN)}")
        seed = int(match[2]) if match[2] else 0
        return cls(text, seed=seed, switching=match[1] == "switch")

    def order(self, things: Sequence[Thing], draw: Draw) -> list[Thing]:
        """Return the things in the order in which they go on."""
        if self.reverse:
            return list(reversed(things))
        return draw.shuffled(things) if self.seed is not None else list(things)


class Draw:
    """Random choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self._numbers = uniforms(seed)

    def shuffled(self, things: Sequence[Thing]) -> list[Thing]:
        """Return them in a random order."""
        left = list(things)
        return [left.pop(int(next(self._numbers) * len(left))) for _ in range(len(left))]

    def below(self, count: int) -> int:
        """Return a number of range(count)."""
        return int(next(self._numbers) * count)
