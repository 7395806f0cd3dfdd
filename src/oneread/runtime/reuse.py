"""Memory for large results, that of earlier ones where these are gone.

Knows nothing of ops. New memory comes from the system page by page as it is first written, which
takes longer than a softmax; memory that was a result before has its pages. What nobody holds any
more is kept up to a limit, offered to the system all the while (``MADV_FREE``), and its oldest
part unmapped beyond that. ``ONEREAD_KEEP_MB`` is the limit in MiB; 0 keeps nothing.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from oneread.runtime.cpu import native
from oneread.spec import BackendUnavailableError

KEEP_VARIABLE: Final = "ONEREAD_KEEP_MB"

#: Below it the allocator of the C library keeps what is given back, as a rule, at less cost.
LARGE_BYTES: Final = 32 << 20

_MOST_MB: Final = 1 << 30  # a pebibyte: any number above does as well


def large(like: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return memory that lies as an array does, and whether its pages are yet to come.

    The array is a new one that nobody has written to; what its memory held is not copied. It comes
    back itself where it is small or nothing is kept.
    """
    if like.nbytes < LARGE_BYTES or not _keeps:
        return like, True
    try:
        memory = native.LentMemory(like.nbytes)
    except MemoryError:
        return like, True
    numbers = np.asarray(memory)  # keeps it until the last array in it is gone
    return np.ndarray(like.shape, like.dtype, numbers, 0, like.strides), not memory.used


def is_fresh(n_bytes: int) -> bool:
    """Whether `large` would say so of memory of that size."""
    return n_bytes < LARGE_BYTES or not _keeps or not native.keeps(n_bytes)


def forget() -> None:
    """Give what is kept to the system."""
    native.keep_at_most(native.keep_at_most(0))


def _limit() -> int | None:
    text = os.environ.get(KEEP_VARIABLE, "").strip()
    if not text:
        return None
    digits = text.removeprefix("+").lstrip("0") or "0"
    if not (digits.isascii() and digits.isdigit()):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise BackendUnavailableError(
            f"{KEEP_VARIABLE} is {shown!r}; a whole number of MiB, 0 or more, is allowed"
        )
    return _MOST_MB if len(digits) > 9 else int(digits)


_mb: Final = _limit()
_keeps: Final = _mb != 0
if _mb is not None:
    native.keep_at_most(_mb << 20)
