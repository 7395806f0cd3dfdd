"""What cannot be read as machine code, as an error.

Knows no format.
"""

from __future__ import annotations

from oneread.spec import OneReadError

__all__ = ["MachineCodeError"]


class MachineCodeError(OneReadError, ValueError):
    """A file or a text that is not the machine code that it should be."""
