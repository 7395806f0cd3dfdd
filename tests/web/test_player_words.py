"""Words of the page stand in its catalogue, not in its views: a language is one object."""

from __future__ import annotations

import re
from pathlib import Path

VIEWS = Path(__file__).resolve().parents[2] / "src/oneread/web/player/src/view"

#: Text of an element that is no name of the product and none of mathematics.
TEXT = re.compile(r">([^<>{}()=;&|?]*[A-Za-z]{2,}[^<>{}()=;&|?]*)</")
ATTRIBUTE = re.compile(r'\b(?:aria-label|title|alt)="([^"]*[A-Za-z]{2,}[^"]*)"')
NAMES = {"oneread", "max"}


def words(text: str) -> set[str]:
    found = TEXT.findall(text) + ATTRIBUTE.findall(text)
    return {one.strip() for one in found} - NAMES


def test_words_in_a_view_would_be_found() -> None:
    text = '<p class="x">Nothing yet.</p><b title="Go there">{t.go}</b><h1>oneread</h1>'
    assert words(text) == {"Nothing yet.", "Go there"}


def test_no_view_has_words_of_its_own() -> None:
    found = {path.name: words(path.read_text("utf-8")) for path in VIEWS.rglob("*.tsx")}
    assert len(found) > 20
    assert {name: said for name, said in found.items() if said} == {}
