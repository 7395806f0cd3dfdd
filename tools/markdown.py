"""Read what can be run or followed out of Markdown pages: code blocks, commands, links, headings.

Run as a program it prints the commands of a page, one a line: ``markdown.py README.md``. Knows
nothing of oneread; standard library only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^```(\w*)$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$")


class Block(NamedTuple):
    """A fenced block of code: its language, its text, and the line where the text begins."""

    language: str
    text: str
    line: int


def blocks(page: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    language: str | None = None
    first, text = 0, []
    for number, line in enumerate(page.splitlines(), 1):
        fence = FENCE.match(line)
        if language is None and fence:
            language, first, text = fence[1], number + 1, []
        elif language is not None and line == "```":
            yield Block(language, "\n".join(text) + "\n", first)
            language = None
        else:
            text.append(line)


def prose(page: str) -> str:
    """Return a page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def commands(page: str) -> list[str]:
    """Return what stands after ``$`` in the console blocks of a page."""
    return [
        line.removeprefix("$ ")
        for block in blocks(page)
        if block.language == "console"
        for line in block.text.splitlines()
        if line.startswith("$ ")
    ]


def links(page: str) -> list[str]:
    """Return the targets of the links of a page."""
    return LINK.findall(prose(page))


def anchors(page: str) -> set[str]:
    """Return the anchors of a page's headings, by GitHub's rule."""
    titles = (match[1] for line in prose(page).splitlines() if (match := HEADING.match(line)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print("\n".join(commands(Path(name).read_text(encoding="utf-8"))))
