"""The page that leads to pages of kernels in its folder.

Knows names only.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from oneread.report.document import document, element
from oneread.report.words import words

_STYLE = """
:root { color-scheme: light dark; }
body { margin: 1rem; font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
"""


def index(entries: Iterable[tuple[str, str, str]], language: str) -> str:
    """Return the page.

    Parameters
    ----------
    entries : iterable of (str, str, str)
        A kernel's name, the file of its page, and what else is said of it.
    language : str
        Of the page.

    Returns
    -------
    str
        An HTML document.
    """
    title = words(language)("code")
    rows = (
        element(
            "li",
            element("a", html.escape(kernel), {"href": file}) + html.escape(f", {more}"),
        )
        for kernel, file, more in entries
    )
    body = ["<main>", element("h1", html.escape(title)), "<ul>", *rows, "</ul>", "</main>"]
    return document(title, language, _STYLE, "", body)
