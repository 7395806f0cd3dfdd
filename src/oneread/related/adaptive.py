"""Adaptive softmax: a vocabulary in clusters, and its exact top-k without opening them all.

Knows nothing of the other layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from oneread.ops.read import read
from oneread.ops.softmax import log_softmax
from oneread.ops.topk import top_k
from oneread.related._checked import count, logits_of, matrix
from oneread.spec import ShapeError


class Cluster(NamedTuple):
    """Weights of one cluster: hidden states are projected, then scored.

    Attributes
    ----------
    project : array, shape (width, hidden)
        From hidden states to the cluster's own width.
    decode : array, shape (size, width)
        One row a token.
    """

    project: Any
    decode: Any


class AdaptiveTopK(NamedTuple):
    """The likeliest tokens, and what finding them took.

    Attributes
    ----------
    logprobs : array, shape (rows, k)
        Largest first.
    indices : array, shape (rows, k), int64
        Tokens of the whole vocabulary.
    opened : array, shape (rows,), int64
        How many clusters were scored for each row.
    """

    logprobs: Any
    indices: Any
    opened: Any


class AdaptiveSoftmax:
    """A two-level softmax over frequent tokens and clusters of rare ones, for inference.

    The head scores the shortlist and one column a cluster. A token of a cluster has the
    log-probability of its cluster plus its own within it [1]_. Tokens of clusters follow those of
    the shortlist, cluster by cluster.

    Parameters
    ----------
    head : array, shape (shortlist + clusters, hidden), float32|float64
        The clusters' columns come last.
    clusters : sequence of Cluster
        In the order of these columns.
    bias : array, shape (shortlist + clusters,), optional
        Of the head.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other.

    Notes
    -----
    Columns of one softmax merge into one state: so do the head and a cluster, whose log-sum-exp
    stands in the head for all its tokens.

    References
    ----------
    .. [1] E. Grave, A. Joulin, M. Cisse, D. Grangier, H. Jegou, "Efficient softmax approximation
       for GPUs", 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from oneread.related import AdaptiveSoftmax, Cluster
    >>> rng = np.random.default_rng(0)
    >>> rare = [Cluster(rng.normal(size=(2, 4)), rng.normal(size=(n, 2))) for n in (6, 9)]
    >>> layer = AdaptiveSoftmax(rng.normal(size=(5 + 2, 4)), rare)
    >>> hidden = rng.normal(size=(3, 4))
    >>> best = layer.top_k(hidden, 2)
    >>> whole = layer.log_softmax(hidden)
    >>> bool((best.indices == whole.argsort()[:, :-3:-1]).all()), best.opened
    (True, array([0, 1, 0]))
    """

    def __init__(self, head: Any, clusters: Sequence[Cluster], bias: Any = None) -> None:
        self._head = matrix(head, "head")
        self._clusters = [
            Cluster(matrix(c.project, "project"), matrix(c.decode, "decode")) for c in clusters
        ]
        self._bias = None if bias is None else np.asarray(bias)
        rows, hidden = map(int, self._head.shape)
        self._shortlist = rows - len(self._clusters)
        if self._shortlist < 0:
            raise ShapeError(f"head has {rows} rows, fewer than its {len(self._clusters)} clusters")
        if self._bias is not None and self._bias.shape != (rows,):
            raise ShapeError(f"bias has shape {self._bias.shape}; head needs ({rows},)")
        for i, cluster in enumerate(self._clusters):
            if cluster.project.shape[1] != hidden:
                raise ShapeError(f"cluster {i} projects from {cluster.project.shape[1]} numbers; "
                                 f"head takes {hidden}")  # fmt: skip
            if cluster.decode.shape[1] != cluster.project.shape[0]:
                raise ShapeError(f"cluster {i} projects to {cluster.project.shape[0]} numbers; "
                                 f"its tokens take {cluster.decode.shape[1]}")  # fmt: skip
        sizes = [cluster.decode.shape[0] for cluster in self._clusters]
        # First token of each cluster, and the end.
        self._starts: list[int] = [self._shortlist + sum(sizes[:i]) for i in range(len(sizes) + 1)]

    @classmethod
    def from_torch(cls, module: Any) -> Self:
        """Take the weights of a ``torch.nn.AdaptiveLogSoftmaxWithLoss``.

        Parameters
        ----------
        module : torch.nn.AdaptiveLogSoftmaxWithLoss
            On any device. The weights are shared where it is on the CPU, and copied otherwise.

        Returns
        -------
        AdaptiveSoftmax
            With the same head and clusters.
        """

        def numbers(parameter: Any) -> Any:
            return parameter.detach().cpu().numpy()

        clusters = [Cluster(numbers(tail[0].weight), numbers(tail[1].weight))
                    for tail in module.tail]  # fmt: skip
        bias = module.head.bias
        return cls(numbers(module.head.weight), clusters, None if bias is None else numbers(bias))

    @property
    def vocab(self) -> int:
        """How many tokens there are."""
        return self._starts[-1]

    def log_softmax(self, hidden: Any) -> Any:
        """Return the log-probability of every token: the definition, with all clusters scored.

        Parameters
        ----------
        hidden : array, shape (rows, hidden), float32|float64
            Hidden states.

        Returns
        -------
        array, shape (rows, vocab)
            Log-probabilities; a row sums to 1.
        """
        hidden = matrix(hidden, "hidden")
        head = log_softmax(self._head_logits(hidden))
        parts = [head[:, : self._shortlist]]
        for i, cluster in enumerate(self._clusters):
            own = head[:, self._shortlist + i, None]
            parts.append(own + log_softmax(_scored(cluster, hidden)))
        return np.concatenate(parts, axis=1)

    def top_k(self, hidden: Any, k: int) -> AdaptiveTopK:
        """Return the k likeliest tokens of the whole vocabulary, exactly.

        Clusters are opened best first. None of a cluster's tokens is likelier than the cluster, so
        that the search ends when the k-th best is likelier than the next cluster.

        Parameters
        ----------
        hidden : array, shape (rows, hidden), float32|float64
            Hidden states.
        k : int
            How many: 0 to the size of the vocabulary.

        Returns
        -------
        AdaptiveTopK
            Ties in the order of tokens.

        Raises
        ------
        ShapeError
            If k is negative or above the size of the vocabulary, or `hidden` does not fit.
        """
        hidden = matrix(hidden, "hidden")
        k = count(k, self.vocab, "k")
        opened = np.zeros(len(hidden), np.int64)
        if not k:
            none = np.empty((len(hidden), 0), hidden.dtype)
            return AdaptiveTopK(none, none.astype(np.int64), opened)
        logprobs, indices, gates = self._of_head(hidden, k)
        order = top_k(gates, len(self._clusters))
        for place in range(len(self._clusters)):
            # Not "<=": a NaN opens, too.
            wanted = ~(logprobs[:, -1] > order.values[:, place])
            for c in np.unique(order.indices[wanted, place]):
                rows = np.flatnonzero(wanted & (order.indices[:, place] == c))
                found = self._of_cluster(hidden[rows], c, k, gates[rows, c])
                logprobs[rows], indices[rows] = _best(
                    np.concatenate([logprobs[rows], found[0]], axis=1),
                    np.concatenate([indices[rows], found[1]], axis=1),
                    k,
                )
            opened += wanted
        return AdaptiveTopK(logprobs, indices, opened)

    def _of_head(self, hidden: Any, k: int) -> tuple[Any, Any, Any]:
        """Return k tokens of the shortlist, with `vocab` for a missing one, and the clusters."""
        logits = self._head_logits(hidden)
        gates = np.arange(self._shortlist, logits.shape[1])
        # Clusters take at most as many places as there are clusters.
        asked = min(k + len(gates), logits.shape[1])
        found = read(logits, top_k=asked, select=np.broadcast_to(gates, (len(hidden), len(gates))))
        outside = found.indices >= self._shortlist
        logprobs = np.where(outside, -np.inf, found.logprobs)
        indices = np.where(outside, self.vocab, found.indices)
        missing = ((0, 0), (0, max(0, k - asked)))
        logprobs = np.pad(logprobs, missing, constant_values=-np.inf)
        indices = np.pad(indices, missing, constant_values=self.vocab)
        return (*_best(logprobs, indices, k), found.selected)

    def _of_cluster(self, hidden: Any, c: int, k: int, gate: Any) -> tuple[Any, Any]:
        logits = _scored(self._clusters[c], hidden)
        found = read(logits, top_k=min(k, logits.shape[1]))
        return gate[:, None] + found.logprobs, found.indices + self._starts[c]

    def _head_logits(self, hidden: Any) -> Any:
        return logits_of(hidden, self._head, self._bias)


def _scored(cluster: Cluster, hidden: Any) -> Any:
    return logits_of(logits_of(hidden, cluster.project), cluster.decode)


def _best(logprobs: Any, indices: Any, k: int) -> tuple[Any, Any]:
    """Return the k best of each row: NaN first, as `oneread.top_k` has them, then the largest."""
    order = np.lexsort((indices, -logprobs, ~np.isnan(logprobs)), axis=-1)[:, :k]
    return np.take_along_axis(logprobs, order, -1), np.take_along_axis(indices, order, -1)
