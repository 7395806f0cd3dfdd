"""The shape of a launch: grid, block and shared bytes, each said, read in the file or guessed.

Knows what was read of a file; knows no machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from oneread.source.arithmetic import ExpressionError
from oneread.source.launches import HostLaunch
from oneread.trace.arguments import meanings, parameters_of
from oneread.trace.case import Case, Extent, extent
from oneread.trace.errors import UsageError
from oneread.trace.front.program import Loaded
from oneread.trace.rows import bounds_blocks
from oneread.trace.tree import Special
from oneread.trace.walking import nodes

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

#: ``said`` by the caller or the catalogue, ``read`` in a launch of the file, ``named`` by
#: `__launch_bounds__` or a usual name, or ``guessed``.
Origin = Literal["said", "read", "named", "guessed"]


class Part(NamedTuple):
    """A part of the shape, as an expression, and where it comes from."""

    value: Extent
    origin: Origin


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """Grid, block and shared bytes of a launch."""

    grid: Part
    block: Part
    shared_bytes: Part
    launch: HostLaunch | None
    """The launch of the file that was read, if there is one."""

    @property
    def settles_block(self) -> bool:
        """Whether the block is that of the caller or of the file: another would not be launched."""
        return self.block.origin in ("said", "read")


def shape_of(loaded: Loaded, case: Case) -> LaunchShape:
    """Return the shape of a launch.

    What the case says counts first, then the file's first launch of the kernel, as far as its
    values are in the text. Otherwise a block has the threads of `__launch_bounds__`, of a macro or
    constant of a usual name, or 128; there is one block a row, and a thread has a float of shared
    memory.

    Raises
    ------
    UsageError
        When the kernel uses more than x, and nothing says the block.
    """
    launch = next(iter(loaded.launches), None)
    names = case.names(loaded)
    read = _Reading(loaded, case, names, launch)
    block = read.part(case.block, launch.block if launch else None) or _named_block(loaded, names)
    grid = read.part(case.grid, launch.grid if launch else None)
    if grid is None or (grid.origin == "read" and not read.fits(grid.value)):
        grid = Part("rows", "guessed")
    shared = read.part(case.shared_bytes, (launch.shared_bytes,) if launch else None, least=0)
    return LaunchShape(grid, block, shared or _float_a_thread(block, names), launch)


class _Reading:
    """What a launch in the file says, in terms of rows, vocab and k."""

    def __init__(
        self, loaded: Loaded, case: Case, names: Mapping[str, int], launch: HostLaunch | None
    ) -> None:
        self.loaded, self.names = loaded, names
        self.passed: dict[str, str | float] = {}
        parameters = parameters_of(loaded.program)
        if launch is not None and len(launch.arguments) == len(parameters):
            known = meanings(parameters, case.arguments)
            self.passed = {
                argument: known[one.name]
                for argument, one in zip(launch.arguments, parameters, strict=True)
                if one.name in known and argument.isidentifier()
            }

    def part(
        self, said: Extent | None, launched: tuple[str, ...] | None, least: int = 1
    ) -> Part | None:
        """Return what is said, else what the launch has if that can be launched, else None."""
        if said is not None:
            return Part(said, "said")
        if not launched:
            return None
        found = tuple(re.sub(r"[A-Za-z_]\w*", self.meaning, one) for one in launched)
        try:
            sizes = extent(found, self.names)
        except (ExpressionError, UsageError):
            return None
        if min(sizes) < least:
            return None
        return Part(found if len(found) > 1 else found[0], "read")

    def meaning(self, name: re.Match[str]) -> str:
        """Return what a name of the launch is to the kernel that it is passed to."""
        known = self.passed.get(name[0])
        return name[0] if known is None else f"({known})"

    def fits(self, grid: Extent) -> bool:
        """Say whether a grid of the file fits any number of rows.

        It does if it is made of sizes, or if the kernel bounds what its blocks do: else the number
        of blocks is that of the rows of the file's own problem.
        """
        words = re.findall(r"[A-Za-z_]\w*", str(grid))
        return bool({"rows", "vocab", "k"} & {*words}) or bounds_blocks(self.loaded.program)


def _named_block(loaded: Loaded, names: Mapping[str, int]) -> Part:
    program = loaded.program
    flat = sorted({one.name for one in nodes(program) if isinstance(one, Special)} & _BEYOND_X)
    if flat:
        raise UsageError(
            f"the kernel uses {' and '.join(flat)}, and nothing says how its threads lie; say the "
            "block and the blocks, for example {remedy}",
            {"block": (32, 4), "grid": "(rows + 3) / 4"},
        )
    if program.kernel.max_threads is not None:
        return Part(program.kernel.max_threads, "named")
    known = next((name for name in BLOCK_NAMES if name in names), None)
    return Part(DEFAULT_BLOCK, "guessed") if known is None else Part(known, "named")


def _float_a_thread(block: Part, names: Mapping[str, int]) -> Part:
    x, y, z = extent(block.value, names)
    return Part(4 * x * y * z, "guessed")


__all__ = ["BLOCK_NAMES", "DEFAULT_BLOCK", "LaunchShape", "Part", "shape_of"]
