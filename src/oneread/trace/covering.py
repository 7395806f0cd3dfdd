"""Pairwise covers: few choices in which every two values of different factors come together.

Knows no kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

Value = int | str
Choice = dict[str, Value]
Pair = frozenset[tuple[str, Value]]


def pairwise(factors: Mapping[str, Sequence[Value]]) -> list[Choice]:
    """Return choices of a value for each factor.

    Parameters
    ----------
    factors : mapping
        The values of each; the first of all make the first choice.

    Returns
    -------
    list of dict
        Every value of every factor is in one of them, and every two of different factors
        together; the same for the same factors.

    Examples
    --------
    >>> from oneread.trace.covering import pairwise
    >>> len(pairwise({"a": [0, 1], "b": [0, 1], "c": [0, 1]}))
    4
    """
    open_pairs = dict.fromkeys(_pairs(factors))
    choices: list[Choice] = []
    choice: Choice = {name: values[0] for name, values in factors.items()}
    while True:
        choices.append(choice)
        for covered in _within(choice):
            open_pairs.pop(covered, None)
        if not open_pairs:
            return choices
        choice = _next(factors, open_pairs)


def _pairs(factors: Mapping[str, Sequence[Value]]) -> list[Pair]:
    names = sorted(factors, key=lambda name: -len(factors[name]))
    singles = [frozenset([(name, value)]) for name in names for value in factors[name]]
    return singles + [
        frozenset([(one, a), (other, b)])
        for one, other in combinations(names, 2)
        for a, b in product(factors[one], factors[other])
    ]


def _within(choice: Choice) -> list[Pair]:
    items = list(choice.items())
    return [frozenset([item]) for item in items] + [
        frozenset(two) for two in combinations(items, 2)
    ]


def _next(factors: Mapping[str, Sequence[Value]], open_pairs: dict[Pair, None]) -> Choice:
    """Return a choice with the last pair that is open, and as many more as come along."""
    choice: Choice = dict(sorted(next(reversed(open_pairs))))
    for name in sorted(factors, key=lambda name: -len(factors[name])):
        if name not in choice:
            choice[name] = max(
                factors[name],
                key=lambda value, name=name: sum(  # type: ignore[misc]
                    frozenset([(name, value), item]) in open_pairs for item in choice.items()
                ),
            )
    return {name: choice[name] for name in factors}
