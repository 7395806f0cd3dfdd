"""Loops of a warp: lanes leave one by one, the rest goes on.

Knows closures only.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from oneread.trace.compiler.waiting import Code
from oneread.trace.machine.warp import Warp


class Loop:
    """A loop of any kind.

    Parameters
    ----------
    test : Code
        Gives the mask of the lanes that go on.
    body : Code
        What is repeated.
    after : Code or None
        What follows each round of a `for`.
    test_first : bool
        Whether the first round is tested, too.
    """

    def __init__(self, test: Code, body: Code, after: Code | None, test_first: bool) -> None:
        self._test, self._body, self._after = test, body, after
        self._test_first = test_first

    def plain(self, warp: Warp) -> None:
        """Run a loop in which nothing waits."""
        test, body = self._test.run, self._body.run
        after = self._after.run if self._after is not None else None
        outer, continued = warp.mask, warp.continued
        tested = self._test_first
        while True:
            if tested:
                warp.mask &= test(warp)
                if not warp.mask:
                    break
            tested = True
            warp.continued = 0
            body(warp)
            warp.mask |= warp.continued
            if not warp.mask:
                break
            if after is not None:
                after(warp)
            warp.recent.clear()
        self._end(warp, outer, continued)

    def waiting(self, warp: Warp) -> Generator[Any, None, None]:
        """Run a loop in which something waits."""
        test, body, after = self._test, self._body, self._after
        outer, continued = warp.mask, warp.continued
        tested = self._test_first
        while True:
            if tested:
                found = (yield from test.run(warp)) if test.waits else test.run(warp)
                warp.mask &= found
                if not warp.mask:
                    break
            tested = True
            warp.continued = 0
            if body.waits:
                yield from body.run(warp)
            else:
                body.run(warp)
            warp.mask |= warp.continued
            if not warp.mask:
                break
            if after is not None:
                if after.waits:
                    yield from after.run(warp)
                else:
                    after.run(warp)
            warp.recent.clear()
        self._end(warp, outer, continued)

    def _end(self, warp: Warp, outer: int, continued: int) -> None:
        warp.mask = outer & ~warp.returned
        warp.continued = continued
        warp.recent.clear()
