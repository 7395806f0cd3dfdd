"""What of a launch nobody said: which parts were read in the file, and which are guesses.

Knows how a launch is completed; has no words for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from oneread.source.launches import HostLaunch
from oneread.trace.arguments import Argument, arguments_of, launched_with, parameters_of, zeroed
from oneread.trace.case import Case, Extent, extent
from oneread.trace.front.program import Loaded
from oneread.trace.shape import Origin, Part, shape_of
from oneread.trace.tree import Storage


class Item(NamedTuple):
    """A part of a launch that nobody said."""

    name: str
    """``grid``, ``block``, ``shared bytes``, or a parameter."""
    value: str
    """A number, or for a guess the expression of one."""
    origin: Origin
    source: str = ""
    """What names it, a macro for one; or what the file's launch has instead, as it is written."""
    role: str = ""
    """Of a parameter: ``scalar``, ``input``, ``output`` or ``inout``."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What of a launch nobody said."""

    items: tuple[Item, ...]
    launch: HostLaunch | None
    """The launch of the file that was read."""
    launches: int
    """How many launches of the kernel the file has."""

    def of(self, *origins: Origin) -> list[Item]:
        """Return the parts that come from there."""
        return [one for one in self.items if one.origin in origins]


def basis(loaded: Loaded, case: Case) -> Basis:
    """Return what of a launch nobody said.

    Parameters
    ----------
    loaded : Loaded
        The kernel.
    case : Case
        What is said.

    Raises
    ------
    UsageError
        When the kernel cannot be launched with so little.
    """
    shape, names = shape_of(loaded, case), case.names(loaded)
    written = shape.launch.written if shape.launch is not None else ()
    items: list[Item] = []

    def add(name: str, part: Part, at: int) -> None:
        if part.origin == "said":
            return
        sizes = [str(one) for one in extent(part.value, names)]
        while len(sizes) > 1 and sizes[-1] == "1":
            sizes.pop()
        value = _text(part.value) if part.origin == "guessed" else ",".join(sizes)
        source = written[at] if part.origin == "guessed" and at < len(written) else ""
        if part.origin == "named":
            source = part.value if isinstance(part.value, str) else "__launch_bounds__"
        items.append(Item(name, value, part.origin, source))

    add("block", shape.block, 1)
    add("grid", shape.grid, 0)
    if any(one.storage is Storage.EXTERN_SHARED for one in loaded.program.shared):
        add("shared bytes", shape.shared_bytes, 2)
    parameters = parameters_of(loaded.program)
    numbers = launched_with(loaded, parameters)
    items += (
        Item(name, "zeros", "read")
        for name in zeroed(loaded, parameters)
        if name not in case.arguments
    )
    items += (
        Item(
            one.name,
            f"{one.shape}{_contents(one)}",
            "read" if one.name in numbers else "guessed",
            role=one.role,
        )
        for one in arguments_of(loaded, case.arguments, names, case.input)
        if one.name not in case.arguments
    )
    return Basis(tuple(items), shape.launch, len(loaded.launches))


def _contents(argument: Argument) -> str:
    return f":inout:{argument.pattern}" if argument.role == "inout" else ""


def _text(value: Extent) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
