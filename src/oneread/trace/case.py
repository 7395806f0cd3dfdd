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
from oneread.trace.tree import Program, Special
from oneread.trace.truth import NAMES
from oneread.trace.walking import nodes

Size = int | str
Extent = Size | tuple[Size, ...]

#: Usual names of a macro or constant that says how many threads a block has, the surest first.
BLOCK_NAMES = (
    "THREADS",
    "NUM_THREADS",
    "BLOCK_THREADS",
    "THREADS_PER_BLOCK",
    "BLOCK_SIZE",
    "BLOCKSIZE",
    "BLOCK_DIM",
    "BLOCK",
    "TILE",
)

#: What a kernel uses whose block is more than a row of threads.
_BEYOND_X = frozenset(f"{what}.{axis}" for what in ("threadIdx", "blockDim") for axis in "yz")

#: Threads of a block where nothing says how many.
DEFAULT_BLOCK = 128


@dataclass(frozen=True)
class Case:
    """What a kernel is launched with."""

    rows: int = 4
    vocab: int = 256
    k: int = 5
    defines: Mapping[str, str] = field(default_factory=dict)
    grid: Extent | None = None
    """One block a row unless said otherwise."""
    block: Extent | None = None
    shared_bytes: Size | None = None
    """Of an ``extern __shared__`` array; a float for each thread unless said otherwise."""
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

    def grid_shape(self, names: Mapping[str, int]) -> tuple[int, int, int]:
        """Return the grid: one block a row unless said otherwise."""
        return _extent(self.rows if self.grid is None else self.grid, names)

    def block_shape(self, names: Mapping[str, int], program: Program) -> tuple[int, int, int]:
        """Return the block: as said, by `__launch_bounds__`, by a usual name, or 128.

        Raises
        ------
        UsageError
            When the kernel uses more than x, and no block was said.
        """
        if self.block is not None:
            return _extent(self.block, names)
        uses = {one.name for one in nodes(program) if isinstance(one, Special)}
        flat = sorted(uses & _BEYOND_X)
        if flat:
            raise UsageError(
                f"the kernel uses {' and '.join(flat)}, and nothing says how its threads lie; say "
                'the block and the blocks, for example --block 32,4 --grid "(rows + 3) / 4"'
            )
        if program.kernel.max_threads is not None:
            return (program.kernel.max_threads, 1, 1)
        known = next((name for name in BLOCK_NAMES if name in names), None)
        return (DEFAULT_BLOCK if known is None else names[known], 1, 1)

    def dynamic_bytes(self, names: Mapping[str, int], threads: int) -> int:
        """Return the bytes of an ``extern __shared__`` array."""
        if self.shared_bytes is None:
            return 4 * threads
        return integer(self.shared_bytes, names)

    def tile(self, names: Mapping[str, int]) -> int:
        """Return how many columns the kernel takes at a time, as far as the source says it."""
        return names.get("TILE", DEFAULT_TILE)


def parse_extent(text: str) -> Extent:
    """Return a grid or block as the command line has it: sizes with commas between."""
    # Commas within brackets are those of an expression such as max(rows, 2).
    parts = tuple(re.split(r",(?![^(]*\))", text))
    return parts if len(parts) > 1 else text


def _extent(value: Extent, names: Mapping[str, int]) -> tuple[int, int, int]:
    parts = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"{value} has {len(parts)} sizes; a grid or block has up to three")
    sizes = [integer(part, names) for part in parts]
    return (sizes[0], *[*sizes[1:], 1, 1][:2])  # type: ignore[return-value]
