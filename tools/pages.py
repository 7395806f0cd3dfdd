"""Pages of the documentation, some parts of which are made: written anew, or only checked."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path


def write_or_check(
    about: str, pages: Iterable[Path], filled: Callable[[str], str], source: str, tool: str
) -> int:
    """Write what `filled` makes of each page; with ``--check`` say which would change, and 1."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="change nothing; 1 when it would")
    options = parser.parse_args()
    stale = []
    for page in pages:
        old = page.read_text("utf-8")
        new = filled(old)
        if new != old:
            stale.append(page.name)
            if not options.check:
                page.write_text(new, "utf-8")
    if options.check and stale:
        print(f"not what {source}: {', '.join(stale)}; run {tool}")
        return 1
    return 0
