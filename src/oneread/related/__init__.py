"""Layers of the related work, built on the public ops.

Knows the names and where they live; loads them when they are used. Knows no backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneread._lazy import lazy

if TYPE_CHECKING:
    from oneread.related.adaptive import AdaptiveSoftmax, AdaptiveTopK, Cluster
    from oneread.related.sampled import sampled_cross_entropy, sampled_logits
    from oneread.related.svd import SVDSoftmax, SVDTopK

_HOMES = {
    "oneread.related.adaptive": ("AdaptiveSoftmax", "AdaptiveTopK", "Cluster"),
    "oneread.related.sampled": ("sampled_cross_entropy", "sampled_logits"),
    "oneread.related.svd": ("SVDSoftmax", "SVDTopK"),
}

__all__ = [
    "AdaptiveSoftmax",
    "AdaptiveTopK",
    "Cluster",
    "SVDSoftmax",
    "SVDTopK",
    "sampled_cross_entropy",
    "sampled_logits",
]

__getattr__, __dir__ = lazy(__name__, _HOMES)
