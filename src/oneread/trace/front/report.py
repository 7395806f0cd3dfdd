"""What a run has found so far, and how it ends.

Knows the catalogue of messages and the table of refusals; knows no syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import Final, TypeVar

from oneread.source.errors import Diagnostic, SourceError
from oneread.source.text import Position, SourceText
from oneread.source.tokens import Token
from oneread.trace.front.settings import Limits
from oneread.trace.messages import MESSAGES
from oneread.trace.refusals import REFUSALS

_Found = TypeVar("_Found")

#: What is wrong of a name wherever it stands.
_SURE: Final = frozenset({"unknown", "function-unknown", "type-unknown", "number", "host-call"})

#: Longest name for which a likely one is looked for.
_LONGEST_GUESS: Final = 60


class Refused(Exception):  # noqa: N818 (not an error for users: it never leaves this package)
    """What is being read cannot be; its reason is in the report already."""


def all_of(*checks: Callable[[], _Found]) -> list[_Found]:
    """Do checks of which none needs another: an error in one does not hide that of the next.

    Raises
    ------
    Refused
        When one of them did, and all of them are done.
    """
    found, failed = [], False
    for check in checks:
        try:
            found.append(check())
        except Refused:
            failed = True
    if failed:
        raise Refused
    return found


class Report:
    """Collects diagnostics, each place and message once.

    Parameters
    ----------
    limits : Limits
        How many errors are shown.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.files: dict[str, SourceText] = {}
        #: Where macros are defined, and which is used at a place.
        self.macros: dict[str, Position] = {}
        self.uses: dict[Position, str] = {}
        #: Headers of the source's own, in quotes, that were not found.
        self.missing: list[str] = []
        self.diagnostics: list[Diagnostic] = []
        self.astray = False
        self._seen: set[tuple[str, Position]] = set()
        self._errors = 0

    def add(self, diagnostic: Diagnostic) -> None:
        """Note a finding; stop the run when there are too many errors."""
        key = (diagnostic.id, diagnostic.position)
        if key in self._seen:
            return
        self._seen.add(key)
        self.diagnostics.append(diagnostic)
        self._errors += diagnostic.severity == "error"
        if self._errors >= self.limits.errors:
            parameters = {"limit": self.limits.errors}
            self.diagnostics.append(
                Diagnostic("errors-many", diagnostic.position, parameters, "note")
            )
            self.stop()

    @contextmanager
    def of(self, astray: bool) -> Iterator[None]:
        """Report, of code with an error of grammar, only names that mean nothing for a while.

        What its types are is not known: brackets may close elsewhere than they were meant to.
        """
        outer, self.astray = self.astray, astray
        try:
            yield
        finally:
            self.astray = outer

    def error(
        self,
        message: str,
        where: Position | Token,
        hint: str = "",
        notes: tuple[Diagnostic, ...] = (),
        **parameters: str | int,
    ) -> Refused:
        """Note an error and return what to raise where nothing can go on."""
        if self.astray and message not in _SURE:
            return Refused()
        if isinstance(where, Token):
            where = where.position
        notes += self.came_from(where)
        self.add(Diagnostic(message, where, parameters, "error", hint, notes))
        return Refused()

    def outside(self, what: str, where: Position | Token) -> Refused:
        """Note a construct outside the subset, by what the table of refusals calls it."""
        instead = REFUSALS[what].instead
        return self.error("outside", where, "outside-hint", what=what, instead=instead)

    def came_from(self, where: Position) -> tuple[Diagnostic, ...]:
        """Return the note that shows the macro that is used at a place."""
        name = self.uses.get(where)
        if name is None or name not in self.macros:
            return ()
        return (Diagnostic("from-macro", self.macros[name], {"name": name}, "note"),)

    def fatal(self, message: str, where: Position, **parameters: str | int) -> SourceError:
        """Return the error of a run that ends here."""
        self.diagnostics.append(Diagnostic(message, where, parameters))
        return self._failure()

    @property
    def failed(self) -> bool:
        """Whether there is an error."""
        return self._errors > 0

    def stop(self) -> None:
        """Raise all errors that were found, if any."""
        if self.failed:
            raise self._failure()

    def _failure(self) -> SourceError:
        names = {name: number for number, name in enumerate(self.files)}
        ordered = sorted(
            self.diagnostics,
            key=lambda one: (
                names.get(one.position.file, -1), one.position.line, one.position.column,
            ),
        )  # fmt: skip
        return SourceError(ordered, MESSAGES, self.files.values())


def guess(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, or an empty string."""
    return nearest(name, known)[0]


def nearest(name: str, known: Iterable[str]) -> tuple[str, bool]:
    """Return the known name that was probably meant, and whether no other is as near."""
    if len(name) > _LONGEST_GUESS:
        return "", False
    limit, letters = 1 if len(name) < 5 else 2, set(name.lower())
    near: list[tuple[int, int, int, int, str]] = []
    for other in set(known):
        if len(name) < 3 and sorted(name) != sorted(other):
            continue  # of two letters, any is near to any
        if abs(len(other) - len(name)) <= limit and other != name:
            if len(letters ^ set(other.lower())) > 2 * limit:
                continue  # a slip changes two letters at most; this is quick to see
            apart = _distance(name.lower(), other.lower())
            if apart <= limit:
                shared = _shared(name, other)
                near.append((apart, -shared, -_prefix(name, other), len(other), other))
    if not near:
        return "", False
    best = min(near)
    return best[-1], sum(one[0] == best[0] for one in near) == 1


def _distance(one: str, other: str) -> int:
    """Return how many letters differ: changed, missing, too many, or two swapped."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for row, a in enumerate(one, 1):
        line = [row]
        for column, b in enumerate(other, 1):
            cost = min(last[column] + 1, line[-1] + 1, last[column - 1] + (a != b))
            if row > 1 < column and a == other[column - 2] and one[row - 2] == b:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


def _shared(one: str, other: str) -> int:
    """Return how many letters two names share at their starts and ends."""
    front = _prefix(one, other)
    return front + _prefix(one[front:][::-1], other[front:][::-1])


def _prefix(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
