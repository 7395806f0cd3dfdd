"""PyTorch's names for the ops, with its conventions: ``dim``, named tuples, int64 indices.

Knows no kernel. Importing it imports torch.
"""

from oneread.backends import find
from oneread.torch._cross_entropy import cross_entropy
from oneread.torch._probabilities import log_softmax, logsumexp, softmax
from oneread.torch._reading import (
    LogprobsAndEntropy,
    entropy,
    logprobs_and_entropy,
    read,
    selective_log_softmax,
    softmax_topk,
)

find.torch_backend()  # a graph that was captured before the first call would be captured again

__all__ = [
    "LogprobsAndEntropy",
    "cross_entropy",
    "entropy",
    "log_softmax",
    "logprobs_and_entropy",
    "logsumexp",
    "read",
    "selective_log_softmax",
    "softmax",
    "softmax_topk",
]
