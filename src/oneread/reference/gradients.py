"""The float64 truth of the backward passes: gradients to logits from what forward passes kept.

Knows no op by name.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


def logits_gradient(
    x: Array,
    lse: Array,
    *,
    scale: Array | None,
    slope: Array | None = None,
    square: Array | None = None,
    target: Array | None = None,
    at_target: Array | None = None,
    uniform: Array | None = None,
    class_weight: Array | None = None,
    softcap: float | None = None,
    temperature: Any = None,
    dtype: Any = np.float64,
) -> Array:
    """Return the gradient of a sum of statistics of each row to its logits.

    Parameters
    ----------
    x : array, shape (rows, vocab), float16|bfloat16|float32|float64
        Logits.
    lse : array, shape (rows,)
        Their logsumexp, after the softcap and over the temperature.
    scale, slope, square, at_target, uniform : array, shape (rows,), optional
        Coefficients; None is 0.
    target : array, shape (rows,), int64, optional
        A column of each row; one outside of the row is none.
    class_weight : array, shape (vocab,), optional
        What `uniform` is multiplied by in each column; None is 1.
    softcap : float, optional
        s of z = s tanh(x / s); None leaves z = x.
    temperature : float or array, shape (rows,), optional
        What z is divided by; None is 1.
    dtype : dtype
        What is computed in.

    Returns
    -------
    array
        Shape of `x`, `dtype`: with l = z / temperature - lse and p = exp(l),
        p (scale + slope l + square p) + at_target in column target + uniform w, times dz/dx. A row
        whose coefficients are all 0 is 0; one with lse = -inf has p = 0, one with lse = inf is NaN.
    """
    x, lse = x.astype(dtype), lse.astype(dtype)[:, None]
    zeros = np.zeros(len(x), dtype)
    scale, slope, square, at_target, uniform = (
        zeros if one is None else one.astype(dtype)
        for one in (scale, slope, square, at_target, uniform)
    )
    with np.errstate(all="ignore"):
        z, steepness = _capped(x, softcap)
        lse = np.where(lse == np.inf, np.nan, np.where(lse == -np.inf, np.inf, lse))
        if temperature is not None:
            z = z / np.broadcast_to(np.asarray(temperature, dtype), len(x))[:, None]
        lp = np.asarray(z - lse, dtype)
        p = np.exp(lp)
        factor = scale[:, None] + slope[:, None] * lp + square[:, None] * p
        terms = np.where(p == 0, 0, p * factor)
        weight = 1 if class_weight is None else class_weight.astype(dtype)
        terms = terms + uniform[:, None] * weight
        if target is not None:
            columns = np.arange(x.shape[1])
            terms = terms + np.where(columns == target[:, None], at_target[:, None], 0)
        terms = np.where(steepness == 0, 0, terms * steepness)
    idle = (scale == 0) & (slope == 0) & (square == 0) & (at_target == 0) & (uniform == 0)
    return np.where(idle[:, None], 0, terms).astype(dtype)


def softmax_backward(y: Array, grad: Array, *, log: bool, dtype: Any = np.float64) -> Array:
    """Return the gradient to the logits of softmax or log_softmax over the last axis.

    Parameters
    ----------
    y : array, float16|bfloat16|float32|float64
        What the forward pass returned.
    grad : array, shape of `y`
        Gradient to it.
    log : bool
        Whether it was log_softmax.
    dtype : dtype
        What is computed in.

    Returns
    -------
    array
        y (grad - sum of grad y), or grad - exp(y) times the sum of grad.
    """
    y, grad = y.astype(dtype), grad.astype(dtype)
    with np.errstate(all="ignore"):
        if log:
            return np.asarray(grad - np.exp(y) * grad.sum(axis=-1, keepdims=True))
        return np.asarray(y * (grad - (grad * y).sum(axis=-1, keepdims=True)))


def _capped(x: Array, softcap: float | None) -> tuple[Array, Array]:
    """Return z and dz/dx = 1 / cosh(x / s)^2."""
    if softcap is None:
        return x, np.ones_like(x)
    y = x / x.dtype.type(softcap)
    return np.asarray(np.tanh(y) * x.dtype.type(softcap)), np.asarray(1 / np.cosh(y) ** 2)
