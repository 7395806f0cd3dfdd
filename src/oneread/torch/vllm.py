"""vLLM's function for the top log-probs, under its own name, to be called in its place.

Knows no kernel, and not vLLM.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from oneread.spec import BackendUnavailableError
from oneread.torch import _reading

__all__ = ["LogprobsTensors", "compute_topk_logprobs"]


class LogprobsTensors(NamedTuple):
    """Log-probs of the sampled token and of the likeliest ones, each of one row a token."""

    logprob_token_ids: Tensor
    """(tokens, 1 + num_logprobs): the sampled token first."""
    logprobs: Tensor
    selected_token_ranks: Tensor
    """(tokens,): the place of the sampled token, from 1."""
    cu_num_generated_tokens: list[int] | None = None


def compute_topk_logprobs(
    logits: Tensor,
    num_logprobs: int,
    sampled_token_ids: Tensor,
    cu_num_logits: list[int] | None = None,
    logprob_token_ids_state: Any = None,
    expanded_idx_mapping: Tensor | None = None,
    max_per_req_token_ids: int = 0,
) -> LogprobsTensors:
    """Return log-probs of the sampled token and of the likeliest ones, and the sampled one's rank.

    Parameters
    ----------
    logits : Tensor, shape (tokens, vocab)
        On a CPU or an NVIDIA GPU.
    num_logprobs : int
        How many of the likeliest tokens.
    sampled_token_ids : Tensor of int, shape (tokens,)
        The tokens that were sampled.
    cu_num_logits : list of int, optional
        Handed on.
    logprob_token_ids_state, expanded_idx_mapping : optional
        Only of use with `max_per_req_token_ids`.
    max_per_req_token_ids : int, default 0
        How many tokens of its own a request may name; only 0 is allowed.

    Returns
    -------
    LogprobsTensors
        Ids in int64, log-probs in float32, ranks in int64 from 1.

    Raises
    ------
    BackendUnavailableError
        If `max_per_req_token_ids` is not 0.

    Notes
    -----
    Equal logits are ranked by token id, as the likeliest tokens are listed; vLLM's own kernel
    gives all of them the last of their places.

    Examples
    --------
    >>> import torch
    >>> from oneread.torch.vllm import compute_topk_logprobs
    >>> made = compute_topk_logprobs(torch.tensor([[0.0, 2.0, 1.0]]), 1, torch.tensor([2]))
    >>> made.logprob_token_ids.tolist(), made.selected_token_ranks.tolist()
    ([[2, 1]], [2])
    """
    if max_per_req_token_ids:
        raise BackendUnavailableError(
            f"max_per_req_token_ids is {max_per_req_token_ids}; only 0 is allowed: requests that "
            "name tokens of their own are for vLLM's function"
        )
    ids = sampled_token_ids.long()
    sampled = _reading.read(logits, select=ids, rank=True)
    token_ids, logprobs = ids[:, None], sampled.selected[:, None]
    if num_logprobs:
        best = _reading.softmax_topk(logits, num_logprobs, kind="logprob")
        token_ids = torch.cat((token_ids, best.indices), 1)
        logprobs = torch.cat((logprobs, best.values), 1)
    return LogprobsTensors(token_ids, logprobs.float(), sampled.rank + 1, cu_num_logits)
