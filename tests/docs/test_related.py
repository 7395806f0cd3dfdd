"""The page of related work has the table that the committed run gives."""

from __future__ import annotations

import related_docs


def test_page_has_what_the_newest_run_gives() -> None:
    page = related_docs.PAGE.read_text("utf-8")
    assert related_docs.filled(page) == page


def test_run_is_committed_and_each_layer_has_a_line() -> None:
    page = related_docs.PAGE.read_text("utf-8")
    for layer in ("AdaptiveSoftmax", "SVDSoftmax", "sampled_cross_entropy"):
        assert f"| `{layer}` |" in page
