"""Calls that torch.compile must leave out of its graphs.

Knows nothing of ops. A module of its own, for it loads the compiler of torch: imported only while
that one is at work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


@torch.compiler.disable  # type: ignore[untyped-decorator]
def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function, and all that it calls, as ordinary Python."""
    return function(*args, **kwargs)
