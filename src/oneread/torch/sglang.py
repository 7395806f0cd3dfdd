"""SGLang's functions for the top log-probs, under their own names, to be called in their place.

Knows no kernel, and not SGLang.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from oneread.ops import topk as _topk
from oneread.torch import _reading

__all__ = ["get_top_logprobs", "row_logsumexp_topk"]


def row_logsumexp_topk(x: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return of each row its maximum, ``logsumexp - maximum``, and its k largest logits.

    Parameters
    ----------
    x : Tensor, shape (rows, vocab), float16, bfloat16 or float32
        Logits, on a CPU or an NVIDIA GPU.
    k : int
        How many, at least 1.

    Returns
    -------
    tuple of Tensor
        Maximum and ``logsumexp - maximum``, (rows,) in float32; the logits themselves in float32
        and their columns in int64, (rows, k), largest first, equal ones by column.

    Examples
    --------
    >>> import torch
    >>> from oneread.torch.sglang import row_logsumexp_topk
    >>> largest, log_sum, values, columns = row_logsumexp_topk(torch.tensor([[0.0, 9.0, 9.0]]), 1)
    >>> round(log_sum.item(), 4), columns.tolist()
    (0.6932, [[1]])
    """
    best = _reading.softmax_topk(x, k, kind="logprob")
    values = x.gather(1, best.indices).float()
    # The likeliest column's log-probability keeps the digits that the maximum would swallow.
    return values[:, 0], -best.values[:, 0], values, best.indices


def get_top_logprobs(
    logprobs: Tensor, top_logprobs_nums: list[int], no_copy_to_cpu: bool = False
) -> tuple[list[Any], list[Any]]:
    """Return of each row the largest log-probs and their columns, as many as it asks for.

    Parameters
    ----------
    logprobs : Tensor, shape (rows, vocab)
        Log-probs, or logits.
    top_logprobs_nums : list of int
        How many of each row.
    no_copy_to_cpu : bool, default False
        Leave them tensors; otherwise they become lists.

    Returns
    -------
    tuple of list
        Numbers and columns, a list or a tensor a row.

    Examples
    --------
    >>> import torch
    >>> from oneread.torch.sglang import get_top_logprobs
    >>> get_top_logprobs(torch.tensor([[-1.0, -0.5], [-2.0, -3.0]]), [2, 1])
    ([[-0.5, -1.0], [-2.0]], [[1, 0], [0]])
    """
    values, indices = _topk.top_k(logprobs, max(top_logprobs_nums, default=0))
    rows = (values, indices) if no_copy_to_cpu else (values.tolist(), indices.tolist())
    made = [[row[:k] for row, k in zip(table, top_logprobs_nums, strict=False)] for table in rows]
    return made[0], made[1]
