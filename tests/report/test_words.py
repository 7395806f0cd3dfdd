"""The languages of the pages say the same things."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from oneread import report
from oneread.report.words import words
from oneread.sass.facts.roles import ROLES
from oneread.sass.story.words import LANGUAGES

FOLDER = Path(report.__file__).parent


def table(language: str) -> dict[str, str]:
    found = tomllib.loads((FOLDER / f"{language}.toml").read_text("utf-8"))
    return found.pop("names") | found


def test_every_language_of_a_story_has_its_words() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == set(LANGUAGES)


def test_languages_have_the_same_words_with_the_same_gaps() -> None:
    english, korean = table("en"), table("ko")
    assert english.keys() == korean.keys()
    for name, text in english.items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", korean[name])), name


def test_every_word_is_used() -> None:
    code = "".join(path.read_text("utf-8") for path in FOLDER.glob("*.py"))
    names = tomllib.loads((FOLDER / "en.toml").read_text("utf-8"))
    assert [name for name in names if f'"{name}"' not in code and name != "names"] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_role_has_a_word(language: str) -> None:
    assert words(language).roles == (*ROLES, "cold")
