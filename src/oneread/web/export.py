"""A recording as one file: the page with a trace inside, which needs no server.

Knows traces as text; knows no run. The same trace gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Collection
from typing import Final

from oneread.web import bundle
from oneread.web.bundle import Bundle
from oneread.web.catalogue import catalogue

#: The only scripts and styles are the two whose hashes are named, and nothing is fetched.
_POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page(trace: str, keys: Collection[str], command: str, files: Bundle | None = None) -> str:
    """Return a page that shows a recording.

    Parameters
    ----------
    trace : str
        A trace file with events.
    keys : collection of str
        Kernels of the gallery that the page may say more of.
    command : str
        The command line that makes the same run.
    files : Bundle, optional
        The page as it was built; the package's own if left out.

    Returns
    -------
    str
        A document without any reference to the outside.

    Raises
    ------
    PageMissingError
        When this installation has no page.
    """
    files = files or bundle.read_bundle()
    policy = _POLICY.format(script=_hash(files.script), style=_hash(files.style))
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    start = (
        f'{{"mode":"recorded","command":{json.dumps(command)},'
        f'"catalogue":{json.dumps(catalogue(keys))},"trace":{trace.strip()}}}'
    )
    replacements = {
        bundle.STYLE_TAG: f"{head}\n<style>{files.style}</style>",
        bundle.SCRIPT_TAG: f"<script>{files.script}</script>",
        bundle.START_TAG: bundle.START_TAG.replace('{"mode": "live"}', _inert(start)),
    }
    document = files.document
    for tag, text in replacements.items():
        before, _, after = document.partition(tag)
        document = f"{before}{text}{after}"
    return f"{document.rstrip()}\n<!--\n{_comment(files.notices)}\n-->\n"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _inert(text: str) -> str:
    """Return JSON that no reader of HTML takes for markup: `<` stands in strings only."""
    return text.replace("<", "\\u003c")


def _comment(text: str) -> str:
    """Return a text that cannot end the comment that it stands in."""
    return text.replace("--", "- -").replace(">", "&gt;").strip()
