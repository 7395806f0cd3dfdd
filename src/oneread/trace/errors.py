"""Errors that end a run: a launch that cannot be, a limit that was met.

Knows no machine. A source that cannot be compiled has errors of its own.
"""

from __future__ import annotations

from oneread.spec.errors import OneReadError


class UsageError(OneReadError, ValueError):
    """An argument, a launch shape or a setting that the kernel cannot run with."""


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
