"""The page as it was built: one document, one script, one style sheet, and whose code is in them.

Knows the three tags by which the document names the other two; knows nothing of what they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from oneread.spec.errors import OneReadError

#: Where the build puts the page.
STATIC: Final = Path(__file__).with_name("static")

#: Files of the page: the document, its script, its style sheet, licences of what is in them.
DOCUMENT: Final = "index.html"
SCRIPT: Final = "player.js"
STYLE: Final = "player.css"
NOTICES: Final = "THIRD_PARTY_NOTICES.txt"
FILES: Final = (DOCUMENT, SCRIPT, STYLE, NOTICES)

#: What the document has once each: the server fills in the nonce, an export puts the text inline.
NONCE: Final = "__NONCE__"
STYLE_TAG: Final = f'<link rel="stylesheet" href="static/{STYLE}" nonce="{NONCE}">'
SCRIPT_TAG: Final = f'<script src="static/{SCRIPT}" nonce="{NONCE}"></script>'
START_TAG: Final = '<script type="application/json" id="oneread-start">{"mode": "live"}</script>'


class PageMissingError(OneReadError, RuntimeError):
    """An installation without the page."""


@dataclass(frozen=True)
class Bundle:
    """The text of each file of the page."""

    document: str
    script: str
    style: str
    notices: str


def why_missing(folder: Path = STATIC) -> str | None:
    """Say why there is no page, or return None where it is there.

    Parameters
    ----------
    folder : Path, optional
        Where it should lie.
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if not missing:
        return None
    if len(missing) < len(FILES):
        return f"the page is not complete: {missing[0]} is missing from {folder}"
    return "built without the page (ONEREAD_NO_PAGE); install again without that setting"


def read_bundle(folder: Path = STATIC) -> Bundle:
    """Read the page.

    Parameters
    ----------
    folder : Path, optional
        Where it lies.

    Returns
    -------
    Bundle
        Its files.

    Raises
    ------
    PageMissingError
        When it is not there.
    """
    why = why_missing(folder)
    if why is not None:
        raise PageMissingError(f"this installation has no page: {why}")
    bundle = Bundle(*((folder / name).read_text("utf-8") for name in FILES))
    for problem in problems(bundle):
        raise PageMissingError(f"the page in {folder} cannot be used: {problem}")
    return bundle


def problems(bundle: Bundle) -> list[str]:
    """Say what would keep the page from being served or put into one file."""
    found = [
        f"{DOCUMENT} has not once {tag}"
        for tag in (STYLE_TAG, SCRIPT_TAG, START_TAG)
        if bundle.document.count(tag) != 1
    ]
    # What would end the element that a text is put into, or change how it is read.
    for name, text, ends in (
        (SCRIPT, bundle.script, ("</script", "<!--", "\r", "\0")),
        (STYLE, bundle.style, ("</style", "\r", "\0")),
    ):
        found += [f"{name} holds {end!r}" for end in ends if end in text.lower()]
    return found
