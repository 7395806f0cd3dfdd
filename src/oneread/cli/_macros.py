"""Pairs NAME=VALUE as options give them, and macros as `--define` gives them to a compiler.

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


def pairs(option: str, given: list[str] | None, default: str | None = None) -> dict[str, str]:
    """Return values by name; one without a value is the default, if there is one."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not re.fullmatch(r"\w+", name) or not (equals or default):
            raise fail(f"{option} {text}: write NAME=VALUE")
        found[name] = value if equals else str(default)
    return found
