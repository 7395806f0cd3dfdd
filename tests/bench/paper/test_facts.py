"""What needs no clock: counted, bounded, summed, each as plain values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneread.bench.paper import facts
from oneread.reference import paper

LOGITS = st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=50)


@given(LOGITS)
def test_normalizer_is_at_least_1_and_at_most_j(x: list[float]) -> None:
    for j, (_, d) in enumerate(paper.normalizers(x), 1):
        assert 1 <= d <= j


@given(LOGITS)
def test_it_is_so_in_float32_too(x: list[float]) -> None:
    m, d = -np.inf, np.float32(0)
    for j, x_j in enumerate(np.float32(x), 1):
        before, m = m, max(m, x_j)
        with np.errstate(under="ignore"):
            d = np.float32(d * np.exp(np.float32(before - m)) + np.exp(np.float32(x_j - m)))
        assert 1 <= d <= j


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """Return every fact, found out once."""
    return {key: find() for key, find in facts.facts().items()}


def test_facts_are_plain_values(found: dict[str, Any]) -> None:
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.parametrize(
    ("op", "counts"),
    [
        ("softmax", {"naive": 3, "safe": 4, "online": 3}),
        (
            "softmax_topk",
            {"safe_unfused": 5, "online_unfused": 4, "safe_fused": 2, "online_fused": 1},
        ),
    ],
)
def test_accesses_are_those_of_the_paper(
    op: str, counts: dict[str, int], found: dict[str, Any]
) -> None:
    for algorithm, count in counts.items():
        fact = found[f"accesses/{op}/{algorithm}"]
        assert fact["loads"] + fact["stores"] == pytest.approx(count, abs=0.01)


def test_operations_are_counted_in_the_lines(found: dict[str, Any]) -> None:
    assert found["operations"] == {
        "safe": {"maximum": 1, "subtract": 2, "exponential": 2, "add": 1, "divide": 1},
        "online": {
            "maximum": 1, "subtract": 3, "exponential": 3, "add": 1, "multiply": 1, "divide": 1,
        },
    }  # fmt: skip


def test_no_step_is_outside_of_the_bounds(found: dict[str, Any]) -> None:
    assert found["bounds"]["outside"] == 0
    assert found["bounds"]["steps"] > 10_000


def test_sums_are_seen_to_leave_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "normalizers", lambda row: ((0.0, 1.5) for _ in row))
    assert facts.bounds()["outside"] > 0


def test_32_bits_hold_what_the_paper_says(found: dict[str, Any]) -> None:
    assert found["range"]["terms"] > 1.7e37
    assert found["range"]["finite"]


def test_plain_sum_stands_still_and_ours_does_not(found: dict[str, Any]) -> None:
    fact = found["stall"]
    assert fact["plain"] == 2**24 < fact["terms"]
    assert fact["ours"] == pytest.approx(fact["terms"], rel=1e-6)


def test_naive_loses_rows_to_overflow_and_online_none(found: dict[str, Any]) -> None:
    fact = found["accuracy"]
    assert (fact["naive"]["rows_lost"], fact["online"]["rows_lost"]) == (fact["rows"], 0)
