"""Tokens and their places."""

from __future__ import annotations

import pytest

from oneread.source.text import SourceText
from oneread.source.tokens import tokenize


def kinds(text: str) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in tokenize(SourceText("a", text))[:-1]]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a_1 b", [("name", "a_1"), ("name", "b")]),
        ("é変", [("name", "é変")]),
        ("1 0x1f 1.5e-3f .5 1'000u 0x1p-3", [
            ("number", word) for word in ["1", "0x1f", "1.5e-3f", ".5", "1'000u", "0x1p-3"]
        ]),
        ("a->b", [("name", "a"), ("mark", "->"), ("name", "b")]),
        ("<<=>>=...", [("mark", "<<="), ("mark", ">>="), ("mark", "...")]),
        ("k<<<1", [("name", "k"), ("mark", "<<"), ("mark", "<"), ("number", "1")]),
        ('"a\\"b" \'\\n\'', [("string", '"a\\"b"'), ("character", "'\\n'")]),
        ('R"x(a)b")x"', [("string", 'R"x(a)b")x"')]),
        ("a // b\nc /* d\n */ e", [("name", "a"), ("name", "c"), ("name", "e")]),
        ("a // b \\\n c\nd", [("name", "a"), ("name", "d")]),
        ("a\\\nb", [("name", "a"), ("name", "b")]),
        ('"open', [("bad", "string-open")]),
        ("'open", [("bad", "character-open")]),
        ("a /* open", [("name", "a"), ("bad", "comment-open")]),
        ('R"(open', [("bad", "string-open")]),
        ("@ \0", [("bad", "stray"), ("bad", "stray")]),
    ],
)  # fmt: skip
def test_text_is_cut_into(text: str, found: list[tuple[str, str]]) -> None:
    assert kinds(text) == found


def test_places_are_exact_over_comments_splices_and_line_ends() -> None:
    text = "a /* x\n y */ b\r\n\tc \\\n d // e\n#f"
    places = [(one.text, *one.position[1:]) for one in tokenize(SourceText("a", text))]
    assert places == [
        ("a", 1, 1, 1), ("b", 2, 7, 1), ("c", 3, 2, 1), ("d", 4, 2, 1),
        ("#", 5, 1, 1), ("f", 5, 2, 1), ("", 5, 3, 0),
    ]  # fmt: skip


def test_first_of_a_line_is_marked_and_splices_begin_no_line() -> None:
    tokens = tokenize(SourceText("a", "a b\nc \\\n d\n/* e\n */ f"))
    assert [one.text for one in tokens if one.first] == ["a", "c", "f"]


def test_white_space_before_is_marked() -> None:
    tokens = tokenize(SourceText("a", "a(b (c/**/d"))
    assert [one.text for one in tokens if one.spaced] == ["(", "d"]


def test_any_character_is_a_token_or_space() -> None:
    for char in map(chr, [*range(0x400), 0x663, 0x3000, 0xD800, 0xFFFF, 0x10FFFF]):
        tokens = tokenize(SourceText("a", f"a {char} b"))
        assert tokens[0].text == "a"
        assert len(tokens) <= 4
