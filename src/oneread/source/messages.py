"""The words of what can be wrong with a text before anyone reads it as C.

A room above adds its own to these.
"""

from __future__ import annotations

from typing import Final

MESSAGES: Final[dict[str, str]] = {
    "too-large": "the source has {size} bytes; at most {limit} are read (source_bytes)",
    "comment-open": "this comment is never closed; '*/' is missing",
    "string-open": "this string has no closing quote on its line",
    "character-open": "this character has no closing quote on its line",
    "stray": "stray character {shown}",
    "bracket-open": "this '{bracket}' is never closed",
    "bracket-lost": "'{bracket}' closes nothing",
    "opened-here": "'{open}' opens here",
    "include-malformed": '#include takes "file" or <file>',
}
