"""The smallest launch that still shows something: none of its sizes can be one less.

Knows the sizes of a launch; knows no fault, and runs nothing by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oneread.trace.case import Case

Test = Callable[[Case], bool]


@dataclass(frozen=True)
class Size:
    """A size of a launch that may be made smaller."""

    name: str
    """``rows``, ``vocab``, ``k`` or ``block``."""
    usual: int = 0
    """What it is where the launch says nothing of it."""
    unit: int = 1
    """It stays a multiple of this."""
    likely: Sequence[int] = ()
    """Sizes at which a fault often begins, besides powers of two."""
    bounds: str | None = None
    """A size that is never more than this one."""

    def of(self, case: Case) -> int:
        """Return what it is in a launch."""
        size = getattr(case, self.name)
        return self.usual if size is None else int(size)

    def put(self, case: Case, size: int) -> Case:
        """Return the launch with another size."""
        sizes: dict[str, Any] = {self.name: size}
        if self.bounds is not None:
            sizes[self.bounds] = min(getattr(case, self.bounds), size)
        return replace(case, **sizes)

    def ladder(self, top: int) -> Iterator[int]:
        """Yield the sizes below `top` that are tried, the smallest first."""
        powers = {self.unit << bit for bit in range(top.bit_length())}
        likely = {size for size in self.likely if size > 0 and size % self.unit == 0}
        yield from sorted(size for size in powers | likely if size < top)


def smallest(case: Case, sizes: Sequence[Size], shows: Test) -> Case:
    """Return a launch with sizes as small as a test allows.

    Parameters
    ----------
    case : Case
        A launch that passes the test.
    sizes : sequence of Size
        What may be made smaller; what is made so first saves most time.
    shows : callable
        The test of a launch.

    Returns
    -------
    Case
        A launch that passes, while each one with a single size less by its unit fails.

    Examples
    --------
    >>> from oneread.trace.case import Case
    >>> from oneread.trace.shrinking import Size, smallest
    >>> sizes = [Size("rows"), Size("vocab")]
    >>> found = smallest(Case(), sizes, lambda one: one.vocab > 32 and one.rows * one.vocab > 64)
    >>> found.rows, found.vocab
    (1, 65)
    """
    while True:
        before = case
        for size in sizes:
            case = _least(case, size, shows)
        if case == before:
            return case


def _least(case: Case, size: Size, shows: Test) -> Case:
    """Return the launch with one size as small as the test allows."""
    failed, found = 0, case
    for trial in size.ladder(size.of(case)):
        if shows(size.put(case, trial)):
            found = size.put(case, trial)
            break
        failed = trial
    # Between a size that fails and one that passes. Often the latter is a whole number of tiles,
    # which the next smaller one says at once.
    while size.of(found) - failed > size.unit:
        less = size.put(case, size.of(found) - size.unit)
        if not shows(less):
            break
        found = less
        middle = (failed + size.of(found)) // (2 * size.unit) * size.unit
        if failed < middle < size.of(found):
            if shows(size.put(case, middle)):
                found = size.put(case, middle)
            else:
                failed = middle
    return found


__all__ = ["Size", "smallest"]
