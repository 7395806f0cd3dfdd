"""The paper's loops give what the formulas give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oneread import reference
from oneread.reference import paper
from oneread.testing import max_ulp_error

rows = st.lists(st.floats(-50, 50), min_size=1, max_size=40)
#: Each step of a loop rounds a few times; a row of 40 stays far below this.
LOOP_ULP = 200


@pytest.mark.parametrize("algorithm", [paper.naive, paper.safe, paper.online])
@given(x=rows)
def test_algorithm_gives_softmax(algorithm: paper.Algorithm, x: list[float]) -> None:
    assert max_ulp_error(np.array(algorithm(x)), reference.softmax(x)) < LOOP_ULP


@given(rows)
def test_property_1_d_lies_between_1_and_j(x: list[float]) -> None:
    for j, (m, d) in enumerate(paper.normalizers(x), 1):
        assert m == max(x[:j])
        assert 1 <= d <= j


@given(rows)
def test_normalizer_gives_logsumexp(x: list[float]) -> None:
    *_, (m, d) = paper.normalizers(x)
    size = max(abs(m), 1.0)
    assert abs(m + np.log(d) - reference.logsumexp(x)) < LOOP_ULP * np.spacing(size)


@given(rows, st.data())
def test_online_topk_gives_the_likeliest_columns(x: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(x)))
    y, p = paper.online_topk(x, k)
    truth = reference.softmax_topk(x, k)
    assert p == truth.indices.tolist()
    assert max_ulp_error(np.array(y), truth.values) < LOOP_ULP


def test_equal_logits_are_ranked_by_column() -> None:
    assert paper.online_topk([1.0, 2.0, 2.0, 1.0, 2.0], 4)[1] == [1, 2, 4, 0]


def test_columns_without_probability_are_ranked_too() -> None:
    assert paper.online_topk([0.0, -np.inf, -np.inf], 3) == ([1.0, 0.0, 0.0], [0, 1, 2])


def test_naive_softmax_overflows_and_the_others_do_not() -> None:
    assert np.isnan(paper.naive([1000.0, 0.0])[0])
    assert paper.safe([1000.0, 0.0]) == paper.online([1000.0, 0.0]) == [1.0, 0.0]


def test_row_that_begins_with_minus_inf_is_nan_as_printed() -> None:
    assert np.isnan(paper.online([-np.inf, 0.0])).all()


def test_merge_has_an_identity() -> None:
    identity, state = (-np.inf, 0.0), (3.0, 1.5)
    assert paper.merge(identity, state) == paper.merge(state, identity) == state
    assert paper.merge(identity, identity) == identity


@given(rows, rows)
def test_merge_of_two_pieces_is_the_state_of_the_whole(a: list[float], b: list[float]) -> None:
    def last(x: list[float]) -> tuple[float, float]:
        *_, state = paper.normalizers(x)
        return state

    m, d = paper.merge(last(a), last(b))
    assert paper.merge(last(b), last(a)) == (m, d)
    whole_m, whole_d = last(a + b)
    assert m == whole_m
    assert max_ulp_error(np.float64(d), whole_d) < LOOP_ULP


@given(rows, rows, rows)
def test_merge_is_associative(a: list[float], b: list[float], c: list[float]) -> None:
    first, second, third = (list(paper.normalizers(x))[-1] for x in (a, b, c))
    left = paper.merge(paper.merge(first, second), third)
    right = paper.merge(first, paper.merge(second, third))
    assert left[0] == right[0]
    assert max_ulp_error(np.float64(left[1]), right[1]) < LOOP_ULP


@pytest.mark.parametrize("algorithm", [paper.naive, paper.safe, paper.online])
def test_empty_row_has_no_probabilities(algorithm: paper.Algorithm) -> None:
    assert algorithm([]) == []
