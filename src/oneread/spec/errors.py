"""The error tree: every error that oneread raises on purpose.

Knows nothing of who raises what.

::

    OneReadError
    ├── ShapeError (ValueError): a shape, a length, a k or an option's value
    ├── AxisError (ValueError, IndexError): an axis that the array does not have
    ├── DtypeError (TypeError): an element type or an argument's type
    ├── BackendUnavailableError (RuntimeError): a library, an instruction set, a device
    └── KernelCompileError (RuntimeError): a kernel the compiler refused; carries its log

A column outside the row raises Python's own `IndexError`.
"""

from __future__ import annotations


class OneReadError(Exception):
    """Root of the errors that oneread raises on purpose."""


class ShapeError(OneReadError, ValueError):
    """A shape, a length, a k or the value of an option that the op cannot take."""


class AxisError(OneReadError, ValueError, IndexError):
    """An axis that the array does not have."""


class DtypeError(OneReadError, TypeError):
    """An element type, or the type of an argument, that the op cannot take."""


class BackendUnavailableError(OneReadError, RuntimeError):
    """A library, an instruction set or a device that was asked for and is not there."""


class KernelCompileError(OneReadError, RuntimeError):
    """A kernel that the compiler refused.

    Parameters
    ----------
    message : str
        What was compiled and for which target.
    log : str
        The compiler's own words.
    """

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log
