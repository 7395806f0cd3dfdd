"""The float64 truth of every op, one short function each, and the paper's loops.

Knows nothing of speed and of the ops that it judges.
"""

from oneread.reference.ranked import read, softmax_topk, top_k
from oneread.reference.whole import log_softmax, logsumexp, maximum, softmax
from oneread.reference.yardstick import plain

__all__ = [
    "log_softmax",
    "logsumexp",
    "maximum",
    "plain",
    "read",
    "softmax",
    "softmax_topk",
    "top_k",
]
