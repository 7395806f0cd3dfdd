"""The built page: whether it is there, whole, and fit to be served and exported."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from oneread.web.bundle import (
    FILES,
    SCRIPT_TAG,
    Bundle,
    PageMissingError,
    problems,
    read_bundle,
    why_missing,
)


@pytest.fixture
def folder(tmp_path: Path, files: Bundle) -> Path:
    """Return a folder with a whole page."""
    texts = (files.document, files.script, files.style, files.notices)
    for name, text in zip(FILES, texts, strict=True):
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def test_page_is_read_as_it_was_built(folder: Path, files: Bundle) -> None:
    assert why_missing(folder) is None
    assert read_bundle(folder) == files


def test_installation_without_a_page_says_so_and_what_to_do(tmp_path: Path) -> None:
    assert "ONEREAD_NO_PAGE" in str(why_missing(tmp_path / "nowhere"))
    with pytest.raises(PageMissingError, match=r"this installation has no page: .*ONEREAD_NO_PAGE"):
        read_bundle(tmp_path / "nowhere")


@pytest.mark.parametrize("name", FILES)
def test_page_that_is_not_whole_names_what_is_missing(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(PageMissingError, match=f"not complete: {name} is missing"):
        read_bundle(folder)


def test_document_without_its_tags_cannot_be_used(folder: Path, files: Bundle) -> None:
    (folder / FILES[0]).write_text(files.document.replace(SCRIPT_TAG, ""), "utf-8")
    with pytest.raises(PageMissingError, match=r"cannot be used: index\.html has not once <script"):
        read_bundle(folder)


@pytest.mark.parametrize("text", ["'</script>'", "'</SCRIPT'", "'<!--'", "a\rb", "\0"])
def test_script_that_would_end_its_element_is_refused(files: Bundle, text: str) -> None:
    assert len(problems(replace(files, script=text))) == 1


@pytest.mark.parametrize("text", ["/* </style> */", "a\rb"])
def test_style_that_would_end_its_element_is_refused(files: Bundle, text: str) -> None:
    assert len(problems(replace(files, style=text))) == 1


def test_every_address_in_the_built_page_is_relative() -> None:
    if why_missing() is not None:
        pytest.skip("this installation has no page")
    addresses = re.findall(r'\b(?:src|href)="([^"]*)"', read_bundle().document)
    assert sorted(addresses) == ["data:,", "static/player.css", "static/player.js"]
