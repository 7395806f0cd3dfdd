"""Functions of TRL under their own names, to be imported in their place.

Knows no kernel. ``from oneread.torch.trl import selective_log_softmax``.
"""

from __future__ import annotations

from torch import Tensor

from oneread.torch import _reading

__all__ = ["entropy_from_logits", "selective_log_softmax"]


def selective_log_softmax(logits: Tensor, index: Tensor) -> Tensor:
    """Return the log-probabilities at `index`, in the type of the logits.

    Parameters
    ----------
    logits : Tensor, shape (..., classes)
        On a CPU or an NVIDIA GPU.
    index : Tensor of int, shape (...) or (..., k)
        One column a row, or k.

    Returns
    -------
    Tensor
        Of the shape of `index`, in the type of `logits`.

    Notes
    -----
    `oneread.torch.selective_log_softmax` keeps float32 for logits of 16 bits: a log-probability
    of -10 has steps of 0.06 in bfloat16.

    Examples
    --------
    >>> import torch
    >>> from oneread.torch.trl import selective_log_softmax
    >>> selective_log_softmax(torch.zeros(2, 8), torch.tensor([0, 7])).tolist()
    [-2.079441547393799, -2.079441547393799]
    """
    return _reading.selective_log_softmax(logits, index).to(logits.dtype)


def entropy_from_logits(logits: Tensor, chunk_size: int = 128) -> Tensor:
    """Return the entropy of each row, in the type of the logits.

    Parameters
    ----------
    logits : Tensor, shape (..., classes)
        On a CPU or an NVIDIA GPU.
    chunk_size : int, default 128
        Not used: nothing as long as a row is stored.

    Returns
    -------
    Tensor
        Of the shape of `logits` without the classes, in their type.

    Examples
    --------
    >>> import torch
    >>> from oneread.torch.trl import entropy_from_logits
    >>> round(entropy_from_logits(torch.zeros(1, 8)).item(), 4)
    2.0794
    """
    return _reading.entropy(logits).to(logits.dtype)
