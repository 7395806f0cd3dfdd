"""The line of `oneread trace` on what nobody said of a launch: read in the source, or guessed.

Returns lines and prints nothing.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneread.trace import Case
    from oneread.trace.basis import Basis
    from oneread.trace.front.program import Loaded


def basis(loaded: "Loaded", case: "Case") -> Iterator[str]:
    """Yield a line on what was read in the source and what was guessed; none where all was said."""
    from oneread.trace.basis import basis as found_in

    found = found_in(loaded, case)
    parts = []
    read = [f"{one.name} {one.value}" for one in found.of("read")]
    if read and found.launch is not None:
        first = f", the first of {found.launches}" if found.launches > 1 else ""
        parts.append(f"{', '.join(read)} (launch in line {found.launch.line}{first})")
    parts += [f"{one.name} {one.value} ({one.source})" for one in found.of("named")]
    guessed = ", ".join(_guesses(found))
    if parts or guessed:
        said = [f"read: {', '.join(parts)}"] * bool(parts) + [f"guessed: {guessed}"] * bool(guessed)
        yield "; ".join(said)


def _guesses(found: "Basis") -> Iterator[str]:
    """Yield guesses in words: buffers of one size together, numbers where their name is another."""
    from oneread.source.errors import quoted

    buffers: dict[str, list[str]] = {}
    numbers: list[str] = []
    for one in found.of("guessed"):
        if one.source and found.launch is not None:
            line = found.launch.line
            yield f"{one.name} {one.value} instead of {quoted(one.source)} (line {line})"
        elif not one.role:
            yield f"{one.name} {one.value}"
        elif one.role != "scalar":
            buffers.setdefault(one.value, []).append(one.name)
        elif one.name != one.value:
            numbers.append(f"{one.name}={one.value}")
    yield from (f"{' '.join(names)} [{size}]" for size, names in buffers.items())
    yield from numbers
