"""How much a run may take, and the errors that say so.

Knows no machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from oneread.trace.errors import LimitError, UsageError
from oneread.trace.front.settings import Limits as TextLimits


@dataclass(frozen=True, slots=True)
class Limits(TextLimits):
    """Settings that keep a run below 1 GB and its time, whatever the source says.

    Those of the text are among them.
    """

    elements: int = 65_536
    """Elements of all buffers in global memory together."""
    threads: int = 1_024
    """Threads of a block."""
    blocks: int = 65_536
    """Blocks of a grid."""
    shared_bytes: int = 227 * 1024
    """Shared memory of a block: what one can have on an H100 or H200."""
    static_shared_bytes: int = 48 * 1024
    """That part of it which is declared with its size: more is not compiled for any GPU."""
    local_bytes: int = 64 * 1024
    """Local arrays of a warp."""
    steps: int = 200_000
    """Statements that warps execute."""
    accesses: int = 800_000
    """Requests of memory."""
    recorded: int = 400_000
    """Events of a recording."""
    seconds: float = 60.0
    """Wall clock."""
    file_bytes: int = 64_000_000
    """Of a trace file."""

    def check_launch(self, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
        """Check the shape of a launch.

        Raises
        ------
        UsageError
            When a size is not positive.
        LimitError
            When there are too many threads or blocks.
        """
        for name, shape in (("grid", grid), ("block", block)):
            if min(shape) < 1:
                raise UsageError(f"{name} {shape}: every size is at least 1")
        self._at_most(math.prod(block), self.threads, "threads a block", "threads")
        self._at_most(math.prod(grid), self.blocks, "blocks", "blocks")

    def check_elements(self, wanted: int) -> None:
        """Check how many elements the buffers have together."""
        self._at_most(wanted, self.elements, "elements in global memory", "elements")

    def check_shared(self, wanted: int, line: int) -> None:
        """Check how much shared memory a block has."""
        self._at_most(wanted, self.shared_bytes, "bytes of shared memory", "shared_bytes", line)

    def check_static_shared(self, wanted: int, line: int) -> None:
        """Check how much shared memory is declared with its size."""
        what = "bytes of shared memory that is not extern"
        self._at_most(wanted, self.static_shared_bytes, what, "static_shared_bytes", line)

    def check_local(self, wanted: int, line: int) -> None:
        """Check how much local memory a warp has."""
        self._at_most(wanted, self.local_bytes, "bytes of local arrays a warp", "local_bytes", line)

    def _at_most(self, wanted: int, limit: int, what: str, name: str, line: int = 0) -> None:
        if wanted > limit:
            raise LimitError(f"{wanted:,} {what}; the limit is {limit:,} ({name})", line)
