"""The shape of a launch: grid, block and shared bytes, each said, read in the file or guessed.

Knows what was read of a file; knows no machine.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from oneread.source.arithmetic import ExpressionError
from oneread.source.launches import HostLaunch
from oneread.trace.arguments import launched_sizes, meanings, parameters_of
from oneread.trace.case import Case, Extent, extent
from oneread.trace.errors import UsageError
from oneread.trace.front.program import Loaded
from oneread.trace.rows import bounds_blocks
from oneread.trace.tree import Convert, Declare, Load, Program, Special, Update, Variable
from oneread.trace.tree import Literal as Number
from oneread.trace.tree import VariableRef as Named
from oneread.trace.walking import nodes, under

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

#: Most threads that a block may have.
MOST_THREADS = 1024

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
    strided: bool
    """Whether the kernel's loops step by a number of threads."""

    @property
    def settles_block(self) -> bool:
        """Whether the caller, the file or the kernel says the block: no other would be launched."""
        by_loops = self.strided and self.block.origin == "guessed"
        return self.block.origin in ("said", "read") or by_loops


def shape_of(loaded: Loaded, case: Case) -> LaunchShape:
    """Return the shape of a launch.

    What the case says counts first, then the file's first launch of the kernel, as far as its
    values are in the text. Otherwise a block has the threads of `__launch_bounds__`, of a macro or
    constant of a usual name, as many as loops step by that begin at ``threadIdx.x``, or 128; there
    is one block a row, and a thread has a float of shared memory.

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
    strided = _stride(loaded.program) is not None
    return LaunchShape(grid, block, shared or _float_a_thread(block, names), launch, strided)


class _Reading:
    """What a launch in the file says, in terms of rows, vocab and k."""

    def __init__(
        self, loaded: Loaded, case: Case, names: Mapping[str, int], launch: HostLaunch | None
    ) -> None:
        self.loaded, self.names = loaded, names
        self.passed: dict[str, str | float] = {}
        parameters = parameters_of(loaded.program)
        if launch is not None and len(launch.arguments) == len(parameters):
            known = meanings(parameters, {**launched_sizes(loaded, parameters), **case.arguments})
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
    if known is not None:
        return Part(known, "named")
    return Part(_stride(program) or DEFAULT_BLOCK, "guessed")


@lru_cache(maxsize=8)  # a program is launched many times
def _stride(program: Program) -> int | None:
    """Return the one number by which loops go on that begin at a thread's own place."""
    own: set[Variable] = set()
    steps: set[int] = set()
    for node in nodes(program):
        if isinstance(node, Declare) and node.value is not None:
            value = next(one for one in under(node.value) if not isinstance(one, Convert | Load))
            is_own = isinstance(value, Special) and value.name == "threadIdx.x"
            if is_own or (isinstance(value, Named) and value.variable in own):
                own.add(node.variable)
    for node in nodes(program):
        if isinstance(node, Update) and isinstance(node.target, Named):
            value = next(one for one in under(node.value) if not isinstance(one, Convert))
            if node.target.variable in own and node.operator == "+" and isinstance(value, Number):
                steps.add(int(value.value))
    return steps.pop() if len(steps) == 1 and 0 < min(steps) <= MOST_THREADS else None


def _float_a_thread(block: Part, names: Mapping[str, int]) -> Part:
    x, y, z = extent(block.value, names)
    return Part(4 * x * y * z, "guessed")


__all__ = ["BLOCK_NAMES", "DEFAULT_BLOCK", "LaunchShape", "Part", "shape_of"]
