"""Lines, columns and how a place is shown."""

from __future__ import annotations

import pytest

from oneread.source.text import SHOWN_COLUMNS, SourceText, show, split_lines


def test_lines_end_with_feed_or_return_and_feed() -> None:
    text = SourceText("a", "one\r\ntwo\nthree")
    assert [text.line(number) for number in range(5)] == ["", "one", "two", "three", ""]
    assert text.lines == 3


def test_text_is_cut_at_newlines_alone() -> None:
    text = "a\fb\r\n\n\x85c\u2028\v\nd"
    assert split_lines(text) == ["a\fb\r\n", "\n", "\x85c\u2028\v\n", "d"]
    assert len(split_lines(text)) == SourceText("a", text).lines
    assert split_lines("a\n") == ["a\n"]


@pytest.mark.parametrize(
    ("offset", "place"), [(0, (1, 1)), (2, (1, 3)), (3, (2, 1)), (6, (3, 1)), (8, (3, 3))]
)
def test_position_counts_lines_and_columns_from_one(offset: int, place: tuple[int, int]) -> None:
    position = SourceText("a", "ab\ncd\nef").position(offset)
    assert position[1:3] == place


def test_position_shows_as_compilers_write_it() -> None:
    assert str(SourceText("k.cu", "ab").position(1)) == "k.cu:1:2"


@pytest.mark.parametrize(
    ("line", "column", "length", "shown"),
    [
        ("int x;", 5, 1, "int x;\n    ^"),
        ("int xyz;", 5, 3, "int xyz;\n    ^~~"),
        ("int x", 6, 1, "int x\n     ^"),
        ("int x", 99, 1, "int x\n     ^"),
        ("\tx;", 2, 1, "    x;\n    ^"),
        ("a\tx;", 3, 1, "a   x;\n    ^"),
        ("変 x;", 3, 1, "変 x;\n   ^"),
        ("e\u0301 x;", 4, 1, "e\u0301 x;\n  ^"),
        ("\0 x;", 3, 1, "\N{REPLACEMENT CHARACTER} x;\n  ^"),
        ("\ud800 x;", 3, 1, "\N{REPLACEMENT CHARACTER} x;\n  ^"),
    ],
)
def test_caret_stands_below_its_column(line: str, column: int, length: int, shown: str) -> None:
    assert show(line, column, length) == shown


@pytest.mark.parametrize("column", [1, 50, 5_000, 9_999, 10_000])
def test_long_line_is_cut_around_the_caret(column: int) -> None:
    line = "a" * (column - 1) + "X" + "b" * (10_000 - column)
    text, caret = show(line, column).split("\n")
    assert len(text) <= SHOWN_COLUMNS + 6
    assert text[caret.index("^")] == "X"
