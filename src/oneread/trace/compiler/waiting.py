"""Sequences and choices of which a part can reach a barrier.

Knows closures only.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from oneread.trace.machine.warp import Warp

Waiting = Callable[[Warp], Generator[Any, None, Any]]


@dataclass(frozen=True, slots=True)
class Code:
    """A closure, and whether it is a generator."""

    run: Any
    waits: bool = False


def waiting_sequence(parts: Sequence[tuple[Any, bool, bool]]) -> Waiting:
    """Return statements in order; each may wait, and may make lanes leave."""

    def run(warp: Warp) -> Generator[Any, None, None]:
        for one, waits, leaves in parts:
            if waits:
                yield from one(warp)
            else:
                one(warp)
            if leaves and not warp.mask:
                return

    return run


def waiting_choice(test: Code, then: Code, otherwise: Code | None) -> Waiting:
    """Return an `if` of which a part may wait."""

    def run(warp: Warp) -> Generator[Any, None, None]:
        mask = warp.mask
        found = (yield from test.run(warp)) if test.waits else test.run(warp)
        yes = found & mask
        no = mask ^ yes
        if yes:
            warp.mask = yes
            if then.waits:
                yield from then.run(warp)
            else:
                then.run(warp)
            yes = warp.mask
        if no and otherwise is not None:
            warp.mask = no
            if otherwise.waits:
                yield from otherwise.run(warp)
            else:
                otherwise.run(warp)
            no = warp.mask
        warp.mask = yes | no

    return run
