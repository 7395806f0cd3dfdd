"""Diagnostics as they are shown."""

from __future__ import annotations

from oneread.source.errors import Diagnostic, SourceError, quoted
from oneread.source.text import SourceText
from oneread.spec import OneReadError

CATALOGUE = {"wrong": "'{name}' is wrong", "advice": "use '{better}'", "there": "it is here"}


def test_error_shows_message_advice_line_and_notes() -> None:
    text = SourceText("k.cu", "int a;\nint b;")
    note = Diagnostic("there", text.position(4), {}, "note")
    one = Diagnostic(
        "wrong", text.position(11), {"name": "b", "better": "c"}, hint="advice", notes=(note,)
    )
    assert str(SourceError([one], CATALOGUE, [text])) == (
        "k.cu:2:5: error: 'b' is wrong (use 'c')\nint b;\n    ^\n"
        "k.cu:1:5: note: it is here\nint a;\n    ^"
    )


def test_error_is_one_of_ours_and_keeps_the_ids() -> None:
    text = SourceText("k.cu", "")
    error = SourceError([Diagnostic("wrong", text.position(0), {"name": "b"})], CATALOGUE)
    assert isinstance(error, OneReadError)
    assert [one.id for one in error.diagnostics] == ["wrong"]
    assert str(error) == "k.cu:1:1: error: 'b' is wrong"


def test_quoted_source_is_one_short_line() -> None:
    assert quoted("a\nb\0\ud800") == "a\ufffdb\ufffd\ufffd"
    assert len(quoted("a" * 10_000)) == 60
    assert quoted(12345) == "12,345"
