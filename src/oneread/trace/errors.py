"""Errors that end a run: a launch that cannot be, a limit that was met.

Knows no machine. A source that cannot be compiled has errors of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneread.spec.errors import OneReadError


class UsageError(OneReadError, ValueError):
    """An argument, a launch shape or a setting that the kernel cannot run with.

    Parameters
    ----------
    message : str
        What is wrong; where it holds ``{remedy}``, the settings that would help stand there.
    remedy : mapping, optional
        These settings, by the fields of `oneread.trace.Case`. The text of the error has them as
        Python does; a front end that calls them otherwise words them itself, with `worded`.
    """

    def __init__(self, message: str, remedy: Mapping[str, Any] | None = None) -> None:
        self._message, self.remedy = message, dict(remedy or {})
        super().__init__(self.worded(_as_python))

    def worded(self, words: Callable[[Mapping[str, Any]], str]) -> str:
        """Return the message with the settings that would help in these words."""
        return (
            self._message.replace("{remedy}", words(self.remedy)) if self.remedy else self._message
        )


class LimitError(OneReadError, RuntimeError):
    """A run that was stopped because it met a limit.

    Parameters
    ----------
    message : str
        Which limit, and how it is raised.
    line : int
        Where the run stood, 0 where nothing had begun.
    setting : str
        Which of `oneread.trace.Limits`, where the caller may have to know.
    """

    def __init__(self, message: str, line: int = 0, setting: str = "") -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line, self.setting = line, setting


def _as_python(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())
