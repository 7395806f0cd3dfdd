"""An HTML document in one file: nothing is fetched, and no script runs but its own.

Knows HTML; knows no record.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Final

#: The only script and the only styles are those whose hashes are named.
_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; "
    "form-action 'none'"
)
#: Pictures that are in the document itself.
_IMAGES: Final = "; img-src data:"


def document(
    title: str, language: str, style: str, script: str, body: Sequence[str], images: bool = False
) -> str:
    """Return a document.

    Parameters
    ----------
    title : str
        Plain text.
    language : str
        Such as ``en``.
    style, script : str
        CSS and JavaScript; neither may hold an end tag of its element.
    body : sequence of str
        Lines of HTML.
    images : bool
        Whether the document holds pictures.

    Returns
    -------
    str
        The same for the same parts.
    """
    policy = _POLICY.format(script=_hash(script), style=_hash(style)) + _IMAGES * images
    lines = [
        "<!doctype html>",
        f'<html lang="{html.escape(language)}">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{style}</style>",
        *body,
        *([f"<script>{script}</script>"] if script else []),
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def element(tag: str, content: str, attributes: Mapping[str, str | None] | None = None) -> str:
    """Return an element around content that is HTML already; an attribute of None is left out."""
    given = "".join(
        f' {name}="{html.escape(value)}"'
        for name, value in (attributes or {}).items()
        if value is not None
    )
    return f"<{tag}{given}>{content}</{tag}>"


def data(value: object) -> str:
    """Return a value as JSON for an attribute."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
