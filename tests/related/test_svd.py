"""SVD-softmax: equal to its definition, and to the whole softmax at its limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import ShapeError
from oneread.related import SVDSoftmax

K = 5


@pytest.fixture
def weights() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    decay = 0.7 ** np.arange(16)
    return rng.normal(size=(300, 16)) * decay, rng.normal(size=300), 3 * rng.normal(size=(7, 16))


def close(got: Any, truth: Any) -> bool:
    # Sums of 16 products: some ulp of the largest.
    return bool((np.abs(got - truth) <= 64 * np.spacing(np.abs(truth).max())).all())


def test_result_is_its_definition(weights: Any) -> None:
    weight, bias, hidden = weights
    u, s, v = np.linalg.svd(weight, full_matrices=False)
    mixed = (hidden @ v.T)[:, :6] @ (u * s)[:, :6].T + bias
    exact = hidden @ weight.T + bias
    got = SVDSoftmax(weight, bias, width=6).top_k(hidden, K, refined=40)
    for row in range(len(hidden)):
        chosen = np.argsort(-mixed[row])[:40]
        mixed[row, chosen] = exact[row, chosen]
        logprobs = mixed[row] - np.log(np.exp(mixed[row]).sum())
        best = chosen[np.argsort(-logprobs[chosen])[:K]]
        assert got.indices[row].tolist() == best.tolist()
        assert close(got.logprobs[row], logprobs[best])


@pytest.mark.parametrize(("width", "refined"), [(16, K), (3, 300), (0, 300)])
def test_all_dimensions_or_all_tokens_are_the_whole_softmax(
    weights: Any, width: int, refined: int
) -> None:
    weight, bias, hidden = weights
    truth = oneread.read(hidden @ weight.T + bias, top_k=K)
    got = SVDSoftmax(weight, bias, width=width).top_k(hidden, K, refined=refined)
    assert (got.indices == truth.indices).all()
    assert close(got.logprobs, truth.logprobs)
    assert close(got.lse, truth.lse)


def test_refined_token_that_holds_all_probability_cancels_nothing() -> None:
    weight = np.diag([60.0, 1.0, 0.5])
    got = SVDSoftmax(weight, width=2).top_k(np.ones((1, 3)), 1, refined=1)
    truth = oneread.read(np.array([[60.0, 1.0, 0.0]]), select=0)
    assert close(got.logprobs[0], truth.selected)


@pytest.mark.parametrize(
    ("width", "k", "refined"), [(17, 1, 1), (-1, 1, 1), (4, 3, 2), (4, 1, 301)]
)
def test_numbers_out_of_range_are_refused(weights: Any, width: int, k: int, refined: int) -> None:
    weight, bias, hidden = weights
    with pytest.raises(ShapeError, match="is allowed"):
        SVDSoftmax(weight, bias, width=width).top_k(hidden, k, refined=refined)


def test_bias_that_does_not_fit_is_refused(weights: Any) -> None:
    with pytest.raises(ShapeError, match="bias"):
        SVDSoftmax(weights[0], np.zeros(3), width=2)
