"""The tracer's own truths, without NumPy, are those of `oneread.reference`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from oneread import reference
from oneread.reference import paper
from oneread.trace import truth
from oneread.trace.inputs import PATTERNS, make
from oneread.trace.judging import Problem

COLUMNS, K, SPAN = 100, 7, 32


def same(got: Any, want: Any) -> bool:
    return bool(np.allclose(got, want, rtol=1e-12, atol=0, equal_nan=True))


@pytest.fixture(params=PATTERNS)
def row(request: pytest.FixtureRequest) -> list[float]:
    return make(request.param, 1, COLUMNS)


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "logsumexp", "maximum"])
def test_truth_of_a_row_is_that_of_reference(op: str, row: list[float]) -> None:
    assert same(truth.BY_ROW[op](row), np.ravel(getattr(reference, op)(np.array(row))))


def test_normalizer_is_the_sum_of_exponentials_below_the_maximum(row: list[float]) -> None:
    x = np.array(row)
    with np.errstate(invalid="ignore"):
        want = np.exp(reference.logsumexp(x - reference.maximum(x)))
    assert truth.normalizer(row) == pytest.approx(float(want), rel=1e-12, nan_ok=True)


def test_top_k_is_that_of_reference(row: list[float]) -> None:
    want = reference.softmax_topk(np.array(row), K)
    assert truth.top_columns(row, K) == list(np.ravel(want.indices))
    assert same(truth.top_probabilities(row, K), np.ravel(want.values))
    assert same(truth.top_values(row, K), np.ravel(reference.top_k(np.array(row), K).values))


def test_spans_merge_to_the_row(row: list[float]) -> None:
    m, d = truth.span_maximum(row, SPAN), truth.span_normalizer(row, SPAN)
    assert len(m) == len(d) == 4
    if all(map(math.isfinite, row)):
        whole = truth.maximum(row)
        assert max(m) == whole
        merged = sum(b * math.exp(a - whole) for a, b in zip(m, d, strict=True))
        assert merged == pytest.approx(truth.normalizer(row), rel=1e-12)
    masked = [a for a, b in zip(m, d, strict=True) if b == 0]
    assert all(a == -math.inf for a in masked)


def test_naive_softmax_is_algorithm_1_in_float32(row: list[float]) -> None:
    with np.errstate(all="ignore"):
        powers = np.exp(row).astype(np.float32).astype(np.float64)
        want = powers / np.float64(np.float32(powers.sum()))
    assert same(truth.naive_softmax(row), want)


def test_naive_softmax_of_small_logits_is_that_of_the_paper() -> None:
    row = make("normal", 1, COLUMNS)
    assert truth.naive_softmax(row) == pytest.approx(paper.naive(row), rel=1e-6)


def test_naive_softmax_overflows_as_its_kernel_does() -> None:
    assert same(truth.naive_softmax([100.0, 0.0, 0.0]), [math.nan, 0, 0])
    assert truth.naive_softmax([87.0] * 32) == [0] * 32
    assert truth.naive_softmax([87.0] * 2) == [0.5] * 2
    assert same(truth.naive_softmax([-200.0] * 2), [math.nan] * 2)


def test_relu_of_nan_is_zero_as_that_of_fmaxf() -> None:
    assert truth.relu([-1.0, 2.0, math.nan, math.inf, -math.inf]) == [0, 2, 0, math.inf, 0]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_multiply_and_add_is_rounded_twice_to_float32(pattern: str) -> None:
    a, b, c = (np.array(make(one, 1, COLUMNS), np.float32) for one in (pattern, "normal", "large"))
    with np.errstate(all="ignore"):
        want = a * b + c
    got = Problem([[a.tolist()], [b.tolist()], [c.tolist()]], 1, 1).truth("multiply_add")
    assert np.array_equal(np.array(got, np.float32), want, equal_nan=True)
