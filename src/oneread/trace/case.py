"""One launch as it is asked for: sizes, shape, arguments, input, order; and the defaults of each.

Knows no machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oneread.source.arithmetic import integer
from oneread.trace.errors import UsageError
from oneread.trace.front.program import Loaded
from oneread.trace.inputs import DEFAULT_TILE
from oneread.trace.limits import Limits
from oneread.trace.truth import NAMES

Size = int | str
Extent = Size | tuple[Size, ...]


@dataclass(frozen=True)
class Case:
    """What a kernel is launched with."""

    rows: int = 4
    vocab: int = 256
    k: int = 5
    defines: Mapping[str, str] = field(default_factory=dict)
    grid: Extent | None = None
    """As the source launches the kernel, else one block a row."""
    block: Extent | None = None
    """As the source launches or names it (`oneread.trace.shape`), else 128."""
    shared_bytes: Size | None = None
    """Of an ``extern __shared__`` array; as the source launches it, else a float a thread."""
    arguments: Mapping[str, str | int | float] = field(default_factory=dict)
    input: str = "normal"
    data: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Numbers of inputs that follow no pattern, by the parameter."""
    file: str | None = None
    """Where `data` was read from."""
    schedule: str = "in-order"
    watch: Sequence[str] = ()
    """Expressions over variables whose values are kept, besides m, d and the factor."""
    record: bool | Iterable[int] = False
    """Whether events are kept, or the blocks whose events are."""
    truth: Mapping[str, str] | None = None
    """What outputs should be, a name of `oneread.trace.truth.NAMES` each; guessed if None. An
    input that is named too holds this from the start."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name in ("rows", "vocab", "k"):
            if not 0 <= getattr(self, name) < 1 << 31:
                raise UsageError(f"{name}={getattr(self, name)} is no size")
        for truth in (self.truth or {}).values():
            if truth not in NAMES:
                raise UsageError(f"truth {truth!r} is none of {', '.join(sorted(NAMES))}")

    def names(self, loaded: Loaded) -> dict[str, int]:
        """Return what expressions of sizes may name: rows, vocab, k and numbers of the source."""
        sizes = {"rows": self.rows, "vocab": self.vocab, "k": self.k}
        return {**loaded.constants, **loaded.macros, **sizes}

    def tile(self, names: Mapping[str, int]) -> int:
        """Return how many columns the kernel takes at a time, as far as the source says it."""
        return names.get("TILE", DEFAULT_TILE)


def parse_extent(text: str) -> Extent:
    """Return a grid or block as the command line has it: sizes with commas between."""
    # Commas within brackets are those of an expression such as max(rows, 2).
    parts = tuple(re.split(r",(?![^(]*\))", text))
    return parts if len(parts) > 1 else text


def extent(value: Extent, names: Mapping[str, int]) -> tuple[int, int, int]:
    """Return the sizes of a grid or a block."""
    parts = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"{value} has {len(parts)} sizes; a grid or block has up to three")
    sizes = [integer(part, names) for part in parts]
    return (sizes[0], *[*sizes[1:], 1, 1][:2])  # type: ignore[return-value]
