"""Sampled softmax: the whole one when all is sampled, right on average otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import oneread
from oneread import ShapeError
from oneread.related import sampled_cross_entropy, sampled_logits

VOCAB = 50


@pytest.fixture
def model() -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(4, 8)) / 4, rng.normal(size=(VOCAB, 8)), rng.normal(size=VOCAB),
        np.array([3, 49, 0, 3]),
    )  # fmt: skip


def test_all_tokens_sampled_once_are_the_whole_softmax(model: Any) -> None:
    hidden, weight, bias, target = model
    truth = -oneread.read(hidden @ weight.T + bias, select=target).selected
    got = sampled_cross_entropy(hidden, weight, target, np.arange(VOCAB), np.zeros(VOCAB), bias)
    assert (np.abs(got - truth) <= 64 * np.spacing(np.abs(truth))).all()


def test_normalizer_is_right_on_average(model: Any) -> None:
    hidden, weight, bias, target = model
    rng = np.random.default_rng(1)
    q = rng.random(VOCAB) + 0.2
    q /= q.sum()
    truth = np.exp(hidden @ weight.T + bias).sum(1)
    draws = []
    for _ in range(2000):
        sampled = rng.choice(VOCAB, 40, p=q)
        logits = sampled_logits(hidden, weight, target, sampled, np.log(40 * q[sampled]), bias)
        draws.append(np.exp(oneread.logsumexp(logits)))
    mean, error = np.mean(draws, 0), np.std(draws, 0) / np.sqrt(len(draws))
    assert (np.abs(mean - truth) < 4 * error).all()
    assert (error < 0.02 * truth).all()  # narrow enough to notice a missing correction


def test_sample_that_is_the_target_counts_once(model: Any) -> None:
    hidden, weight, bias, target = model
    logits = sampled_logits(hidden, weight, target, [3, 7, 3], np.zeros(3), bias)
    assert np.isneginf(logits).tolist() == [
        [False, True, False, True], [False] * 4, [False] * 4, [False, True, False, True],
    ]  # fmt: skip


def test_correction_is_of_the_samples_alone(model: Any) -> None:
    hidden, weight, _, target = model
    plain = sampled_logits(hidden, weight, target, [10, 11], np.zeros(2))
    moved = sampled_logits(hidden, weight, target, [10, 11], np.array([1.0, 2.0]))
    assert (plain[:, 0] == moved[:, 0]).all()
    assert (plain[:, 1:] - moved[:, 1:]).round(9).tolist() == [[1, 2]] * 4


def test_result_has_the_type_of_the_hidden_states(model: Any) -> None:
    hidden, weight, bias, target = model
    logits = sampled_logits(hidden.astype("f4"), weight.astype("f4"), target, [1], [0.0], bias)
    assert logits.dtype == np.float32


@pytest.mark.parametrize("token", [-1, VOCAB])
def test_token_outside_the_vocabulary_is_refused(model: Any, token: int) -> None:
    hidden, weight, _, target = model
    with pytest.raises(IndexError, match=f"token {token}"):
        sampled_logits(hidden, weight, target, [token], [0.0])


def test_shapes_that_do_not_fit_are_refused(model: Any) -> None:
    hidden, weight, _, target = model
    with pytest.raises(ShapeError, match="target"):
        sampled_logits(hidden, weight, target[:2], [1], [0.0])
    with pytest.raises(ShapeError, match="log_expected"):
        sampled_logits(hidden, weight, target, [1], [0.0, 0.0])
