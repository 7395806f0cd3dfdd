"""Places of the source that touch memory or wait, and what was counted at each.

Knows no machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oneread.trace.machine.memory import Buffer


@dataclass(slots=True, eq=False)
class Tally:
    """What one place did to one buffer; each is a key of its own."""

    buffer: str
    space: str
    kind: str
    requests: int = 0
    """Requests of warps."""
    lanes: int = 0
    """Lanes that took part, summed over the requests."""
    elements: int = 0
    """Scalars moved, those of vectors counted each."""
    size_bytes: int = 0
    reused: int = 0
    """Scalars of loads that the lane had loaded before, with no store, barrier or new round of a
    loop between: a compiler may keep them in registers."""
    sectors: int = 0
    ideal_sectors: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    first_step: int = 0
    last_step: int = 0


class Site:
    """One expression that loads, stores or does an atomic.

    Parameters
    ----------
    line, column : int
        Where it stands, from 1.
    verb : str
        ``read``, ``write`` or ``atomic``.
    """

    __slots__ = (
        "buffer",
        "column",
        "line",
        "observed",
        "operation",
        "statement",
        "tallies",
        "tally",
        "verb",
        "volatile",
    )

    def __init__(self, line: int, column: int, verb: str) -> None:
        self.line, self.column, self.verb = line, column, verb
        self.buffer: Buffer | None = None
        """Where the last access went; the next one mostly goes there too."""
        self.tally: Any = None
        self.tallies: dict[tuple[str, str], Tally] = {}
        self.observed = True
        """Whether the source uses the number that was found."""
        self.operation = ""
        """Name of the atomic."""
        self.volatile = False
        """Whether no compiler may keep in a register what was loaded here."""
        self.statement: Any = None
        """Position of the statement after which a barrier may stand."""

    @property
    def blind(self) -> bool:
        """Whether what was there before has no part in anything: a store that is an atomic."""
        return self.operation == "atomicExch" and not self.observed

    def enter(self, buffer: Buffer) -> None:
        """Turn to another buffer."""
        self.buffer = buffer
        key = (buffer.space, buffer.name)
        self.tally = self.tallies.get(key)
        if self.tally is None:
            self.tally = self.tallies[key] = Tally(buffer.name, buffer.space, self.verb)


class BarrierSite:
    """One `__syncthreads()` of the source, or one of its kin with a vote."""

    __slots__ = ("column", "line", "times", "used")

    def __init__(self, line: int, column: int) -> None:
        self.line, self.column = line, column
        self.times = 0
        """How often a block has passed it."""
        self.used = False
        """Whether it was all that ordered two accesses, once."""
