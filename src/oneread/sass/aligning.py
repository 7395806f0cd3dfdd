"""Two kernels' loops over elements, put beside each other, and their instructions by what they do.

Loops are matched by what an element costs in them, role by role. How far they were unrolled does
not matter: instructions of one form count for each element. Knows no view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Final

from oneread.sass.analysis import Analysis
from oneread.sass.decode.instruction import Instruction
from oneread.sass.facts.loops import Work
from oneread.sass.facts.roles import ROLES, Role
from oneread.sass.summary import widest_loops

#: Roles that say nothing of what a loop is for.
_ANY_LOOP: Final = ("control", "other")


@dataclass(frozen=True, slots=True)
class Form:
    """Instructions of one role and one mnemonic in a loop: the first, and how many an element."""

    first: Instruction
    each: float


@dataclass(frozen=True, slots=True)
class Row:
    """What two loops do for the same end, one of both None where only the other does it."""

    role: Role
    forms: tuple[Form | None, Form | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """Loops of two kernels that do the same, one of both None where the other has no match."""

    loops: tuple[Work | None, Work | None]
    rows: tuple[Row, ...]


def align(first: Analysis, second: Analysis) -> list[Pair]:
    """Match the loops of two kernels, and in each pair the instructions.

    Parameters
    ----------
    first, second : Analysis
        The facts about the kernels.

    Returns
    -------
    list of Pair
        The matched loops in the order of the first kernel; then loops that have no match.
    """
    works = [widest_loops(one) for one in (first, second)]
    costs = [
        [_by_role(one, work) for work in own]
        for one, own in zip((first, second), works, strict=True)
    ]
    matched = dict(_matched(*costs))
    found = [
        Pair((works[0][left], works[1][right]), tuple(_rows(costs[0][left], costs[1][right])))
        for left, right in sorted(matched.items())
    ]
    found += [
        Pair((one, None), tuple(_rows(costs[0][nth], {})))
        for nth, one in enumerate(works[0])
        if nth not in matched
    ]
    found += [
        Pair((None, one), tuple(_rows({}, costs[1][nth])))
        for nth, one in enumerate(works[1])
        if nth not in matched.values()
    ]
    return found


def _by_role(analysis: Analysis, work: Work) -> dict[Role, list[Form]]:
    """Return the forms of instructions of a loop for each role, in the order of addresses."""
    first: dict[tuple[Role, str], Instruction] = {}
    counts: Counter[tuple[Role, str]] = Counter()
    for one in work.instructions:
        key = analysis.roles.get(one.index, "other"), one.mnemonic
        first.setdefault(key, one)
        counts[key] += 1
    found: dict[Role, list[Form]] = {}
    for key, one in first.items():
        found.setdefault(key[0], []).append(Form(one, counts[key] / work.elements))
    return found


def _matched(
    left: Sequence[Mapping[Role, list[Form]]], right: Sequence[Mapping[Role, list[Form]]]
) -> Iterator[tuple[int, int]]:
    """Yield loops that belong together, the most alike first, each once."""
    alike = sorted(
        (
            (_alike(one, other), -i, -j)
            for i, one in enumerate(left)
            for j, other in enumerate(right)
        ),
        reverse=True,
    )
    used: set[tuple[str, int]] = set()
    for score, i, j in alike:
        if score > 0 and not used & {("left", i), ("right", j)}:
            used |= {("left", i), ("right", j)}
            yield -i, -j


def _alike(left: Mapping[Role, list[Form]], right: Mapping[Role, list[Form]]) -> float:
    """Return what two loops have in common as a share of what either has, in instructions."""
    sums = [
        {role: sum(one.each for one in forms) for role, forms in side.items()}
        for side in (left, right)
    ]
    both = [[side.get(role, 0.0) for side in sums] for role in ROLES if role not in _ANY_LOOP]
    return sum(map(min, both)) / (sum(map(max, both)) or 1)


def _rows(left: Mapping[Role, list[Form]], right: Mapping[Role, list[Form]]) -> Iterator[Row]:
    """Yield the forms of two loops beside each other: of a role, the same mnemonic first."""
    for role in ROLES:
        sides = left.get(role, []), right.get(role, [])
        names = [[one.first.mnemonic for one in side] for side in sides]
        for _, i, i_end, j, j_end in SequenceMatcher(None, names[0], names[1], False).get_opcodes():
            mine, others = sides[0][i:i_end], sides[1][j:j_end]
            for pair in zip_longest(mine, others):
                yield Row(role, pair)
