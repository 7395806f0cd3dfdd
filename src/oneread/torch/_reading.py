"""What is read from rows of logits, with PyTorch's conventions.

Knows no kernel and no formula: the ops have both.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from oneread.backends import torch_
from oneread.ops import _short
from oneread.ops import read as _read
from oneread.ops import topk as _topk
from oneread.spec import Read, SoftmaxTopK


class LogprobsAndEntropy(NamedTuple):
    """What a policy gradient needs of each token.

    `logprobs` are those of the given columns, `entropy` those of the rows.
    """

    logprobs: Tensor
    entropy: Tensor


torch_.name_in_exports(LogprobsAndEntropy)


def softmax_topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    *,
    kind: str = "prob",
    renormalize: bool = False,
    return_lse: bool = False,
    temperature: float | Tensor | None = None,
    where: Tensor | None = None,
    lengths: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> SoftmaxTopK:
    """Return the k likeliest columns of each row and their probabilities, in one read.

    Parameters
    ----------
    input : Tensor, at least one dimension
        Logits, on a CPU or an NVIDIA GPU.
    k : int
        How many: 0 to the length of the dimension.
    dim : int, default -1
        The dimension of a row.
    kind : {'prob', 'logprob', 'logit'}, default 'prob'
        What the values are.
    renormalize : bool, default False
        Take probabilities over the k winners alone.
    return_lse : bool, default False
        Also return the row's logsumexp.
    temperature, where, lengths : optional
        As in `oneread.softmax`.
    dtype : torch.dtype, optional
        Type of the values and of lse. None: float32, or float64 for that; logits keep their own.

    Returns
    -------
    SoftmaxTopK
        `values`, `indices` (int64) and, where asked for, `lse`.

    Raises
    ------
    OneReadError
        What `oneread.softmax_topk` raises.

    Notes
    -----
    Values and lse are differentiable as `softmax` is; the logits and lse are kept for that.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> best = oneread.torch.softmax_topk(torch.tensor([0.0, 3.0, 1.0]), 2)
    >>> best.indices.tolist()
    [1, 2]
    """
    return _topk.softmax_topk(
        input, k, dim, kind=kind, renormalize=renormalize, return_lse=return_lse,
        temperature=temperature, where=where, lengths=lengths, dtype=dtype,
    )  # fmt: skip


def read(
    input: Tensor,
    dim: int = -1,
    *,
    top_k: int = 0,
    select: Tensor | int | None = None,
    rank: bool = False,
    entropy: bool = False,
    sum_p2: bool = False,
    argmax: bool = False,
    keepdim: bool = False,
    temperature: float | Tensor | None = None,
    where: Tensor | None = None,
    lengths: Tensor | None = None,
    dtype: torch.dtype | None = None,
) -> Read:
    """Return every statistic of each row that is asked for, from one read of the logits.

    Parameters
    ----------
    input : Tensor, at least one dimension
        Logits, on a CPU or an NVIDIA GPU.
    dim : int, default -1
        The dimension of a row.
    top_k, select, rank, entropy, sum_p2, argmax : optional
        As in `oneread.read`.
    keepdim : bool, default False
        Keep the dimension, with length 1, in every field with one number a row.
    temperature, where, lengths : optional
        As in `oneread.softmax`.
    dtype : torch.dtype, optional
        Float type of all fields but `values`. None: float32, or float64 for that.

    Returns
    -------
    Read
        As of `oneread.read`; `argmax`, `indices` and `rank` are int64.

    Raises
    ------
    OneReadError, IndexError
        What `oneread.read` raises.

    Notes
    -----
    All float fields are differentiable as `softmax` is, together by one gradient: one read and
    one write of the logits. `max` passes its gradient to the first column that has it.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> r = oneread.torch.read(torch.zeros(1, 4), select=torch.tensor([2]), entropy=True)
    >>> round(r.entropy.item() + r.selected.item(), 6)
    0.0
    """
    return _read.read(
        input, dim, top_k=top_k, select=select, rank=rank, entropy=entropy, sum_p2=sum_p2,
        argmax=argmax, keepdims=keepdim, temperature=temperature, where=where, lengths=lengths,
        dtype=dtype,
    )  # fmt: skip


def entropy(input: Tensor, dim: int = -1, *, temperature: float | Tensor | None = None) -> Tensor:
    """Return the entropy of each row, in nats.

    Parameters
    ----------
    input : Tensor, at least one dimension
        Logits, on a CPU or an NVIDIA GPU.
    dim : int, default -1
        The dimension of a row.
    temperature : float or Tensor, optional
        As in `oneread.softmax`.

    Returns
    -------
    Tensor
        `input` without the dimension, float32, or float64 for that.

    Raises
    ------
    OneReadError
        What `oneread.read` raises.

    Notes
    -----
    Differentiable as `softmax` is: ``-p (log p + entropy)``. A column of -inf adds 0.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> oneread.torch.entropy(torch.tensor([0.0, float("-inf")])).item()
    0.0
    """
    if temperature is None and type(dim) is int and dim == -1:
        made = _short.read_rows(input, entropy=True)
        if made is not None:
            return made[1]
    result: Tensor = _read.read(input, dim, entropy=True, temperature=temperature).entropy
    return result


def selective_log_softmax(
    logits: Tensor, index: Tensor, dim: int = -1, *, temperature: float | Tensor | None = None
) -> Tensor:
    """Return the log-probabilities of the given columns.

    Parameters
    ----------
    logits : Tensor, at least one dimension
        On a CPU or an NVIDIA GPU.
    index : Tensor of int
        The shape of `logits` without the dimension, or one dimension more at its end.
    dim : int, default -1
        The dimension of a row.
    temperature : float or Tensor, optional
        As in `oneread.softmax`.

    Returns
    -------
    Tensor
        Of the shape of `index`, float32, or float64 for that.

    Raises
    ------
    OneReadError, IndexError
        What `oneread.read` raises. A column outside is NaN on a GPU.

    Notes
    -----
    Differentiable as `softmax` is: ``1 at the column - p``, one read and one write.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> logits = torch.tensor([[20.0, 0.0]])
    >>> oneread.torch.selective_log_softmax(logits, torch.tensor([0])).item() < 0
    True
    """
    if temperature is None and type(dim) is int and dim == -1:
        made = _short.read_rows(logits, index)
        if made is not None:
            return made[1]
    result: Tensor = _read.read(logits, dim, select=index, temperature=temperature).selected
    return result


def logprobs_and_entropy(
    logits: Tensor, index: Tensor, dim: int = -1, *, temperature: float | Tensor | None = None
) -> LogprobsAndEntropy:
    """Return the log-probabilities of the given columns and the entropy of each row, in one read.

    Parameters
    ----------
    logits : Tensor, at least one dimension
        On a CPU or an NVIDIA GPU.
    index : Tensor of int
        As in `selective_log_softmax`.
    dim : int, default -1
        The dimension of a row.
    temperature : float or Tensor, optional
        As in `oneread.softmax`.

    Returns
    -------
    LogprobsAndEntropy
        `logprobs` of the shape of `index`, `entropy` of that of `logits` without the dimension;
        float32, or float64 for that.

    Raises
    ------
    OneReadError, IndexError
        What `oneread.read` raises.

    Notes
    -----
    Both are differentiable, together by one gradient: one read and one write.

    Examples
    --------
    >>> import torch, oneread.torch
    >>> logits = torch.zeros(3, 4, requires_grad=True)
    >>> made = oneread.torch.logprobs_and_entropy(logits, torch.tensor([0, 1, 2]))
    >>> (-made.logprobs.sum() - 0.01 * made.entropy.sum()).backward()
    >>> logits.grad[0].tolist()
    [-0.75, 0.25, 0.25, 0.25]
    """
    if temperature is None and type(dim) is int and dim == -1:
        made = _short.read_rows(logits, index, entropy=True)
        if made is not None:
            return LogprobsAndEntropy(*made[1:])
    r = _read.read(logits, dim, select=index, entropy=True, temperature=temperature)
    return LogprobsAndEntropy(r.selected, r.entropy)
