"""How many of something, in words.

Knows nothing else of the package.
"""

from __future__ import annotations


def plural(count: int, noun: str, shown: str | None = None) -> str:
    """Return ``1 argument``, ``2 arguments``, ``2 accesses``.

    `shown` is what stands in place of the number.
    """
    ending = "" if count == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{f'{count:,}' if shown is None else shown} {noun}{ending}"
