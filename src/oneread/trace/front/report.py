"""What a run has found so far, and how it ends.

Knows the catalogue of messages; knows no construct.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from oneread.source.errors import Diagnostic, SourceError
from oneread.source.text import Position, SourceText
from oneread.source.tokens import Token
from oneread.trace.front.settings import Limits
from oneread.trace.messages import MESSAGES


class Refused(Exception):  # noqa: N818 (not an error for users: it never leaves this package)
    """What is being read cannot be; its reason is in the report already."""


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
        self.diagnostics: list[Diagnostic] = []
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
            self.stop()

    def error(
        self,
        message: str,
        where: Position | Token,
        hint: str = "",
        notes: tuple[Diagnostic, ...] = (),
        **parameters: str | int,
    ) -> Refused:
        """Note an error and return what to raise where nothing can go on."""
        if isinstance(where, Token):
            notes += came_from(where)
            where = where.position
        self.add(Diagnostic(message, where, parameters, "error", hint, notes))
        return Refused()

    def fatal(self, message: str, where: Position, **parameters: str | int) -> SourceError:
        """Return the error of a run that ends here."""
        self.diagnostics.append(Diagnostic(message, where, parameters))
        return self._failure()

    def stop(self) -> None:
        """Raise all errors that were found, if any."""
        if self._errors:
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


def came_from(token: Token) -> tuple[Diagnostic, ...]:
    """Return the note that says which macro a token came from."""
    if not token.macro:
        return ()
    return (Diagnostic("from-macro", token.position, {"name": token.macro}, "note"),)


def guess(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, or an empty string."""
    if len(name) > 60:
        return ""
    close = difflib.get_close_matches(name, sorted(set(known)), 3, 0.7)
    # Of names equally near, one that differs in case only, then the shortest.
    close.sort(key=lambda other: other.lower() != name.lower())
    return close[0] if close else ""
