"""Arguments of the layers, checked. Knows no layer."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from oneread.spec import DtypeError, ShapeError


def matrix(value: Any, name: str) -> Any:
    """Return a float array of two axes."""
    value = np.asarray(value)
    if value.dtype not in (np.float32, np.float64):
        raise DtypeError(f"{name} is {value.dtype}; float32 and float64 are taken")
    if value.ndim != 2:
        raise ShapeError(f"{name} has shape {value.shape}; two axes are needed")
    return value


def count(value: Any, most: int, name: str) -> int:
    """Return an integer from 0 to `most`."""
    number = operator.index(value)
    if not 0 <= number <= most:
        raise ShapeError(f"{name} is {number}; 0 to {most} is allowed")
    return number


def logits_of(hidden: Any, weight: Any, bias: Any = None) -> Any:
    """Return ``hidden @ weight.T + bias``."""
    if hidden.shape[1] != weight.shape[1]:
        raise ShapeError(
            f"hidden has {hidden.shape[1]} columns; the weights have {weight.shape[1]}"
        )
    logits = hidden @ weight.T
    return logits if bias is None else logits + bias
