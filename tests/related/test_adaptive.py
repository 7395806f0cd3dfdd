"""Adaptive softmax: equal to its definition, and its top-k opens what it must."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneread
from oneread import ShapeError
from oneread.related import AdaptiveSoftmax, Cluster


def layer(rng: Any, shortlist: int, sizes: list[int], hidden: int = 6) -> AdaptiveSoftmax:
    clusters = [Cluster(rng.normal(size=(2, hidden)), rng.normal(size=(n, 2))) for n in sizes]
    return AdaptiveSoftmax(
        rng.normal(size=(shortlist + len(sizes), hidden)),
        clusters,
        rng.normal(size=shortlist + len(sizes)),
    )


def by_definition(head: Any, clusters: list[Cluster], hidden: Any) -> Any:
    """The probabilities, one token after the other, in float64."""
    e = np.exp(hidden @ head.T)
    e /= e.sum(1, keepdims=True)
    shortlist = len(head) - len(clusters)
    parts = [e[:, :shortlist]]
    for i, cluster in enumerate(clusters):
        own = np.exp(hidden @ cluster.project.T @ cluster.decode.T)
        parts.append(e[:, shortlist + i, None] * own / own.sum(1, keepdims=True))
    return np.concatenate(parts, axis=1)


def test_log_softmax_is_its_definition() -> None:
    rng = np.random.default_rng(0)
    clusters = [Cluster(rng.normal(size=(2, 6)), rng.normal(size=(n, 2))) for n in (7, 20)]
    head, hidden = rng.normal(size=(5 + 2, 6)), rng.normal(size=(4, 6))
    got = AdaptiveSoftmax(head, clusters).log_softmax(hidden)
    truth = np.log(by_definition(head, clusters, hidden))
    assert (np.abs(got - truth) <= 16 * np.spacing(np.abs(truth))).all()


def test_log_softmax_is_that_of_pytorch() -> None:
    torch = pytest.importorskip("torch", reason="compares with PyTorch's module")
    torch.manual_seed(0)
    module = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 60, [10, 30], div_value=2.0, head_bias=True)
    hidden = torch.randn(5, 16)
    truth = module.double().log_prob(hidden.double()).detach().numpy()
    got = AdaptiveSoftmax.from_torch(module.float()).log_softmax(hidden.numpy())
    assert (np.abs(got - truth) <= 16 * np.spacing(np.abs(truth).astype(np.float32))).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), shortlist=st.integers(0, 9), k=st.integers(0, 30),
       sizes=st.lists(st.integers(1, 15), min_size=0, max_size=4))  # fmt: skip
def test_top_k_is_that_of_all_tokens(seed: int, shortlist: int, k: int, sizes: list[int]) -> None:
    if not shortlist and not sizes:
        sizes = [3]
    rng = np.random.default_rng(seed)
    model, hidden = layer(rng, shortlist, sizes), rng.normal(size=(3, 6))
    k = min(k, model.vocab)
    got, truth = model.top_k(hidden, k), oneread.top_k(model.log_softmax(hidden), k)
    assert (got.indices == truth.indices).all()
    assert (np.abs(got.logprobs - truth.values) <= 16 * np.spacing(np.abs(truth.values))).all()


def test_cluster_that_cannot_win_is_left_closed() -> None:
    rng = np.random.default_rng(1)
    head = np.zeros((4 + 2, 3))
    head[:, 0] = [9, 8, 7, 6, 7.5, 1]
    clusters = [Cluster(rng.normal(size=(2, 3)), rng.normal(size=(50, 2))) for _ in range(2)]
    hidden = np.array([[1.0, 0.1, 0.2], [-1.0, 0.1, 0.2], [0.0, 0.1, 0.2]])
    opened = AdaptiveSoftmax(head, clusters).top_k(hidden, 3).opened
    # In the first row one cluster is above the third token, in the second one holds the best, and
    # in the third all columns are alike.
    assert opened.tolist() == [1, 1, 2]


def test_token_as_likely_as_its_cluster_is_found() -> None:
    head = np.array([[1.0], [3.0], [3.0]])
    model = AdaptiveSoftmax(head, [Cluster(np.ones((1, 1)), np.ones((1, 1))) for _ in range(2)])
    got = model.top_k(np.ones((1, 1)), 2)
    assert got.indices.tolist() == [[1, 2]]
    assert got.opened.tolist() == [2]


def test_row_with_nan_opens_all_and_keeps_its_indices_valid() -> None:
    model = layer(np.random.default_rng(0), 5, [4, 4])
    hidden = np.full((1, 6), np.nan)
    got = model.top_k(hidden, 7)
    assert np.isnan(got.logprobs).all()
    assert sorted(got.indices[0]) == list(range(7))


def test_ties_come_in_the_order_of_tokens() -> None:
    model = AdaptiveSoftmax(np.zeros((3 + 1, 2)), [Cluster(np.zeros((1, 2)), np.zeros((1, 1)))])
    assert model.top_k(np.ones((1, 2)), 4).indices.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    ("head", "cluster", "bias"),
    [
        ((3, 4), ((2, 5), (6, 2)), None),
        ((3, 4), ((2, 4), (6, 3)), None),
        ((0, 4), ((2, 4), (6, 2)), None),
        ((3, 4), ((2, 4), (6, 2)), (2,)),
    ],
)
def test_weights_that_do_not_fit_are_refused(head: Any, cluster: Any, bias: Any) -> None:
    parts = [Cluster(*map(np.zeros, cluster))]
    with pytest.raises(ShapeError):
        AdaptiveSoftmax(np.zeros(head), parts, None if bias is None else np.zeros(bias))


def test_k_beyond_the_vocabulary_is_refused() -> None:
    with pytest.raises(ShapeError, match="k is 10; 0 to 9 is allowed"):
        layer(np.random.default_rng(0), 5, [4]).top_k(np.zeros((1, 6)), 10)
