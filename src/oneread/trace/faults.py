"""Faults as records: what was found, where, between whom, and how it is repaired.

Knows no machine; the texts are in `oneread.trace.messages`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oneread.trace.messages import FAULTS, SEVERITIES, fault_text


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of the source that is known to mend a fault."""

    kind: str
    """``insert-after`` (a line `text` behind the statement here), ``insert`` (`text` here) or
    ``replace`` (`old` by `new`)."""
    line: int
    column: int
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Fault:
    """One kind of fault at one place, however often it happened."""

    id: str
    severity: str
    line: int
    column: int
    step: int
    block: int
    warp: int
    lanes: int
    """Mask of the lanes concerned, the first time."""
    with_line: int | None = None
    """The other line, where two are concerned."""
    buffer: str | None = None
    index: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    repair: Repair | None = None
    count: int = 1
    """How often it happened."""

    @property
    def title(self) -> str:
        """A few words for the kind of fault."""
        return FAULTS[self.id].title

    def __str__(self) -> str:
        text, guess = fault_text(self.id, self.shown()), self.parameters.get("guess")
        if "atomic" in self.parameters:
            text += f"; {self.parameters['atomic']} reads, changes and stores it at once"
        if guess is None:
            return text
        size, _, _ = guess.partition("=")[2].partition(":")
        if self.id == "uninitialised":
            return f"{text}; that {self.buffer} holds nothing from the start is a guess"
        return f"{text}; that {self.buffer} has {size} elements is a guess"

    def shown(self) -> dict[str, Any]:
        """Return all that the text may name."""
        return {
            "line": self.line,
            "with_line": self.with_line,
            "block": self.block,
            "warp": self.warp,
            "buffer": self.buffer,
            "index": self.index,
            "lanes": lane_list(self.lanes),
            **self.parameters,
        }


def lane_list(bits: int) -> str:
    """Return lanes in words: ``0-7, 12``."""
    lanes = [lane for lane in range(32) if bits >> lane & 1]
    parts: list[str] = []
    start = 0
    for place, lane in enumerate(lanes):
        if place + 1 == len(lanes) or lanes[place + 1] != lane + 1:
            first = lanes[start]
            parts.append(str(first) if first == lane else f"{first}-{lane}")
            start = place + 1
    return ", ".join(parts) or "none"


class Faults:
    """Faults by kind and place; each is kept the first time and counted from then on."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], Fault] = {}

    def add(self, key: tuple[Any, ...], make: Any) -> None:
        """Count the fault with this key; `make()` returns its record the first time."""
        known = self._found.get(key)
        if known is None:
            self._found[key] = make()
        else:
            known.count += 1

    def put(self, fault: Fault) -> None:
        """Keep a fault that is found once, after the run."""
        verb = fault.parameters.get("verb")
        self._found[fault.id, fault.line, fault.column, fault.buffer, verb] = fault

    def sorted(self) -> list[Fault]:
        """Return them, the worst first, then by line."""
        return sorted(self._found.values(), key=order)


def order(fault: Fault) -> tuple[int, int, int, str]:
    """Return the key by which faults are sorted: the worst first, then by line and step."""
    return SEVERITIES.index(fault.severity), fault.line, fault.step, fault.id
