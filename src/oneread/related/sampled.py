"""Sampled softmax: a loss over the target and a few sampled tokens.

Knows nothing of the other layers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oneread.ops.read import read
from oneread.related._checked import logits_of, matrix
from oneread.spec import ShapeError


def sampled_logits(
    hidden: Any, weight: Any, target: Any, sampled: Any, log_expected: Any, bias: Any = None
) -> Any:
    """Return the logits of each row's target and of the sampled tokens, corrected.

    Parameters
    ----------
    hidden : array, shape (rows, hidden), float32|float64
        Hidden states.
    weight : array, shape (vocab, hidden)
        Of the output layer; only the rows of the target and of the samples are read.
    target : array of int, shape (rows,)
        The right token of each row.
    sampled : array of int, shape (samples,)
        Tokens drawn from a proposal, the same for all rows. May repeat.
    log_expected : array, shape (samples,)
        Log of the expected number of times that each of them is drawn: ``log(samples * q)`` when
        drawn with replacement, 0 when each is certain to be there once.
    bias : array, shape (vocab,), optional
        Of the output layer.

    Returns
    -------
    array, shape (rows, 1 + samples)
        Column 0 is the target. A sample that is the row's target is -inf: it counts once.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other.
    IndexError
        If a token is negative or beyond the vocabulary.

    Notes
    -----
    A sampled column gets ``- log_expected``, so that the expected sum of its exponentials is that
    of the tokens it stands for: the normalizer is right on average [1]_. The gradient of its
    logarithm is not, but with many samples nearly so.

    References
    ----------
    .. [1] Y. Bengio, J.-S. Senecal, "Adaptive importance sampling to accelerate training of a
       neural probabilistic language model", 2008, section III.
    """
    hidden, weight = matrix(hidden, "hidden"), matrix(weight, "weight")
    target, sampled = _tokens(target, weight, "target"), _tokens(sampled, weight, "sampled")
    if target.shape != (len(hidden),):
        raise ShapeError(f"target has shape {target.shape}; hidden needs ({len(hidden)},)")
    correction = np.asarray(log_expected)
    if correction.shape != sampled.shape:
        raise ShapeError(f"log_expected has shape {correction.shape}; sampled {sampled.shape}")
    own = np.einsum("rd,rd->r", hidden, weight[target])
    others = logits_of(hidden, weight[sampled])
    if bias is not None:
        bias = np.asarray(bias)
        own, others = own + bias[target], others + bias[sampled]
    others = np.where(sampled == target[:, None], -np.inf, others - correction)
    return np.concatenate([own[:, None], others], axis=1).astype(hidden.dtype)


def sampled_cross_entropy(
    hidden: Any, weight: Any, target: Any, sampled: Any, log_expected: Any, bias: Any = None
) -> Any:
    """Return the cross entropy of each row over its target and the sampled tokens.

    Parameters
    ----------
    hidden, weight, target, sampled, log_expected, bias : array
        As in `sampled_logits`.

    Returns
    -------
    array, shape (rows,)
        ``-log p(target)``. With every token sampled once, the cross entropy of the whole softmax.

    Raises
    ------
    ShapeError, IndexError
        As in `sampled_logits`.

    Examples
    --------
    >>> import numpy as np
    >>> from oneread.related import sampled_cross_entropy
    >>> rng = np.random.default_rng(0)
    >>> hidden, weight = rng.normal(size=(2, 4)), rng.normal(size=(1000, 4))
    >>> sampled = rng.integers(0, 1000, 64)
    >>> expected = np.full(64, np.log(64 / 1000))
    >>> loss = sampled_cross_entropy(hidden, weight, [3, 7], sampled, expected)
    >>> print(loss.shape)
    (2,)
    """
    logits = sampled_logits(hidden, weight, target, sampled, log_expected, bias)
    return -read(logits, select=0).selected


def _tokens(value: Any, weight: Any, name: str) -> Any:
    value = np.asarray(value)
    if value.dtype.kind not in "iu" or value.ndim != 1:
        raise ShapeError(f"{name} has shape {value.shape} of {value.dtype}; one axis of integers "
                         "is needed")  # fmt: skip
    outside = (value < 0) | (value >= len(weight))
    if outside.any():
        raise IndexError(f"{name} has token {value[outside][0]}; the vocabulary has {len(weight)}")
    return value
