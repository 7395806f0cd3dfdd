"""Macros as `--define` gives them to a compiler.

Knows no compiler.
"""

import re

from oneread.cli._console import fail


def macros(given: list[str] | None) -> dict[str, int]:
    """Return macros by name; one without a value is 1."""
    found = {}
    for text in given or ():
        macro, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", macro) or not re.fullmatch(r"-?\d+|", value):
            raise fail(f"--define {text}: write NAME=NUMBER")
        found[macro] = int(value or 1)
    return found
