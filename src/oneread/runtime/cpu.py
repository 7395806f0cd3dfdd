"""The native CPU module, with the instruction set and the threads that were asked for.

Knows nothing of ops or arrays. Importing this module loads the native one, under Python's import
lock and therefore once; the ops import it when the first of them is used. Three
environment variables are read then: ``ONEREAD_ISA`` names the instruction set to run,
``ONEREAD_STORES`` how large results are stored, ``ONEREAD_THREADS`` the number of threads; unset or
empty, the machine decides.
"""

from __future__ import annotations

import operator
import os
import sys
from typing import Final, SupportsIndex

from oneread.spec import BackendUnavailableError, DtypeError, KernelRecord, ShapeError

__all__ = [
    "ISA_VARIABLE",
    "MAX_THREADS",
    "STORES_VARIABLE",
    "THREADS_VARIABLE",
    "check_threads",
    "get_threads",
    "last_kernel",
    "native",
    "set_threads",
    "threads",
]

ISA_VARIABLE: Final = "ONEREAD_ISA"
STORES_VARIABLE: Final = "ONEREAD_STORES"
THREADS_VARIABLE: Final = "ONEREAD_THREADS"

#: Threads that are used at most, however many are asked for.
MAX_THREADS: Final = 256

try:
    from oneread.runtime import _native as native
except ImportError as error:
    raise BackendUnavailableError(
        f"the native CPU module of oneread cannot be loaded ({error}); reinstall oneread for this "
        "Python and this machine"
    ) from error


def check_threads(n: SupportsIndex, name: str = "threads") -> int:
    """Return `n` as an int from 1 to `MAX_THREADS`, or raise an error that names it."""
    if type(n) is not int:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise DtypeError(f"{name} is {n!r}; an integer of at least 1 is allowed")
        n = operator.index(n)
    if n < 1:
        raise ShapeError(f"{name} is {max(n, -(10**9))}; an integer of at least 1 is allowed")
    return min(n, MAX_THREADS)


def _use_isa(name: str) -> None:
    try:
        native.set_isa(name)
    except ValueError as error:
        raise BackendUnavailableError(
            f"{ISA_VARIABLE} asks for {name!r}; this machine can run "
            f"{', '.join(native.supported_isas())} of the instruction sets in this build "
            f"({', '.join(native.compiled_isas())}); unset it to use the best"
        ) from error


def _use_stores(name: str) -> None:
    try:
        native.set_stores(name)
    except ValueError:
        raise BackendUnavailableError(
            f"{STORES_VARIABLE} is {name!r}; any, regular or streaming is allowed"
        ) from None


def _initial_threads() -> int:
    text = os.environ.get(THREADS_VARIABLE, "").strip()
    if not text:
        return _available_threads()
    digits = text.removeprefix("+").lstrip("0")
    if not (digits.isascii() and digits.isdigit()):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise BackendUnavailableError(
            f"{THREADS_VARIABLE} is {shown!r}; an integer of at least 1 is allowed"
        )
    # Python refuses to convert thousands of digits; three are as good here.
    return MAX_THREADS if len(digits) > 3 else min(int(digits), MAX_THREADS)


def _available_threads() -> int:
    return min(native.available_threads(), MAX_THREADS)


if _isa := os.environ.get(ISA_VARIABLE, "").strip():
    _use_isa(_isa)
if _stores := os.environ.get(STORES_VARIABLE, "").strip():
    _use_stores(_stores)

#: Threads that an op uses when it is not told; read by the ops at every call.
threads: int = _initial_threads()


def set_threads(n: SupportsIndex | None) -> None:
    """Set how many threads the ops use from now on, in every thread of this process.

    Parameters
    ----------
    n : int or None
        At least 1; at most 256 are used. None asks the machine again: the smaller of the CPU
        affinity and the cgroup quota.

    Raises
    ------
    DtypeError
        If `n` is not an integer.
    ShapeError
        If `n` is below 1.

    Notes
    -----
    ``threads=`` of an op comes before this, and this before the environment variable
    ``ONEREAD_THREADS``. Results do not depend on it: a row's bits are the same under any number
    of threads.

    Examples
    --------
    >>> import oneread
    >>> oneread.set_threads(1)
    >>> oneread.get_threads()
    1
    >>> oneread.set_threads(None)
    """
    global threads
    threads = _available_threads() if n is None else check_threads(n)


def get_threads() -> int:
    """Return how many threads an op uses when it is not told.

    Returns
    -------
    int
        From 1 to 256.

    Examples
    --------
    >>> import oneread
    >>> oneread.get_threads() >= 1
    True
    """
    return threads


def last_kernel() -> KernelRecord | None:
    """Return which kernel ran last in the calling thread.

    Returns
    -------
    KernelRecord or None
        Its name, instruction set, element type, layout, threads, spans, stores and selection of
        the k best; None before the first op of this thread.

    Notes
    -----
    One record a thread: an op that another thread runs does not change it.

    Examples
    --------
    >>> import numpy as np, oneread
    >>> y = oneread.softmax(np.zeros((2, 3), np.float32))
    >>> oneread.last_kernel().name
    'lazy_softmax'
    """
    last = native.last_kernel()
    if last is not None:
        return KernelRecord(*last)
    gpu = sys.modules.get("oneread.runtime.cuda")  # whose launches make the CPU's forget
    record: KernelRecord | None = gpu.last_kernel() if gpu else None
    return record
