"""The index leads to each page."""

from __future__ import annotations

from oneread.report.index import index


def test_entry_is_a_link_with_what_is_said_of_it() -> None:
    page = index([("f<int>", "f.sm_86.html", "sm_86, from k.cu")], "en")
    assert '<a href="f.sm_86.html">f&lt;int&gt;</a>, sm_86, from k.cu' in page
    assert "<script" not in page
